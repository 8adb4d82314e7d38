"""Options that every command has: -q, -v, --no-progress, and --format and --force where they have an effect."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

import typer
import typer.main

from assay.cli.options import OUTPUT, WRITTEN
from assay.cli.terminal import OUTPUT_SETTINGS, Format, OutputSettings
from assay.errors import DataError

ENDLESS = frozenset({"serve"})
"""Commands without a result: they run until they are stopped."""


def set_quiet(requested: bool) -> None:  # noqa: FBT001  the shape that typer calls back with
    """Print the answer and errors alone."""
    from assay.api.progress import REPORTING

    if requested:
        OUTPUT_SETTINGS.set(replace(OUTPUT_SETTINGS.get(), quiet=True))
        REPORTING.set(replace(REPORTING.get(), warnings=False, progress=False))


def set_verbose(requested: bool) -> None:  # noqa: FBT001
    """Print every table."""
    if requested:
        OUTPUT_SETTINGS.set(replace(OUTPUT_SETTINGS.get(), verbose=True))


def hide_progress(requested: bool) -> None:  # noqa: FBT001
    """Show no progress."""
    from assay.api.progress import REPORTING

    if requested:
        REPORTING.set(replace(REPORTING.get(), progress=False))


def set_format(form: Format | None) -> None:
    """Print in this format.

    Raises:
        DataError: the other option names another format.
    """
    before = OUTPUT_SETTINGS.get().form
    if form is not None and before not in (None, form):
        raise DataError(
            f"both --json and --format {before if form == 'json' else form} were given; expected one of them"
        )
    if form is not None:
        OUTPUT_SETTINGS.set(replace(OUTPUT_SETTINGS.get(), form=form))


def set_json(requested: bool) -> None:  # noqa: FBT001
    """Print JSON."""
    if requested:
        set_format("json")


def set_force(requested: bool) -> None:  # noqa: FBT001
    """Replace files that exist."""
    if requested:
        OUTPUT_SETTINGS.set(replace(OUTPUT_SETTINGS.get(), force=True))


def _of_every_command(
    *,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            callback=set_quiet,
            expose_value=False,
            help="Print the answer and errors alone.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            callback=set_verbose,
            expose_value=False,
            help="Print every table and note.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    no_progress: Annotated[
        bool,
        typer.Option(
            "--no-progress",
            callback=hide_progress,
            expose_value=False,
            help="Show no progress; warnings stay.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
) -> None:
    """Declare the options of every command."""


def _of_commands_with_result(
    *,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            callback=set_json,
            expose_value=False,
            help="Print the whole result as JSON, as --format json does.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    output_format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            callback=set_format,
            expose_value=False,
            metavar="FORMAT",
            help="table, json, csv (the first table), markdown, latex, or github (annotations of GitHub Actions).",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Declare the options of every command that prints a result."""


def _of_commands_with_files(
    *,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            callback=set_force,
            expose_value=False,
            is_eager=True,
            help="Replace files that exist.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
) -> None:
    """Declare the option of every command that writes files which the user names."""


def with_common_options(command: Any) -> Any:  # noqa: ANN401  typer publishes no type of a command
    """Add the common options to a command, or to every command below a group."""
    for leaf in leaves(command):
        names = {name for parameter in leaf.params for name in parameter.opts}
        added = _parameters(_of_every_command)
        if leaf.name not in ENDLESS:
            added = [*_parameters(_of_commands_with_result), *added]
        if any(getattr(option.callback, "__wrapped__", None) in WRITTEN.values() for option in leaf.params):
            added = [*_parameters(_of_commands_with_files), *added]
        leaf.params += [option for option in added if not names & set(option.opts)]
    return command


def forget_options() -> None:
    """Begin a command line with the settings of a new process."""
    from assay.api.progress import REPORTING, Reporting

    OUTPUT_SETTINGS.set(OutputSettings())
    REPORTING.set(Reporting())


def leaves(command: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the commands without subcommands, below one command."""
    children = getattr(command, "commands", {})
    if not children:
        yield command
    for child in children.values():
        yield from leaves(child)


def _parameters(declaration: Any) -> list[Any]:  # noqa: ANN401
    app = typer.Typer(add_completion=False)
    app.command()(declaration)
    return list(typer.main.get_command(app).params)
