"""What supervised black-box detectors share: texts of known membership, and what the audited model writes behind them.

A detector that learns from labels is worth something only on texts that taught it nothing. So the labelled texts are
cut in two by group: one half trains its language model, the other its classifier, which thereby sees what it will see
of texts to be judged; and a text whose group was among either is refused.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.scores import SuffixCut
from assay.scoring import Answer, Piece, answers, pieces
from assay.types import Generator, Sample, Unread

CUT = SuffixCut(0.5, "line", "lexical")
"""As SrDetection cuts a text, so that every detector of generated text asks the same questions."""
NOTHING = "the model wrote nothing behind its first half"
FEWEST = 4
"""Labelled texts of each class at least: two in each half."""


@dataclass(frozen=True, slots=True)
class Taught:
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
        if min(members, len(self.labels) - members) < FEWEST:
            raise DataError(
                f"{members} labelled members and {len(self.labels) - members} non-members: "
                f"expected at least {FEWEST} of each"
            )

    def halves(self) -> tuple[list[int], list[int]]:
        """Positions of two halves that share no group, each with both classes.

        Raises:
            DataError: the groups are too few or too unequal for that.
        """
        sizes = Counter(map(group_of, self.samples))
        order = np.random.default_rng(self.seed).permutation(len(sizes))
        groups = sorted((list(sizes)[i] for i in order), key=lambda group: -sizes[group])
        side: dict[str, int] = {}
        held = [Counter[bool](), Counter[bool]()]
        for group in groups:
            classes = Counter(
                label for one, label in zip(self.samples, self.labels, strict=True) if group_of(one) == group
            )
            common = classes.most_common(1)[0][0]
            smaller = min((0, 1), key=lambda i: (held[i][common], held[i].total()))
            side[group] = smaller
            held[smaller] += classes
        if any(half[label] < FEWEST // 2 for half in held for label in (True, False)):
            raise DataError(
                f"{len(sizes)} groups of labelled texts cannot be cut into two halves with {FEWEST // 2} of each "
                "class: expected more groups, or more equal ones"
            )
        places = range(len(self.samples))
        first, second = ([i for i in places if side[group_of(self.samples[i])] == half] for half in (0, 1))
        return first, second

    def refuse_known(self, samples: Sequence[Sample]) -> None:
        """No text that taught a detector is judged by it, and none of its group.

        Raises:
            DataError: when one is.
        """
        groups, texts = (
            set(map(group_of, self.samples)),
            {one.text for one in self.samples},
        )  # a copy may stand in another group
        known = [one.id for one in samples if group_of(one) in groups or one.text in texts]
        if known:
            raise DataError(
                f"{len(known)} of {len(samples)} samples (first {known[0]!r}) taught the detector, or one of their "
                "group did: expected labelled texts and judged ones that share no group"
            )


@dataclass(frozen=True, slots=True)
class Continued:
    """The beginning of a text, and what the model wrote behind it: as many characters as stand there, at most.

    Attributes:
        beginning: what the model read.
        written: what it wrote.
        reason: why that is nothing, where it is.
    """

    beginning: str
    written: str
    reason: str | None = None


def continued(texts: Sequence[str], generator: Generator) -> list[Continued]:
    """What the model writes behind the first half of each text, greedily; nothing where a text has no second half.

    Raises:
        ModelError: the model cannot be run.
    """
    cut = [piece for (piece,) in pieces(CUT, texts, generator)]
    found = answers([one.question for one in cut if one.truth], generator)
    return [_continued(one, found.get(one.question, "")) for one in cut]


def _continued(piece: Piece, answer: Answer | Unread) -> Continued:
    beginning = str(piece.question.prompt)
    if isinstance(answer, Unread):
        return Continued(beginning, "", answer.reason)
    written = str(answer)[: len(piece.truth)]
    return Continued(beginning, written, None if written else NOTHING)


def check_classes(truths: NDArray[np.bool_], total: int, needs: str) -> None:
    """The texts that a classifier can learn from must be of both classes.

    Args:
        truths: bool [texts], of those with features.
        total: how many texts there are.
        needs: what a text must have for that.

    Raises:
        DataError: when they are not.
    """
    fewest = int(min(truths.sum(), (~truths).sum()))
    if fewest < FEWEST // 2:
        raise DataError(
            f"{len(truths)} of {total} labelled texts can teach the classifier, of one class {fewest}: expected at "
            f"least {FEWEST // 2} of each with {needs}"
        )


def group_of(sample: Sample) -> str:
    """What must not be split; a text without a group is its own, and so is any copy of it."""
    return f"group {sample.group}" if sample.group is not None else f"text {sample.text}"
