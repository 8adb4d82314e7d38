"""Fine-tuned classifiers as a report and as a model card."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np

from assay.authorship import NO_PROOF
from assay.reports import Cell, Column, Fact, Missing, Report, Row, Table, number_of
from assay_lab.classifiers.fine_tuning import FineTunedRuns, fine_tuning_data
from assay_lab.columns import attributes
from assay_lab.mappings import enumerated

METRICS: tuple[Literal["macro_f1"], Literal["accuracy"]] = ("macro_f1", "accuracy")


def describe_fine_tuning(results: Sequence[FineTunedRuns]) -> Report:
    """Return the report on a fine-tuning; a second result without comments gives the ablation of Table 5.

    Args:
        results: of one model; the first one is what the statement is about.
    """
    first = results[0]
    chance = 1 / len(first.classes)
    sizes = enumerated(first.sizes, "{1:,} {0}")
    split = " ".join(first.protocol.left_out or (first.protocol.split,))
    return Report(
        title="Fine-tuned classifier",
        kind="authorship",
        statement=(
            f"{first.model}: macro F1 {_spread(first, 'overall', METRICS[0])} over "
            f"{number_of(len(first.runs), 'seed')} on {first.sizes['test']:,} test texts of {len(first.classes)} "
            f"classes (guessing: accuracy {chance:.3f})."
        ),
        facts=(
            Fact("chosen", f"rate {first.chosen[0]:g}, batch {first.chosen[1]}", "by accuracy on validation texts"),
            Fact("texts", sizes),
            Fact("split", split),
        ),
        tables=(_quality(results), _confusion(first)),
        notes=(
            NO_PROOF,
            "Languages are parts of the test texts of one classifier; no classifier is trained for one language.",
        ),
        data={"results": list(map(fine_tuning_data, results))},
    )


def fine_tuning_card(result: FineTunedRuns) -> str:
    """Return the model card of a fine-tuned classifier, in Markdown."""
    rows = []
    for part in result.parts:
        macro, accuracy = map(partial(_spread, result, part), METRICS)
        rows.append(f"| {part} | {macro} | {accuracy} |")
    return "\n".join(
        [
            "# Fine-tuned classifier of who wrote code",
            "",
            NO_PROOF,
            "",
            f"Base model: {result.model}. Classes: {', '.join(result.classes)}.",
            f"Comments are {'read' if result.protocol.comments else 'removed'}. Split: {result.protocol.split}.",
            f"Seeds: {len(result.runs)}. Rate {result.chosen[0]:g}, batch {result.chosen[1]}.",
            f"The best of {result.protocol.epochs} epochs on validation texts is kept.",
            "",
            "| test texts | macro F1 | accuracy |",
            "|---|---|---|",
            *rows,
            "",
            "The test texts are of the collections of the training texts unless one was left out.",
            "Expect less on code of another origin.",
            "Not for grading, hiring or accusing people.",
            "",
        ]
    )


def _quality(results: Sequence[FineTunedRuns]) -> Table:
    columns = [Column("test texts", "name")]
    for result in results:
        note = "with comments" if result.protocol.comments else "without comments"
        columns += [Column("macro F1", note=note), Column("accuracy", note=note)]
    rows = []
    for part in results[0].parts:
        cells: list[Cell] = [part]
        for result in results:
            cells += _part_cells(result, part)
        rows.append(Row(tuple(cells), kind="primary" if part == "overall" else "plain"))
    title, caption = "Mean and standard deviation over seeds", ""
    if all(len(result.runs) == 1 for result in results):
        title, caption = "Test texts", "One seed, so the spread over seeds is not known; see --seeds."
    return Table(
        name="quality", title=title, columns=tuple(columns), rows=tuple(rows), caption=(caption,) if caption else ()
    )


def _spread(result: FineTunedRuns, part: str, metric: Literal["macro_f1", "accuracy"]) -> str:
    """Return mean and standard deviation over seeds; of a single seed its value."""
    mean, deviation = result.spread(part, metric)
    return f"{mean:.3f}" if len(result.runs) == 1 else f"{mean:.3f} ± {deviation:.3f}"


def _part_cells(result: FineTunedRuns, part: str) -> list[Cell]:
    if part not in result.parts:
        return [Missing("no text")] * len(METRICS)
    return list(map(partial(_spread, result, part), METRICS))


def _confusion(result: FineTunedRuns) -> Table:
    total = np.sum(attributes(result.runs, "confusion"), axis=0)
    columns = [Column("truth", "name"), *map(partial(Column, kind="count"), result.classes)]
    rows = [Row((name, *counts)) for name, counts in zip(result.classes, total.tolist(), strict=True)]
    return Table(name="confusion", title="Answers, all seeds together", columns=tuple(columns), rows=tuple(rows))
