"""DetectCodeGPT: how much the ranks of a text suffer from random white space (Shi et al. 2025, arXiv:2401.06461).

People put white space where they please, a model where it is most likely. So random spaces and line ends make generated
code less likely by more than they do code of people. No second model fills anything in.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.types import Float64Array, TokenScorer

DETECT_CODE_GPT = "detect_code_gpt"

_SPACE = re.compile(r"(?<=\S) (?=\S)")


@dataclass(frozen=True, slots=True)
class StylePerturbation:
    """The values of the paper.

    Attributes:
        count: perturbed copies of each text.
        share: of the places in a text at which white space is inserted.
        spaces: mean of the Poisson distribution of the spaces at a place.
        line_ends: mean of the Poisson distribution of the line ends at a place.
        seed: of all draws.
    """

    count: int = 20
    share: float = 0.5
    spaces: float = 3.0
    line_ends: float = 2.0
    seed: int = 0


def perturbed_style(text: str, settings: StylePerturbation, draw: np.random.Generator) -> str:
    """Return a text with white space inserted at random: spaces within lines, or empty lines, by the toss of a coin.

    Spaces go where one space separates two visible characters, so indentation and tokens stay.
    """
    if draw.random() < 0.5:  # noqa: PLR2004  a coin
        places = [match.start() for match in _SPACE.finditer(text)]
        mark, mean = " ", settings.spaces
    else:
        places = [match.start() for match in re.finditer(r"\n", text)]
        mark, mean = "\n", settings.line_ends
    if not places:
        return text
    chosen = draw.choice(places, max(1, int(settings.share * len(places))), replace=False)
    pieces, end = [], 0
    for place in sorted(chosen.tolist()):
        pieces += [text[end:place], mark * int(draw.poisson(mean))]
        end = place
    return "".join([*pieces, text[end:]])


def detect_code_gpt(
    texts: Sequence[str], scorer: TokenScorer, settings: StylePerturbation | None = None
) -> tuple[Float64Array, tuple[str | None, ...]]:
    """Return the mean log-rank of the perturbed copies over that of the text itself; higher = machine-written.

    All copies of all texts are scored in one call. A copy that equals its text is no sample; it is left out.

    Returns:
        float64 [n], NaN exactly where there is a reason; and the reasons.

    Raises:
        ModelError: the model cannot be run.
    """
    settings = settings or StylePerturbation()
    draw = np.random.default_rng(settings.seed)
    copies = [
        tuple(copy for copy in (perturbed_style(text, settings, draw) for _ in range(settings.count)) if copy != text)
        for text in texts
    ]
    everything = list(dict.fromkeys([*texts, *(copy for group in copies for copy in group)]))
    log_ranks = dict(zip(everything, _mean_log_ranks(scorer, everything), strict=True))
    values, reasons = np.full(len(texts), np.nan), list[str | None]()
    for row, (text, group) in enumerate(zip(texts, copies, strict=True)):
        own = log_ranks[text]
        perturbed = [log_ranks[copy] for copy in group if not math.isnan(log_ranks[copy])]
        if math.isnan(own):
            reasons.append("fewer than 2 tokens")
        elif not perturbed:
            reasons.append("no place for white space: no perturbed copy differs")
        elif own == 0:
            reasons.append("every token is ranked first")
        else:
            values[row] = float(np.mean(perturbed)) / own
            reasons.append(None)
    return values, tuple(reasons)


def _mean_log_ranks(scorer: TokenScorer, texts: Sequence[str]) -> Iterator[float]:
    for statistics in scorer.token_statistics(texts):
        yield float(np.log(statistics.ranks).mean()) if len(statistics) else math.nan
