"""The texts of an audit: the benchmark, the unseen text that it is compared with, and texts to fit detectors on."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from assay.datasets import Dataset, benchmark, is_benchmark
from assay.errors import DataError
from assay.evaluation import ShingleIndex, check_unseen
from assay.leakage.calibration_file import UnseenScores
from assay.types import MEMBER, NONMEMBER, Float64Array, Sample, texts_of

NEAR = 0.8
"""Share of the smaller text's 5-grams of tokens from which an unseen text counts as one of the benchmark: what a model
knows of the one it knows of the other."""


@dataclass(frozen=True, slots=True)
class AuditedTexts:
    """The texts of an audit, read and checked before a model is opened.

    Attributes:
        dataset: the benchmark.
        fresh: unseen text that is not in the benchmark; None without any.
        calibration: instead of unseen text, scores of such text; None without any.
        overlap: a note where unseen texts were in the benchmark.
    """

    dataset: Dataset
    fresh: Dataset | None = None
    calibration: UnseenScores | None = None
    overlap: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        unseen: Dataset | None,
        calibration: UnseenScores | None = None,
    ) -> "AuditedTexts":
        """Check the texts.

        Args:
            dataset: the benchmark.
            unseen: text that the model has certainly not seen.
            calibration: instead of unseen text, scores of such text.

        Raises:
            DataError: there are too few unseen texts.
        """
        if unseen is None:
            return cls(dataset, calibration=calibration)
        # before the count: texts of the benchmark would fill up a set that is too small
        kept, overlap = without(unseen.samples, dataset.samples)
        check_unseen(len(kept))
        fresh = Dataset.of(unseen.name, kept, source=unseen.source, notes=unseen.notes)
        return cls(dataset, fresh=fresh, calibration=calibration, overlap=overlap)

    @property
    def unseen(self) -> tuple[Sample, ...]:
        """The unseen text that is not in the benchmark; empty without any."""
        if self.fresh is None:
            return ()
        return self.fresh.samples

    @property
    def samples(self) -> list[Sample]:
        """The benchmark, then the unseen text."""
        return [*self.dataset.samples, *self.unseen]

    @property
    def has_both_classes(self) -> bool:
        """True if the samples are known to be seen and never seen."""
        # recorded where a model was trained on purpose; 0 is never seen
        doses = {sample.metadata.get("dose") for sample in self.dataset.samples}
        return {MEMBER, NONMEMBER} <= set(labels_of(self.dataset.samples).tolist()) or (0 in doses and len(doses) > 1)

    @property
    def groups(self) -> int:
        """Number of groups of the benchmark."""
        return len(set(groups_of(self.dataset.samples)))

    @property
    def unseen_groups(self) -> int:
        """Number of groups of the unseen text."""
        return len(set(groups_of(self.unseen)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader needs to know of the texts."""
        sides = filter(None, (self.dataset, self.fresh))
        return (*chain.from_iterable(side.notes for side in sides), *self.overlap)

    def digests(self) -> dict[str, object]:
        """Return the texts as the identity of a run holds them."""
        return {"data": self.dataset.digest, "unseen": self.fresh and self.fresh.digest}

    def sources(self) -> dict[str, object]:
        """Return the texts as the manifest of a run names them."""
        return {"unseen": self.fresh and self.fresh.source}


def naming_arguments(dataset: Dataset) -> tuple[str, ...]:
    """Return what names a benchmark on a command line: its name, its file, or both."""
    # a name without its file would look for the benchmark on the hub, so a line that is copied has both
    files = (quote(dataset.source),) if Path(dataset.source).exists() else ()
    if is_benchmark(dataset.name):
        return dataset.name, *files
    if dataset.source.startswith("hub "):
        return (f"hf:{dataset.name}",)
    return files or (dataset.source,)


def unseen_command(dataset: Dataset) -> str:
    """Return the command that makes unseen text for a benchmark."""
    name, *files = naming_arguments(dataset)
    if is_benchmark(name):
        return benchmark(name).unseen_advice.replace("FILE", *files or ("FILE",))
    return f"assay unseen build REPOSITORY… --like {name} --after DATE -o new.jsonl"


def may_be_python(dataset: Dataset) -> bool:
    """Return True if a benchmark has a text in Python, or one whose language it does not name."""
    return any(sample.language in ("python", None) for sample in dataset.samples)


def groups_of(samples: Sequence[Sample], side: str = "benchmark") -> list[Hashable]:
    """Return the key of what must not be split: a sample's group, or the sample itself.

    Args:
        samples: of one set.
        side: name of the set, so that samples without a group differ from those of another set.
    """
    # a sample without a group is one by itself
    return [(side, i) if s.group is None else ("group", s.group) for i, s in enumerate(samples)]


def labels_of(samples: Sequence[Sample]) -> NDArray[np.str_]:
    """Return the label of each sample; "" where it has none."""
    return np.array([sample.label or "" for sample in samples], np.str_)


def is_labelled(samples: Sequence[Sample]) -> bool:
    """Return True if any sample is a member or a nonmember."""
    return bool(np.isin(labels_of(samples), (MEMBER, NONMEMBER)).any())


def doses_of(samples: Sequence[Sample]) -> Float64Array | None:
    """Return float64 [samples], how often the model saw each; None unless all are known, at 0 and another dose."""
    doses = [dose for sample in samples if isinstance(dose := sample.metadata.get("dose"), int)]
    if len(doses) < len(samples) or 0 not in doses or len(set(doses)) == 1:
        return None
    return np.array(doses, np.float64)


def without(unseen: Sequence[Sample], audited: Sequence[Sample]) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """Return the unseen texts that are not in the benchmark, nor nearly, and a note where any are."""
    texts = texts_of(audited)
    near = ShingleIndex(texts_of(unseen)).near_any(texts, NEAR)
    # a text of fewer tokens than a shingle is near nothing, so equal texts are looked for as well
    present = set(texts)
    fresh = tuple(s for s, is_near in zip(unseen, near, strict=True) if not is_near and s.text not in present)
    if unseen and not fresh:
        raise DataError(f"all {len(unseen)} unseen texts are in the audited benchmark too; expected other texts")
    left_out = len(unseen) - len(fresh)
    if not left_out:
        return fresh, ()
    return fresh, (f"{left_out} of {len(unseen)} unseen texts are in the benchmark too and were left out.",)
