"""Scores that compare two forms of a text, or two models. Higher = member."""

from assay.errors import Unscorable
from assay.scores.definition import LogProbs, LowercasedLogProbs, ReferenceLogProbs, score
from assay.scores.detector import SRDETECTION
from assay.scores.token_scores import mean

LEAST_NLL = 1e-10


@score(
    title="Lower-case ratio",
    formula="NLL(lower(x)) / NLL(x)",
    reference="Carlini et al. 2021, arXiv:2012.07805",
    flags={"figure", "demo"},
    names_in={SRDETECTION: "Lowercase"},
)
def lowercase(target: LogProbs, lowercased: LowercasedLogProbs) -> float:
    """NLL of the lower-cased text relative to that of the text: seen text loses more."""
    nll = -mean(target.log_probs)
    if nll < LEAST_NLL:
        raise Unscorable("NLL of the text is zero")
    return -mean(lowercased.log_probs) / nll


@score(
    title="Reference model",
    formula="mean l_target - mean l_reference",
    reference="Carlini et al. 2021, arXiv:2012.07805",
    flags={"contender", "verdict"},
)
def reference(target: LogProbs, reference: ReferenceLogProbs) -> float:
    """Log-likelihood against that of a second model which has not seen the text."""
    return mean(target.log_probs) - mean(reference.log_probs)
