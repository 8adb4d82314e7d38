"""`assay demo`: the whole story on the shipped model, offline."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import SCORES, AccessOption, Force, output_folder

if TYPE_CHECKING:
    from assay.datasets import Dataset

MODEL = "builtin:small"
DEFAULT_FOLDER = Path("assay-demo")


def demo_command(
    *,
    out: Annotated[Path | None, output_folder("Run folder, with the report (assay-demo).")] = None,
    per_dose: Annotated[
        int | None,
        typer.Option(min=10, help="At most so many functions of each dose, and 6 times as many never seen; else all."),
    ] = None,
    access: AccessOption = "gray",
    variants: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Rewrite each function N times with other names, and compare it with the rewritings.",
            rich_help_panel=SCORES,
        ),
    ] = 0,
    live: Annotated[
        bool, typer.Option("--live/--no-live", help="Also plant, train and detect, here and now: about a minute.")
    ] = True,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the statistics cache.")] = False,
    force: Force = False,
) -> None:
    """Audit the shipped model for functions that it saw 0, 1, 2 … 32 times, and write the report.

    The model was trained by this project and every text that it saw is on record, so each score can be compared with
    the truth. Nothing is downloaded; the functions are those of your own Python's standard library.

    **Example**: `assay demo --out my-demo`
    """
    from assay.api import Opener, ScoreSelection, Stopwatch, manifest, progress_bar
    from assay.cli.present import chosen_format, present
    from assay.cli.terminal import OUTPUT_SETTINGS
    from assay.leakage import RunFolder
    from assay.scores import flagged
    from assay.testbed import demo_audit, demo_functions

    watch = Stopwatch()
    settings = {"demo": {"per_dose": per_dose, "access": access, "variants": variants, "live": live}}
    folder = RunFolder(out or DEFAULT_FOLDER, numbered=out is None, force=force)
    folder.check(settings)
    functions = demo_functions(per_dose)
    scores = ",".join(("one-pass", *flagged("demo"))) if access == "gray" else None
    plan, _ = ScoreSelection(scores, access, variants).plan(MODEL, Opener(cache=not no_cache))
    with folder.running(settings), progress_bar(f"scoring {len(functions)} functions") as report:
        measured = demo_audit(functions, plan, progress=report)
    if live:
        live_part(folder.path)
    present(measured, manifest(plan, functions, watch, {}), folder)
    if chosen_format() == "table" and not OUTPUT_SETTINGS.get().quiet:
        show_traced(functions, folder.path)


def live_part(out: Path) -> None:
    """Plant, train and detect in the run folder, where the report finds it; warn where a package is missing for it."""
    from assay.api import warn
    from assay.cli.testbed_runs import watchers, write_result
    from assay.errors import MissingExtra
    from assay.testbed import LIVE, LIVE_FOLDER, run

    try:
        evaluation = run(out / LIVE_FOLDER, LIVE, watchers())
    except MissingExtra as error:  # the rest of the demonstration needs no training
        warn(f"{error}; the live part was left out")
        return
    write_result(out / LIVE_FOLDER, evaluation)


def show_traced(functions: "Dataset", out: Path) -> None:
    """Trace a function under other names back to its place; print it, and leave the files to repeat it with."""
    from assay.cli.terminal import echo
    from assay.experiments import traced_function
    from assay.files import write_text

    index = out / "functions.index"
    renamed = traced_function(functions.samples, index)
    if renamed is None:
        return
    write_text(out / "renamed.py", renamed.text)
    echo("")
    echo(
        f"Traced: {renamed.origin}, its {renamed.renamed} names replaced, among {renamed.documents:,} functions. "
        "Matches:"
    )
    for rank, match in enumerate(renamed.trace.matches, 1):
        confidence = "no confidence measured" if match.confidence is None else f"confidence {match.confidence:.3f}"
        echo(f"  {rank}. {match.name}: {match.containment:.0%} of it, {confidence}, by {match.channel}")
    echo(f"Again: assay trace {out / 'renamed.py'} --index {index}")
