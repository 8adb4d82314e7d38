"""A contamination statement from finished runs, for a paper, a model card or a leaderboard; no model is run.

It begins as the first screen of an audit does, and can say that nobody can tell. The fields of the JSON form are
published in `contamination-statement.schema.json`, which ships with the package.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from assay import __version__
from assay.codec import encode
from assay.errors import DataError
from assay.evaluation import Estimate
from assay.leakage.answer import answer_of
from assay.leakage.description.details import bound_sentence, set_aside_sentence
from assay.leakage.reasons import VERDICTS, deciding_step
from assay.leakage.results import Audit, MethodResult
from assay.leakage.unseen_test import BOUND_AT
from assay.reports import (
    Answer,
    Column,
    Report,
    Table,
    listed,
    points_with_interval,
)
from assay.types import Verdict

COUNTED_TOO = (
    "Texts of the same form may be counted although they were not seen; texts that were seen once are mostly missed."
)
NO_TEST = "the verdict took no such test"
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
    calibration, control = audit.deciding.calibration, audit.deciding.control
    target, data = manifest.get("models", {}).get("target", {}), manifest.get("data", {})
    # the published schema requires the fields, so a run without unseen text has zeros
    unseen: dict[str, Any] = {"texts": 0, "groups": 0, "source": ""}
    if calibration is not None:
        unseen = {
            "texts": calibration.unseen,
            "groups": calibration.unseen_groups,
            "source": calibration.source,
        }
    content: dict[str, Any] = {
        "model": {"name": audit.model, "digest": target.get("digest")},
        "benchmark": {"name": audit.benchmark, "digest": data.get("digest"), "samples": len(audit.samples)},
        "verdict": decision.verdict,
        "reason": decision.reason,
        "explanation": decision.explanation,
        "answer": list(answer_of(audit).lines),
        "sentence": sentence(audit),
        "set_aside": decision.set_aside,
        "score": audit.primary,
        "p_value": test and test.p_value,
        "p_value_with_allowance": test and test.p_beyond,
        "share": share and interval_of(share),
        "upper_bound": None if bound is None else {"value": bound, "level": 0.95, "times_seen": BOUND_AT},
        "unseen": unseen,
        "control": control and {"model": control.model, "flat": control.is_flat},
        "methods": list(map(_method, audit.methods)),
        "began": manifest.get("began"),
    }
    encoded: dict[str, Any] = encode(content)
    return encoded


def _method(result: MethodResult) -> dict[str, Any]:
    score = result.score
    return {"name": result.name, "value": score.value, "p_value": score.p_value, "called": score.called}


def interval_of(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate with its interval."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "level": estimate.level}


def sentence(audit: Audit) -> str:
    """Return the statement in one sentence without figures, to be quoted."""
    answer, summary = answer_of(audit), audit.deciding
    decides = "" if summary.decision.reason is None else deciding_step(summary.decision.reason, summary).decides
    # it goes on inside a sentence
    because = answer.because[:1].lower() + answer.because[1:].rstrip(".")
    words = VERDICTS[audit.decision.verdict].sentence
    return words.format(benchmark=audit.benchmark, model=audit.model, because=because, decides=decides)


def figures_of(audit: Audit) -> str:
    """Return the figures behind the statement, in sentences."""
    decision, bound, share = audit.decision, audit.upper_bound(), audit.share
    sentences = [decision.explanation]
    if bound is not None:
        sentences.append(bound_sentence(bound))
    if decision.verdict is Verdict.FAMILIAR and share is not None:
        sentences.append(COUNTED_TOO)
    if decision.set_aside is not None:
        sentences.append(set_aside_sentence(decision.set_aside))
    return " ".join(sentences)


def describe_statement(runs: Sequence[tuple[Audit, Mapping[str, Any]]]) -> Report:
    """Return a statement as a report: the answer of each run, a sentence to be quoted, and two tables.

    Raises:
        DataError: no run.
    """
    data = statement_data(runs)
    audits = [audit for audit, _ in runs]
    answer = answer_of(audits[0])
    # several runs have no verdict in common, so they are counted
    if len(audits) > 1:
        counts = Counter(VERDICTS[audit.decision.verdict].title.lower() for audit in audits)
        answer = Answer(
            f"{len(audits)} runs", measured=listed([f"{verdict}: {count}" for verdict, count in counts.items()])
        )
    scores = ", ".join(dict.fromkeys(audit.primary for audit in audits))
    caption = (
        f"By {scores}, against text that the models have not seen. The share is that of texts that look trained on. "
        f"Made with assay {__version__}."
    )
    return Report(
        title="Contamination statement",
        statement="",
        answer=answer,
        details=tuple(chain.from_iterable((sentence(audit), figures_of(audit)) for audit in audits)),
        tables=(
            Table.of("contamination", "Contamination", audits, columns=STATED, caption=(caption,)),
            Table.of("measured", "How it was measured", runs, columns=MEASURED, caption=(MEASURED_CAPTION,)),
        ),
        data=data,
        kind="contamination statement",
    )


def _verdict(audit: Audit) -> str:
    if audit.decision.reason is None:
        return str(audit.decision.verdict)
    return f"{audit.decision.verdict} ({audit.decision.reason})"


def _unseen_texts(audit: Audit) -> int:
    calibration = audit.deciding.calibration
    return calibration.unseen if calibration else 0


AuditedRun = tuple[Audit, Mapping[str, Any]]
"""An audit with the manifest of its run folder."""


def _texts_alone(run: AuditedRun) -> Estimate | None:
    blind = run[0].blind
    return blind.ranking.auroc if blind and blind.ranking else None


def _beyond_control(run: AuditedRun) -> str | None:
    control = run[0].deciding.control
    if control is None or control.excess is None or not control.excess.has_interval:
        return None
    return points_with_interval(control.excess)


def _source(run: AuditedRun) -> str | None:
    calibration = run[0].deciding.calibration
    return calibration.source if calibration else None


def _date(run: AuditedRun) -> str | None:
    return str(run[1].get("began") or "")[:10] or None


STATED = (
    Column("model", "name", lambda audit: audit.model),
    Column("benchmark", "name", lambda audit: audit.benchmark),
    Column("verdict", "text", _verdict),
    Column(
        "share that looks trained on",
        "share",
        lambda audit: audit.share,
        missing="a share is stated beside a verdict against unseen text alone",
    ),
    Column(
        f"seen {BOUND_AT} times or more, at most",
        "share",
        lambda audit: audit.upper_bound(),
        missing="a bound is stated beside “no evidence” alone",
    ),
    Column("n", "count", lambda audit: len(audit.samples)),
    Column("unseen texts", "count", _unseen_texts),
)
MEASURED = (
    Column("model", "name", lambda run: run[0].model),
    Column("benchmark", "name", lambda run: run[0].benchmark),
    Column("p-value", "p_value", lambda run: run[0].test and run[0].test.p_value, missing=NO_TEST),
    Column("with an allowance", "p_value", lambda run: run[0].test and run[0].test.p_beyond, missing=NO_TEST),
    Column("texts alone (AUROC)", "area", _texts_alone),
    Column("flagged beyond the control", "text", _beyond_control),
    Column("unseen text", "text", _source, missing="none"),
    Column("date", "text", _date, missing="not recorded"),
)
"""What each verdict rests on."""
MEASURED_CAPTION = (
    "p-values: permutation test by group, one-sided; the second after an allowance for projects that the model knows "
    "from other texts. Texts alone: pairs that a classifier ranks rightly without the model; .5 is chance. The control "
    "is a model that saw neither set."
)
