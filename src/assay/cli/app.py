"""The command `assay`."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
import typer.main
from typer.core import TyperArgument, TyperOption

from assay import __version__
from assay.cli.annotate import annotate_command
from assay.cli.audit import audit_command
from assay.cli.authorship import authorship_app
from assay.cli.benchmarks import benchmarks_app
from assay.cli.cache import cache_app
from assay.cli.calibrate import calibrate_command
from assay.cli.calibrate_index import calibrate_index_command
from assay.cli.common import forget_options, with_common_options
from assay.cli.compare import compare_command
from assay.cli.configuration import read_configuration
from assay.cli.dataset import dataset_command
from assay.cli.demo import demo_command
from assay.cli.detect import detect_command
from assay.cli.frequencies import frequencies_app
from assay.cli.index import index_app
from assay.cli.options import DATA, MODEL, OUTPUT, SPENDING
from assay.cli.refusals import as_refusals, choices, in_one_line, refusal
from assay.cli.report import report_command
from assay.cli.score import score_command
from assay.cli.serve import serve_command
from assay.cli.statement import statement_command
from assay.cli.study import study_app
from assay.cli.terminal import echo
from assay.cli.testbed import testbed_app
from assay.cli.trace import trace_command
from assay.cli.unseen import unseen_app
from assay.errors import AssayError
from assay.escaping import visible

BAD_INPUT = 2
INTERRUPTED = 130

METAVARS: dict[object, str] = {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}
"""Type of an option → its name in the help; a choice shows its values, a flag nothing."""

LONGEST_METAVAR = 34
"""Characters of the choices of an option that the help shows beside its name."""
HELP = ["-h", "--help"]
LAST_PANELS = (DATA, MODEL, SPENDING, OUTPUT)
"""Panels of the help that follow those of a command's own options, in this order."""

LEAKAGE = "Leakage: had the model seen it?"
PROVENANCE = "Provenance: whose code is it?"
AUTHORSHIP = "Authorship: who wrote it?"
TRUTH = "Ground truth, and the store"

app = typer.Typer(
    name="assay",
    help="Had the model seen this benchmark, and where does this code come from? Checked on ground truth.",
    epilog="Start with: `assay demo`",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP},
)
app.command("demo")(demo_command)
app.command("audit", rich_help_panel=LEAKAGE)(audit_command)
app.command("dataset", rich_help_panel=LEAKAGE)(dataset_command)
app.command("calibrate", rich_help_panel=LEAKAGE)(calibrate_command)
app.command("score", rich_help_panel=LEAKAGE)(score_command)
app.command("report", rich_help_panel=LEAKAGE)(report_command)
app.command("compare", rich_help_panel=LEAKAGE)(compare_command)
app.command("statement", rich_help_panel=LEAKAGE)(statement_command)
app.command("annotate", rich_help_panel=LEAKAGE)(annotate_command)
app.add_typer(benchmarks_app, rich_help_panel=LEAKAGE)
app.add_typer(frequencies_app, rich_help_panel=LEAKAGE)
app.add_typer(unseen_app, rich_help_panel=LEAKAGE)
app.add_typer(study_app, rich_help_panel=LEAKAGE)
index_app.command("calibrate")(calibrate_index_command)
app.add_typer(index_app, rich_help_panel=PROVENANCE)
app.command("trace", rich_help_panel=PROVENANCE)(trace_command)
app.command("serve", rich_help_panel=PROVENANCE)(serve_command)
app.command("detect", rich_help_panel=AUTHORSHIP)(detect_command)
app.add_typer(authorship_app, rich_help_panel=AUTHORSHIP)
app.add_typer(testbed_app, rich_help_panel=TRUTH)
app.add_typer(cache_app, rich_help_panel=TRUTH)


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
    if not hasattr(command, "commands"):
        command.params.sort(key=_panel_order)
        if any(_panel(option) == OUTPUT for option in command.params):
            help_option.rich_help_panel = OUTPUT
    for option in (*command.params, help_option):
        if isinstance(option, TyperOption) and option.metavar is None:
            option.metavar = _metavar(option)
        elif isinstance(option, TyperArgument):
            if option.metavar and option.nargs != 1:  # the usage line marks a repeated argument itself
                option.metavar = option.metavar.removesuffix("…").rstrip()
            setattr(option, "display_type_rich", no_type)  # noqa: B010  typer prints no metavar for an argument's type
    for child in getattr(command, "commands", {}).values():
        with_plain_types(child)
    return command


def _panel_order(option: Any) -> int:  # noqa: ANN401
    panel = _panel(option)
    return LAST_PANELS.index(panel) if panel in LAST_PANELS else -1


def _panel(option: Any) -> str | None:  # noqa: ANN401
    return getattr(option, "rich_help_panel", None)


def _metavar(option: Any) -> str:  # noqa: ANN401
    values = choices(option)
    if len("|".join(values)) > LONGEST_METAVAR:
        option.help = f"{option.help} One of {', '.join(values)}."
        return "NAME"
    annotation = option.type_descriptor.annotation
    inner = [kind for kind in (annotation, *get_args(annotation)) if kind in METAVARS]
    return "|".join(values) or (METAVARS[inner[0]] if inner else "")


def command_line() -> Any:  # noqa: ANN401
    """Return the whole command, with the options that every command has and with plain names of types."""
    return with_plain_types(with_common_options(typer.main.get_command(app)))


def no_type(**_: object) -> None:
    """Return no type for an argument: its name in the help describes it."""


def main() -> None:
    """Run the command line.

    Exit codes: 0, 1 (a --fail-on rule fired), 2 (bad input, one line), 3 (a --fail-on rule cannot be decided), 130
    (Ctrl-C).
    """
    try:
        with as_refusals():
            forget_options()
            command = command_line()
            configuration = read_configuration(command)
            if configuration.path is not None and not {"-q", "--quiet"} & set(sys.argv):
                echo(f"assay: note: options from {configuration.path}", err=True)
            code = command(prog_name="assay", standalone_mode=False, default_map=configuration.defaults)
            sys.stdout.flush()
    except (AssayError, typer.TyperException) as error:
        message = refusal(error) if isinstance(error, typer.TyperException) else str(error)
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.stdout.write(message)
        elif message:
            sys.stderr.write(f"assay: error: {visible(in_one_line(message))}\n")
        sys.exit(BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    if code == INTERRUPTED:  # typer turns Ctrl-C into this code before it gets here
        sys.stderr.write("assay: interrupted; computed values are cached, run the same command again to continue\n")
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
