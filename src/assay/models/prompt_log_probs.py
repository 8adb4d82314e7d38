"""Log-probabilities of a prompt's tokens from a server: three ways to request them, and the check of what is returned.

No standard covers them. vLLM has `prompt_logprobs`, OpenAI's /completions has `echo` with `logprobs`, SGLang has its
own end point /generate. A server that does not know a way rejects the request or ignores the field.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import numpy as np

from assay.errors import ModelError
from assay.models.endpoint import Json
from assay.types import RankedLogProbs, TokenLogProbs

PROBED = 5
"""Likeliest tokens at each position that are requested once, for the check; servers give at least so many."""
_ROUNDING = 1e-3  # a sure token may come out a little above 0
_LARGEST_VOCABULARY = 10**6
_SAMPLING = {"temperature": 1, "top_p": 1}
"""A server that applies temperature or top-p to what it returns changes nothing at 1."""


@dataclass(frozen=True, slots=True)
class PromptReply:
    """Columns of a reply, one entry for each token of the prompt, not yet checked.

    Attributes:
        ids: token ids.
        values: log-probabilities; None for a token without a prediction.
        ranks: from 1; None where the server gives none.
        top: log-probabilities of the likeliest tokens at each position; empty where none were requested.
    """

    ids: Sequence[int]
    values: Sequence[object]
    ranks: Sequence[object] | None = None
    top: Sequence[Sequence[object]] = ()


class PromptWay(Protocol):
    """A way to request log-probabilities of a prompt.

    Attributes:
        name: for messages.
        path: of the end point, relative to the API's address.
    """

    name: str
    path: str

    def body(self, model: str, text: str, *, top: int = 0) -> Json:
        """Return the request; `top` likeliest tokens are requested at each position as well."""
        ...

    def read(self, reply: Json, text: str) -> PromptReply | None:
        """Return the columns; None where the reply has none."""
        ...


class PromptLogProbs:
    """vLLM: a table for each token of the prompt, the token itself first, with its rank."""

    name = "`prompt_logprobs`"
    path = "/completions"

    def body(self, model: str, text: str, *, top: int = 0) -> Json:
        """See `PromptWay`."""
        return {"model": model, "prompt": text, "max_tokens": 1, "prompt_logprobs": top, **_SAMPLING}

    def read(self, reply: Json, text: str) -> PromptReply | None:  # noqa: ARG002  one signature for all ways
        """See `PromptWay`."""
        positions = _first_choice(reply).get("prompt_logprobs")
        if not isinstance(positions, list):
            return None
        tables = [position if isinstance(position, dict) else {} for position in positions]
        tokens = [str(next(iter(table), 0)) for table in tables]
        first: list[object] = [next(iter(table.values()), None) for table in tables]
        entries = [entry if isinstance(entry, dict) else {} for entry in first]
        ranks = [entry.get("rank") for entry in entries]
        return PromptReply(
            [int(token) if token.isdigit() else 0 for token in tokens],
            [entry.get("logprob") for entry in entries],
            ranks if any(rank is not None for rank in ranks) else None,
            [[e.get("logprob") for e in table.values() if isinstance(e, dict)] for table in tables],
        )


class Echo:
    """OpenAI: the prompt comes back, with the log-probability of each of its tokens; ids are hashes of their texts."""

    name = "`echo` with `logprobs`"
    path = "/completions"

    def body(self, model: str, text: str, *, top: int = 0) -> Json:
        """See `PromptWay`."""
        return {"model": model, "prompt": text, "max_tokens": 0, "echo": True, "logprobs": max(1, top), **_SAMPLING}

    def read(self, reply: Json, text: str) -> PromptReply | None:
        """See `PromptWay`."""
        choice = _first_choice(reply)
        table, echoed = choice.get("logprobs"), choice.get("text")
        if not isinstance(table, dict) or not isinstance(echoed, str) or not echoed.startswith(text):
            return None
        tokens, values, top = table.get("tokens"), table.get("token_logprobs"), table.get("top_logprobs")
        if not isinstance(tokens, list) or not isinstance(values, list):
            return None
        # some servers generate although max_tokens is 0: their tokens follow the text
        offsets = table.get("text_offset")
        if len(echoed) > len(text):
            if not isinstance(offsets, list) or len(offsets) != len(tokens) or -1 in offsets:  # SGLang has none
                offsets = list(accumulate((len(str(token)) for token in tokens), initial=0))[:-1]
            kept = sum(1 for offset in offsets if isinstance(offset, int) and offset < len(text))
            tokens, values = tokens[:kept], values[:kept]
        ids = [zlib.crc32(str(token).encode("utf-8", "surrogatepass")) >> 1 for token in tokens]
        tables = top[: len(tokens)] if isinstance(top, list) else []
        likeliest = [list(table.values()) if isinstance(table, dict) else [] for table in tables]
        return PromptReply(ids, values, None, likeliest)


class SGLangGenerate:
    """SGLang's own end point, beside the API: log-probability, token id and text of each token of the prompt."""

    name = "SGLang's `/generate`"
    path = "/../generate"

    def body(self, model: str, text: str, *, top: int = 0) -> Json:  # noqa: ARG002  the server has a single model
        """See `PromptWay`."""
        return {
            "text": text,
            "sampling_params": {"max_new_tokens": 0, **_SAMPLING},
            "return_logprob": True,
            "logprob_start_len": 0,
            "top_logprobs_num": top,
        }

    def read(self, reply: Json, text: str) -> PromptReply | None:  # noqa: ARG002  one signature for all ways
        """See `PromptWay`."""
        content = reply.get("meta_info")
        rows = content.get("input_token_logprobs") if isinstance(content, dict) else None
        if not isinstance(content, dict) or not isinstance(rows, list) or not rows:
            return None
        pairs = [row if isinstance(row, list) and len(row) > 1 else (None, 0) for row in rows]
        tops = content.get("input_top_logprobs") or []
        return PromptReply(
            [token if isinstance(token, int) else 0 for _, token, *_ in pairs],
            [value for value, *_ in pairs],
            None,
            [[entry[0] for entry in entries] if isinstance(entries, list) else [] for entries in tops],
        )


PROMPT_WAYS: tuple[PromptWay, ...] = (PromptLogProbs(), Echo(), SGLangGenerate())
"""In the order in which they are tried: ranks come with the first alone."""


def _first_choice(reply: Json) -> Mapping[str, object]:
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def checked(reply: PromptReply | None, place: str, text: str) -> TokenLogProbs:
    """Return the arrays, with ranks where there are any, without leading tokens that have no prediction.

    Args:
        reply: of the server, for `text`.
        place: address of the end point, for the message.
        text: the prompt.

    Raises:
        ModelError: a token has no log-probability, or a value cannot be one.
    """
    reply = reply or PromptReply([], [None])
    start = next((index for index, value in enumerate(reply.values) if value is not None), len(reply.values))
    numbers = _numbers(reply.values[start:])
    complete = len(reply.ids) == len(reply.values) and len(numbers) == len(reply.values) - start
    if not complete or not numbers or max(numbers) > _ROUNDING:
        if complete and not numbers and len(reply.ids) == 1:  # a text of a single token has no prediction
            return TokenLogProbs(np.zeros(0, np.int32), np.zeros(0, np.float32))
        raise ModelError(
            f"{place}: expected one log-probability for each token of a text of {len(text)} characters, received "
            "something else"
        )
    ids, log_probs = np.array(reply.ids[start:], np.int32), np.minimum(np.array(numbers, np.float32), 0)
    ranks = [rank for rank in (reply.ranks or ())[start:] if isinstance(rank, int) and rank > 0]
    if len(ranks) < len(numbers):
        return TokenLogProbs(ids, log_probs)
    return RankedLogProbs(ids, log_probs, np.array(ranks, np.int32))


def require_log_probabilities(reply: PromptReply, place: str) -> None:
    """Check that values are raw log-probabilities, and not logits.

    The likeliest tokens together have a probability of at most 1, and the likeliest alone one of at least 1/V.

    Raises:
        ModelError: at a position they have not.
    """
    for values in reply.top:
        numbers = _numbers(values)
        # logits would sum to anything: exp is capped, because that of a large logit overflows
        total = sum(math.exp(min(number, 1)) for number in numbers)
        if numbers and not 1 / _LARGEST_VOCABULARY <= total <= 1 + len(numbers) * _ROUNDING:
            raise ModelError(
                f"{place}: the {len(numbers)} likeliest tokens of a position have a probability of {total:.3g} "
                "together, so they are no log-probabilities: expected raw ones (vLLM: --logprobs-mode raw_logprobs)"
            )


def _numbers(values: Sequence[object]) -> list[float]:
    return [float(value) for value in values if isinstance(value, int | float) and not math.isnan(value)]
