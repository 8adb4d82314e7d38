"""Defaults of options from a file: `assay.toml`, or `[tool.assay]` in `pyproject.toml`.

`--config FILE` or `$ASSAY_CONFIG` names the file. Otherwise it is found: in the current folder, and inside a git
repository in the nearest folder above it, up to the root of the repository. A found file may come from a stranger, so
that it may set columns and the form of the output alone, until its user allows it with `assay config allow`, as it is.

A key is an option without its dashes; it holds for every command that has the option. A table named after a command
holds for that command alone. An option that takes KEY=VALUE is a table of its keys. The command line overrides the
file.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product, starmap
from operator import truediv
from pathlib import Path
from typing import Any

from assay.cli.common import leaves
from assay.cli.groups import Bundles, bundles_of
from assay.errors import AssayError, DataError, did_you_mean, plain_reason
from assay.files import CONFIGURATION_VARIABLE, assay_table
from assay.guard import LARGEST_METADATA
from assay.settings import Declared, from_pairs

NAMES = ("assay.toml", "pyproject.toml")
COMMAND_LINE_ONLY = frozenset({"config", "force", "quiet", "help-all", "trust-remote-code"})
"""Options that a file must not set: it may come with a repository of others."""
FORM = frozenset({"format", "json", "verbose", "no-progress"})
"""Options that a found file may set, beside settings that are `safe_when_found`."""


OfCommand = tuple[tuple[str, ...], Any, Bundles]
"""Names of a command, one of its options, and its options that take pairs."""


@dataclass(frozen=True, slots=True)
class OptionDefaults:
    """Defaults from one file.

    Attributes:
        path: of the file; None without one.
        defaults: command → parameter → value, nested as the commands are.
        skipped: files that belong to another user.
        refused: why a file that was found may not be used; "" where it may.
    """

    path: Path | None
    defaults: Mapping[str, Any]
    skipped: tuple[Path, ...] = ()
    refused: str = ""


def read_configuration(
    command: Any,  # noqa: ANN401  typer's command
    folder: Path | None = None,
    *,
    named: str | None = None,
) -> OptionDefaults:
    """Return the defaults for a tree of commands.

    Args:
        command: with all its options.
        folder: where the search begins; None for the current one.
        named: a file that is read instead; None for that of `$ASSAY_CONFIG`; empty, it means none.

    Raises:
        DataError: the file cannot be read, or names no option of ours.
    """
    # a named file is trusted; one that is merely found may have come with a stranger's repository
    named = os.environ.get(CONFIGURATION_VARIABLE) if named is None else named
    if named == "":
        return OptionDefaults(None, {})
    if named is not None:
        path = Path(named)
        table = assay_table(path, _content(path))
        # a pyproject.toml may have no table of ours
        if table is None:
            return OptionDefaults(None, {})
        return OptionDefaults(path, _defaults(command, table=table, path=path, place=""))
    nearest, skipped = _found(folder or Path.cwd())
    if nearest is None:
        return OptionDefaults(None, {}, skipped)
    path, content, table = nearest
    refused = ""
    if not _is_allowed(path, content):
        refused = _unsafe(command, table, path)
    try:
        defaults = _defaults(command, table=table, path=path, place="")
    except AssayError:  # of a refused file that it is refused is the more important line
        if not refused:
            raise
        defaults = {}
    return OptionDefaults(path=path, defaults=defaults, skipped=skipped, refused=refused)


def allow(place: Path | None = None) -> Path:
    """Remember for this user that a file may set everything, as long as it does not change.

    Args:
        place: the file, or the folder from which it is searched; None for the current one.

    Raises:
        DataError: there is none, or the list of allowed files cannot be written.
    """
    if place is not None and not place.is_dir():
        path, content = place, _content(place)
    else:
        nearest, _ = _found(place or Path.cwd())
        if nearest is None:
            raise DataError(f"received no configuration file here, expected your own {' or '.join(NAMES)}")
        path, content, _ = nearest
    try:
        _allowed().parent.mkdir(parents=True, exist_ok=True)
        with _allowed().open("a", encoding="utf-8") as file:
            file.write(f"{_digest(path, content)}\n")
    except OSError as error:
        raise DataError(f"{_allowed()}: {error.strerror}, expected a file that can be written") from error
    return path


def _allowed() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "assay" / "allowed"


def _digest(path: Path, content: bytes) -> str:
    # place and content together: neither a change nor a copy elsewhere inherits the trust
    return hashlib.sha256(os.fsencode(path.resolve()) + b"\0" + content).hexdigest()


def _is_allowed(path: Path, content: bytes) -> bool:
    try:
        return _digest(path, content) in _allowed().read_text("utf-8").split()
    except (OSError, ValueError):  # no list, or none that can be read: nothing is allowed
        return False


def _found(folder: Path) -> tuple[tuple[Path, bytes, dict[str, Any]] | None, tuple[Path, ...]]:
    """Return the nearest file with settings as (path, content, table), and the files of other users before it."""
    # outside of a repository only the folder itself counts: a file far above may be of anybody
    above = (folder, *folder.parents)
    root = next((number for number, place in enumerate(above) if (place / ".git").exists()), 0)
    skipped: list[Path] = []
    for path in starmap(truediv, product(above[: root + 1], NAMES)):
        if not path.is_file():
            continue
        # Windows has no such numbers: every file has 0 there, and int() is 0
        user = getattr(os, "getuid", int)()
        # of a link, both the link and its target: anybody can point a link at a file of somebody else
        if {path.stat().st_uid, path.lstat().st_uid} != {user}:
            skipped.append(path)
            continue
        content = _content(path)
        table = assay_table(path, content)
        if table is not None:
            return (path, content, table), tuple(skipped)
    return None, tuple(skipped)


def _unsafe(command: Any, table: Mapping[str, Any], path: Path, place: str = "") -> str:  # noqa: ANN401
    """Return the line for a found file that sets more than form, with its first such key; "" where it does not."""
    children: Mapping[str, Any] = getattr(command, "commands", {})
    for key, value in table.items():
        if key in children and isinstance(value, dict):
            # `assay check` reads its table from a commit, and no other command does
            if key != "check" and (line := _unsafe(children[key], table=value, path=path, place=f"{place}{key}.")):
                return line
            continue
        settings = list(_settings(command, key))
        # a key that no command has is refused later, by its name
        if key in FORM or not settings:
            continue
        # all entries of a bundle: a value with a comma could name another key
        safe = isinstance(value, dict) and all(entry.setting.safe_when_found for entry in _entries_of(settings))
        if not safe or not _takes_pairs(settings):
            return (
                f"{path}: received {place}{key}, expected only columns and formats in a file that was found; if you "
                f"trust it, run `assay config allow {path}`"
            )
    return ""


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_METADATA + 1)
    except (OSError, ValueError) as error:  # a name with a zero byte is no name
        reason = getattr(error, "strerror", None) or plain_reason(error)
        raise DataError(f"{path}: {reason}, expected a configuration file") from error
    if len(content) > LARGEST_METADATA:
        raise DataError(f"{path}: more than {LARGEST_METADATA:,} bytes, expected a configuration file")
    return content


def _defaults(command: Any, table: Mapping[str, Any], path: Path, place: str) -> dict[str, Any]:  # noqa: ANN401
    """Return the defaults below one command from the keys of its table."""
    children: Mapping[str, Any] = getattr(command, "commands", {})
    defaults: dict[str, Any] = {name: {} for name in children}
    for key, value in table.items():
        if key in children and isinstance(value, dict):
            continue
        settings = list(_settings(command, key))
        if not settings or isinstance(value, dict) != _takes_pairs(settings):
            names = [*children, *sorted(set(chain.from_iterable(map(options_of, leaves(command)))))]
            raise DataError(
                f"{path}: no option or command {place}{key}{did_you_mean(key, names) or '; see `assay --help`'}"
            )
        _set(defaults, settings, key=key, value=value, path=path)
    # the table of a command comes after, and over, what is set for all commands
    for name, child in children.items():
        if isinstance(table.get(name), dict):
            own = _defaults(child, table=table[name], path=path, place=f"{place}{name}.")
            _merge(defaults[name], own)
    return defaults


def _takes_pairs(settings: Sequence[OfCommand]) -> bool:
    """Return True if the option takes KEY=VALUE in every command that has it."""
    return all(option.name in bundles for _, option, bundles in settings)


def _entries_of(settings: Sequence[OfCommand]) -> list[Declared]:
    """Return the settings of a bundle, in all commands that have it."""
    return list(chain.from_iterable(bundles.get(option.name, ()) for _, option, bundles in settings))


def _set(defaults: dict[str, Any], settings: Sequence[OfCommand], *, key: str, value: Any, path: Path) -> None:  # noqa: ANN401
    """Set the default of one option in every command that has it.

    Raises:
        DataError: it takes no such value.
    """
    where = f"{path}: {key}"
    if isinstance(value, dict):
        _check_pairs(_entries_of(settings), where, value)
    for steps, option, bundles in settings:
        target = defaults
        for step in steps:
            target = target.setdefault(step, {})
        if isinstance(value, dict):
            target[option.name] = _pairs(bundles[option.name], value, path)
        else:
            target[option.name] = _value(option, where=where, value=value, path=path)


def _settings(command: Any, key: str, steps: tuple[str, ...] = ()) -> Iterator[OfCommand]:  # noqa: ANN401
    """Yield (names of commands, option, options that take pairs) for every command that has an option."""
    children = getattr(command, "commands", {})
    if not children and key in (options := options_of(command)):
        yield steps, options[key], bundles_of(command)
    for name, child in children.items():
        yield from _settings(child, key, (*steps, name))


def options_of(command: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the options of a command that a file can set, by long name without dashes."""
    options = {}
    for option in command.params:
        for name in (*option.opts, *option.secondary_opts):
            key = name.removeprefix("--")
            if key != name and key not in COMMAND_LINE_ONLY:
                options[key] = option
    return options


def _check_pairs(entries: list[Declared], where: str, table: Mapping[str, object]) -> None:
    """Check the table of a bundle: another command may have the bundle with other keys."""
    allowed = [entry for entry in entries if entry.key not in COMMAND_LINE_ONLY]
    for key, value in table.items():
        if not isinstance(value, bool | int | float | str):
            raise DataError(f"{where}.{key}: received {value!r}, expected a text, a number, true or false")
        from_pairs(allowed, [f"{key}={_text(value)}"], where)


def _pairs(entries: tuple[Declared, ...], table: Mapping[str, object], path: Path) -> list[str]:
    """Return KEY=VALUE for each entry of the table of a bundle that one command has."""
    keys = {entry.key for entry in entries}
    return [f"{key}={_beside(_text(value), path)}" for key, value in table.items() if key.replace("_", "-") in keys]


def _text(value: object) -> str:
    """Return a value as a person would write it after KEY=."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _value(option: Any, where: str, value: object, path: Path) -> object:  # noqa: ANN401
    if option.is_flag:
        if not isinstance(value, bool):
            raise DataError(f"{where}: received {value!r}, expected true or false")
        # a flag has a second name that says no
        is_positive = f"--{where.rpartition(' ')[2]}" in option.opts
        return value is is_positive
    if isinstance(value, bool) or not isinstance(value, str | int | float | list):
        raise DataError(f"{where}: received {value!r}, expected a text or a number")
    if isinstance(value, list) != option.multiple:
        raise DataError(f"{where}: expected {('a single value', 'a list')[option.multiple]}")
    if not isinstance(value, list):
        return _beside(str(value), path)
    return [_beside(str(item), path) for item in value]


def _beside(value: str, path: Path) -> str:
    """Return a value; a path of a file or folder beside the configuration file leads there from everywhere."""
    # only what looks like a path and is there: a name of a model or benchmark stays what it is
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
