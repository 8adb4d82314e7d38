"""`assay demo`: the whole story on the shipped model, offline."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from assay.cli.groups import grouped
from assay.cli.options import Force, output_folder
from assay.errors import DataError
from assay.settings import Setting, Settings

if TYPE_CHECKING:
    from assay.datasets import Dataset
    from assay.models import ModelSettings

MODEL = "builtin:small"
DEFAULT_FOLDER = Path("assay-demo")


@dataclass(frozen=True, slots=True)
class DemoSettings(Settings):
    """Extent of the demonstration."""

    per_dose: Annotated[
        int | None,
        Setting(
            "At most so many functions of each dose, and 6 times as many never seen; else all.", least=10, common=True
        ),
    ] = None
    access: Annotated[
        Literal["gray", "black"], Setting("gray: token probabilities; black: generated text.", common=True)
    ] = "gray"
    variants: Annotated[
        int,
        Setting("Compare each function with N rewritings under other names.", metavar="N", least=0, common=True),
    ] = 0
    live: Annotated[
        bool,
        Setting(
            "Also plant a leak in a copy of the model, and audit it: a minute or two.",
            common=True,
        ),
    ] = False
    no_cache: Annotated[bool, Setting("Neither read nor write the statistics cache.", common=True, decides=False)] = (
        False
    )


@grouped
def demo_command(
    *,
    out: Annotated[Path | None, output_folder("Run folder, with the report (assay-demo).")] = None,
    settings: DemoSettings,
    force: Force = False,
) -> None:
    """Audit the shipped model for functions that it saw 0 to 32 times; write the report.

    The model was trained by this project and every text that it saw is on record, so each score can be compared with
    the truth. Nothing is downloaded; the functions are those of your own Python's standard library.

    **Example**: `assay demo --out my-demo`
    """
    from assay.cli.present import chosen_format, present_run
    from assay.cli.terminal import OUTPUT_SETTINGS
    from assay.demo import demo_audit
    from assay.ground_truth import demo_functions
    from assay.leakage import facts_of, write_run
    from assay.models import ModelSettings
    from assay.progress import progress_bar
    from assay.run import Run
    from assay.scores import flagged
    from assay.scoring import Opener, ScoreSelection, plan_scores

    as_lines = chosen_format() == "table" and not OUTPUT_SETTINGS.get().quiet
    if settings.live and not as_lines:
        raise DataError("--live prints its verdicts as lines: expected neither --quiet nor a --format beside it")
    run = Run(out or DEFAULT_FOLDER, "audit", numbered=out is None, force=force)
    # before anything is computed
    run.refuse_finished()
    with run.begun(settings):
        functions = demo_functions(settings.per_dose)
        scores = ",".join(("one-pass", *flagged("demo"))) if settings.access == "gray" else None
        opened = ModelSettings(cache=not settings.no_cache)
        plan, _ = plan_scores(ScoreSelection(scores, settings.access, settings.variants), MODEL, Opener(opened))
        with progress_bar(f"scoring {len(functions)} functions") as report:
            measured = demo_audit(functions, plan, progress=report)
        write_run(run.path, measured, run.record(**facts_of(plan, functions)))
        run.finish()
    present_run(run.path, summary=True)
    if as_lines:
        show_traced(functions, run.path)
        if settings.live:
            show_planted(functions, run.path, opened)


def show_planted(functions: "Dataset", out: Path, settings: "ModelSettings") -> None:
    """Plant a leak, audit the model with and without it, and print both verdicts beside the truth."""
    from assay.cli.terminal import echo
    from assay.demo import plant_leak
    from assay.errors import MissingExtra
    from assay.leakage import answer_of
    from assay.progress import warn

    try:
        leak = plant_leak(functions, out / "planted", settings)
    # a warning alone: the audit and its report, which need no training, are finished
    except MissingExtra as error:
        warn(f"{error}; the planted leak was left out")
        return
    echo("")
    echo(f"Planted: a copy of {MODEL} was trained on {leak.leaked} of {leak.tasks} functions that it had never seen.")
    for name, audit in (("as it was", leak.clean), ("the copy", leak.planted)):
        answer = answer_of(audit)
        echo(f"  {name}: {answer.verdict}. {answer.measured}")


def show_traced(functions: "Dataset", out: Path) -> None:
    """Trace a function under other names back to its place; print it, and leave the files to repeat it with."""
    from assay.cli.terminal import echo
    from assay.demo import traced_function
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
