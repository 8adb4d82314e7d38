"""Models behind an OpenAI-compatible HTTP API: OpenAI's own, vLLM's server, llama.cpp, and others.

The class of a model says what its server can do. /completions continues text, and gives log-probabilities if the
server can (see `prompt_log_probs`). /chat/completions answers and gives none.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Unpack

import numpy as np

from assay.errors import MissingCapability, ModelError
from assay.models.digest import combined
from assay.models.endpoint import Endpoint, Json, Refused
from assay.models.generators import Decoding, DecodingArguments, before_first, in_order, prompt_seeds
from assay.models.names import openai_name
from assay.models.prompt_log_probs import (
    ECHO,
    PROBED,
    PROMPT_WAYS,
    PromptReply,
    PromptWay,
    checked,
    require_log_probabilities,
    require_predictions,
)
from assay.models.spending import SpendingLimits, SpendingMeter
from assay.types import RankedLogProbs, Rejected, TokenLogProbs

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

    def generate(self, prompts: Sequence[str], **how: Unpack[DecodingArguments]) -> Iterator[str | Rejected]:
        """Continuations in the order of `prompts`, see `assay.types.Generator`.

        Each prompt has a seed of its own, see `prompt_seeds`, so that equal prompts may get different replies; some
        servers ignore seeds.

        Raises:
            ModelError: the server is not there, stays busy, refuses, or answers something else.
        """
        decoding = Decoding(**how)
        settings: dict[str, object] = {
            "model": self.model,
            "max_tokens": decoding.max_new_tokens,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
        }
        if decoding.stop:
            settings["stop"] = list(decoding.stop[:_STOPS])
        bodies = (
            {**settings, **self._request(prompt), "seed": own}
            for prompt, own in zip(prompts, prompt_seeds(decoding.seed, prompts), strict=True)
            if len(prompt) <= MOST_CHARACTERS
        )
        replies = self._endpoint.each(self.path, bodies, in_order=True)
        for prompt in prompts:
            if len(prompt) > MOST_CHARACTERS:
                yield TOO_LONG
            elif isinstance(reply := next(replies)[1], Refused):
                yield self._rejected(reply, {**settings, "seed": decoding.seed})
            else:
                yield before_first(self._text(reply), decoding.stop)

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
        if isinstance(message, dict) and message.get("content") is None:
            return ""  # a model that ends at once: null, or no content at all
        return self._textual(isinstance(message, dict) and message["content"], reply)

    def _choice(self, reply: Json) -> Mapping[str, object]:
        choices = reply.get("choices")
        first = isinstance(choices, list) and next(iter(choices), None)
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
