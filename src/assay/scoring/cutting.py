"""Cuts: what a model that only generates is asked about a text, and how its answer is read (SrDetection, §3).

A model that shows its tokenizer (`TokenGenerator`) is asked for as many tokens as the true suffix has, and n-grams are
cut between its own tokens, so that they agree with one teacher-forced pass. Of any other only characters are known: a
token is taken to have two of them at least, and the generated text is cut where the true suffix ends.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

from assay.code import lexeme_spans, lexemes
from assay.scores import Continuation, Cut, StartsCut, SuffixCut, even_starts
from assay.types import GeneratedText, Generator, Prompt, TokenGenerator, Tokens

CHARACTERS_PER_TOKEN = 2
"""Fewer than a token of code has (three to four), so that the answer reaches the end of the true suffix."""
STEP = 32
"""Suffix lengths are rounded up to a multiple of this, so that prompts share batches; the surplus is cut off."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request to generate `max_new_tokens` behind `prompt`, greedily."""

    prompt: Prompt
    max_new_tokens: int


@dataclass(frozen=True, slots=True)
class CutText:
    """A text cut once.

    Attributes:
        question: what the model is asked.
        truth: the rest of the text behind the cut, in characters or in the model's tokens.
        tokens: the number of generated tokens that count; None where the model does not show its tokenizer.
    """

    question: Question
    truth: GeneratedText
    tokens: int | None


def cut_texts(cut: Cut, texts: Sequence[str], model: Generator) -> list[tuple[CutText, ...]]:
    """Cut each text; an empty tuple stands for one that is too short."""
    if isinstance(cut, StartsCut):
        return _starts(cut, texts, model)
    prefixes, suffixes = [], []
    for text in texts:
        place = suffix_start(text, cut)
        prefixes.append(text[:place])
        suffixes.append(text[place:])
    pieces = map(_characters_cut, prefixes, suffixes)
    if isinstance(model, TokenGenerator):
        # half of the context at most is generated, so that the other half is left for what is read
        most = max(1, model.context // 2)
        pieces = map(partial(_tokens_cut, most=most), prefixes, suffixes, model.tokens(suffixes))
    return [(piece,) for piece in pieces]


def _characters_cut(prefix: str, suffix: str) -> CutText:
    return CutText(Question(prefix, _grid(ceil(len(suffix) / CHARACTERS_PER_TOKEN))), suffix, None)


def _tokens_cut(prefix: str, suffix: str, tokenized: Tokens, *, most: int) -> CutText:
    tokens = len(tokenized.ids) - tokenized.special
    if tokens > most:  # there is no room for the rest: as much of the suffix as the model can generate
        tokens, suffix = most, suffix[: _end_of(tokenized, most)]
    return CutText(Question(prefix, max(1, min(_grid(tokens), most))), suffix, tokens)


def _starts(cut: StartsCut, texts: Sequence[str], model: Generator) -> list[tuple[CutText, ...]]:
    if not isinstance(model, TokenGenerator):
        return [_lexical_starts(text, cut) for text in texts]
    return [tuple(_token_starts(tokens, cut)) for tokens in model.tokens(texts)]


def _token_starts(tokens: Tokens, cut: StartsCut) -> Iterator[CutText]:
    # the first token has no prediction, and a special one is not of the text
    for start in (tokens.first + even_starts(len(tokens.ids) - tokens.first, cut.n, cut.stride)).tolist():
        yield CutText(Question(tokens.ids[:start], cut.n), tokens.ids[start : start + cut.n], cut.n)


def _lexical_starts(text: str, cut: StartsCut) -> tuple[CutText, ...]:
    # five evenly spaced runs of n lexemes; the model reads up to the end of the lexeme before
    spans = lexeme_spans(text)
    if len(spans) < 2:  # noqa: PLR2004  as in `suffix_start`
        return ()
    pieces = []
    for start in (1 + even_starts(len(spans) - 1, cut.n, cut.stride)).tolist():
        # what stands between two lexemes belongs to what is generated
        before, end = spans[start - 1][1], spans[start + cut.n - 1][1]
        length = _grid(ceil((end - before) / CHARACTERS_PER_TOKEN))
        pieces.append(CutText(Question(text[:before], length), text[before:end], None))
    return tuple(pieces)


def suffix_start(text: str, cut: SuffixCut) -> int:
    """Return where the suffix begins, in characters; the end of the text where nothing can be cut off."""
    spans = lexeme_spans(text)
    if len(spans) < 2:  # noqa: PLR2004  at least a lexeme to read and a lexeme to generate
        return len(text)
    count = max(1, int(cut.prefix * len(spans)))
    exact = spans[count - 1][1]
    if cut.at == "token":
        return exact
    begins = spans[count][0]  # a line that ends between the last lexeme read and the next one is read whole
    place = text.rfind("\n", spans[0][1], begins)
    if place < 0:
        # no line ends within the share: the first line is read whole
        place = text.find("\n", spans[0][1])
    if place < 0 or place >= spans[-1][0]:
        return exact
    # the model generates the whole line end, also one of two characters
    return place - (text[place - 1] == "\r")


def read_answer(cut: Cut, piece: CutText, *, answer: GeneratedText, model: Generator) -> Continuation:
    """Return the answer and the truth in units."""
    if isinstance(answer, tuple) or isinstance(piece.truth, tuple):
        return Continuation(tuple(piece.truth), tuple(answer))
    if isinstance(model, TokenGenerator) and piece.tokens is not None:
        (tokens,) = model.tokens([answer])
        answer = answer[: _end_of(tokens, piece.tokens)]
    elif isinstance(cut, SuffixCut):
        answer = answer[: len(piece.truth)]
    if isinstance(cut, SuffixCut) and cut.units == "model" and isinstance(model, TokenGenerator):
        truth, generated = (tokens.ids[tokens.special :] for tokens in model.tokens([piece.truth, answer]))
        return Continuation(truth, generated)
    return Continuation(tuple(lexemes(piece.truth)), tuple(lexemes(answer)))


def _end_of(tokens: Tokens, count: int) -> int:
    # where the first `count` tokens of a text end in it, in characters
    places = tokens.offsets[tokens.special : tokens.special + count]
    if not len(places) or places[-1, 1] < 0:
        # the tokenizer does not say where its tokens stand: nothing is cut off
        return 2**31
    return int(places[-1, 1])


def _grid(tokens: int) -> int:
    return STEP * max(1, ceil(tokens / STEP))
