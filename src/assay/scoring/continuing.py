"""The continuations that a block of samples needs: cut, asked once each, read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.scores import Continuation, Cut
from assay.scoring.asking import answers
from assay.scoring.cutting import Answer, Piece, Question, pieces, read
from assay.scoring.planning import Plan
from assay.types import Generator, Unread

Continued = Mapping[Cut, tuple[tuple[Continuation, ...] | Unread, ...]]
"""Cut → the continuations of a text, then those of each of its rewritings; `Unread` where a piece was not taken."""


@dataclass(frozen=True, slots=True)
class CutBlock:
    """Samples, cut.

    Attributes:
        pieces: cut → sample → text (the sample's own, then its rewritings) → its pieces.
        questions: what the model has to be asked, each once.
    """

    pieces: Mapping[Cut, tuple[tuple[tuple[Piece, ...], ...], ...]]
    questions: tuple[Question, ...]


def cut_block(texts: Sequence[Sequence[str]], plan: Plan) -> CutBlock:
    """Cut every sample's texts (its own first, then its rewritings) as the plan's scores ask."""
    found: dict[Cut, tuple[tuple[tuple[Piece, ...], ...], ...]] = {}
    if plan.generator is None:
        return CutBlock(found, ())
    for cut, variants in plan.cuts.items():
        wanted = [some[: 1 + variants] for some in texts]
        flat = iter(pieces(cut, [text for some in wanted for text in some], plan.generator))
        found[cut] = tuple(tuple(next(flat) for _ in some) for some in wanted)
    questions = (
        piece.question for samples in found.values() for sample in samples for text in sample for piece in text
    )
    return CutBlock(found, tuple(dict.fromkeys(questions)))


def continued(block: CutBlock, model: Generator | None, *, told: Callable[[int], None]) -> list[Continued]:
    """What the model wrote for each sample of the block, in units.

    Raises:
        ModelError: the model cannot be run.
    """
    if model is None or not block.pieces:
        return []
    answered = answers(block.questions, model, told=told)
    columns = {
        cut: [tuple(read_all(cut, text, answered, model) for text in sample) for sample in samples]
        for cut, samples in block.pieces.items()
    }
    count = len(next(iter(columns.values())))
    return [{cut: column[position] for cut, column in columns.items()} for position in range(count)]


def read_all(
    cut: Cut, text: Sequence[Piece], answered: Mapping[Question, Answer | Unread], model: Generator
) -> tuple[Continuation, ...] | Unread:
    """The continuations of a text's pieces, or why one of them has none."""
    found = []
    for piece in text:
        answer = answered[piece.question]
        if isinstance(answer, Unread):
            return answer
        found.append(read(cut, piece, answer, model))
    return tuple(found)
