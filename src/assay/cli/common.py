"""Options that every command has: -q, -v, --no-progress, --help-all; --format and --force where they have an effect.

`--help` shows what most people need; an option that is hidden there is shown by `--help-all`.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, replace
from itertools import takewhile, zip_longest
from typing import Annotated, Any

import typer
from rich.panel import Panel
from rich.table import Table

from assay.cli.groups import bundles_of
from assay.cli.options import OUTPUT, WRITTEN
from assay.cli.terminal import BILLS, OUTPUT_SETTINGS, Format, OutputSettings, Terminal
from assay.cli.typer_parts import command_of, function_of, is_option, refuse_unusable_texts
from assay.errors import DataError

WRITERS = frozenset(WRITTEN.values())
WIDEST_HELP = 120
"""Columns of the help in a pipe."""
ENDLESS = frozenset({"serve"})
"""Commands without a result: they run until they are stopped."""


def set_quiet(requested: bool) -> None:  # noqa: FBT001  the shape that typer calls back with
    """Print the answer and errors alone."""
    from assay.progress import REPORTING

    if requested:
        OUTPUT_SETTINGS.set(replace(OUTPUT_SETTINGS.get(), quiet=True))
        REPORTING.set(replace(REPORTING.get(), warnings=False, progress=False))


def set_verbose(requested: bool) -> None:  # noqa: FBT001
    """Print every table."""
    if requested:
        OUTPUT_SETTINGS.set(replace(OUTPUT_SETTINGS.get(), verbose=True))


def hide_progress(requested: bool) -> None:  # noqa: FBT001
    """Show no progress."""
    from assay.progress import REPORTING

    if requested:
        REPORTING.set(replace(REPORTING.get(), progress=False))


def set_format(context: typer.Context, form: Format | None) -> None:
    """Print in this format.

    Raises:
        DataError: the other option names another format, or the command has no such output.
    """
    # each option acts when it is read, so the later of --json and --format finds what the earlier one has set
    if form in BILLS and context.command.name != "trace":
        raise DataError(f"--format {form}: expected `assay trace`; {context.command_path} has no bill of materials")
    before = OUTPUT_SETTINGS.get().form
    if form is None:
        return
    if before not in (None, form):
        # they differ, so one of them is not json: --format named that one
        other = next(filter("json".__ne__, (form, before)))
        raise DataError(f"both --json and --format {other} were given; expected one of them")
    OUTPUT_SETTINGS.set(replace(OUTPUT_SETTINGS.get(), form=form))


def set_json(context: typer.Context, requested: bool) -> None:  # noqa: FBT001
    """Print JSON."""
    if requested:
        set_format(context, "json")


def set_force(requested: bool) -> None:  # noqa: FBT001
    """Replace files that exist."""
    if requested:
        OUTPUT_SETTINGS.set(replace(OUTPUT_SETTINGS.get(), force=True))


def check_named(file: str | None) -> None:
    """Do nothing: the file was read before the command line was parsed, see `named_file`."""


def named_file() -> str | None:
    """Return the configuration file that the command line names; None where it names none."""
    # before the parser runs, since the defaults that it starts with come from that file; behind "--" stand no options
    words = list(takewhile("--".__ne__, sys.argv[1:]))
    for word, following in zip_longest(words, words[1:]):
        if word == "--config":
            return following
        if word.startswith("--config="):
            return word.partition("=")[2]
    return None


def show_all(context: typer.Context, requested: bool) -> None:  # noqa: FBT001
    """Print the help with the rarely needed options and the keys of bundles, and stop."""
    # a shell that completes a line parses it too, and waits for names instead of a help text
    if not requested or context.resilient_parsing:
        return
    # a process may run the command again, so the options of a copy are changed
    whole = copy(context.command)
    whole.params = list(map(copy, whole.params))
    for option in filter(is_option, whole.params):
        option.hidden = False
    typer.echo(whole.get_help(context))
    console = Terminal()
    console.width = min(console.width, WIDEST_HELP)
    for name, entries in bundles_of(context.command).items():
        table = Table.grid(padding=(0, 2))
        for entry in entries:
            default = ""
            if entry.default not in (None, MISSING):
                default = f" (default: {str(entry.default).lower()})"
            table.add_row(entry.key, entry.setting.help + default)
        title = f"Keys of --{name.replace('_', '-')}"
        console.print(Panel(table, title=title, title_align="left", border_style="dim"))
    raise typer.Exit


def _common(kind: Any, names: str, effect: Callable[..., None], description: str, **details: Any) -> inspect.Parameter:  # noqa: ANN401
    """Return the parameter of an option that acts when it is read; `--help` hides it, unless the details say else."""
    option = typer.Option(
        *names.split(","),
        callback=effect,
        expose_value=False,
        help=description,
        rich_help_panel=OUTPUT,
        **{"hidden": True, "show_default": False} | details,
    )
    default = {bool: False}.get(kind)
    return inspect.Parameter(
        effect.__name__, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


OF_COMMANDS_WITH_FILES = (
    _common(bool, names="--force", effect=set_force, description="Replace files that exist.", is_eager=True),
)
OF_COMMANDS_WITH_RESULT = (
    _common(
        bool,
        names="--json",
        effect=set_json,
        description="Print the whole result as JSON, as --format json does.",
        hidden=False,
    ),
    _common(
        Format | None,
        names="--format",
        effect=set_format,
        description="table, json, csv (the first table), markdown, latex, or github (annotations of GitHub Actions); "
        "of `assay trace` also spdx and cyclonedx.",
        metavar="FORMAT",
    ),
)
OF_EVERY_COMMAND = (
    _common(bool, names="--quiet,-q", effect=set_quiet, description="Print the answer and errors alone."),
    _common(bool, names="--verbose,-v", effect=set_verbose, description="Print every table and note."),
    _common(
        str | None, names="--config", effect=check_named, description="Read this configuration file.", metavar="FILE"
    ),
    _common(bool, names="--no-progress", effect=hide_progress, description="Show no progress; warnings stay."),
    _common(
        bool,
        names="--help-all",
        effect=show_all,
        description="Show every option and stop.",
        is_eager=True,
        hidden=False,
    ),
)


def with_common_options(command: Any) -> Any:  # noqa: ANN401  typer publishes no type of a command
    """Add the common options to a command, or to every command below a group."""
    of_every, with_result, with_files = map(
        _parsed, (OF_EVERY_COMMAND, OF_COMMANDS_WITH_RESULT, OF_COMMANDS_WITH_FILES)
    )
    for leaf in leaves(command):
        # a command may have an option of that name itself, which then counts
        names = set().union(*(parameter.opts for parameter in leaf.params))
        added = of_every
        if leaf.name not in ENDLESS:
            added = [*with_result, *added]
        if not WRITERS.isdisjoint(map(function_of, leaf.params)):
            added = [*with_files, *added]
        for parameter in leaf.params:
            refuse_unusable_texts(parameter)
        # reading a signature is slow, a copy is not; each command needs its own, since a help text may change
        leaf.params += [copy(option) for option in added if not names & set(option.opts)]
    return command


def forget_options() -> None:
    """Begin a command line with the settings of a new process."""
    from assay.progress import REPORTING, Reporting

    OUTPUT_SETTINGS.set(OutputSettings())
    REPORTING.set(Reporting())


def leaves(command: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the commands without subcommands, below one command."""
    return (leaf for _, leaf in leaves_by_words(command))


def leaves_by_words(command: Any, words: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Yield what a user types after `assay`, and the command, for all without subcommands."""
    children = getattr(command, "commands", {})
    if not children:
        yield words, command
    for name, child in children.items():
        yield from leaves_by_words(child, f"{words} {name}".strip())


def _parsed(parameters: tuple[inspect.Parameter, ...]) -> list[Any]:
    """Return typer's options for parameters."""

    def declaration(**_: object) -> None:
        """Declare the parameters."""

    declaration.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as in `grouped`
    declaration.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(declaration)
    return list(command_of(app).params)
