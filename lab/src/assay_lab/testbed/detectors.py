"""The detectors that an experiment compares: those of the registry, and some of them with other parameters.

Who is compared with whom, and what is drawn, was declared before any data was looked at.

A detector becomes a decision through a threshold. The threshold comes from its paper where the paper states one; every
other is fitted on the calibration split, and so uses as many labels as that split has texts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Self

from assay.errors import DataError
from assay.scores import DETECTORS, Access, Detector, ScoreDefinition, ScoreRequest, request
from assay.types import MEMBER
from assay_lab.columns import among, keyed, outside

WRITING: tuple[Access, ...] = ("black", "labelled")
"""Kinds of access that need only the text that the model generates."""
PRESETS: Mapping[str, tuple[str, ...]] = {"sr_gray": ("n=1", "n=3", "n=5"), "min_k_plus_plus": ("k=1.0",)}
"""Detector → parameters under which it is compared too."""
BASELINES = ("min_k_plus_plus", "sr_gray")
"""The detectors that contenders are compared with."""
CONTENDERS = ("min_k_plus_plus:k=1.0", "mid_pit", "gap_k", "fast_detect_gpt", "reference", "sr_z")
"""Detectors that are compared with every baseline, on the same samples."""
IN_FIGURES = ("min_k_plus_plus", "mid_pit", "lowercase", "sr_gray")
"""Detectors in a figure into which only a few fit."""
FILTER = "sr_gray"
"""A text whose value under the model before training is negative passes the filter of the testbed."""


@dataclass(frozen=True, slots=True)
class ComparedDetector:
    """A detector with its parameters.

    Attributes:
        name: the column of its values; a score as `assay score` spells it.
        detector: its entry in the registry.
    """

    name: str
    detector: Detector

    @classmethod
    def of(cls, name: str) -> Self:
        """Return the detector of that name, parameters behind colons.

        Raises:
            ScoreError: there is none.
            DataError: it judges whole datasets, not samples.
        """
        detector = DETECTORS[name] if name in DETECTORS else request(name).definition
        if detector.kind == "dataset":
            raise DataError(f"detector {name!r} judges whole datasets; expected one that judges samples")
        return cls(name, detector)

    @property
    def access(self) -> Access:
        """Access to the model that the detector needs."""
        return self.detector.access

    @property
    def request(self) -> ScoreRequest:
        """The request for its score; a fitted detector has none."""
        return request(self.name)

    @property
    def rule(self) -> float | None:
        """The value above which its paper calls a sample leaked; None where a threshold has to be fitted."""
        return self.detector.rule


@cache
def sample_detectors() -> Mapping[str, ComparedDetector]:
    """Return every detector of membership that judges samples, alone and with its presets, by name."""
    compared: dict[str, ComparedDetector] = {}
    for name, detector in DETECTORS.items():
        if detector.kind != "dataset" and detector.positive == MEMBER:
            presets = [f"{name}:{parameters}" for parameters in PRESETS.get(name, ())]
            # a preset has the definition of its detector; the parameters stand in its name alone
            compared |= {column: ComparedDetector(column, detector) for column in (name, *presets)}
    return compared


def chosen(names: Iterable[str]) -> tuple[ComparedDetector, ...]:
    """Return the detectors of these names.

    Without names these are all detectors that read token probabilities. The others make the model generate text, which
    takes many times as long, so they run only when they are named, or all together as `black`.

    Raises:
        ScoreError: no detector of that name.
        DataError: a detector that judges whole datasets.
    """
    compared: list[ComparedDetector] = []
    for name in names:
        compared += writing_detectors() if name == "black" else [ComparedDetector.of(name)]
    compared = compared or outside(sample_detectors().values(), "access", WRITING)
    return tuple(keyed(compared, "name").values())


def writing_detectors() -> tuple[ComparedDetector, ...]:
    """Return the detectors that need only the text that the model generates."""
    return tuple(among(sample_detectors().values(), "access", WRITING))


def with_variants(detectors: Iterable[ComparedDetector], most: int) -> tuple[ComparedDetector, ...]:
    """Return the detectors, each limited to at most `most` variants of a text."""
    kept: dict[str, ComparedDetector] = {}
    for detector in detectors:
        if not isinstance(detector.detector, ScoreDefinition) or detector.request.variants <= most:
            kept.setdefault(detector.name, detector)
        elif detector.name == detector.detector.name:  # a preset with more variants is left out
            name = f"{detector.name}:n={most}"
            kept[name] = ComparedDetector(name, detector.detector)
    return tuple(kept.values())
