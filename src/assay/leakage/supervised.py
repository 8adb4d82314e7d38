"""Detectors that learn from texts of known membership: name → how it is fitted."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from assay.errors import DataError
from assay.leakage import dpdllm, veil_probe
from assay.leakage.labelled import Fitted
from assay.types import MEMBER, NONMEMBER, Generator, Sample

SUPERVISED: Mapping[str, Callable[..., Fitted]] = MappingProxyType(
    {veil_probe.NAME: veil_probe.fit, dpdllm.NAME: dpdllm.fit}
)
"""Each takes samples, labels (True for a member) and the audited model's `Generator`, and settings by keyword."""


def fit_all(samples: Sequence[Sample], generator: Generator, *, seed: int = 0) -> dict[str, Fitted]:
    """Every such detector, fitted on the samples that are labelled member or nonmember.

    Raises:
        DataError: there are none, or too few of a class.
        ModelError: a model cannot be run.
    """
    known = [one for one in samples if one.label in (MEMBER, NONMEMBER)]
    if not known:
        raise DataError(
            f"none of {len(samples)} texts to learn from is labelled: expected a column of labels, 1 = member"
        )
    labels = [one.label == MEMBER for one in known]
    return {name: fit(known, labels, generator, seed=seed) for name, fit in SUPERVISED.items()}
