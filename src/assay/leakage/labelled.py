"""Shared parts of fitted black-box detectors: labelled texts, and the audited model's continuations of texts.

A fitted detector must be judged on other texts than those that it was fitted on. So the labelled texts are split in
two by group: one half trains its language model, the other fits its classifier, which then sees features of texts that
the language model was not trained on, as it will of texts to be judged. A text whose group is in either half is not
judged.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.scores import SuffixCut
from assay.scoring import Answer, CutText, ask, cut_texts
from assay.types import Generator, Sample, Unread

CUT = SuffixCut(0.5, "line", "lexical")
"""As SrDetection cuts a text, so that every detector of generated text asks the same questions."""
NO_CONTINUATION = "the model wrote nothing behind its first half"
MINIMUM_PER_LABEL = 4
"""Labelled texts of each class at least: two in each half."""


@dataclass(frozen=True, slots=True)
class TrainingTexts:
    """Texts of known membership, none of which may be judged.

    Attributes:
        samples: the texts.
        labels: True for a member.
        seed: of the halves.
    """

    samples: tuple[Sample, ...]
    labels: tuple[bool, ...]
    seed: int

    def __post_init__(self) -> None:
        if len(self.samples) != len(self.labels):
            raise DataError(f"{len(self.samples)} samples and {len(self.labels)} labels: expected one label a sample")
        members = sum(self.labels)
        if min(members, len(self.labels) - members) < MINIMUM_PER_LABEL:
            raise DataError(
                f"{members} labelled members and {len(self.labels) - members} non-members: "
                f"expected at least {MINIMUM_PER_LABEL} of each"
            )

    def halves(self) -> tuple[list[int], list[int]]:
        """Return the positions of two halves that share no group, each with both classes.

        Raises:
            DataError: the groups are too few or too unequal for that.
        """
        sizes = Counter(map(group_of, self.samples))
        order = np.random.default_rng(self.seed).permutation(len(sizes))
        groups = sorted((list(sizes)[i] for i in order), key=lambda group: -sizes[group])
        side: dict[str, int] = {}
        totals = [Counter[bool](), Counter[bool]()]
        for group in groups:
            classes = Counter(
                label for sample, label in zip(self.samples, self.labels, strict=True) if group_of(sample) == group
            )
            common = classes.most_common(1)[0][0]
            smaller = min((0, 1), key=lambda i: (totals[i][common], totals[i].total()))
            side[group] = smaller
            totals[smaller] += classes
        if any(half[label] < MINIMUM_PER_LABEL // 2 for half in totals for label in (True, False)):
            raise DataError(
                f"{len(sizes)} groups of labelled texts cannot be cut into two halves with "
                f"{MINIMUM_PER_LABEL // 2} of each class: expected more groups, or more equal ones"
            )
        places = range(len(self.samples))
        first, second = ([i for i in places if side[group_of(self.samples[i])] == half] for half in (0, 1))
        return first, second

    def refuse_overlap(self, samples: Sequence[Sample]) -> None:
        """Check that no sample is a training text or of the group of one.

        Raises:
            DataError: a sample is.
        """
        groups, texts = (
            set(map(group_of, self.samples)),
            {sample.text for sample in self.samples},
        )  # a copy may be in another group
        overlap = [sample.id for sample in samples if group_of(sample) in groups or sample.text in texts]
        if overlap:
            raise DataError(
                f"{len(overlap)} of {len(samples)} samples (first {overlap[0]!r}) are texts that the detector was "
                "fitted on, or share a group with such a text: expected labelled texts and judged "
                "texts that share no group"
            )


@dataclass(frozen=True, slots=True)
class Completion:
    """The beginning of a text, and what the model generated behind it, at most as many characters as the rest has.

    Attributes:
        beginning: what the model read.
        written: what it generated.
        reason: why that is empty; None where it is not.
    """

    beginning: str
    written: str
    reason: str | None = None


def completions(texts: Sequence[str], generator: Generator) -> list[Completion]:
    """Return what the model generates behind the first half of each text, greedily.

    It is empty where a text has no second half.

    Raises:
        ModelError: the model cannot be run.
    """
    cuts = [piece for (piece,) in cut_texts(CUT, texts, generator)]
    answers = ask([piece.question for piece in cuts if piece.truth], generator)
    return [_completion(piece, answers.get(piece.question, "")) for piece in cuts]


def _completion(piece: CutText, answer: Answer | Unread) -> Completion:
    beginning = str(piece.question.prompt)
    if isinstance(answer, Unread):
        return Completion(beginning, "", answer.reason)
    written = str(answer)[: len(piece.truth)]
    return Completion(beginning, written, None if written else NO_CONTINUATION)


def check_classes(truths: NDArray[np.bool_], total: int, needs: str) -> None:
    """Check that the texts that a classifier can be fitted on are of both classes.

    Args:
        truths: bool [texts], of those with features.
        total: number of texts.
        needs: what a text must have for features.

    Raises:
        DataError: they are not.
    """
    fewest = int(min(truths.sum(), (~truths).sum()))
    if fewest < MINIMUM_PER_LABEL // 2:
        raise DataError(
            f"{len(truths)} of {total} labelled texts can be used to fit the classifier, {fewest} of the "
            f"smaller class: expected at least {MINIMUM_PER_LABEL // 2} of each with {needs}"
        )


def group_of(sample: Sample) -> str:
    """Return the key of what must not be split; a text without a group is its own group, with its copies."""
    return f"group {sample.group}" if sample.group is not None else f"text {sample.text}"
