"""Log-probabilities of a prompt's tokens from a server: three ways to request them, and the check of what is returned.

No standard covers them. vLLM has `prompt_logprobs`, OpenAI's /completions has `echo` with `logprobs`, SGLang has its
own end point /generate. A server that does not know a way rejects the request or ignores the field. The readers take
the columns of a reply as they are, whatever they hold; `checked` is the one place where they become numbers.
"""

import json
import math
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, filterfalse, repeat
from operator import methodcaller
from typing import Any, TypeGuard

import numpy as np

from assay.errors import ModelError
from assay.escaping import cut_off
from assay.models.endpoint import Json
from assay.types import RankedLogProbs, TokenLogProbs

PROBED = 5
"""Likeliest tokens at each position that are requested once, for the check; servers give at least so many."""
_ROUNDING = 1e-3  # a sure token may come out a little above 0
_LOWEST = float(np.finfo(np.float32).min)
_NUMBERS = 2**31
"""Token ids and ranks are below this, as 32 bits hold them."""
_SURE = 2
"""Tokens of which a model is not sure of all: of a text of that many, one at least could be another."""
_LONGEST = 128
"""Characters of a token whose text is not known, at most: vocabularies have such runs of spaces."""
_LARGEST_VOCABULARY = 10**6
_COMPARED = 3
"""Likeliest tokens that are compared; a server may give the token itself beside them, as the last one."""
_SAME = 0.25
"""Largest difference of equal log-probabilities: half precision differs by some hundredths from batch to batch."""
_SAMPLING = {"temperature": 1, "top_p": 1}
"""A server that applies temperature or top-p to what it returns changes nothing at 1."""
_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptReply:
    """Columns of a reply, one entry for each token of the prompt, not yet checked.

    Attributes:
        ids: token ids.
        values: log-probabilities; None for a token without a prediction.
        ranks: from 1; None where the server gives none.
        top: log-probabilities of the likeliest tokens at each position; empty where none were requested.
        texts: of the tokens; empty where the server gives none.
        stated: number of the prompt's tokens by the server's own count; None where it gives none.
        fault: what is wrong with the reply beside its columns; "" where nothing is.
    """

    ids: Sequence[object]
    values: Sequence[object]
    ranks: Sequence[object] = ()
    top: Sequence[Sequence[object]] = ()
    texts: Sequence[object] = ()
    stated: object = None
    fault: str = ""


NOTHING = PromptReply(ids=(), values=())


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptWay:
    """A way to request log-probabilities of a prompt.

    Attributes:
        name: for messages.
        path: of the end point, relative to the API's address.
        body: model, text and number of likeliest tokens that are requested at each position → the request.
        read: reply and text → the columns; None where the reply has none.
    """

    name: str
    path: str
    body: Callable[[str, str, int], Json]
    read: Callable[[Json, str], PromptReply | None]


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _first_choice(reply: Json) -> Mapping[str, Any]:
    return _table(next(iter(_list(reply.get("choices"))), None))


def _column(key: str, tables: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [table.get(key) for table in tables]


def _prompt_tokens(counts: object) -> object:
    return _table(counts).get("prompt_tokens")


def _read_prompt_log_probs(reply: Json, text: str) -> PromptReply | None:  # noqa: ARG001  one signature for all ways
    """Read vLLM's reply: a table for each token of the prompt, the token itself first, with its rank."""
    positions = _first_choice(reply).get("prompt_logprobs")
    if not isinstance(positions, list):
        return None
    ids, entries, top = [], [], []
    for position in map(_table, positions):
        likeliest = list(map(_table, position.values()))
        ids.append(next(iter(position), None))
        entries.append(next(iter(likeliest), {}))
        top.append(_column("logprob", likeliest))
    values, ranks, texts = map(_column, ("logprob", "rank", "decoded_token"), repeat(entries))
    # the first token of a prompt has no prediction, so its position may be null
    fault = "a position that is no table" * (not {dict, type(None)}.issuperset(map(type, positions)))
    stated = _prompt_tokens(reply.get("usage"))
    return PromptReply(ids=ids, values=values, ranks=ranks, top=top, texts=texts, stated=stated, fault=fault)


def _read_echo(reply: Json, text: str) -> PromptReply | None:
    """Read the reply of OpenAI's way: the prompt comes back, each token with its log-probability; ids are hashes."""
    choice = _first_choice(reply)
    table, echoed = choice.get("logprobs"), choice.get("text")
    if not isinstance(table, dict) or not isinstance(echoed, str) or not echoed.startswith(text):
        return None
    tokens, values = table.get("tokens"), table.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list):
        return None
    stated = _prompt_tokens(reply.get("usage"))
    if set(map(type, tokens)) - {str}:
        return PromptReply(ids=tokens, values=values, fault="a token that is no text")
    offsets = _list(table.get("text_offset"))
    # SGLang states -1 everywhere: the lengths of the tokens say where they stand
    if set(offsets) <= {-1}:
        offsets = list(accumulate(map(len, tokens), initial=0))[:-1]
    elif fault := _fault_of_offsets(offsets, tokens, echoed):
        return PromptReply(ids=tokens, values=values, fault=fault)
    if len(echoed) > len(text):
        # some servers generate although max_tokens is 0: their tokens follow the text
        count = bisect_left(offsets, len(text))
        tokens, values = tokens[:count], values[:count]
    ids = [zlib.crc32(token.encode("utf-8", "surrogatepass")) >> 1 for token in tokens]
    tables = map(_table, _list(table.get("top_logprobs"))[: len(tokens)])
    likeliest = list(map(list, map(methodcaller("values"), tables)))
    return PromptReply(ids=ids, values=values, top=likeliest, texts=tokens, stated=stated)


def _fault_of_offsets(offsets: Sequence[object], tokens: Sequence[str], echoed: str) -> str:
    """Return what is wrong with the places of tokens in a text; "" where nothing is.

    Equal offsets are right for parts of one character. A token may have lost the space before it.
    """
    places = [offset for offset in offsets if type(offset) is int and offset >= 0]
    if len(places) < len(offsets) or len(offsets) != len(tokens):
        return f"{len(places)} offsets for {len(tokens)} tokens"
    if places != sorted(places):
        return "offsets that do not rise"
    if places and places[-1] + len(tokens[-1]) + 1 < len(echoed):
        return "offsets that end before the text"
    return ""


def _read_sglang(reply: Json, text: str) -> PromptReply | None:  # noqa: ARG001  one signature for all ways
    """Read the reply of SGLang's own end point: log-probability, token id and text of each token of the prompt."""
    content = _table(reply.get("meta_info"))
    rows = _list(content.get("input_token_logprobs"))
    if not rows:
        return None
    if not all(isinstance(row, list) and len(row) > 1 for row in rows):
        return PromptReply(ids=rows, values=rows, fault="a token without a number and an id")
    values, ids, texts = zip(*([*row, None][:3] for row in rows), strict=True)
    top = list(map(_firsts, map(_list, _list(content.get("input_top_logprobs")))))
    return PromptReply(ids=ids, values=values, top=top, texts=texts, stated=_prompt_tokens(content))


def _firsts(rows: Sequence[object]) -> list[object]:
    return [row[0] for row in rows if isinstance(row, list) and row]


ECHO = "`echo` with `logprobs`"

PROMPT_WAYS = (
    PromptWay(
        name="`prompt_logprobs`",
        path="/completions",
        body=lambda model, text, top: (
            {"model": model, "prompt": text, "max_tokens": 1, "prompt_logprobs": top} | _SAMPLING
        ),
        read=_read_prompt_log_probs,
    ),
    PromptWay(
        name=ECHO,
        path="/completions",
        body=lambda model, text, top: (
            # llama-cpp-python's server takes 0 for no limit: a first request of 1 finds out what a server gives
            {"model": model, "prompt": text, "max_tokens": int(top > 0), "echo": True, "logprobs": max(1, top)}
            | _SAMPLING
        ),
        read=_read_echo,
    ),
    PromptWay(
        name="SGLang's `/generate`",
        path="/../generate",
        body=lambda _, text, top: {
            "text": text,
            "sampling_params": {"max_new_tokens": 0, **_SAMPLING},
            "return_logprob": True,
            "logprob_start_len": 0,
            "top_logprobs_num": top,
        },
        read=_read_sglang,
    ),
)
"""In the order in which they are tried: ranks come with the first alone."""


def checked(reply: PromptReply | None, place: str, text: str) -> TokenLogProbs:
    """Return the arrays, with ranks where there are any, without leading tokens that have no prediction.

    Args:
        reply: of the server, for `text`.
        place: address of the end point, for the message.
        text: the prompt.

    Raises:
        ModelError: a token has no log-probability, or a value cannot be one; the line says what was received.
    """
    reply = reply or NOTHING
    # servers differ in how many leading tokens have no prediction: the first, BOS and the first, none
    length = len(reply.values)
    start = next((index for index, value in enumerate(reply.values) if value is not None), length)
    if start == length == len(reply.ids) == 1 and not (reply.fault or _is_cut(reply, text)):
        return TokenLogProbs(np.zeros(0, np.int32), np.zeros(0, np.float32))  # a single token has no prediction
    if fault := next(_faults(reply, start, text), ""):
        raise ModelError(
            f"{place}: expected one log-probability for each token of a text of {len(text):,} characters, received "
            f"{fault}"
        )
    ids = np.array(list(map(_whole, reply.ids[start:])), np.int32)
    log_probs = np.minimum(np.array(reply.values[start:], np.float32), 0)
    ranks = reply.ranks[start:]
    if not ranks or None in ranks:
        return TokenLogProbs(ids, log_probs)
    return RankedLogProbs(ids, log_probs, np.array(ranks, np.int32))


def _faults(reply: PromptReply, start: int, text: str) -> Iterator[str]:
    """Yield what cannot be true of the reply, `start` the first token with a prediction."""
    values, ids, ranks = reply.values[start:], reply.ids[start:], reply.ranks[start:]
    if reply.fault:
        yield reply.fault
    if len(ids) != len(values):
        yield f"{len(reply.ids):,} tokens and {len(reply.values):,} log-probabilities"
    if not values:
        yield "none"
    wrong = (
        ("a log-probability", filterfalse(_is_log_probability, values)),
        ("a token id", (token for token in ids if _whole(token) is None)),
        ("a rank", (rank for rank in ranks if rank is not None and not _whole(rank))),
    )
    for kind, entries in wrong:
        yield from map(f"{{}} as {kind}".format, map(_shown, entries))
    if len(values) >= _SURE and not any(values):
        yield "0, a probability of 1, for every token"
    if _is_cut(reply, text):
        yield f"{len(reply.ids):,} tokens, which are a part of the text"


def _is_cut(reply: PromptReply, text: str) -> bool:
    """Return True if the tokens are fewer than the server counts, or together shorter than the text."""
    # a server may count a token that stands before the text, and a token may have lost the space before it
    lengths = (len(token) + 1 if isinstance(token, str) else _LONGEST for token in reply.texts)
    return (_whole(reply.stated) or 0) > len(reply.ids) + 1 or 0 < sum(lengths) < len(text)


def _is_log_probability(value: object) -> TypeGuard[float]:
    """Return True for a number that 32 bits hold, at most 0 but for rounding; a truth value is none."""
    return type(value) in (int, float) and _LOWEST <= value <= _ROUNDING  # type: ignore[operator]  # NaN is neither


def _whole(value: object) -> int | None:
    """Return a number of 31 bits, which may be the key of a table and so be text; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= len(str(_NUMBERS)):
        value = int(value)
    return value if type(value) is int and 0 <= value < _NUMBERS else None


def _shown(value: object) -> str:
    return cut_off(json.dumps(value), _SHOWN)


def require_log_probabilities(reply: PromptReply, place: str) -> None:
    """Check that values are raw log-probabilities, and not logits.

    The likeliest tokens together have a probability of at most 1, and the likeliest alone one of at least 1/V.

    Raises:
        ModelError: at a position they have not.
    """
    for values in reply.top:
        numbers = _numbers(values)
        # logits would sum to anything: exp is capped, because that of a large logit overflows
        total = sum(map(math.exp, map(min, numbers, repeat(1))))
        if numbers and not 1 / _LARGEST_VOCABULARY <= total <= 1 + len(numbers) * _ROUNDING:
            raise ModelError(
                f"{place}: the {len(numbers)} likeliest tokens of a position have a probability of {total:.3g} "
                "together, so they are no log-probabilities: expected raw ones (vLLM: --logprobs-mode raw_logprobs)"
            )


def require_predictions(reply: PromptReply, other: PromptReply | None, place: str) -> None:
    """Check that a token's log-probability is that after the tokens before it, and not after itself.

    Where two texts differ for the first time, the same tokens came before, so the same tokens are the likeliest.
    llama-cpp-python's server shifts its columns by one: there each token is followed by itself.

    Args:
        reply: of the server, with the likeliest tokens at each position.
        other: the same for a text that ends in another token.
        place: address of the end point, for the message.

    Raises:
        ModelError: the likeliest tokens have other log-probabilities.
    """
    pairs = zip(reply.ids, (other or NOTHING).ids, strict=False)
    position = next((index for index, (own, its) in enumerate(pairs) if own != its), None)
    if position is None or other is None:
        return
    compared = zip(_likeliest(reply, position), _likeliest(other, position), strict=False)
    if any(abs(own - its) > _SAME for own, its in compared):
        raise ModelError(
            f"{place}: each token's log-probability is the one after the token itself, not the one before it, as "
            "llama-cpp-python's server has it: expected a server such as vLLM's, llama:PATH.gguf, which opens the file "
            "itself, or --access black, for scores of generated text"
        )


def _likeliest(reply: PromptReply, position: int) -> list[float]:
    numbers = _numbers(next(iter(reply.top[position : position + 1]), ()))
    return sorted(numbers, reverse=True)[:_COMPARED]


def _numbers(values: Sequence[object]) -> list[float]:
    """Return the numbers among values, logits too."""
    return [float(value) for value in values if type(value) in (int, float) and abs(value) <= -_LOWEST]  # type: ignore[arg-type]
