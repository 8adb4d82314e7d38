"""A contamination statement for a paper, a model card or a leaderboard, from finished runs.

One entry per run, as Markdown, LaTeX or JSON. The fields of the JSON form are published in
`contamination-statement.schema.json`, which ships with the package.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from assay import __version__
from assay.errors import DataError
from assay.evaluation import Estimate
from assay.leakage.dataset_level.describing import bound_sentence
from assay.leakage.dataset_level.results import BOUND_AT, DatasetJudgement
from assay.reports import Cell, Column, Missing, Report, Row, Table, encode, percent
from assay.types import Verdict

SCHEMA_FILE = "contamination-statement.schema.json"
FORMAT = "assay contamination statement 1"
SENTENCES: Mapping[Verdict, str] = {
    Verdict.CONTAMINATED: "{benchmark} was probably in the training data of {model}, or texts of its very form were.",
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
        "score": judgement.score,
        "p_value": judgement.p_value,
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
            f"{percent(share.low)} to {percent(share.high)}; this share is too high rather than too low)."
        )
    return text


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
        f"By {scores}, against text that the models have not seen; a verdict needs a flat negative control or texts "
        f"that differ in nothing but training. Made with assay {__version__}."
    )
    return Report(
        title="Contamination statement",
        statement=" ".join(sentence(judgement) for judgement in judgements),
        tables=(Table("contamination", "Contamination", columns, rows, (caption,)),),
        data=data,
        kind="contamination statement",
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
        Missing("no verdict or no interval") if bound is None else bound,
        judgement.samples,
        judgement.unseen,
    ]
