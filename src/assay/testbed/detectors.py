"""The detectors that are compared: one line each. To add one, add its line.

A detector is a score with a threshold. The threshold comes from its paper where the paper names one (SrDetection: above
0); every other is fitted on the calibration split, and so knows as many labels as that split has texts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from assay.errors import DataError
from assay.scores import SCORES, ScoreRequest, request

Access = Literal["gray", "two models", "black", "labelled"]


@dataclass(frozen=True, slots=True)
class Detector:
    """One way to tell members.

    Attributes:
        name: the column of its values; a score as `assay score` spells it.
        title: what papers call it.
        access: "gray" needs token probabilities of the audited model, "two models" those of the model before, too;
            "black" needs only what the audited model writes; "labelled" that, and texts of known membership to learn
            from. These are no scores, see `assay.leakage.supervised`.
        paper: its name in the tables of SrDetection; None where they do not have it.
    """

    name: str
    title: str
    access: Access = "gray"
    paper: str | None = None

    @property
    def request(self) -> ScoreRequest:
        """The score that it is."""
        return request(self.name)

    @property
    def rule(self) -> float | None:
        """The value above which its paper calls a sample leaked; None where a threshold has to be fitted."""
        return 0.0 if self.access == "labelled" else self.request.definition.rule


_ALL = (
    Detector("perplexity", "PPL", paper="PPL"),
    Detector("lowercase", "Lowercase", paper="Lowercase"),
    Detector("zlib", "Zlib", paper="Zlib"),
    Detector("min_k", "Min-K% Prob", paper="Min-K% Prob"),
    Detector("min_k_plus_plus", "Min-K%++ Prob", paper="Min-K%++ Prob"),
    Detector("dc_pdd", "DC-PDD", paper="DC-PDD"),
    Detector("sr_gray", "SrDetection, gray-box", paper="SrDetection"),
    Detector("sr_gray:n=1", "SrDetection, gray-box, 1 variant"),
    Detector("sr_gray:n=3", "SrDetection, gray-box, 3 variants"),
    Detector("sr_gray:n=5", "SrDetection, gray-box, 5 variants"),
    Detector("sr_z", "SrDetection, standardised"),
    Detector("sr_rank", "SrDetection, rank p-value"),
    Detector("sr_shared", "SrDetection, tokens that both share"),
    Detector("mid_pit", "Mid-PIT"),
    Detector("gap_k", "Gap-K%"),
    Detector("min_k_plus_plus:k=1.0", "Min-K%++ of all tokens"),
    Detector("loss", "Log-likelihood"),
    Detector("rank", "Rank"),
    Detector("log_rank", "Log-rank"),
    Detector("lrr", "LRR"),
    Detector("entropy", "Entropy"),
    Detector("ngram_accuracy", "N-gram accuracy"),
    Detector("fast_detect_gpt", "Fast-DetectGPT"),
    Detector("reference", "NLL before - NLL after", access="two models"),
    Detector("sr_black", "SrDetection, black-box", access="black", paper="SrDetection"),
    Detector("sr_black_rank", "SrDetection, black-box, rank p-value", access="black"),
    Detector("ngram_generation", "N-gram accuracy by generation", access="black"),
    Detector("veil_probe", "VeilProbe", access="labelled", paper="VeilProbe"),
    Detector("dpdllm", "DPDLLM", access="labelled", paper="DPDLLM"),
)
DETECTORS: Mapping[str, Detector] = MappingProxyType({one.name: one for one in _ALL})
"""Name → detector."""
BLACK = tuple(one for one in _ALL if one.access in ("black", "labelled"))
"""The detectors that need no more of the model than what it writes."""


def chosen(names: Iterable[str]) -> tuple[Detector, ...]:
    """The detectors of these names; a score that is none yet becomes one.

    Where there are no names, all that read token probabilities: the others make the model write, which takes many
    times as long, and so are asked for by name, or all together as `black`.

    Raises:
        ScoreError: no score of that name.
        DataError: a score that neither is a detector nor can be one here.
    """
    wanted = [one for name in names for one in (BLACK if name == "black" else (_detector(name),))]
    return tuple({one.name: one for one in wanted or (one for one in _ALL if one not in BLACK)}.values())


def with_variants(detectors: Iterable[Detector], most: int) -> tuple[Detector, ...]:
    """The detectors with at most so many variants: those that want more are asked for that many."""
    kept = {}
    for one in detectors:
        if one.access == "labelled":
            kept[one.name] = one
            continue
        asked = one.request
        if asked.variants > most:
            if asked.name != asked.definition.name:
                continue  # one of a series over numbers of variants
            kept[f"{one.name}:n={most}"] = Detector(f"{one.name}:n={most}", one.title, one.access, one.paper)
        else:
            kept.setdefault(one.name, one)
    return tuple(kept.values())


def _detector(name: str) -> Detector:
    if name in DETECTORS:
        return DETECTORS[name]
    definition = request(name).definition
    if definition.name not in SCORES:
        raise DataError(f"detector {name!r}: expected one of {', '.join(DETECTORS)}")
    return Detector(name, definition.title, definition.access)
