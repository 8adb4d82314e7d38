"""`assay lab fitted`: scores by detectors that are fitted on other texts of known membership."""

from operator import methodcaller
from pathlib import Path
from typing import Annotated

import typer

from assay.cli import ModelName, complete_benchmarks, grouped, output_file
from assay.datasets import DataSelection
from assay.models import ModelSettings


@grouped
def fitted_command(
    model: ModelName,
    texts: Annotated[
        str, typer.Argument(metavar="DATA", autocompletion=complete_benchmarks, help="The texts to be judged.")
    ],
    *,
    labelled: Annotated[
        str,
        typer.Option(
            metavar="DATA", help="Other texts of known membership (see --columns; the label is in `label` otherwise)."
        ),
    ],
    output: Annotated[
        Path | None, output_file("NAME.jsonl, NAME.parquet or NAME.csv; - or nothing: standard output.", printable=True)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of every random draw.")] = 0,
    data: DataSelection,
    settings: ModelSettings,
) -> None:
    """Score texts by DPDLLM and VeilProbe: the model only generates, and a classifier is fitted on labelled texts.

    One line per sample, in input order, higher = member; a value above 0 is the detectors' own decision. No labelled
    text is judged, nor any text of its group.

    **Example**: `assay lab fitted builtin:small judged.jsonl --labelled known.jsonl -o scores.jsonl`
    """
    from assay import load
    from assay.cli import OUTPUT_SETTINGS, ScoreRow, checked_output, write_scores
    from assay.datasets import read_dataset
    from assay.scoring import Opener
    from assay_lab.methods.fitted import fit_all

    output, printed = checked_output(output, OUTPUT_SETTINGS.get().form)
    judged = read_dataset(texts, data).samples
    known = load(labelled, text=data.text, label=data.label or "label", group=data.group).samples
    fitted = fit_all(known, Opener(settings).generator(model), unlabelled=judged, seed=seed)
    columns = list(map(methodcaller("scores", judged), fitted.values()))
    rows = (ScoreRow.of(sample.id, scores) for sample, *scores in zip(judged, *columns, strict=True))
    write_scores(rows, output, names=list(fitted), printed=printed)
