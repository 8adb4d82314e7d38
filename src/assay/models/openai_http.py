"""Models behind an OpenAI-compatible HTTP API: OpenAI's own, vLLM's server, llama.cpp, and others.

The class of a model says what its server can do. /completions continues text, and gives log-probabilities if the
server can (`echo` with `logprobs`, or vLLM's `prompt_logprobs`). /chat/completions answers and gives none.
"""

import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate

import numpy as np

from assay.errors import MissingCapability, ModelError
from assay.models.digest import combined
from assay.models.endpoint import Endpoint, Json, Refused
from assay.models.openai_names import openai_name
from assay.models.ordering import in_order
from assay.models.seeding import prompt_seeds
from assay.models.spending import SpendingLimits
from assay.types import Rejected, TokenLogProbs

KEY = "OPENAI_API_KEY"
_STOPS = 4  # OpenAI takes no more; the rest is applied to the reply
_ROUNDING = 1e-3  # a sure token may come out a little above 0
SHORT = "def f(x):"
"""A text that every working server accepts."""
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
        )
        for reply in self._endpoint.in_order(self.path, bodies):
            if isinstance(reply, Refused):
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

    Token ids: those of the server if it gives them (`prompt_logprobs`); from `echo` a hash of each token's text,
    equal for equal tokens, and not the tokenizer's own.
    """

    path = "/completions"

    def __init__(self, model: str, endpoint: Endpoint, *, name: str | None = None) -> None:
        super().__init__(model, endpoint, name=name)
        self._way: _Way | None = None

    @property
    def tokenizer_digest(self) -> None:
        """None: a server does not show its tokenizer."""
        return

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[tuple[int, TokenLogProbs | Rejected]]]:
        """Yield log-probabilities of each text's tokens, as the replies arrive, without tokens that have no prediction.

        Raises:
            MissingCapability: the server gives none.
            ModelError: it is not there, stays busy, refuses short texts too, or answers something else.
        """
        pending = [index for index, text in enumerate(texts) if text]
        if len(pending) < len(texts):  # servers refuse an empty prompt, and its result is clear
            nothing = TokenLogProbs(np.zeros(0, np.int32), np.zeros(0, np.float32))
            yield [(index, nothing) for index, text in enumerate(texts) if not text]
        if pending and self._way is None:
            self._way, first = self._way_that_works(texts[pending[0]])
            if first is not None:
                yield [(pending.pop(0), first)]
        if self._way is None:
            return
        bodies = (self._way.body((self.model, texts[index])) for index in pending)
        for position, reply in self._endpoint.each(self.path, bodies):
            text = texts[pending[position]]
            if isinstance(reply, Refused):
                yield [(pending[position], self._rejected(reply, self._way.body((self.model, text))))]
            else:
                yield [(pending[position], self._checked(self._way.read(self._choice(reply), text), text))]

    def token_log_probs(self, texts: Sequence[str]) -> Iterator[TokenLogProbs | Rejected]:
        """As `completed`, in the order of `texts`."""
        return in_order(self.completed(texts))

    def _way_that_works(self, text: str) -> "tuple[_Way, TokenLogProbs | None]":
        """Return the first way that gives log-probabilities, and those of this text if the server accepts it."""
        failures = []
        of_text = False
        advice = ""
        for way in (_Echo(), _PromptLogProbs()):
            try:
                reply = self._endpoint.post(self.path, way.body((self.model, text)))
                choice = self._choice(reply)
            except Refused as refusal:
                failures.append(f"HTTP {refusal.status}{refusal.words}")
                of_text = of_text or refusal.of_request
                continue
            values = way.read(choice, text)
            if values is not None:
                return way, self._checked(values, text)
            failures.append(f"{way.name} was ignored")
            if _is_llama_cpp(reply):
                advice = "llama:PATH.gguf, which opens the file of a llama.cpp server itself, "
        if of_text and text != SHORT:
            with suppress(MissingCapability):  # it gives none of any text: the error below reports this
                return self._way_that_works(SHORT)[0], None
        raise MissingCapability(
            f"{self.name} gives no log-probabilities of a text's tokens ({'; '.join(failures)}): expected {advice}a "
            "server that does, such as vLLM's, or --access black, for scores of generated text"
        )

    def _checked(self, reply: "tuple[list[int], list[object]] | None", text: str) -> TokenLogProbs:
        """Return the arrays, without leading tokens that have no prediction."""
        ids, values = reply or ([], [None])
        start = next((index for index, value in enumerate(values) if value is not None), len(values))
        numbers = [float(v) for v in values[start:] if isinstance(v, int | float) and not math.isnan(v)]
        if (
            reply is None
            or len(ids) != len(values)
            or len(numbers) != len(values) - start
            or max(numbers, default=0) > _ROUNDING
        ):
            raise ModelError(
                f"{self._endpoint.url}{self.path}: expected one log-probability for each token of a text of "
                f"{len(text)} characters, received something else"
            )
        log_probs = np.array(numbers, np.float32)
        return TokenLogProbs(np.array(ids[start:], np.int32), np.minimum(log_probs, 0))

    def _request(self, prompt: str) -> Json:
        return {"prompt": prompt}

    def _text(self, reply: Json) -> str:
        return self._textual(self._choice(reply).get("text"), reply)


def _is_llama_cpp(reply: Json) -> bool:
    """Return True if a reply comes from llama.cpp's server, which leaves log-probabilities of a prompt out silently."""
    return isinstance(reply.get("timings"), dict) or bool(_BUILD.fullmatch(str(reply.get("system_fingerprint"))))


class _Echo:
    """OpenAI's own way: the prompt comes back, with the log-probability of each of its tokens."""

    name = "`echo` with `logprobs`"

    def body(self, request: tuple[str, str]) -> Json:
        model, text = request
        return {"model": model, "prompt": text, "max_tokens": 0, "echo": True, "logprobs": 1, "temperature": 0}

    def read(self, choice: Mapping[str, object], text: str) -> tuple[list[int], list[object]] | None:
        table, echoed = choice.get("logprobs"), choice.get("text")
        if not isinstance(table, dict) or not isinstance(echoed, str) or not echoed.startswith(text):
            return None
        tokens, values = table.get("tokens"), table.get("token_logprobs")
        if not isinstance(tokens, list) or not isinstance(values, list):
            return None
        # some servers generate although max_tokens is 0: their tokens follow the text
        offsets = table.get("text_offset")
        if len(echoed) > len(text):
            if not isinstance(offsets, list) or len(offsets) != len(tokens) or -1 in offsets:  # SGLang has none
                offsets = list(accumulate((len(str(token)) for token in tokens), initial=0))[:-1]
            kept = sum(1 for offset in offsets if isinstance(offset, int) and offset < len(text))
            tokens, values = tokens[:kept], values[:kept]
        return [zlib.crc32(str(token).encode("utf-8", "surrogatepass")) >> 1 for token in tokens], values


class _PromptLogProbs:
    """vLLM's way: a table for each token of the prompt, the token itself first."""

    name = "`prompt_logprobs`"

    def body(self, request: tuple[str, str]) -> Json:
        model, text = request
        return {"model": model, "prompt": text, "max_tokens": 1, "prompt_logprobs": 0, "temperature": 0}

    def read(self, choice: Mapping[str, object], text: str) -> tuple[list[int], list[object]] | None:  # noqa: ARG002  one signature for both ways
        positions = choice.get("prompt_logprobs")
        if not isinstance(positions, list):
            return None
        ids: list[int] = []
        values: list[object] = []
        for position in positions:
            token, entry = next(iter(position.items())) if isinstance(position, dict) and position else ("0", None)
            ids.append(int(token) if str(token).isdigit() else 0)
            values.append(entry.get("logprob") if isinstance(entry, dict) else None)
        return ids, values


_Way = _Echo | _PromptLogProbs


def rejected(refusal: Refused) -> Rejected:
    """Return a refusal as the reason of an unscorable text."""
    return Rejected(f"refused by the server: HTTP {refusal.status}{without_numbers(refusal.words)}")


def without_numbers(words: str) -> str:
    """Return a message without its numbers, so that it is the same for all texts of one cause."""
    return _NUMBER.sub("…", words)


def before_first(text: str, stop: Iterable[str]) -> str:
    """Return the text up to the first place where one of `stop` begins."""
    return text[: min((place for end in stop if end and (place := text.find(end)) >= 0), default=len(text))]
