"""The detectors that an experiment compares: those of the registry, and their presets.

A detector becomes a decision through a threshold. The threshold comes from its paper where the paper states one; every
other is fitted on the calibration split, and so uses as many labels as that split has texts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Self

from assay.errors import DataError
from assay.scores import DETECTORS, Access, Detector, ScoreDefinition, ScoreRequest, request

WRITING: tuple[Access, ...] = ("black", "labelled")
"""Detectors of these accesses need no more of the model than the text that it generates."""


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
        """What has to be available of the model."""
        return self.detector.access

    @property
    def request(self) -> ScoreRequest:
        """The score that it is; fitted detectors are none."""
        return request(self.name)

    @property
    def rule(self) -> float | None:
        """The value above which its paper calls a sample leaked; None where a threshold has to be fitted."""
        return self.detector.rule


@cache
def sample_detectors() -> Mapping[str, ComparedDetector]:
    """Return every detector that judges samples, and its presets, by name."""
    compared: dict[str, ComparedDetector] = {}
    for name, detector in DETECTORS.items():
        if detector.kind != "dataset":
            presets = [f"{name}:{preset.parameters}" for preset in detector.presets]
            compared |= {column: ComparedDetector(column, detector) for column in (name, *presets)}
    return compared


def chosen(names: Iterable[str]) -> tuple[ComparedDetector, ...]:
    """Return the detectors of these names.

    Where there are no names, all that read token probabilities: the others make the model generate text, which takes
    many times as long, and so are asked for by name, or all together as `black`.

    Raises:
        ScoreError: no detector of that name.
        DataError: a detector that judges whole datasets.
    """
    compared: list[ComparedDetector] = []
    for name in names:
        compared += writing_detectors() if name == "black" else [ComparedDetector.of(name)]
    compared = compared or [detector for detector in sample_detectors().values() if detector.access not in WRITING]
    return tuple({detector.name: detector for detector in compared}.values())


def writing_detectors() -> tuple[ComparedDetector, ...]:
    """Return the detectors that need no more of the model than the text that it generates."""
    return tuple(detector for detector in sample_detectors().values() if detector.access in WRITING)


def with_variants(detectors: Iterable[ComparedDetector], most: int) -> tuple[ComparedDetector, ...]:
    """Return the detectors with at most so many variants: those that compare more get that many."""
    kept: dict[str, ComparedDetector] = {}
    for detector in detectors:
        if not isinstance(detector.detector, ScoreDefinition) or detector.request.variants <= most:
            kept.setdefault(detector.name, detector)
        elif detector.name == detector.detector.name:  # else it is one of a series over numbers of variants
            name = f"{detector.name}:n={most}"
            kept[name] = ComparedDetector(name, detector.detector)
    return tuple(kept.values())
