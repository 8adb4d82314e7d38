"""`assay config`: every value that holds, and where it comes from."""

import os
from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.common import leaves_by_words, named_file
from assay.cli.configuration import allow, options_of, read_configuration
from assay.cli.groups import bundles_of
from assay.cli.terminal import echo
from assay.errors import DataError, did_you_mean
from assay.settings import from_pairs

VARIABLES = ("ASSAY_CACHE", "ASSAY_CONFIG", "ASSAY_SCANCODE", "HF_HOME", "HF_HUB_OFFLINE", "HF_ENDPOINT")
SECRETS = ("ASSAY_TOKEN", "OPENAI_API_KEY", "QDRANT_API_KEY", "HF_TOKEN")
"""Environment variables that a command reads; of a secret only that it is set is shown."""


def config_command(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND …", help="A command, such as `index build`; without, all.")
    ] = None,
) -> None:
    """Print the settings that hold, and where each comes from.

    Of one command all are shown, without one those of the file and the environment. `assay config allow` lets the file
    that is found here, or a file named after it, set everything, until it changes.

    **Example**: `assay config audit`
    """
    if command and command[0] == "allow":
        path = allow(Path(command[1]) if command[1:] else None)
        echo(f"assay: note: {path} may set everything, until it changes", err=True)
        return
    from assay.cli.present import show
    from assay.reports import Column, Report, Row, Table

    root = context.find_root().command
    words = " ".join(command or ())
    leaf_of = dict(leaves_by_words(root))
    chosen = {name: leaf for name, leaf in leaf_of.items() if f"{name} ".startswith(f"{words} ") or not words}
    if not chosen:
        raise DataError(f"received {words!r}, expected a command of assay{did_you_mean(words, leaf_of)}")
    file = read_configuration(root, named=named_file())
    origin = f"{file.path}{', refused' if file.refused else ''}"
    rows = []
    for name, leaf in chosen.items():
        for setting, value, source in _values(leaf, _below(file.defaults, name), origin):
            if words or source != "default":
                rows.append((name, setting, value, source))
    rows += [("", name, os.environ[name], "environment") for name in VARIABLES if name in os.environ]
    rows += [("", name, "(set)", "environment") for name in SECRETS if os.environ.get(name)]
    titles, entry_titles = ("command", "setting", "value", "from"), ("kind", "name", "object", "distribution")
    plugged = sorted(set(_plugged()))
    report = Report(
        title="Configuration",
        statement=f"Configuration file: {origin if file.path else 'none'}",
        notes=(file.refused,) if file.refused else (),
        tables=tuple(
            Table(name, title, tuple(map(Column, columns)), tuple(map(Row, lines)))
            for name, title, columns, lines in (
                ("settings", "Settings", titles, rows),
                ("plug_ins", "Plug-ins", entry_titles, () if words else plugged),
            )
            if lines
        ),
        data={
            "file": file.path and str(file.path),
            "refused": file.refused,
            "settings": [dict(zip(titles, row, strict=True)) for row in rows],
            "plug_ins": [dict(zip(entry_titles, row, strict=True)) for row in plugged],
        },
    )
    show(report)


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
        if name in bundles:
            named = from_pairs(bundles[name], in_file.get(name, ()), f"--{key}")
            for entry in bundles[name]:
                if entry.name in named or entry.default is not None:
                    source = path if entry.name in named else "default"
                    yield f"{key}.{entry.key}", _shown(named.get(entry.name, entry.default)), source
        elif name in in_file or option.default is not None:
            yield key, _shown(in_file.get(name, option.default)), path if name in in_file else "default"


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
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
