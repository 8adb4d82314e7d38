"""A contamination statement for a paper, a model card or a leaderboard, from finished runs.

One entry per run, as Markdown, LaTeX or JSON. The fields of the JSON form are published in
`contamination-statement.schema.json`, which ships with the package.
"""

import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from assay import __version__
from assay.errors import DataError
from assay.evaluation import Estimate
from assay.leakage.dataset_level.describing import bound_sentence, set_aside_sentence
from assay.leakage.dataset_level.results import BOUND_AT, DatasetJudgement
from assay.reports import (
    Cell,
    Column,
    Missing,
    Report,
    Row,
    Table,
    area_with_interval,
    encode,
    percent,
    points_with_interval,
)
from assay.types import Verdict

SCHEMA_FILE = "contamination-statement.schema.json"
FORMAT = "assay contamination statement 1"
SENTENCES: Mapping[Verdict, str] = {
    Verdict.CONTAMINATED: "{benchmark}, or a part of it, was probably in the training data of {model}.",
    Verdict.NO_EVIDENCE: "We found no evidence that {benchmark} was in the training data of {model}.",
    Verdict.CANNOT_TELL: "We cannot tell whether {benchmark} was in the training data of {model} ({reason}).",
}


def statement_schema() -> dict[str, Any]:
    """Return the JSON schema of a statement."""
    text = files("assay.leakage.dataset_level").joinpath(SCHEMA_FILE).read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def statement_data(runs: Sequence[tuple[DatasetJudgement, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return a statement as the published schema describes it.

    Args:
        runs: judgements with the manifests of their run folders.

    Raises:
        DataError: no run.
    """
    if not runs:
        raise DataError("no run was given; expected at least one run folder of `assay dataset`")
    return {"format": FORMAT, "assay": __version__, "entries": [entry(*run) for run in runs]}


def entry(judgement: DatasetJudgement, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of one run."""
    share, bound = judgement.reported_share, judgement.upper_bound()
    decision = judgement.decision
    target = manifest.get("models", {}).get("target", {})
    data = manifest.get("data", {})
    content: dict[str, Any] = {
        "model": {"name": judgement.model, "digest": target.get("digest")},
        "benchmark": {"name": judgement.benchmark, "digest": data.get("digest"), "samples": judgement.samples},
        "verdict": decision.verdict.value,
        "reason": decision.reason.value if decision.reason else None,
        "explanation": decision.explanation,
        "sentence": sentence(judgement),
        "set_aside": judgement.set_aside,
        "score": judgement.score,
        "p_value": judgement.p_value,
        "p_value_with_allowance": judgement.p_beyond,
        "share": None if share is None else interval_of(share),
        "upper_bound": None if bound is None else {"value": bound, "level": 0.95, "times_seen": BOUND_AT},
        "unseen": {"texts": judgement.unseen, "groups": judgement.unseen_groups, "source": judgement.unseen_source},
        "control": None
        if judgement.control is None
        else {"model": judgement.control.model, "flat": judgement.control.is_flat},
        "methods": [
            {"name": m.name, "value": m.score.value, "p_value": m.score.p_value, "called": m.score.called}
            for m in judgement.methods
        ],
        "began": manifest.get("began"),
    }
    encoded: dict[str, Any] = encode(content)
    return encoded


def interval_of(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate with its interval."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "level": estimate.level}


def sentence(judgement: DatasetJudgement) -> str:
    """Return the statement in one or two sentences that stand alone."""
    decision = judgement.decision
    text = SENTENCES[decision.verdict].format(
        benchmark=judgement.benchmark, model=judgement.model, reason=decision.reason.value if decision.reason else ""
    )
    bound = judgement.upper_bound()
    if decision.verdict is Verdict.NO_EVIDENCE and bound is not None:
        text += f" {bound_sentence(bound)}"
    share = judgement.reported_share
    if decision.verdict is Verdict.CONTAMINATED and share is not None:
        text += (
            f" {percent(share.value)} of its texts look trained on ({percent(share.level)} interval "
            f"{percent(share.low)} to {percent(share.high)}); texts of the same form may be counted although they were "
            "not seen, and texts that were seen once are mostly missed."
        )
    if decision.verdict is Verdict.CANNOT_TELL:
        text += f" {decision.explanation}"
    return text if judgement.set_aside is None else f"{text} {set_aside_sentence(judgement.set_aside)}"


def describe_statement(runs: Sequence[tuple[DatasetJudgement, Mapping[str, Any]]]) -> Report:
    """Return a statement as a report: one sentence a run, and one table.

    Raises:
        DataError: no run.
    """
    data = statement_data(runs)
    judgements = [judgement for judgement, _ in runs]
    rows = tuple(Row(tuple(statement_cells(judgement))) for judgement in judgements)
    columns = (
        Column("model", "name"),
        Column("benchmark", "name"),
        Column("verdict", "text"),
        Column("share that looks trained on", "share"),
        Column(f"seen {BOUND_AT} times or more, at most", "share"),
        Column("n", "count"),
        Column("unseen texts", "count"),
    )
    scores = ", ".join(dict.fromkeys(judgement.score for judgement in judgements))
    caption = (
        f"By {scores}, against text that the models have not seen. The share is that of texts that look trained on. "
        f"Made with assay {__version__}."
    )
    return Report(
        title="Contamination statement",
        statement=" ".join(sentence(judgement) for judgement in judgements),
        tables=(Table("contamination", "Contamination", columns, rows, (caption,)), measurements(runs)),
        data=data,
        kind="contamination statement",
    )


def measurements(runs: Sequence[tuple[DatasetJudgement, Mapping[str, Any]]]) -> Table:
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
    return Table(
        "measured", "How it was measured", columns, tuple(Row(measured_cells(*run)) for run in runs), (caption,)
    )


def measured_cells(judgement: DatasetJudgement, manifest: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return the row of one run; a figure that it does not have says why."""
    blind, control = judgement.blind, judgement.control
    excess = control.excess if control is not None else None
    return (
        judgement.model,
        judgement.benchmark,
        Missing("no test was made") if math.isnan(judgement.p_value) else judgement.p_value,
        Missing("none was made") if math.isnan(judgement.p_beyond) else judgement.p_beyond,
        area_with_interval(blind.ranking.auroc) if blind and blind.ranking else Missing("not measured"),
        points_with_interval(excess) if excess is not None and excess.has_interval else Missing("not measured"),
        judgement.unseen_source or Missing("none"),
        str(manifest["began"])[:10] if manifest.get("began") else Missing("not recorded"),
    )


def statement_cells(judgement: DatasetJudgement) -> list[Cell]:
    """Return the row of one run."""
    decision, bound = judgement.decision, judgement.upper_bound()
    verdict = decision.verdict.value + (f" ({decision.reason.value})" if decision.reason else "")
    return [
        judgement.model,
        judgement.benchmark,
        verdict,
        judgement.reported_share or Missing("no verdict"),
        Missing("only with “no evidence”") if bound is None else bound,
        judgement.samples,
        judgement.unseen,
    ]
