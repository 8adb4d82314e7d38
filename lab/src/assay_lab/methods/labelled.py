"""The shared parts of fitted black-box detectors: texts of known membership, and completions by the audited model.

A detector that is fitted on labels is evaluated only on texts of other groups: a text whose group is among the labelled
ones is refused.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.scores import SuffixCut
from assay.scoring import ask, cut_texts
from assay.types import Generator, Rejected, Sample
from assay_lab.columns import at_places, attributes, text_column

CUT = SuffixCut(0.5, "line", "lexical")
"""As SrDetection cuts a text, so that every detector of generated text sends the same prompts."""
NO_CONTINUATION = "the model generated no text after the prompt"
FEWEST = 4
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
        if min(members, len(self.labels) - members) < FEWEST:
            raise DataError(
                f"{members} labelled members and {len(self.labels) - members} non-members: "
                f"expected at least {FEWEST} of each"
            )

    def halves(self) -> tuple[list[int], list[int]]:
        """Return the positions of two halves that share no group, each with both classes.

        Raises:
            DataError: the groups are too few or too unequal for that.
        """
        sizes = Counter(map(group_of, self.samples))
        order = np.random.default_rng(self.seed).permutation(len(sizes))
        # large groups first, each to the half that lacks its class: small ones even out what is left
        groups = sorted(at_places(list(sizes), order), key=lambda group: -sizes[group])
        side: dict[str, int] = {}
        counts = [Counter[bool](), Counter[bool]()]
        for group in groups:
            classes = Counter(
                label for sample, label in zip(self.samples, self.labels, strict=True) if group_of(sample) == group
            )
            common = classes.most_common(1)[0][0]
            smaller = min((0, 1), key=lambda i: (counts[i][common], counts[i].total()))
            side[group] = smaller
            counts[smaller] += classes
        if min(min(half[True], half[False]) for half in counts) < FEWEST // 2:
            raise DataError(
                f"{len(sizes)} groups of labelled texts cannot be cut into two halves with {FEWEST // 2} of each "
                "class: expected more groups, or more equal ones"
            )
        sides = np.array(at_places(side, map(group_of, self.samples)))
        return np.flatnonzero(sides == 0).tolist(), np.flatnonzero(sides == 1).tolist()

    def divided(
        self, texts: Literal["all", "labelled half"], unlabelled: Sequence[Sample]
    ) -> tuple[list[str], Sequence[int], frozenset[str] | None]:
        """Divide the texts between a model that is trained without labels and a classifier that is fitted on labels.

        Args:
            texts: "all": the model sees every text, the unlabelled ones too. "labelled half": it sees one half, and the
                classifier is fitted on the other.
            unlabelled: the samples to be judged.

        Returns:
            The distinct texts of the model, the places of the classifier's, and the texts that may be judged; None for
            any.
        """
        if texts == "labelled half":
            training, fitting = self.halves()
            return list(dict.fromkeys(text_column(at_places(self.samples, training)))), fitting, None
        seen = dict.fromkeys(text_column((*self.samples, *unlabelled)))
        return list(seen), range(len(self.samples)), frozenset(text_column(unlabelled))

    def refuse_overlap(self, samples: Sequence[Sample]) -> None:
        """Refuse to judge a labelled text, a copy of one, or a text of its group.

        Raises:
            DataError: there is such a text among the samples.
        """
        groups = set(map(group_of, self.samples))
        # a copy may be in another group
        texts = set(text_column(self.samples))
        labelled = [sample.id for sample in samples if group_of(sample) in groups or sample.text in texts]
        if labelled:
            raise DataError(
                f"{len(labelled)} of {len(samples)} samples (first {labelled[0]!r}) share a group with the labelled "
                "texts: expected labelled texts and judged ones that share no group"
            )


@dataclass(frozen=True, slots=True, eq=False)
class FittedOnTexts:
    """A detector that was fitted on texts of known membership.

    Attributes:
        labelled: the labelled texts.
        judged: the texts, besides the labelled ones, that its own model was trained on without labels; None where any
            text may be judged.
        generator: the audited model.
    """

    labelled: TrainingTexts
    judged: frozenset[str] | None
    generator: Generator

    @property
    def labels(self) -> int:
        """The number of labelled texts that it was fitted on."""
        return len(self.labelled.labels)

    def refuse(self, samples: Sequence[Sample], model: str) -> None:
        """Refuse to judge a labelled text, one of its group, or one that was not known when the detector was fitted.

        Args:
            samples: to judge.
            model: the fitted model, for the message.

        Raises:
            DataError: there is such a text among the samples.
        """
        self.labelled.refuse_overlap(samples)
        unknown = [sample.id for sample in samples if self.judged is not None and sample.text not in self.judged]
        if unknown:
            raise DataError(
                f"{len(unknown)} of {len(samples)} samples (first {unknown[0]!r}) are unknown to the {model}: "
                "expected every judged text among those that the detector was fitted with"
            )


@dataclass(frozen=True, slots=True)
class Completion:
    """A prompt and the text that the audited model generated after it.

    Attributes:
        prompt: sent to the model.
        answer: generated; may be empty.
        reason: why there is no answer; None where there is one.
    """

    prompt: str
    answer: str
    reason: str | None = None


def completions(
    texts: Sequence[str], generator: Generator, *, temperature: float = 0.0, seed: int = 0
) -> list[Completion]:
    """Return the model's completion of the first half of each text, at most as long as the second half.

    A text without a second half has no answer.

    Args:
        texts: cut as SrDetection cuts them.
        generator: the audited model.
        temperature: of sampling; 0 is greedy.
        seed: of sampling.

    Raises:
        ModelError: the model cannot be run.
    """
    cut = list(chain.from_iterable(cut_texts(CUT, texts, generator)))
    if temperature == 0:
        greedy = ask(attributes(filter(attrgetter("truth"), cut), "question"), generator)
        generated = {i: greedy[piece.question] for i, piece in enumerate(cut) if piece.truth}
    else:
        generated = {}
        lengths: defaultdict[int, list[int]] = defaultdict(list)
        for i, piece in enumerate(cut):
            if piece.truth:
                lengths[piece.question.max_new_tokens].append(i)
        # one call takes one limit of tokens, so prompts with answers of one length go together
        for length, places in sorted(lengths.items()):
            prompts = [str(cut[i].question.prompt) for i in places]
            sampled = generator.generate(prompts, max_new_tokens=length, temperature=temperature, seed=seed)
            generated |= dict(zip(places, sampled, strict=True))
    return [
        completion(str(piece.question.prompt), generated.get(i, ""), len(piece.truth)) for i, piece in enumerate(cut)
    ]


def completion(prompt: str, answer: object, longest: int | None = None) -> Completion:
    """Return a completion, its answer cut to `longest` characters; a prompt that was not taken has none."""
    if isinstance(answer, Rejected):
        return Completion(prompt, "", answer.reason)
    text = str(answer)[:longest]
    return Completion(prompt, text, None if text else NO_CONTINUATION)


def check_classes(truths: NDArray[np.bool_], total: int, needs: str) -> None:
    """Make sure that the texts with features are of both classes.

    Args:
        truths: bool [texts], of those with features.
        total: number of labelled texts.
        needs: what a text must have for features, for the error message.

    Raises:
        DataError: they are not.
    """
    fewest = int(min(truths.sum(), (~truths).sum()))
    if fewest < FEWEST // 2:
        raise DataError(
            f"{len(truths)} of {total} labelled texts have features, of one class {fewest}: expected at "
            f"least {FEWEST // 2} of each with {needs}"
        )


def group_of(sample: Sample) -> str:
    """Return the group of a sample; a text without one is its own group, together with its copies."""
    return f"group {sample.group}" if sample.group is not None else f"text {sample.text}"
