"""The scores of an audit and its ways of judging, explained: title, formula, reference."""

import re
from collections.abc import Iterator

from assay.errors import ScoreError
from assay.evaluation import TOP
from assay.leakage.description.blind import baseline_separates_labels, measured_baseline
from assay.leakage.results import Audit
from assay.leakage.unseen_test import FAMILIARITY
from assay.reports import Method, number_of, percent
from assay.scores import DETECTORS, ScoreDefinition, View, request

NOTATION = (
    "Each score maps one text to one number: higher = more like training data. Directions were set beforehand, from "
    "the papers. l is the natural log-probability of a token, r its rank, H the entropy and V the variance of the "
    "log-probability there, u the probability mass of less likely tokens plus half its own; n tokens are scored. "
    "Unless a method says otherwise, all come from the same single pass over the text."
)
_ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")


def titled(score: str) -> str:
    """Return a score as sentences name it, `title (column)`."""
    method = _score_method(score)
    if method is None:
        return score
    return f"{method.title} ({score})"


def score_methods(audit: Audit) -> tuple[Method, ...]:
    """Return a method for each registered score of the audit, the primary one first.

    A run folder may come from a version with other scores; one that is not registered here has none.
    """
    return tuple(filter(None, map(_score_method, audit.primary_first)))


def literature_methods(audit: Audit) -> tuple[Method, ...]:
    """Return a method for each one of the literature that was run beside the verdict."""
    methods = []
    for result in audit.methods:
        # parameters stand behind a colon
        detector = DETECTORS[result.name.partition(":")[0]]
        method = Method(
            title=detector.title,
            summary="",
            formula=detector.formula,
            reference=detector.reference,
            name=result.name,
        )
        methods.append(method)
    return tuple(methods)


def evaluation_methods(audit: Audit) -> tuple[Method, ...]:
    """Return how the figures of this audit were computed; only of those that it has."""
    summary = audit.deciding
    methods: list[Method] = []
    if summary.ranking is not None:
        methods.append(
            Method(
                title="AUROC, TPR at a given FPR",
                formula="AUROC = P(s⁺ > s⁻) + P(s⁺ = s⁻) / 2; TPR at f = max {TPR(t) : FPR(t) ≤ f}",
                summary="s⁺ and s⁻ are the scores of a random member and a random non-member. The AUROC of a score "
                "that knows nothing is .5, its TPR equals the FPR. Intervals "
                f"({percent(summary.ranking.auroc.level)}) are over {number_of(summary.ranking.groups, 'group')} (a "
                "module, a project, a task), never over single samples of one group: Wilson's, with the effective "
                "sample size from resampled groups and Student's quantile.",
                reference="Hanley and McNeil 1982; Wilson 1927; Korn and Graubard 1998",
            )
        )
    if summary.test is not None:
        methods.append(
            Method(
                title="Permutation test by group",
                formula="p = (1 + #{permutations with a statistic at least as large}) / (1 + #permutations)",
                summary="The benchmark against the unseen text: the larger of the mean rank and the share among the "
                f"highest {percent(TOP)} of unseen text, groups permuted. The allowance takes {FAMILIARITY:g} standard "
                "deviations of the unseen text off the scores of the benchmark, and the test is made again.",
                reference="Fisher 1935",
            )
        )
    if summary.calibration is not None:
        methods += _calibration_methods(summary.calibration.unseen, summary.calibration.alpha)
    if measured_baseline(audit) is not None:
        beside = " beside the scores" if baseline_separates_labels(audit) else ""
        methods.append(
            Method(
                title="Blind baseline",
                formula="logistic regression on words and character 3-grams, or on length and character classes",
                summary=f"It tries to separate {audit.blind_compares} by the text alone, cross-validated by group; "
                f"the stronger of the two is shown{beside}. Where it succeeds, a score may succeed for the same "
                "reason, without any memory of the model.",
                reference="Das, Zhang and Tramèr 2024, arXiv:2406.16201",
                link="https://arxiv.org/abs/2406.16201",
            )
        )
    return tuple(methods)


def _calibration_methods(unseen: int, alpha: float) -> tuple[Method, ...]:
    return (
        Method(
            title="p-value against unseen text",
            formula="p = (1 + #{unseen scores ≥ s}) / (m + 1)",
            summary=f"m = {unseen:,} texts that the model has certainly not seen. Nothing is assumed of the score's "
            "distribution; if sample and unseen texts are of one kind, an unseen sample has p ≤ α with probability α "
            "at most. Intervals of a share of flagged samples are over groups too.",
            reference="Vovk et al. 2005; Bates et al. 2023, arXiv:2104.08279",
            link="https://arxiv.org/abs/2104.08279",
        ),
        Method(
            title="q-value over the benchmark",
            formula="q of the i-th smallest p = min over j ≥ i of pⱼ · n / j",
            summary=f"Of the samples with q ≤ {alpha:g}, a share of {percent(alpha)} at most is expected to be unseen, "
            "if unseen samples score like the unseen text. Training on a part of a benchmark moves scores of its "
            "other samples too, so only unseen text of the same form (--same-form) names single samples.",
            reference="Benjamini and Hochberg 1995",
        ),
    )


def _score_method(score: str) -> Method | None:
    try:
        requested = request(score)
    except ScoreError:
        return None
    definition = requested.definition
    arxiv = _ARXIV.search(definition.reference)
    parameters = {**definition.defaults, **requested.parameters}
    values = ", ".join(f"{key} = {value}" for key, value in parameters.items())
    return Method(
        title=definition.title,
        summary=definition.summary,
        formula="; ".join(filter(None, (definition.formula, values))),
        reference=definition.reference,
        name=score,
        needs=" and ".join(_further_needs(definition)),
        link=arxiv and f"https://arxiv.org/abs/{arxiv[1]}",
    )


def _further_needs(definition: ScoreDefinition) -> Iterator[str]:
    for view in dict.fromkeys(definition.views.values()):
        if view != View():  # the plain pass, which every score has
            yield str(view)
    if definition.access == "black":
        yield "generated text, no token probabilities"
    if definition.needs_variants:
        yield "n variants of the text"
    if definition.needs_frequencies:
        yield "a token-frequency table"
