"""A contamination statement from finished runs, for a paper, a model card or a leaderboard; no model is run.

It begins as the first screen of an audit does, and can say that nobody can tell. The fields of the JSON form are
published in `contamination-statement.schema.json`, which ships with the package.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from assay import __version__
from assay.codec import encode
from assay.errors import DataError
from assay.evaluation import Estimate
from assay.leakage.answer import answer_of
from assay.leakage.description.details import bound_sentence, set_aside_sentence
from assay.leakage.reasons import VERDICTS
from assay.leakage.results import Audit
from assay.leakage.unseen_test import BOUND_AT
from assay.reports import (
    Answer,
    Cell,
    Column,
    Missing,
    Report,
    Row,
    Table,
    area_with_interval,
    listed,
    percent,
    points_with_interval,
)
from assay.types import Verdict

FORMAT = "assay contamination statement 1"


def statement_data(runs: Sequence[tuple[Audit, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return a statement as the published schema describes it.

    Args:
        runs: audits with the manifests of their run folders.

    Raises:
        DataError: no run.
    """
    if not runs:
        raise DataError("no run was given; expected at least one run folder of `assay audit`")
    return {"format": FORMAT, "assay": __version__, "entries": [entry(*run) for run in runs]}


def entry(audit: Audit, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of one run."""
    share, bound, test, decision = audit.share, audit.upper_bound(), audit.test, audit.decision
    calibration = audit.summary(audit.primary).calibration
    control = calibration.control if calibration else None
    target, data, answer = manifest.get("models", {}).get("target", {}), manifest.get("data", {}), answer_of(audit)
    content: dict[str, Any] = {
        "model": {"name": audit.model, "digest": target.get("digest")},
        "benchmark": {"name": audit.benchmark, "digest": data.get("digest"), "samples": len(audit.samples)},
        "verdict": decision.verdict.value,
        "reason": decision.reason.value if decision.reason else None,
        "explanation": decision.explanation,
        "answer": list(answer.lines),
        "sentence": sentence(audit),
        "set_aside": decision.set_aside,
        "score": audit.primary,
        "p_value": None if test is None else test.p_value,
        "p_value_with_allowance": None if test is None else test.p_beyond,
        "share": None if share is None else interval_of(share),
        "upper_bound": None if bound is None else {"value": bound, "level": 0.95, "times_seen": BOUND_AT},
        "unseen": {
            "texts": calibration.unseen if calibration else 0,
            "groups": calibration.unseen_groups if calibration else 0,
            "source": calibration.source if calibration else "",
        },
        "control": None if control is None else {"model": control.model, "flat": control.is_flat},
        "methods": [
            {"name": m.name, "value": m.score.value, "p_value": m.score.p_value, "called": m.score.called}
            for m in audit.methods
        ],
        "began": manifest.get("began"),
    }
    encoded: dict[str, Any] = encode(content)
    return encoded


def interval_of(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate with its interval."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "level": estimate.level}


def sentence(audit: Audit) -> str:
    """Return the statement in one or two sentences that stand alone, to be quoted."""
    decision, bound, share = audit.decision, audit.upper_bound(), audit.share
    reason = decision.reason.value if decision.reason else ""
    text = VERDICTS[decision.verdict].sentence.format(benchmark=audit.benchmark, model=audit.model, reason=reason)
    if bound is not None:
        text += f" {bound_sentence(bound)}"
    if decision.verdict in (Verdict.CONTAMINATED, Verdict.FAMILIAR) and share is not None:
        text += (
            f" {percent(share.value)} of its texts look trained on ({percent(share.level)} interval "
            f"{percent(share.low)} to {percent(share.high)}); texts of the same form may be counted although they were "
            "not seen, and texts that were seen once are mostly missed."
        )
    if decision.verdict is Verdict.CANNOT_TELL:
        text += f" {decision.explanation}"
    return text if decision.set_aside is None else f"{text} {set_aside_sentence(decision.set_aside)}"


def describe_statement(runs: Sequence[tuple[Audit, Mapping[str, Any]]]) -> Report:
    """Return a statement as a report: the answer of each run, a sentence to be quoted, and two tables.

    Raises:
        DataError: no run.
    """
    data = statement_data(runs)
    audits = [audit for audit, _ in runs]
    columns = (
        Column("model", "name"),
        Column("benchmark", "name"),
        Column("verdict", "text"),
        Column("share that looks trained on", "share"),
        Column(f"seen {BOUND_AT} times or more, at most", "share"),
        Column("n", "count"),
        Column("unseen texts", "count"),
    )
    scores = ", ".join(dict.fromkeys(audit.primary for audit in audits))
    caption = (
        f"By {scores}, against text that the models have not seen. The share is that of texts that look trained on. "
        f"Made with assay {__version__}."
    )
    several = Counter(VERDICTS[audit.decision.verdict].title.lower() for audit in audits)
    return Report(
        title="Contamination statement",
        statement="",
        answer=answer_of(audits[0])
        if len(audits) == 1
        else Answer(
            f"{len(audits)} runs", measured=listed([f"{verdict}: {count}" for verdict, count in several.items()])
        ),
        details=tuple(map(sentence, audits)),
        tables=(
            Table("contamination", "Contamination", columns, tuple(map(statement_row, audits)), (caption,)),
            measurements(runs),
        ),
        data=data,
        kind="contamination statement",
    )


def statement_row(audit: Audit) -> Row:
    """Return the row of one run."""
    decision, bound = audit.decision, audit.upper_bound()
    calibration = audit.summary(audit.primary).calibration
    return Row(
        (
            audit.model,
            audit.benchmark,
            decision.verdict.value + (f" ({decision.reason.value})" if decision.reason else ""),
            audit.share or Missing("no verdict by the test against unseen text"),
            Missing("only with “no evidence”") if bound is None else bound,
            len(audit.samples),
            calibration.unseen if calibration else 0,
        )
    )


def measurements(runs: Sequence[tuple[Audit, Mapping[str, Any]]]) -> Table:
    """Return the table of what each verdict rests on."""
    columns = (
        Column("model", "name"),
        Column("benchmark", "name"),
        Column("p-value", "p_value"),
        Column("with an allowance", "p_value"),
        Column("texts alone (AUROC)", "text"),
        Column("flagged beyond the control", "text"),
        Column("unseen text", "text"),
        Column("date", "text"),
    )
    caption = (
        "p-values: permutation test by group, one-sided; the second after an allowance for projects that the model "
        "knows from other texts. Texts alone: a baseline that never sees the model; .5 is chance. The control "
        "is a model that saw neither set."
    )
    rows = tuple(Row(measured_cells(*run)) for run in runs)
    return Table("measured", "How it was measured", columns, rows, (caption,))


def measured_cells(audit: Audit, manifest: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return the row of one run; a figure that it does not have says why."""
    blind, test, calibration = audit.blind, audit.test, audit.summary(audit.primary).calibration
    excess = calibration.control.excess if calibration and calibration.control else None
    return (
        audit.model,
        audit.benchmark,
        Missing("no test was made") if test is None or math.isnan(test.p_value) else test.p_value,
        Missing("none was made") if test is None or math.isnan(test.p_beyond) else test.p_beyond,
        area_with_interval(blind.ranking.auroc) if blind and blind.ranking else Missing("not measured"),
        points_with_interval(excess) if excess is not None and excess.has_interval else Missing("not measured"),
        calibration.source if calibration else Missing("none"),
        str(manifest["began"])[:10] if manifest.get("began") else Missing("not recorded"),
    )
