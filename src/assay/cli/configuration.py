"""Defaults of options from a file: `assay.toml`, or `[tool.assay]` in `pyproject.toml`.

The file of the current folder counts, else that of the nearest folder above it. A key is an option without its
dashes; it holds for every command that has the option. A table named after a command holds for that command alone.
The command line overrides the file.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.cli.common import leaves
from assay.errors import DataError, did_you_mean

VARIABLE = "ASSAY_CONFIG"
NAMES = ("assay.toml", "pyproject.toml")
COMMAND_LINE_ONLY = frozenset({"force", "quiet", "trust-remote-code"})
"""Options that a file must not set: it may come with a repository of others."""


@dataclass(frozen=True, slots=True)
class OptionDefaults:
    """Defaults from one file.

    Attributes:
        path: of the file; None without one.
        defaults: command → parameter → value, nested as the commands are.
    """

    path: Path | None
    defaults: Mapping[str, Any]


def read_configuration(command: Any, folder: Path | None = None) -> OptionDefaults:  # noqa: ANN401  typer's command
    """Return the defaults for a tree of commands.

    Args:
        command: with all its options.
        folder: where the search begins; None for the current one. `$ASSAY_CONFIG` names a file instead; empty, it
            means none.

    Raises:
        DataError: the file cannot be read, or names no option of ours.
    """
    path = _path(folder or Path.cwd())
    table = None if path is None else _table(path)
    if path is None or table is None:
        return OptionDefaults(None, {})
    return OptionDefaults(path, _defaults(command, table, path, ""))


def _path(folder: Path) -> Path | None:
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    candidates = (place / name for place in (folder, *folder.parents) for name in NAMES)
    return next((path for path in candidates if path.is_file() and _table(path) is not None), None)


def _table(path: Path) -> dict[str, Any] | None:
    """Return the table of ours in a file; None in a `pyproject.toml` without one."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}, expected a configuration file") from error
    except (ValueError, RecursionError) as error:  # no TOML, no text, a number too long, or nested too deeply
        if path.name == "pyproject.toml" and VARIABLE not in os.environ:
            return None  # of another project; its own tools report what is wrong with it
        raise DataError(f"{path} is not a TOML file: {error}") from error
    if path.name != "pyproject.toml":
        return content
    tools = content.get("tool")
    table = tools.get("assay") if isinstance(tools, dict) else None
    return table if isinstance(table, dict) else None


def _defaults(command: Any, table: Mapping[str, Any], path: Path, place: str) -> dict[str, Any]:  # noqa: ANN401
    """Return the defaults below one command from the keys of its table."""
    children: Mapping[str, Any] = getattr(command, "commands", {})
    defaults: dict[str, Any] = {name: {} for name in children}
    for key, value in table.items():
        if key in children and isinstance(value, dict):
            continue
        settings = list(_settings(command, key))
        if not settings or isinstance(value, dict):
            names = [*children, *sorted({name for leaf in leaves(command) for name in options_of(leaf)})]
            raise DataError(
                f"{path}: no option or command {place}{key}{did_you_mean(key, names) or '; see `assay --help`'}"
            )
        for steps, option in settings:
            target = defaults
            for step in steps:
                target = target.setdefault(step, {})
            target[option.name] = _value(option, key, value, path)
    for name, child in children.items():
        if isinstance(table.get(name), dict):
            own = _defaults(child, table[name], path, f"{place}{name}.")
            _merge(defaults[name], own)
    return defaults


def _settings(command: Any, key: str, steps: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401
    """Yield (names of commands, option) for every command that has an option."""
    children = getattr(command, "commands", {})
    if not children and key in (options := options_of(command)):
        yield steps, options[key]
    for name, child in children.items():
        yield from _settings(child, key, (*steps, name))


def options_of(command: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the options of a command that a file can set, by long name without dashes."""
    return {
        name.removeprefix("--"): option
        for option in command.params
        for name in (*option.opts, *option.secondary_opts)
        if name.startswith("--") and not option.hidden and name.removeprefix("--") not in COMMAND_LINE_ONLY
    }


def _value(option: Any, key: str, value: object, path: Path) -> object:  # noqa: ANN401
    where = f"{path}: {key}"
    if option.is_flag:
        if not isinstance(value, bool):
            raise DataError(f"{where}: received {value!r}, expected true or false")
        return value if f"--{key}" in option.opts else not value
    if isinstance(value, bool) or not isinstance(value, str | int | float | list):
        raise DataError(f"{where}: received {value!r}, expected a text or a number")
    if isinstance(value, list) != option.multiple:
        raise DataError(f"{where}: expected {'a list' if option.multiple else 'a single value'}")
    values = [_beside(str(item), path) for item in (value if isinstance(value, list) else [value])]
    return values if option.multiple else values[0]


def _beside(value: str, path: Path) -> str:
    """Return a value; a path of a file or folder beside the configuration file leads there from everywhere."""
    beside = path.parent / value
    if path.parent.resolve() != Path.cwd() and ("/" in value or "." in value) and beside.exists():
        return str(beside)
    return value


def _merge(target: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value
