"""`assay config`: every value that holds, and where it comes from."""

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.common import leaves_by_words, named_file
from assay.cli.configuration import allow, options_of, read_configuration
from assay.cli.groups import bundles_of
from assay.cli.terminal import echo
from assay.errors import DataError, did_you_mean
from assay.settings import from_pairs

if TYPE_CHECKING:
    from assay.reports import Table

VARIABLES = ("ASSAY_CACHE", "ASSAY_CONFIG", "ASSAY_SCANCODE", "HF_HOME", "HF_HUB_OFFLINE", "HF_ENDPOINT")
SECRETS = ("ASSAY_TOKEN", "OPENAI_API_KEY", "QDRANT_API_KEY", "HF_TOKEN")
"""Environment variables that a command reads; of a secret only that it is set is shown."""
TITLES, PARTS = ("command", "setting", "value", "from"), ("kind", "name", "object", "distribution")
"""Columns of the tables of settings and of plug-ins."""


def config_command(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND …", help="A command, such as `index build`.")
    ] = None,
) -> None:
    """Print the settings that hold, and where each comes from.

    With a COMMAND, all of its settings are shown; without one, those that the file and the environment set.
    `assay config allow` lets the file that is found here set everything, until the file changes; `allow FILE`, a file.

    **Example**: `assay config audit`
    """
    # no subcommand: the words behind `config` name a command whose settings are shown
    if command and command[0] == "allow":
        if len(command) > len(("allow", "FILE")):
            raise DataError(f"received {len(command) - 1} files, expected one: `assay config allow FILE`")
        path = allow(Path(command[1]) if command[1:] else None)
        echo(f"assay: note: {path} may set everything, until it changes", err=True)
        return
    from assay.cli.present import show
    from assay.reports import Report

    root = context.find_root().command
    words = " ".join(command or ())
    file = read_configuration(root, named=named_file())
    origin = "none"
    if file.path:
        origin = f"{file.path}{', refused' * bool(file.refused)}"
    rows = [*_rows(_chosen(root, words), file.defaults, origin, whole=bool(words)), *_of_environment()]
    # a distribution may lie on the path twice
    plugged = sorted(set(_plugged()))
    tables = []
    if rows:
        tables.append(_table("settings", "Settings", TITLES, rows=rows))
    # of one command its settings alone are shown
    if plugged and not words:
        tables.append(_table("plug_ins", "Plug-ins", PARTS, rows=plugged))
    report = Report(
        title="Configuration",
        statement=f"Configuration file: {origin}",
        notes=tuple(filter(None, [file.refused])),
        tables=tuple(tables),
        data={
            "file": file.path and str(file.path),
            "refused": file.refused,
            "settings": [dict(zip(TITLES, row, strict=True)) for row in rows],
            "plug_ins": [dict(zip(PARTS, row, strict=True)) for row in plugged],
        },
    )
    show(report)


def _table(name: str, title: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> "Table":
    from assay.reports import Column, Row, Table

    return Table(name, title, columns=tuple(map(Column, columns)), rows=tuple(map(Row, rows)))


def _chosen(root: Any, words: str) -> Mapping[str, Any]:  # noqa: ANN401  typer publishes no type of a command
    """Return the commands that these words name, by all of their words.

    Raises:
        DataError: there is none.
    """
    leaf_of = dict(leaves_by_words(root))
    if not words:
        return leaf_of
    # with the space, so that only whole words count
    chosen = {name: leaf for name, leaf in leaf_of.items() if f"{name} ".startswith(f"{words} ")}
    if not chosen:
        raise DataError(f"received {words!r}, expected a command of assay{did_you_mean(words, leaf_of)}")
    return chosen


def _rows(
    commands: Mapping[str, Any], defaults: Mapping[str, Any], origin: str, *, whole: bool
) -> Iterator[tuple[str, str, str, str]]:
    """Yield (command, setting, value, source) of some commands; settings with their defaults only as a whole."""
    for name, leaf in commands.items():
        for setting, value, source in _values(leaf, _below(defaults, name), origin):
            if whole or source != "default":
                yield name, setting, value, source


def _of_environment() -> Iterator[tuple[str, str, str, str]]:
    """Yield a row for each variable that is set."""
    for name in filter(os.environ.__contains__, VARIABLES):
        yield "", name, os.environ[name], "environment"
    # an empty secret counts as none
    for name in filter(os.environ.get, SECRETS):
        yield "", name, "(set)", "environment"


def _below(defaults: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the defaults of one command from those of all."""
    for step in name.split():
        defaults = defaults.get(step, {})
    return defaults


def _values(leaf: Any, in_file: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:  # noqa: ANN401
    """Yield (setting, value, source) of one command; a key of a bundle is a setting."""
    bundles = bundles_of(leaf)
    options = {option.name: (key, option) for key, option in options_of(leaf).items()}
    for name, (key, option) in options.items():
        if name not in bundles:
            yield from _value(key, (name, option.default), in_file=in_file, path=path)
            continue
        named = from_pairs(bundles[name], in_file.get(name, ()), f"--{key}")
        for entry in bundles[name]:
            yield from _value(f"{key}.{entry.key}", (entry.name, entry.default), in_file=named, path=path)


def _value(
    shown: str, setting: tuple[str, object], in_file: Mapping[str, Any], path: str
) -> Iterator[tuple[str, str, str]]:
    """Yield the row of one setting (name and default); none for one that is neither set nor has a default."""
    name, default = setting
    if name in in_file:
        yield shown, _shown(in_file[name]), path
    elif default is not None:
        yield shown, _shown(default), "default"


def _plugged() -> Iterator[tuple[str, str, str, str]]:
    """Yield group, name, object and distribution of every entry point that plugs into this project."""
    for distribution in distributions():
        for entry in distribution.entry_points:
            if entry.group.startswith("assay."):
                yield entry.group, entry.name, entry.value, f"{distribution.name} {distribution.version}"


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)
