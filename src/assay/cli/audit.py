"""`assay audit`: one model, one benchmark, everything that can honestly be said."""

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.groups import grouped
from assay.cli.options import (
    OUTPUT,
    SCORES,
    AccessOption,
    AsJson,
    DataOptions,
    Frequencies,
    ModelName,
    ModelOptions,
    Reference,
    Scores,
    VariantEngine,
    VariantKinds,
    Variants,
)
from assay.errors import DataError


@grouped
def audit_command(
    model: ModelName,
    benchmark: Annotated[
        str, typer.Argument(metavar="BENCHMARK", help="A name of `assay benchmarks list`, or a file or folder.")
    ],
    *,
    scores: Scores = None,
    access: AccessOption = "gray",
    primary: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE", help="Score of the headline, instead of the declared one.", rich_help_panel=SCORES
        ),
    ] = None,
    variants: Variants = 0,
    variant_engine: VariantEngine = "deterministic",
    variant_kinds: VariantKinds = "function,variable",
    reference: Reference = None,
    frequencies: Frequencies = None,
    unseen: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Text of the same kind that the model has certainly not seen: calibrates every score.",
            rich_help_panel=SCORES,
        ),
    ] = None,
    unseen_text: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of texts in --unseen.", rich_help_panel=SCORES)
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead of --unseen: a file of `assay calibrate`.", rich_help_panel=SCORES),
    ] = None,
    labelled: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="With --access black: other texts of known membership (columns as --text, --group and --label, else "
            "`label`), from which the detectors that are fitted learn.",
            rich_help_panel=SCORES,
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Nominal false-positive rate of calibrated decisions.", rich_help_panel=SCORES)
    ] = 0.05,
    ties: Annotated[
        Literal["strict", "inclusive"],
        typer.Option(
            help="Does a paper's own rule count a sample that equals its best variant?", rich_help_panel=SCORES
        ),
    ] = "strict",
    seed: Annotated[int, typer.Option(help="Seed of every resampling.", rich_help_panel=SCORES)] = 0,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Exit with 1 where it holds, for example flagged.low>0.05; may be given several times.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run folder (assay-runs/MODEL-BENCHMARK).", rich_help_panel=OUTPUT),
    ] = None,
    as_json: AsJson = False,
    which: DataOptions,
    how: ModelOptions,
) -> None:
    """Audit a model for a benchmark: every score from one forward pass a sample, and a report.

    Without labels and without --unseen the report shows distributions and gives no verdict. Known-unseen text of the
    same kind turns every score into calibrated p- and q-values.

    **Example**: `assay audit builtin:small humaneval --data HumanEval.jsonl.gz --unseen fresh_functions.jsonl`
    """
    from assay.cli.manifest import Stopwatch, manifest
    from assay.cli.present import present
    from assay.cli.requested import planned, specified, tell_rejections
    from assay.cli.terminal import progress_bar
    from assay.datasets import load
    from assay.leakage import UnseenScores, audit, rule

    watch = Stopwatch()
    rules = [rule(text) for text in fail_on or []]
    if unseen is not None and calibration is not None:
        raise DataError("both --unseen and --calibration were given; expected one of them")
    if labelled is not None and access != "black":
        raise DataError("--labelled teaches detectors of what a model writes: expected --access black beside it")
    specs = specified(scores, access, variants)  # a misspelt score is told before a large model is loaded
    dataset = which.load(benchmark)
    fresh = load(unseen, text=unseen_text) if unseen is not None else None
    lessons = (
        load(labelled, text=which.text, label=which.label or "label", group=which.group)
        if labelled is not None
        else None
    )
    known = UnseenScores.load(calibration) if calibration is not None else None
    todo, notes = planned(specs, access, how, model, reference, frequencies, variant_engine, variant_kinds)
    if primary is not None and primary not in {one.name for one in todo.requests}:
        raise DataError(
            f"--primary {primary}: expected one of the scores asked for, {', '.join(o.name for o in todo.requests)}"
        )
    if known is not None and calibration is not None:
        known.check(todo, calibration)
    learned = {}
    if lessons is not None and todo.generator is not None:
        from assay.leakage import fit_all

        learned = fit_all(lessons.samples, todo.generator, seed=seed)
    with progress_bar(f"auditing {dataset.name}") as report:
        found = audit(
            dataset.samples,
            todo,
            benchmark=dataset.name,
            unseen=fresh.samples if fresh else (),
            unseen_source=fresh.source if fresh else "",
            calibration=known,
            learned=learned,
            alpha=alpha,
            primary=primary,
            ties=ties,
            seed=seed,
            notes=(*dataset.notes, *(fresh.notes if fresh else ()), *notes),
            progress=report,
        )
    tell_rejections(todo.rewriter)
    settings = {
        "access": access,
        "variant_engine": todo.rewriter.name,
        "alpha": alpha,
        "ties": ties,
        "seed": seed,
        "unseen": unseen,
        "calibration": calibration and str(calibration),
        "labelled": labelled,
    }
    folder = out or Path("assay-runs") / f"{slug(model)}-{slug(benchmark)}"
    present(found, manifest(todo, dataset, watch, **settings), folder, as_json=as_json)
    fired = [one.text for one in rules if one.fires(found)]
    for text in fired:
        typer.echo(f"assay: finding: {text}", err=True)
    if fired:
        raise typer.Exit(1)


def slug(name: str) -> str:
    """A name as a part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.") or "run"
