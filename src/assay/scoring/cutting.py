"""Cuts: what a model that only writes is asked about a text, and how its answer is read (METHODS of SrDetection, §3).

A model that shows its tokenizer (`TokenGenerator`) is asked for as many tokens as the true suffix has, and n-grams are
cut between its own tokens, so that they agree with one teacher-forced pass. Of any other only characters are known: a
token is taken to have two of them at least, and what it writes is cut where the true suffix ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from assay.code import lexeme_spans, lexemes
from assay.scores import Continuation, Cut, StartsCut, SuffixCut, even_starts
from assay.types import Generator, TokenGenerator, Tokens

Prompt = str | tuple[int, ...]
Answer = str | tuple[int, ...]

CHARACTERS_PER_TOKEN = 2
"""Fewer than a token of code has (three to four), so that the answer reaches the end of the true suffix."""
STEP = 32
"""Suffix lengths are rounded up to a multiple of this, so that prompts share batches; what is too much is cut off."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the model is asked: to write `max_new_tokens` behind `prompt`, greedily."""

    prompt: Prompt
    max_new_tokens: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A text cut once.

    Attributes:
        question: what the model is asked.
        truth: what stands behind the cut, in characters or in the model's tokens.
        tokens: of what the model writes, so many of its own tokens count; None where it does not show them.
    """

    question: Question
    truth: Answer
    tokens: int | None


def pieces(cut: Cut, texts: Sequence[str], model: Generator) -> list[tuple[Piece, ...]]:
    """Each text, cut; an empty tuple where it is too short for that."""
    return suffixes(cut, texts, model) if isinstance(cut, SuffixCut) else starts(cut, texts, model)


def suffixes(cut: SuffixCut, texts: Sequence[str], model: Generator) -> list[tuple[Piece, ...]]:
    """Each text, cut once."""
    places = [suffix_start(text, cut) for text in texts]
    found: list[tuple[Piece, ...]] = []
    true = [text[place:] for text, place in zip(texts, places, strict=True)]
    if not isinstance(model, TokenGenerator):
        for text, suffix, place in zip(texts, true, places, strict=True):
            found.append((Piece(Question(text[:place], grid(ceil(len(suffix) / CHARACTERS_PER_TOKEN))), suffix, None),))
        return found
    most = max(1, model.context // 2)
    for text, suffix, place, known in zip(texts, true, places, model.tokens(true), strict=True):
        tokens = len(known.ids) - known.special
        if tokens > most:  # the rest has no room: as much of the suffix as the model could write
            tokens, suffix = most, suffix[: end_of(known, most)]  # noqa: PLW2901  the suffix, shortened
        asked = min(grid(tokens), most)
        found.append((Piece(Question(text[:place], max(1, asked)), suffix, tokens),))
    return found


def starts(cut: StartsCut, texts: Sequence[str], model: Generator) -> list[tuple[Piece, ...]]:
    """Each text, cut at evenly spaced places."""
    if not isinstance(model, TokenGenerator):
        return [lexical_starts(text, cut) for text in texts]
    return [
        tuple(
            Piece(Question(known.ids[:start], cut.n), known.ids[start : start + cut.n], cut.n)
            for start in (known.first + even_starts(len(known.ids) - known.first, cut.n, cut.stride)).tolist()
        )
        for known in model.tokens(texts)
    ]


def lexical_starts(text: str, cut: StartsCut) -> tuple[Piece, ...]:
    """Five evenly spaced runs of n lexemes; the model reads up to the end of the lexeme before."""
    spans = lexeme_spans(text)
    found = []
    for start in (1 + even_starts(len(spans) - 1, cut.n, cut.stride)).tolist() if len(spans) > 1 else ():
        before, end = spans[start - 1][1], spans[start + cut.n - 1][1]
        found.append(
            Piece(Question(text[:before], grid(ceil((end - before) / CHARACTERS_PER_TOKEN))), text[before:end], None)
        )
    return tuple(found)


def suffix_start(text: str, cut: SuffixCut) -> int:
    """Where the suffix begins, in characters; the end of the text where nothing can be cut off."""
    spans = lexeme_spans(text)
    if len(spans) < 2:  # noqa: PLR2004  one to read, one to write
        return len(text)
    count = max(1, int(cut.prefix * len(spans)))
    exact = spans[count - 1][1]
    if cut.at == "token":
        return exact
    begins = spans[count][0]  # a line that ends between the last lexeme read and the next one is read whole
    behind = text.rfind("\n", spans[0][1], begins)
    place = behind if behind >= 0 else text.find("\n", spans[0][1])
    if place < 0 or place >= spans[-1][0]:
        return exact
    return place - (text[place - 1] == "\r")


def read(cut: Cut, piece: Piece, answer: Answer, model: Generator) -> Continuation:
    """The answer and the truth in units."""
    if isinstance(answer, tuple) or isinstance(piece.truth, tuple):
        return Continuation(tuple(piece.truth), tuple(answer))
    if isinstance(model, TokenGenerator) and piece.tokens is not None:
        (known,) = model.tokens([answer])
        answer = answer[: end_of(known, piece.tokens)]
    elif isinstance(cut, SuffixCut):
        answer = answer[: len(piece.truth)]
    if isinstance(cut, SuffixCut) and cut.units == "model" and isinstance(model, TokenGenerator):
        true, written = (one.ids[one.special :] for one in model.tokens([piece.truth, answer]))
        return Continuation(true, written)
    return Continuation(tuple(lexemes(piece.truth)), tuple(lexemes(answer)))


def end_of(known: Tokens, count: int) -> int:
    """Where the first `count` tokens of a text end in it, in characters."""
    places = known.offsets[known.special : known.special + count]
    return int(places[-1, 1]) if len(places) and places[-1, 1] >= 0 else 2**31


def grid(tokens: int) -> int:
    """The next multiple of `STEP`."""
    return STEP * max(1, ceil(tokens / STEP))
