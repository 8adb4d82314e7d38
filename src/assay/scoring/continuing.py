"""The continuations that a block of samples needs: texts are cut, the model is asked once each, answers are read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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


def cut_block(texts: Sequence[Sequence[str]], plan: Plan) -> CutBlock:
    """Cut every sample's texts (its own first, then its rewritings) as the plan's scores ask."""
    cuts: dict[Cut, tuple[tuple[tuple[CutText, ...], ...], ...]] = {}
    if plan.generator is None:
        return CutBlock(cuts, ())
    for cut, variants in plan.cuts.items():
        needed = [own_and_rewritings[: 1 + variants] for own_and_rewritings in texts]
        flat = iter(cut_texts(cut, [text for sample in needed for text in sample], plan.generator))
        cuts[cut] = tuple(tuple(next(flat) for _ in sample) for sample in needed)
    questions = (piece.question for samples in cuts.values() for sample in samples for text in sample for piece in text)
    return CutBlock(cuts, tuple(dict.fromkeys(questions)))


def continuations_of(
    block: CutBlock, model: Generator | None, *, progress: Callable[[int], None]
) -> list[SampleContinuations]:
    """Return what the model generates for each sample of the block, in units.

    Raises:
        ModelError: the model cannot be run.
    """
    if model is None or not block.cuts:
        return []
    answers = ask(block.questions, model, progress=progress)
    columns = {
        cut: [tuple(_continuations(cut, text, answers, model) for text in sample) for sample in samples]
        for cut, samples in block.cuts.items()
    }
    count = len(next(iter(columns.values())))
    return [{cut: column[position] for cut, column in columns.items()} for position in range(count)]


def _continuations(
    cut: Cut, text: Sequence[CutText], answers: Mapping[Question, GeneratedText | Rejected], model: Generator
) -> tuple[Continuation, ...] | Rejected:
    continuations = []
    for piece in text:
        answer = answers[piece.question]
        if isinstance(answer, Rejected):
            return answer
        continuations.append(read_answer(cut, piece, answer, model))
    return tuple(continuations)
