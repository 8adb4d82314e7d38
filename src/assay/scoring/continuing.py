"""The continuations that a block of samples needs: texts are cut, the model is asked once each, answers are read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from assay.scores import Continuation, Cut
from assay.scoring.asking import ask
from assay.scoring.cutting import CutText, Question, cut_texts, read_answer
from assay.scoring.planning import Plan
from assay.types import GeneratedText, Generator, Rejected

SampleContinuations = Mapping[Cut, tuple[tuple[Continuation, ...] | Rejected, ...]]
"""Cut → the continuations of a sample's text, then those of each rewriting; `Rejected` where the model rejected one."""


@dataclass(frozen=True, slots=True)
class CutBlock:
    """Samples, cut.

    Attributes:
        cuts: cut → sample → text (the sample's own, then its rewritings) → its cut texts.
        questions: what the model has to be asked, each once.
    """

    cuts: Mapping[Cut, tuple[tuple[tuple[CutText, ...], ...], ...]]
    questions: tuple[Question, ...]

    @property
    def pieces(self) -> Iterator[CutText]:
        """Every cut of every text of every sample."""
        texts = chain.from_iterable(chain.from_iterable(self.cuts.values()))
        return chain.from_iterable(texts)


def cut_block(texts: Sequence[Sequence[str]], plan: Plan) -> CutBlock:
    """Cut every sample's texts (its own first, then its rewritings) as the plan's scores ask."""
    cuts: dict[Cut, tuple[tuple[tuple[CutText, ...], ...], ...]] = {}
    if plan.generator is None:
        return CutBlock(cuts, ())
    for cut, variants in plan.cuts.items():
        needed = [own_and_rewritings[: 1 + variants] for own_and_rewritings in texts]
        # all texts are cut in one call, then dealt back to their samples
        pieces = iter(cut_texts(cut, list(chain.from_iterable(needed)), plan.generator))
        cuts[cut] = tuple(tuple(islice(pieces, len(sample))) for sample in needed)
    questions = dict.fromkeys(piece.question for piece in CutBlock(cuts, ()).pieces)
    return CutBlock(cuts, tuple(questions))


def continuations_of(
    block: CutBlock, model: Generator | None, *, progress: Callable[[int], None]
) -> list[SampleContinuations]:
    """Return what the model generates for each sample of the block, in units.

    Raises:
        ModelError: the model cannot be run.
    """
    if model is None or not block.cuts:
        return []
    # a rewriting often shares its prompt with the text: answers are looked up by question, not by place
    answers = ask(block.questions, model, progress=progress)
    rows: list[dict[Cut, tuple[tuple[Continuation, ...] | Rejected, ...]]] = []
    for samples in zip(*block.cuts.values(), strict=True):
        row = {}
        for cut, texts in zip(block.cuts, samples, strict=True):
            row[cut] = tuple(map(partial(_continuations, cut, answers=answers, model=model), texts))
        rows.append(row)
    return list(rows)


def _continuations(
    cut: Cut, text: Sequence[CutText], *, answers: Mapping[Question, GeneratedText | Rejected], model: Generator
) -> tuple[Continuation, ...] | Rejected:
    continuations = []
    for piece in text:
        answer = answers[piece.question]
        if isinstance(answer, Rejected):
            return answer
        continuations.append(read_answer(cut, piece, answer=answer, model=model))
    return tuple(continuations)
