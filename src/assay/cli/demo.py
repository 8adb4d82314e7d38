"""`assay demo`: the whole story on the shipped model, offline."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import OUTPUT, Access, AsJson, ModelOptions, Variants

if TYPE_CHECKING:
    from assay.datasets import Dataset
    from assay.testbed import Evaluation

MODEL = "builtin:small"


def demo_command(
    *,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Run folder, with the report.", rich_help_panel=OUTPUT)
    ] = Path("assay-demo"),
    per_dose: Annotated[
        int | None,
        typer.Option(min=10, help="At most so many functions of each dose, and 6 times as many never seen; else all."),
    ] = None,
    access: Access = "gray",
    variants: Variants = 0,
    live: Annotated[
        bool, typer.Option("--live/--no-live", help="Also plant, train and detect, here and now: about a minute.")
    ] = True,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the statistics cache.")] = False,
    as_json: AsJson = False,
) -> None:
    """Audit the shipped model for functions that it saw 0, 1, 2 … 32 times, and write the report.

    The model was trained by this project and every text that it saw is on record, so each score can be held against
    the truth. Nothing is downloaded; the functions are those of your own Python's standard library.

    **Example**: `assay demo --out my-demo`
    """
    from assay.cli.manifest import Stopwatch, manifest
    from assay.cli.present import present
    from assay.cli.requested import planned, specified
    from assay.cli.terminal import progress_bar
    from assay.scores import flagged
    from assay.testbed import demo_audit, demo_functions

    watch = Stopwatch()
    functions = demo_functions(per_dose)
    specs = specified(",".join(("one-pass", *flagged("demo"))) if access == "gray" else None, access, variants)
    todo, _ = planned(specs, access, ModelOptions(no_cache=no_cache), MODEL, None, None)
    with progress_bar(f"scoring {len(functions)} functions") as report:
        found = demo_audit(functions, todo, progress=report)
    planted = live_part(out) if live else None
    present(found, manifest(todo, functions, watch), out, as_json=as_json)
    if planted is not None and not as_json:
        show_live(planted)
    if not as_json:
        show_traced(functions, out)


def live_part(out: Path) -> "Evaluation | None":
    """Plant, train and detect in the run folder, where the report finds it; None where something for it is missing."""
    from assay.cli.terminal import warn
    from assay.cli.testbed_runs import watchers, written
    from assay.errors import MissingExtra
    from assay.pages import LIVE as FOLDER
    from assay.testbed import LIVE, run

    try:
        found = run(out / FOLDER, LIVE, watchers())
    except MissingExtra as absent:  # the rest of the demonstration needs no training
        warn(f"{absent}; the live part was left out")
        return None
    written(out / FOLDER, found)
    return found


def show_live(found: "Evaluation") -> None:
    """What was planted, trained and detected, on standard output."""
    from rich.console import Console

    from assay.pages import auroc_table, rich_table

    console = Console()
    console.print("\nPlanted, trained and detected on this machine:", style="bold")
    console.print(rich_table(auroc_table(found, "all")))


def show_traced(functions: "Dataset", out: Path) -> None:
    """A function under other names, traced back to its place, on standard output and as files to go on with."""
    from assay.experiments import traced_function

    index = out / "functions.index"
    found = traced_function(functions.samples, index)
    if found is None:
        return
    (out / "renamed.py").write_text(found.text, "utf-8")
    typer.echo(
        f"\nTraced: {found.origin}, its {found.renamed} names replaced, among {found.documents:,} functions. Found:"
    )
    for rank, match in enumerate(found.trace.matches, 1):
        sure = "no confidence measured" if match.confidence is None else f"confidence {match.confidence:.3f}"
        typer.echo(f"  {rank}. {match.name}: {match.containment:.0%} of it, {sure}, by {match.channel}")
    typer.echo(f"Again: assay trace {out / 'renamed.py'} --index {index}")
