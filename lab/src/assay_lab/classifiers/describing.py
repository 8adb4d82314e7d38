"""Reports on classifiers and on the shortcuts of a data set, and the model card of a classifier."""

import math
from dataclasses import asdict
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, Literal

from assay.authorship import NO_PROOF, NOMINAL, Classifier, rate_data
from assay.evaluation import Ranking
from assay.reports import Cell, Column, Missing, Report, Table, describe, number_of, percent
from assay_lab.classifiers.evaluating import LeftOut, Transfer
from assay_lab.classifiers.shortcuts import ShortcutAudit
from assay_lab.columns import attributes
from assay_lab.mappings import map_values

TARGET = 0.7
"""AUROC that a part has to reach that the classifier was not fitted on."""


def _area(ranking: Ranking | None) -> Cell:
    return ranking.auroc if ranking else Missing("one class only")


def _rate_of(part: LeftOut, rate: Literal["false_positives", "true_positives"]) -> Cell | None:
    measured = part.calibrated and getattr(part.calibrated, rate)
    return measured.rate if measured else None


_FEW = "too few texts of people"
_CALIBRATED = (
    Column(
        "AUROC, calibrated",
        "area",
        lambda part: _area(part.calibrated.ranking) if part.calibrated else None,
        missing=_FEW,
    ),
    Column(
        "false positives",
        "share",
        lambda part: _rate_of(part, "false_positives"),
        missing=_FEW,
        note=f"nominal {percent(NOMINAL)}",
    ),
    Column(
        "detected",
        "share",
        lambda part: _rate_of(part, "true_positives") or (Missing("no generated text") if part.calibrated else None),
        missing=_FEW,
        note="after calibration",
    ),
    Column("abstained", "share", lambda part: part.calibrated and part.calibrated.abstained, missing=_FEW),
)


@describe.register
def _(transfer: Transfer) -> Report:
    """Return the report on classifiers tested on parts that they were not fitted on."""
    columns = [
        Column(transfer.by, "name", lambda part: part.name),
        Column("people", "count", lambda part: part.people),
        Column("generated", "count", lambda part: part.generated),
        Column("AUROC", "area", lambda part: _area(part.ranking), plot=(0, 1, 0.5)),
    ]
    if any(attributes(transfer.parts, "formatted")):
        columns.append(Column("AUROC, formatted", "area", lambda part: _area(part.formatted)))
    areas = {part.name: part.ranking.auroc.value for part in transfer.parts if part.ranking is not None}
    mean = transfer.mean_calibrated_auroc
    after = "" if math.isnan(mean) else f"; {mean:.3f} after calibration on human code of the same origin"
    statement = (
        f"Mean AUROC {transfer.mean_auroc:.3f} over {number_of(len(areas), 'part')} that the classifier was not "
        f"fitted on{after}."
    )
    if not areas:
        statement = (
            f"Nothing could be measured: without any one {transfer.by}, the other texts are not of both people and "
            "generators, or the part that is left out is not."
        )
    caption = "Calibrated: texts that are not in the reference of human code."
    low = [part.name for part in transfer.parts if part.ranking and part.ranking.auroc.value < TARGET]
    return Report(
        title=f"Left out by {transfer.by}",
        kind="authorship",
        statement=statement,
        warning=f"AUROC below .7: {', '.join(low)}." if low else "",
        tables=(
            Table.of(
                "transfer",
                f"Each {transfer.by} in turn",
                transfer.parts,
                columns=[*columns, *_CALIBRATED],
                caption=(caption,),
            ),
        ),
        notes=(NO_PROOF,),
        data={
            "by": transfer.by,
            "mean_auroc": _number(transfer.mean_auroc),
            "mean_calibrated_auroc": _number(transfer.mean_calibrated_auroc),
            "parts": list(map(part_data, transfer.parts)),
        },
    )


@describe.register
def _(audit: ShortcutAudit) -> Report:
    """Return the report on the shortcuts of a data set."""
    tables = [
        Table.of(
            name="shortcuts",
            title="AUROC that remains",
            items=audit.steps.items(),
            columns=(
                Column("removed", "name", lambda step: step[0]),
                Column("this and all above", "area", lambda step: step[1].auroc, plot=(0, 1, 0.5)),
                Column("this alone", "area", lambda step: audit.alone.get(step[0]), missing="removed last only"),
            ),
            caption=("A linear model on characters, by group. A fall towards .5 shows what the classes differ in.",),
        )
    ]
    collections = sorted(set(chain.from_iterable(audit.transfer)))
    if collections:

        def area(tested: str, fitted: str) -> float | None:
            return audit.transfer.get((fitted, tested))

        rest = [Column(tested, "area", partial(area, tested), missing="the same collection") for tested in collections]
        columns = (Column("fitted on", "name", str), *rest)
        caption = "Comments and layout are removed. Columns: the collection that was tested."
        tables.append(
            Table.of("transfer", "Transfer between collections", collections, columns=columns, caption=(caption,))
        )
    areas = attributes(audit.steps.values(), "auroc.value")
    return Report(
        title="Shortcuts of a data set",
        kind="authorship",
        statement=(
            f"AUROC {areas[0]:.3f} on the raw text and {areas[-1]:.3f} without superficial differences "
            f"({audit.people:,} texts of people, {audit.generated:,} generated)."
        ),
        tables=tuple(tables),
        data={
            "steps": map_values(asdict, map_values(attrgetter("auroc"), audit.steps)),
            "alone": dict(audit.alone),
            "transfer": [[*pair, _number(value)] for pair, value in audit.transfer.items()],
        },
    )


def part_data(part: LeftOut) -> dict[str, Any]:
    """Return everything that was measured on one part, for JSON."""
    after = part.calibrated
    return {
        "name": part.name,
        "people": part.people,
        "generated": part.generated,
        "auroc": _area_data(part.ranking),
        "auroc_formatted": _area_data(part.formatted),
        "calibrated": after
        and {
            "reference": after.reference,
            "auroc": _area_data(after.ranking),
            "false_positives": rate_data(after.false_positives),
            "true_positives": rate_data(after.true_positives),
            "abstained": after.abstained,
        },
    }


def _area_data(ranking: Ranking | None) -> dict[str, Any] | None:
    if ranking is None:
        return None
    return {"value": ranking.auroc.value, "low": _number(ranking.auroc.low), "high": _number(ranking.auroc.high)}


def model_card(classifier: Classifier, transfer: Transfer | None) -> str:
    """Return the model card of a classifier, in Markdown."""
    record = classifier.record
    lines = [
        "# Classifier of machine-written code",
        "",
        NO_PROOF,
        "",
        "## Use",
        "",
        "Ranks code by how much its style resembles code of the generators below.",
        "An answer about a person's code needs `assay authorship calibrate` on older code of the same origin.",
        "Not for grading, hiring or accusing people.",
        "",
        "## Training data",
        "",
        "| collection | people | generated |",
        "|---|---|---|",
        *(
            f"| {name} | {counts['people']} | {counts['generators']} |"
            for name, counts in record["collections"].items()
        ),
        "",
        f"Languages: {', '.join(record['languages'])}.",
        "Logistic regression on n-grams of characters and tokens, of the text as it is written.",
        f"At most {record['per_class']} texts of a class, collection and language.",
        "",
        "## Quality on collections that were left out",
        "",
    ]
    if transfer is None:
        return "\n".join([*lines, "Not measured. Run `assay lab authorship evaluate`.", ""])
    lines += ["| left out | AUROC | interval |", "|---|---|---|"]
    for part in transfer.parts:
        if part.ranking is not None:
            area = part.ranking.auroc
            lines.append(f"| {part.name} | {area.value:.3f} | {area.low:.3f} to {area.high:.3f} |")
    return "\n".join([*lines, "", f"Mean AUROC: {transfer.mean_auroc:.3f}.", ""])


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
