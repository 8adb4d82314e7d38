"""The command `assay`."""

import gc
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from assay import __version__
from assay.cli.annotate import annotate_command
from assay.cli.audit import audit_command
from assay.cli.authorship import authorship_app
from assay.cli.benchmarks import benchmarks_app
from assay.cli.cache import cache_app
from assay.cli.calibrate import calibrate_command
from assay.cli.calibrate_index import calibrate_index_command
from assay.cli.check import check_command
from assay.cli.common import forget_options, named_file, with_common_options
from assay.cli.config import config_command
from assay.cli.configuration import read_configuration
from assay.cli.demo import demo_command
from assay.cli.detect import detect_command
from assay.cli.frequencies import frequencies_command
from assay.cli.index import index_app
from assay.cli.options import DATA, MODEL, OUTPUT
from assay.cli.pairs import pairs_command
from assay.cli.refusals import as_refusals, check_current_folder, choices, in_one_line, refusal
from assay.cli.release import release_app
from assay.cli.report import report_command
from assay.cli.scan import scan_command
from assay.cli.score import score_command
from assay.cli.serve import serve_command
from assay.cli.terminal import echo
from assay.cli.trace import trace_command
from assay.cli.typer_parts import annotation_of, command_of, hide_type, is_argument, is_option
from assay.cli.unseen import unseen_app
from assay.errors import AssayError, DataError
from assay.escaping import visible
from assay.guard import be_frugal
from assay.plug_ins import PlugIns

BAD_INPUT = 2
INTERNAL_ERROR = 70
"""An error of assay itself: the number that sysexits.h has for it."""
INTERRUPTED, SIGNALLED = 130, 128
CONTINUED = "interrupted; run the same command again to continue from what it has kept"

METAVARS: dict[object, str] = {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}
"""Type of an option → its name in the help; a choice shows its values, a flag nothing."""

LONGEST_METAVAR = 34
"""Characters of the choices of an option that the help shows beside its name."""
HELP = ["-h", "--help"]
ORDER_OF_PANELS = {DATA: 0, MODEL: 1, OUTPUT: 2}
"""Panels of the help that follow those of a command's own options, in this order."""

BEGINNING, RESEARCH = "Start here", "Research"
"""Panels of `assay --help` of the first command, and of the last."""

app = typer.Typer(
    name="assay",
    help="Had the model seen this benchmark, and where does this code come from? Checked on ground truth.",
    epilog="Start with: `assay demo`",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    # `main` prints one line for an error, and keeps the traceback in a file
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP},
)
PANELS: dict[str, tuple[tuple[str, Any], ...]] = {
    "Had the model seen this benchmark?": (
        ("audit", audit_command),
        ("unseen", unseen_app),
        ("release", release_app),
        ("calibrate", calibrate_command),
        ("report", report_command),
        ("scan", scan_command),
        ("annotate", annotate_command),
    ),
    "Where does this code come from?": (
        ("index", index_app),
        ("trace", trace_command),
        ("check", check_command),
        ("pairs", pairs_command),
        ("serve", serve_command),
    ),
    "Who wrote it?": (("detect", detect_command), ("authorship", authorship_app)),
    "Benchmarks, settings, stores": (("benchmarks", benchmarks_app), ("config", config_command), ("cache", cache_app)),
    RESEARCH: (("score", score_command), ("frequencies", frequencies_command)),
}
"""Panel of `assay --help` → its commands, a function each, and groups of commands, a typer app each."""
index_app.command("calibrate")(calibrate_index_command)
app.command("demo", rich_help_panel=BEGINNING)(demo_command)
for panel, commands in PANELS.items():
    for word, command in commands:
        if isinstance(command, typer.Typer):
            app.add_typer(command, rich_help_panel=panel)
        else:
            app.command(word, rich_help_panel=panel)(command)

RESERVED: frozenset[str] = frozenset(
    [entry.name or "" for entry in app.registered_commands] + [group.name or "" for group in app.registered_groups]
)
COMMANDS: PlugIns[typer.Typer] = PlugIns(
    group="assay.commands",
    accepts=lambda loaded: isinstance(loaded, typer.Typer),
    description="a typer app with commands",
    reserved=lambda: RESERVED,
)
"""Commands of other distributions, as `lab` of assay-lab."""


def show_version(requested: bool) -> None:  # noqa: FBT001  the shape that typer calls back with
    """Print the version and stop."""
    if requested:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def assay(
    *,
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Had the model seen this benchmark, and where does this code come from? Checked on ground truth."""


def with_plain_types(command: Any) -> Any:  # noqa: ANN401  typer publishes no type of a command
    """Replace the names of Python types in the help of a command and its subcommands, and put its panels in order."""
    help_option = command.get_help_option(typer.Context(command, help_option_names=HELP))
    # a group has only --help, which stays visible there
    if not hasattr(command, "commands"):
        # a stable sort: within a panel the options keep their order
        command.params.sort(key=_panel_order)
        if any(_panel(option) == OUTPUT for option in command.params):
            help_option.rich_help_panel = OUTPUT
            help_option.hidden = True
    for option in (*command.params, help_option):
        if option.name in {"install_completion", "show_completion"}:
            option.help, option.hidden = "Complete names in this shell, from now on.", option.name == "show_completion"
        _put_default_into_help(option)
        if is_option(option) and option.metavar is None:
            option.metavar = _metavar(option)
        elif is_argument(option):
            # the usage line marks a repeated argument itself
            if option.metavar and option.nargs != 1:
                option.metavar = option.metavar.removesuffix("…").rstrip()
            hide_type(option)
    for child in getattr(command, "commands", {}).values():
        with_plain_types(child)
    return command


def _put_default_into_help(option: Any) -> None:  # noqa: ANN401
    """Name the default of an option in its sentence: typer gives it a line of its own."""
    default = option.default
    if isinstance(default, list):
        default = ",".join(default)
    if option.show_default is True and default not in (None, "") and not isinstance(default, bool):
        option.help, option.show_default = f"{option.help} (default: {default})", False


def _panel_order(option: Any) -> int:  # noqa: ANN401
    return ORDER_OF_PANELS.get(_panel(option) or "", -1)


def _panel(option: Any) -> str | None:  # noqa: ANN401
    return getattr(option, "rich_help_panel", None)


def _metavar(option: Any) -> str:  # noqa: ANN401
    values = choices(option)
    if len("|".join(values)) > LONGEST_METAVAR:
        option.help = f"{option.help} One of {', '.join(values)}."
        return "NAME"
    annotation = annotation_of(option)
    names = filter(None, map(METAVARS.get, (annotation, *get_args(annotation))))
    return "|".join(values) or next(names, "")


@cache
def add_plugged_commands() -> None:
    """Add the commands of other distributions; not on import, so that one that cannot be imported is one line.

    Raises:
        PlugInError: one cannot be imported, or is none.
    """
    for plugged in COMMANDS:
        app.add_typer(COMMANDS[plugged], name=plugged, rich_help_panel=RESEARCH)


@cache
def command_line() -> Any:  # noqa: ANN401
    """Return the whole command, with the options that every command has and with plain names of types; built once."""
    add_plugged_commands()
    return with_plain_types(with_common_options(command_of(app)))


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """End with 0 where nobody reads our output any more, as with `| head`."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        # rich ends with 1 there, which would say that a rule fired
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        # Python flushes the stream once more when it ends (library reference, "Note on SIGPIPE")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def internal_error(error: Exception) -> str:
    """Write the traceback of an error that nobody expected to a file, and return the line that names both."""
    # one line for the user; whoever mends the fault needs the whole traceback
    with tempfile.NamedTemporaryFile("w", prefix="assay-error-", suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write("".join(traceback.format_exception(error)))
    reason = visible(in_one_line(f"{type(error).__name__}: {error}"))
    return f"this is a fault of assay, not of the input: {reason}; the traceback is in {file.name}"


def configured(command: Any) -> Mapping[str, Any]:  # noqa: ANN401
    """Return the defaults of options from a configuration file, and print which file it is.

    Raises:
        DataError: the file is wrong, or was found and sets more than form; `assay config` shows the latter.
    """
    # the first is about the file, which may be refused; the second reads that of the base commit
    if sys.argv[1:3] == ["config", "allow"] or sys.argv[1:2] == ["check"]:
        return {}
    file = read_configuration(command, named=named_file())
    if file.refused and sys.argv[1:2] != ["config"]:
        raise DataError(file.refused)
    for path in file.skipped:
        echo(f"assay: note: {path} belongs to another user and was not read", err=True)
    if file.path is not None and not {"-q", "--quiet"} & set(sys.argv):
        echo(f"assay: note: {file.refused or f'options from {file.path}'}", err=True)
    if file.refused:
        return {}
    return file.defaults


def stop_at_sigterm() -> None:
    """End as with Ctrl-C where this process, and none that it forked, is told to stop."""
    # a forked process inherits the handler, and must not speak for this one
    own = os.getpid()

    def stop(number: int, _: object) -> None:
        if os.getpid() == own:
            complain(CONTINUED)
        sys.exit(SIGNALLED + number)

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, stop)


def open_closed_streams() -> None:
    """Open each standard stream that the caller closed (`>&-`): the next file would get its number and its lines."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # the system gives the lowest number that is free
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def complain(line: str) -> None:
    """Print a line to standard error; where it is full or gone, the exit code alone says what happened."""
    with suppress(OSError):
        sys.stderr.write(f"assay: {line}\n")
        sys.stderr.flush()


def main() -> None:
    """Run the command line.

    Exit codes: 0, 1 (a --fail-on rule fired), 2 (bad input, one line), 3 (a --fail-on rule cannot be decided), 70 (an
    error of assay itself, one line), 130 (Ctrl-C), 143 (SIGTERM).
    """
    open_closed_streams()
    stop_at_sigterm()
    be_frugal()
    # no Python process below imports from the current folder
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    try:
        with reader_may_leave(), as_refusals():
            check_current_folder()
            forget_options()
            command = command_line()
            defaults = configured(command)
            # not standalone: otherwise the parser prints its errors in its own words and ends with its own codes
            code = command(prog_name="assay", standalone_mode=False, default_map=defaults)
            # here and not while Python ends, where an error of the disk would become a traceback and exit code 120
            sys.stdout.flush()
    except (AssayError, typer.TyperException) as error:
        message = str(error)
        if isinstance(error, typer.TyperException):
            message = refusal(error)
        # the message of this error is the help
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.stdout.write(message)
        elif message:
            complain(f"error: {visible(in_one_line(message))}")
        sys.exit(BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001  a fault of ours must not end with 1, which says that a rule fired
        complain(f"error: {internal_error(error)}")
        sys.exit(INTERNAL_ERROR)
    # typer turns Ctrl-C into this code before it gets here
    if code == INTERRUPTED:
        complain(CONTINUED)
    # the collector would walk all modules once more while Python ends: half a second after torch
    gc.freeze()
    if not isinstance(code, int):
        code = 0
    sys.exit(code)


if __name__ == "__main__":
    main()
