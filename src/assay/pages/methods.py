"""What each score in a run is, from the registry: title, formula, reference."""

import re
from dataclasses import dataclass

from assay.errors import ScoreError
from assay.leakage import Audit
from assay.pages.blind import compares_labels, measured_baseline
from assay.pages.wording import percent
from assay.scores import ScoreDefinition, View, request

_ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")


@dataclass(frozen=True, slots=True)
class MethodNote:
    """One score explained.

    Attributes:
        score: the column's name, with its parameters.
        title: what the field calls it.
        summary: one sentence.
        formula: one line, in the notation of the documentation.
        parameters: hyper-parameter → value used, as text.
        needs: what has to be run or given besides one pass over the text; "" where that is all.
        reference: where it was published.
        link: address of the paper, None where the reference names no arXiv number.
    """

    score: str
    title: str
    summary: str
    formula: str
    parameters: tuple[tuple[str, str], ...]
    needs: str
    reference: str
    link: str | None


def named(score: str) -> str:
    """A score as sentences name it: what the field calls it, and its column, `title (name)`."""
    note = _note(score)
    return f"{note.title} ({score})" if note else score


def method_notes(audit: Audit) -> tuple[MethodNote, ...]:
    """A note for each registered score of the audit, the primary one first.

    A run folder may come from a version with other scores; one that is not registered here has no note.
    """
    names = sorted(audit.values, key=lambda name: name != audit.primary)
    return tuple(note for name in names if (note := _note(name)))


def _further_needs(found: ScoreDefinition) -> str:
    views = [str(view) for view in dict.fromkeys(found.views.values()) if view != View()]
    tables = ["a token-frequency table"] if found.needs_frequencies else []
    written = ["what the model writes, no token probabilities"] if found.access == "black" else []
    rewritings = ["n rewritings of the text"] if found.needs_variants else []
    return " and ".join([*views, *written, *rewritings, *tables])


@dataclass(frozen=True, slots=True)
class EvaluationNote:
    """One way of judging explained: title, formula on one line, what to know of it, where it was published."""

    title: str
    formula: str
    summary: str
    reference: str
    link: str | None = None


def evaluation_notes(audit: Audit) -> tuple[EvaluationNote, ...]:
    """How the figures of this audit were computed; only of what it has."""
    summary = audit.summary(audit.primary)
    found = []
    if summary.ranking is not None:
        found.append(
            EvaluationNote(
                "AUROC, TPR at a given FPR",
                "AUROC = P(s⁺ > s⁻) + P(s⁺ = s⁻) / 2; TPR at f = max {TPR(t) : FPR(t) ≤ f}",
                "s⁺ and s⁻ are the scores of a random member and a random non-member. The AUROC of a score that knows "
                f"nothing is .5, its TPR equals the FPR. Intervals ({percent(summary.ranking.auroc.level)}) are "
                f"bootstrapped over {summary.ranking.groups:,} groups (a module, a project, a task), never over single "
                "samples of one group; all scores share the same resamples.",
                "Hanley and McNeil 1982; Efron and Tibshirani 1993, ch. 8",
            )
        )
    if summary.calibration is not None:
        found += _calibration_notes(summary.calibration.unseen, summary.calibration.alpha)
    if measured_baseline(audit) is not None:
        found.append(
            EvaluationNote(
                "Blind baseline",
                "logistic regression on words and character 3-grams, or on length and character classes",
                f"It tries to tell {audit.blind_compares} apart by the text alone, cross-validated by group; the "
                "stronger of the two is shown"
                + (" beside the scores" if compares_labels(audit) else "")
                + ". What it can tell, a score may be telling too, without any memory of the model.",
                "Das, Zhang and Tramèr 2024, arXiv:2406.16201",
                "https://arxiv.org/abs/2406.16201",
            )
        )
    return tuple(found)


def _calibration_notes(unseen: int, alpha: float) -> tuple[EvaluationNote, ...]:
    return (
        EvaluationNote(
            "p-value against unseen text",
            "p = (1 + #{unseen scores ≥ s}) / (m + 1)",
            f"m = {unseen:,} texts that the model has certainly not seen. Nothing is assumed of the score's "
            "distribution; if sample and unseen texts are of one kind, an unseen sample has p ≤ α with probability α "
            "at most. Intervals of a share of flagged samples are Wilson's.",
            "Vovk et al. 2005; Bates et al. 2023, arXiv:2104.08279",
            "https://arxiv.org/abs/2104.08279",
        ),
        EvaluationNote(
            "q-value over the benchmark",
            "q of the i-th smallest p = min over j ≥ i of pⱼ · n / j",
            f"Of the samples with q ≤ {alpha:g}, a share of {percent(alpha)} at most is expected to be unseen.",
            "Benjamini and Hochberg 1995",
        ),
    )


def _note(score: str) -> MethodNote | None:
    try:
        asked = request(score)
    except ScoreError:
        return None
    found = asked.definition
    arxiv = _ARXIV.search(found.reference)
    return MethodNote(
        score=score,
        title=found.title,
        summary=found.summary,
        formula=found.formula,
        parameters=tuple((key, str(value)) for key, value in {**found.defaults, **asked.parameters}.items()),
        needs=_further_needs(found),
        reference=found.reference,
        link=f"https://arxiv.org/abs/{arxiv[1]}" if arxiv else None,
    )
