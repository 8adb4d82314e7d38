"""Ideas for a better detector: each a function of what one forward pass gives, none with a fitted weight."""

import keyword
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from assay.code.parse.lexing import python_comments, python_tokens
from assay.scores.token_scores import TAIL_MASS_FLOOR, deviation, mean, mean_of_lowest
from assay.types import TokenStatistics

Floats = NDArray[np.float64]
Kinds = NDArray[np.int8]
Idea = Callable[[TokenStatistics, Kinds], float]

KINDS = ("layout", "identifier", "keyword", "literal", "operator", "comment")
LAYOUT, IDENTIFIER, KEYWORD, LITERAL, OPERATOR, COMMENT = range(len(KINDS))
NAMED = (IDENTIFIER, LITERAL, COMMENT)

FUSIONS: Sequence[Sequence[str]] = (
    ("mid_pit", "gap_k"),
    ("mid_pit", "lrr"),
    ("mid_pit", "sr_z"),
    ("mid_pit", "min_k_plus_plus"),
    ("mid_pit", "fast_detect_gpt"),
    ("mid_pit", "gap_k", "lrr"),
    ("mid_pit", "gap_k", "lrr", "sr_z"),
)


def kinds_of(text: str, statistics: TokenStatistics) -> Kinds:
    """int8 [n], the kind of lexeme in which each token's first visible character stands."""
    at = np.zeros(len(text) + 1, np.int8)
    for one in python_tokens(text):
        word = one.text.isidentifier()
        literal = one.text[0] in "'\"" or one.text[-1] in "'\"" or one.text.lstrip(".")[:1].isdigit()
        kind = LITERAL if literal else OPERATOR
        if word:
            kind = KEYWORD if keyword.iskeyword(one.text) else IDENTIFIER
        at[one.start : one.start + len(one.text)] = kind
    for one in python_comments(text):
        at[one.start : one.start + len(one.text)] = COMMENT
    found = np.zeros(len(statistics), np.int8)
    for i, (start, end) in enumerate(statistics.offsets.tolist()):
        visible = next((j for j in range(start, end) if not text[j].isspace()), None)
        found[i] = LAYOUT if visible is None else at[visible]
    return found


def tail(one: TokenStatistics) -> Floats:
    """float64 [n], ln u."""
    return np.log(np.maximum(one.tail_mass.astype(np.float64), TAIL_MASS_FLOOR))


def standardised(one: TokenStatistics) -> Floats:
    """float64 [n], (l + H) / √V."""
    return (one.log_probs.astype(np.float64) + one.entropy) / deviation(one)


def share(one: TokenStatistics) -> Floats:
    """float64 [n], u away from 0 and 1."""
    return np.clip(one.tail_mass.astype(np.float64), TAIL_MASS_FLOOR, 1 - TAIL_MASS_FLOOR)


def moving(values: Floats, window: int) -> Floats:
    """Moving averages; the values themselves where there are fewer than the window."""
    return np.convolve(values, np.full(window, 1 / window), "valid") if len(values) >= window else values


def weighted(values: Floats, weights: Floats) -> float:
    """Weighted mean; NaN without any weight."""
    total = float(weights.sum())
    return float((values * weights).sum() / total) if total > 0 else np.nan


def trimmed(values: Floats, cut: float) -> float:
    """Mean without this share of the lowest and of the highest values."""
    ordered, drop = np.sort(values), int(cut * len(values))
    return mean(ordered[drop : len(ordered) - drop])


def late(values: Floats, half: float) -> float:
    """Mean with weights that rise from 0 to 1 over the first tokens."""
    return weighted(values, 1 - np.exp(-(np.arange(len(values)) + 1) / half))


def lowest_moving(values: Floats, window: int, k: float) -> float:
    """Mean of the lowest share of moving averages."""
    return mean_of_lowest(moving(values, window), k)


def floored(values: Floats, floor: float) -> float:
    """Mean with u no less than this."""
    return mean(np.maximum(values, np.log(floor)))


def firsts(one: TokenStatistics) -> NDArray[np.intp]:
    """Where each token id stands first."""
    return np.unique(one.token_ids, return_index=True)[1]


def a_mean(of: Callable[[TokenStatistics], Floats], weights: Callable[[Kinds], Floats]) -> Idea:
    """The mean of a value of each token, weighted by kind."""
    return lambda one, kinds: weighted(of(one), weights(kinds))


def only(kind: int, *, without: bool = False) -> Callable[[Kinds], Floats]:
    """All weight on one kind, or on the others."""
    return lambda kinds: np.where((kinds == kind) != without, 1.0, 0.0)


def heavy(chosen: Sequence[int], weight: float) -> Callable[[Kinds], Floats]:
    """`weight` on these kinds, 1 on the others."""
    return lambda kinds: np.where(np.isin(kinds, chosen), weight, 1.0)


def even(of: Callable[[TokenStatistics], Floats]) -> Idea:
    """The mean over kinds of the means of each."""
    return lambda one, kinds: mean(np.array([of(one)[kinds == kind].mean() for kind in np.unique(kinds)]))


def shaped(value: Callable[[Floats], float]) -> Idea:
    """A function of ln u."""
    return lambda one, _: value(tail(one))


def _weights() -> dict[str, Idea]:
    found: dict[str, Idea] = {}
    for kind, word in enumerate(KINDS):
        found[f"Mid-PIT of {word} tokens alone"] = a_mean(tail, only(kind))
        found[f"Mid-PIT without {word} tokens"] = a_mean(tail, only(kind, without=True))
    for label, of in (("Mid-PIT", tail), ("Min-K%++ k = 1", standardised)):
        found[f"{label}, identifiers twice"] = a_mean(of, heavy((IDENTIFIER,), 2))
        found[f"{label}, names, literals, comments twice"] = a_mean(of, heavy(NAMED, 2))
        found[f"{label}, names, literals, comments half"] = a_mean(of, heavy(NAMED, 0.5))
        found[f"{label}, every kind the same"] = even(of)
    found["Min-K%++ of names, literals, comments"] = lambda t, k: (
        mean_of_lowest(standardised(t)[np.isin(k, NAMED)], 0.2) if np.isin(k, NAMED).any() else np.nan
    )
    found["Mid-PIT weighted by entropy"] = lambda t, _: weighted(tail(t), t.entropy.astype(np.float64))
    found["Mid-PIT weighted by √V"] = lambda t, _: weighted(tail(t), np.sqrt(t.variance, dtype=np.float64))
    return found


def _shapes() -> dict[str, Idea]:
    found: dict[str, Idea] = {}
    for k in (0.2, 0.4, 0.6, 0.8):
        found[f"Mid-PIT, lowest {k:.0%}"] = shaped(partial(mean_of_lowest, k=k))
    for window in (3, 5):
        for k in (0.2, 0.6):
            found[f"Mid-PIT, moving averages of {window}, lowest {k:.0%}"] = shaped(
                partial(lowest_moving, window=window, k=k)
            )
    for cut in (0.05, 0.1, 0.25):
        found[f"Mid-PIT, {cut:.0%} cut off on both sides"] = shaped(partial(trimmed, cut=cut))
    for half in (8, 32, 128):
        found[f"Mid-PIT, first {half} tokens count less"] = shaped(partial(late, half=half))
    for floor in (1e-3, 1e-4):
        found[f"Mid-PIT, floor {floor:g}"] = shaped(partial(floored, floor=floor))
    return found | {
        "Mid-PIT of the second half": lambda t, _: mean(tail(t)[len(t) // 2 :]),
        "Mid-PIT of each token id's first place": lambda t, _: mean(tail(t)[firsts(t)]),
        "Min-K%++ k = 1 of each token id's first place": lambda t, _: mean(standardised(t)[firsts(t)]),
        "Mid-PIT of tokens not ranked first": lambda t, _: weighted(tail(t), np.where(t.ranks > 1, 1.0, 0.0)),
        "mean u": lambda t, _: mean(share(t)),
        "mean √u": lambda t, _: mean(np.sqrt(share(t))),
        "mean probit u": lambda t, _: mean(norm.ppf(share(t))),
        "mean logit u": lambda t, _: mean(np.log(share(t)) - np.log1p(-share(t))),
        "mean -ln(1 - u)": lambda t, _: -mean(np.log1p(-share(t))),
        "Σ (ln u + 1) / √n": lambda t, _: float((tail(t) + 1).sum() / np.sqrt(len(t))),
        "Σ (l + H) / √V / √n": lambda t, _: float(standardised(t).sum() / np.sqrt(len(t))),
        "Mid-PIT + Min-K%++ k = 1": lambda t, _: mean(tail(t)) + mean(standardised(t)),
    }


IDEAS: Mapping[str, Mapping[str, Idea]] = {"token weights": _weights(), "shapes of Mid-PIT": _shapes()}
"""Family → idea → its function; fusions are made of scores, by `fused`."""


def fused(values: Mapping[str, Floats], p_values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Fusions of scores by conformal p-values (Fisher, Stouffer, mean rank) and by standardised values.

    Args:
        values: score → float64 [texts], standardised on the calibration texts.
        p_values: score → float64 [texts], conformal against the calibration texts.
    """
    found: dict[str, Floats] = {}
    for parts in FUSIONS:
        if not set(parts) <= p_values.keys():
            continue
        label = " + ".join(parts)
        p = np.array([p_values[one] for one in parts])
        found |= {
            f"Fisher: {label}": -np.log(p).sum(axis=0),
            f"Stouffer: {label}": norm.isf(np.minimum(p, 1 - 1 / 2000)).sum(axis=0),
            f"mean rank: {label}": -p.mean(axis=0),
            f"sum of standardised: {label}": np.sum([values[one] for one in parts], axis=0),
        }
    return found
