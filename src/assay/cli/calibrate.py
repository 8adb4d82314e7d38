"""`assay calibrate`: scores of known-unseen text, kept for later audits."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.groups import grouped
from assay.cli.options import (
    AccessOption,
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


@grouped
def calibrate_command(
    model: ModelName,
    unseen: Annotated[
        str, typer.Argument(metavar="DATA", help="Text that the model has certainly not seen, of the kind to audit.")
    ],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The calibration file to write.")],
    scores: Scores = None,
    access: AccessOption = "gray",
    variants: Variants = 0,
    variant_engine: VariantEngine = "deterministic",
    variant_kinds: VariantKinds = "function,variable",
    reference: Reference = None,
    frequencies: Frequencies = None,
    which: DataOptions,
    how: ModelOptions,
) -> None:
    """Score known-unseen text once, for `assay audit --calibration`; the file holds scores and no text.

    **Example**: `assay calibrate builtin:small fresh_functions.jsonl -o fresh.json`
    """
    from assay.cli.requested import planned, specified, tell_rejections
    from assay.cli.terminal import progress_bar, warn
    from assay.evaluation import unseen_note
    from assay.leakage import UnseenScores

    specs = specified(scores, access, variants)  # a misspelt score is told before a large model is loaded
    dataset = which.load(unseen)
    todo, notes = planned(specs, access, how, model, reference, frequencies, variant_engine, variant_kinds)
    small = unseen_note(len(dataset.samples))
    for note in (*dataset.notes, *notes, *([small] if small else [])):
        warn(note)
    with progress_bar(f"scoring {dataset.name}") as report:
        found = UnseenScores.measure(dataset.samples, todo, source=dataset.source, progress=report)
    tell_rejections(todo.rewriter)
    found.save(output)
    typer.echo(f"{output}: {len(dataset.samples)} unseen texts under {model}, {len(todo.requests)} scores")
