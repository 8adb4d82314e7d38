"""Models behind an OpenAI-compatible HTTP API: OpenAI's own, vLLM's server, llama.cpp, and others.

The class of a model says what its server can do. /completions continues text, and gives log-probabilities if the
server can (see `prompt_log_probs`). /chat/completions answers and gives none.
"""

import math
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from assay.errors import MissingCapability, ModelError
from assay.models.digest import combined
from assay.models.endpoint import Endpoint, Json, Refused
from assay.models.generators import before_first, in_order, prompt_seeds
from assay.models.names import openai_name
from assay.models.spending import SpendingLimits, SpendingMeter
from assay.types import RankedLogProbs, Rejected, TokenLogProbs

# Log-probabilities of a prompt's tokens from a server: three ways to request them, and the check of what is returned.
#
# No standard covers them. vLLM has `prompt_logprobs`, OpenAI's /completions has `echo` with `logprobs`, SGLang has its
# own end point /generate. A server that does not know a way rejects the request or ignores the field.

PROBED = 5
"""Likeliest tokens at each position that are requested once, for the check; servers give at least so many."""
_ROUNDING = 1e-3  # a sure token may come out a little above 0
_LARGEST_VOCABULARY = 10**6
_COMPARED = 3
"""Likeliest tokens that are compared; a server may give the token itself beside them, as the last one."""
_SAME = 0.25
"""Largest difference of equal log-probabilities: half precision differs by some hundredths from batch to batch."""
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


@dataclass(frozen=True, slots=True)
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


def _read_prompt_log_probs(reply: Json, text: str) -> PromptReply | None:  # noqa: ARG001  one signature for all ways
    """Read vLLM's reply: a table for each token of the prompt, the token itself first, with its rank."""
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


def _read_echo(reply: Json, text: str) -> PromptReply | None:
    """Read the reply of OpenAI's way: the prompt comes back, each token with its log-probability; ids are hashes."""
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


def _read_sglang(reply: Json, text: str) -> PromptReply | None:  # noqa: ARG001  one signature for all ways
    """Read the reply of SGLang's own end point: log-probability, token id and text of each token of the prompt."""
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


ECHO = "`echo` with `logprobs`"

PROMPT_WAYS = (
    PromptWay(
        "`prompt_logprobs`",
        "/completions",
        lambda model, text, top: {"model": model, "prompt": text, "max_tokens": 1, "prompt_logprobs": top, **_SAMPLING},
        _read_prompt_log_probs,
    ),
    PromptWay(
        ECHO,
        "/completions",
        lambda model, text, top: (
            # llama-cpp-python's server takes 0 for no limit: a first request of 1 finds out what a server gives
            {"model": model, "prompt": text, "max_tokens": int(top > 0), "echo": True, "logprobs": max(1, top)}
            | _SAMPLING
        ),
        _read_echo,
    ),
    PromptWay(
        "SGLang's `/generate`",
        "/../generate",
        lambda _, text, top: {
            "text": text,
            "sampling_params": {"max_new_tokens": 0, **_SAMPLING},
            "return_logprob": True,
            "logprob_start_len": 0,
            "top_logprobs_num": top,
        },
        _read_sglang,
    ),
)
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
    pairs = zip(reply.ids, () if other is None else other.ids, strict=False)
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
    tables = reply.top[position : position + 1]
    return sorted((number for table in tables for number in _numbers(table)), reverse=True)[:_COMPARED]


def _numbers(values: Sequence[object]) -> list[float]:
    return [float(value) for value in values if isinstance(value, int | float) and not math.isnan(value)]


KEY = "OPENAI_API_KEY"
_STOPS = 4  # OpenAI takes no more; the rest is applied to the reply
SHORT = "def f(x):"
"""A text that every working server accepts."""
SHORT_TOO = "def f(x);"
"""The same but for its end."""
MOST_CHARACTERS = 2**20
"""Of one request. The reply to a prompt is many times as long: some 60 bytes for each token."""
TOO_LONG = Rejected(f"longer than {MOST_CHARACTERS:,} characters, the most that is sent to a server at a time")
_FEW = 16
_BUILD = re.compile(r"b\d+-[0-9a-f]+")
"""Fingerprint of llama.cpp's server: number and commit of its build."""
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def open_openai(
    name: str, *, concurrency: int = 8, limits: SpendingLimits | None = None
) -> "OpenAICompletions | OpenAIChat":
    """Return the model of that name; no request is sent yet. The key comes from $OPENAI_API_KEY alone.

    Raises:
        ModelError: the name is not of the form openai:MODEL@URL.
    """
    address = openai_name(name)
    endpoint = Endpoint(address.url, key=os.environ.get(KEY) or None, concurrency=concurrency, limits=limits)
    kind = OpenAIChat if address.way == "openai-chat" else OpenAICompletions
    return kind(address.model, endpoint, name=name)


class OpenAIChat:
    """A `Generator`: each prompt is one message of the user, the continuation is the answer.

    Attributes:
        name: the user's name for it.
        model: the server's name for it.
    """

    path = "/chat/completions"

    def __init__(self, model: str, endpoint: Endpoint, *, name: str | None = None) -> None:
        self.model = model
        self.name = name or f"{model}@{endpoint.url}"
        self._endpoint = endpoint
        self._accepted: set[frozenset[str]] = set()

    @property
    def digest(self) -> str:
        """SHA-256 of address, model and end point: the server does not identify its weights."""
        return combined(["openai", self._endpoint.url, self.path, self.model])

    @property
    def meter(self) -> SpendingMeter:
        """Requests and tokens that were sent so far."""
        return self._endpoint.meter

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
        seed: int = 0,
    ) -> Iterator[str | Rejected]:
        """Continuations in the order of `prompts`, see `assay.types.Generator`.

        Each prompt has a seed of its own, see `prompt_seeds`, so that equal prompts may get different replies; some
        servers ignore seeds.

        Raises:
            ModelError: the server is not there, stays busy, refuses, or answers something else.
        """
        settings: dict[str, object] = {
            "model": self.model,
            "max_tokens": max_new_tokens,
            "temperature": temperature,
            "top_p": top_p,
        }
        if stop:
            settings["stop"] = list(stop[:_STOPS])
        bodies = (
            {**settings, **self._request(prompt), "seed": own}
            for prompt, own in zip(prompts, prompt_seeds(seed, prompts), strict=True)
            if len(prompt) <= MOST_CHARACTERS
        )
        replies = self._endpoint.each(self.path, bodies, in_order=True)
        for prompt in prompts:
            if len(prompt) > MOST_CHARACTERS:
                yield TOO_LONG
            elif isinstance(reply := next(replies)[1], Refused):
                yield self._rejected(reply, {**settings, "seed": seed})
            else:
                yield before_first(self._text(reply), stop)

    def _rejected(self, refusal: Refused, settings: Json) -> Rejected:
        """Return the refusal of one text, if the server accepts a short text under the same settings.

        Raises:
            Refused: it does not, so the text is not at fault.
        """
        kind = frozenset(settings)
        if kind not in self._accepted:
            few = min(int(str(settings["max_tokens"])), _FEW)
            try:
                self._endpoint.post(self.path, {**settings, **self._request(SHORT), "max_tokens": few})
            except Refused:
                raise refusal from None
            self._accepted.add(kind)
        return rejected(refusal)

    def _request(self, prompt: str) -> Json:
        return {"messages": [{"role": "user", "content": prompt}]}

    def _text(self, reply: Json) -> str:
        message = self._choice(reply).get("message")
        text = message.get("content", "") if isinstance(message, dict) else None
        return self._textual("" if text is None and isinstance(message, dict) else text, reply)

    def _choice(self, reply: Json) -> Mapping[str, object]:
        choices = reply.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, dict):
            raise self._strange(reply, "a list of choices")
        return first

    def _textual(self, text: object, reply: Json) -> str:
        if not isinstance(text, str):
            raise self._strange(reply, "a choice with text")
        return text

    def _strange(self, reply: Json, expected: str) -> ModelError:
        shown = ", ".join(map(str, reply)) or "nothing"
        return ModelError(
            f"{self._endpoint.url}{self.path}: expected {expected}, received an object with {shown[:100]}"
        )


class OpenAICompletions(OpenAIChat):
    """A `Generator` that continues the prompt itself, and a `LogProbScorer` if the server gives log-probabilities.

    Token ids: those of the server if it gives them; from `echo` a hash of each token's text, equal for equal tokens,
    and not the tokenizer's own.
    """

    path = "/completions"

    def __init__(self, model: str, endpoint: Endpoint, *, name: str | None = None) -> None:
        super().__init__(model, endpoint, name=name)
        self._way: PromptWay | None = None
        self._ranks = False

    @property
    def tokenizer_digest(self) -> None:
        """None: a server does not show its tokenizer."""
        return

    @property
    def gives_ranks(self) -> bool:
        """True if the server gives the rank of each token; the first call sends a short text to find out.

        Raises:
            MissingCapability: the server gives no log-probabilities.
            ModelError: it is not there, stays busy, or answers something else.
        """
        self._way_that_works()
        return self._ranks

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[tuple[int, TokenLogProbs | Rejected]]]:
        """Yield log-probabilities of each text's tokens, as the replies arrive, without tokens that have no prediction.

        Raises:
            MissingCapability: the server gives none.
            ModelError: it is not there, stays busy, refuses short texts too, or answers something else.
        """
        nothing = TokenLogProbs(np.zeros(0, np.int32), np.zeros(0, np.float32))
        # servers refuse an empty prompt, and its result is clear; a text that is too long is not sent at all
        unsent = [(index, TOO_LONG if text else nothing) for index, text in enumerate(texts) if not _sendable(text)]
        if unsent:
            yield unsent
        pending = [index for index, text in enumerate(texts) if _sendable(text)]
        if not pending:
            return
        way = self._way_that_works()
        bodies = (way.body(self.model, texts[index], 0) for index in pending)
        for position, reply in self._endpoint.each(way.path, bodies):
            text = texts[pending[position]]
            if isinstance(reply, Refused):
                yield [(pending[position], rejected(reply))]
            else:
                values = checked(way.read(reply, text), self._endpoint.address(way.path), text)
                yield [(pending[position], values)]

    def token_log_probs(self, texts: Sequence[str]) -> Iterator[TokenLogProbs | Rejected]:
        """As `completed`, in the order of `texts`."""
        return in_order(self.completed(texts))

    def _way_that_works(self) -> PromptWay:
        """Return the first way that gives raw log-probabilities of a short text, and remember it."""
        if self._way is not None:
            return self._way
        failures = []
        advice = ""
        for way in PROMPT_WAYS:
            try:
                reply = self._endpoint.post(way.path, way.body(self.model, SHORT, PROBED))
            except Refused as refusal:
                failures.append(f"{way.name}: HTTP {refusal.status}{refusal.words}")
                continue
            values = way.read(reply, SHORT)
            if values is not None:
                place = self._endpoint.address(way.path)
                require_log_probabilities(values, place)
                require_predictions(values, self._values(way, SHORT_TOO, PROBED), place)
                if way.name == ECHO and self._values(way, SHORT, 0) is None:
                    failures.append(f"{way.name} does not work without a generated token")
                    continue
                self._ranks = isinstance(checked(values, place, SHORT), RankedLogProbs)
                self._way = way
                return way
            failures.append(f"{way.name} was ignored")
            if _is_llama_cpp(reply):
                advice = "llama:PATH.gguf, which opens the file of a llama.cpp server itself, "
        raise MissingCapability(
            f"{self.name} gives no log-probabilities of a text's tokens ({'; '.join(failures)}): expected {advice}a "
            "server that does, such as vLLM's, or --access black, for scores of generated text"
        )

    def _values(self, way: PromptWay, text: str, top: int) -> PromptReply | None:
        """Return the columns of a short text; None where the server refuses or ignores the request."""
        try:
            return way.read(self._endpoint.post(way.path, way.body(self.model, text, top)), text)
        except Refused:
            return None

    def _request(self, prompt: str) -> Json:
        return {"prompt": prompt}

    def _text(self, reply: Json) -> str:
        return self._textual(self._choice(reply).get("text"), reply)


def _is_llama_cpp(reply: Json) -> bool:
    """Return True if a reply comes from llama.cpp's server, which leaves log-probabilities of a prompt out silently."""
    return isinstance(reply.get("timings"), dict) or bool(_BUILD.fullmatch(str(reply.get("system_fingerprint"))))


def _sendable(text: str) -> bool:
    return 0 < len(text) <= MOST_CHARACTERS


def rejected(refusal: Refused) -> Rejected:
    """Return a refusal as the reason of an unscorable text."""
    return Rejected(f"refused by the server: HTTP {refusal.status}{without_numbers(refusal.words)}")


def without_numbers(words: str) -> str:
    """Return a message without its numbers, so that it is the same for all texts of one cause."""
    return _NUMBER.sub("…", words)
