"""A model that vLLM runs: log-probabilities of texts, and continuations. Thin over vLLM's documented `LLM`.

vLLM batches, schedules and places the model itself. It gives log-probabilities of the tokens that stand there, not the
whole distribution, so this is a `LogProbScorer` and a `Generator`.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import MissingExtra, ModelError
from assay.models.digest import combined, files_digest, tokenizer_digest
from assay.models.openai_http import SHORT, before_first, without_numbers
from assay.models.seeding import prompt_seeds
from assay.models.settings import ModelSettings
from assay.types import TokenLogProbs, Unread

PREFIX = "vllm:"
CHUNK = 256
"""Texts handed over at a time: many for vLLM's scheduler, few to lose where a run is killed."""


def open_vllm(name: str, settings: ModelSettings) -> "VllmModel":
    """Load the model behind `vllm:ID`, ID a folder or a hub id.

    Raises:
        MissingExtra: vLLM is not installed.
        ModelError: vLLM cannot load it.
    """
    try:
        import vllm  # noqa: PLC0415  optional, and slow to import
    except ImportError:
        raise MissingExtra("vllm", purpose=f"model {name!r}") from None
    identifier = name.removeprefix(PREFIX)
    if not identifier:
        raise ModelError(f"model {name!r}: expected vllm:ID, ID a model folder or a Hugging Face id")
    arguments = {
        "revision": settings.revision,
        "dtype": settings.dtype,
        "trust_remote_code": settings.trust_remote_code,
    }
    try:
        loaded = vllm.LLM(model=identifier, max_model_len=settings.max_length, **arguments)
    except Exception as error:  # whatever vLLM, torch or the driver raises
        raise ModelError(f"model {name!r}: vLLM cannot load it ({_line(error)})") from error
    return VllmModel(name, loaded, vllm.SamplingParams, settings={**arguments, "max_length": settings.max_length})


class VllmModel:
    """A loaded `vllm.LLM`.

    Attributes:
        name: what the user called it.
    """

    def __init__(self, name: str, loaded: Any, sampling: Any, *, settings: dict[str, object]) -> None:  # noqa: ANN401  vLLM is not there when types are checked
        """Take what is loaded.

        Args:
            name: `vllm:ID`.
            loaded: a `vllm.LLM`.
            sampling: the class `vllm.SamplingParams`.
            settings: how it was opened; a part of the digest.
        """
        self.name = name
        self._loaded = loaded
        self._sampling = sampling
        self._settings = settings

    @cached_property
    def digest(self) -> str:
        """SHA-256 of tokenizer, settings, and the weights where the id is a folder; of a hub id, of its name."""
        identifier = self.name.removeprefix(PREFIX)
        weights = files_digest([Path(identifier)]) if Path(identifier).is_dir() else identifier
        return combined(["vllm", weights, self._settings, self.tokenizer_digest])

    @cached_property
    def tokenizer_digest(self) -> str:
        """SHA-256 of what the tokenizer does to text."""
        return tokenizer_digest(self._loaded.get_tokenizer())

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[tuple[int, TokenLogProbs | Unread]]]:
        """Log-probabilities of each text's tokens; tokens without a prediction are left out.

        Raises:
            ModelError: vLLM cannot run the model, or refuses short texts too.
        """
        asked = self._sampling(max_tokens=1, temperature=0.0, prompt_logprobs=0)
        for start in range(0, len(texts), CHUNK):
            outputs = self._run(texts[start : start + CHUNK], [asked] * len(texts[start : start + CHUNK]))
            yield [
                (start + index, one if isinstance(one, Unread) else self._log_probs(one))
                for index, one in enumerate(outputs)
            ]

    def token_log_probs(self, texts: Sequence[str]) -> Iterator[TokenLogProbs | Unread]:
        """As `completed`, in the order of `texts`."""
        for batch in self.completed(texts):
            yield from (found for _, found in batch)

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
        seed: int = 0,
    ) -> Iterator[str | Unread]:
        """Continuations in the order of `prompts`, see `assay.types.Generator`; each prompt has a seed of its own.

        Raises:
            ModelError: as `completed`.
        """
        seeds = prompt_seeds(seed, prompts)
        for start in range(0, len(prompts), CHUNK):
            some = prompts[start : start + CHUNK]
            asked = [
                self._sampling(
                    max_tokens=max_new_tokens,
                    temperature=temperature,
                    top_p=top_p,
                    stop=list(stop) or None,
                    seed=own,
                )
                for own in islice(seeds, len(some))
            ]
            for one in self._run(some, asked):
                yield one if isinstance(one, Unread) else before_first(one.outputs[0].text, stop)

    def _run(self, prompts: Sequence[str], asked: Sequence[object]) -> list[Any]:
        """What vLLM gives for each prompt; a prompt that it does not take, one beyond the context say, is `Unread`.

        vLLM looks at all prompts before it runs one, and refuses them together: halves find out which it was.
        """
        try:
            found = list(self._loaded.generate(list(prompts), list(asked), use_tqdm=False))
        except Exception as error:  # see open_vllm
            if len(prompts) > 1:
                half = len(prompts) // 2
                return [*self._run(prompts[:half], asked[:half]), *self._run(prompts[half:], asked[half:])]
            told = ModelError(f"{self.name}: vLLM cannot run it ({_line(error)})")
            if prompts[0] == SHORT:
                raise told from error
            try:
                self._run([SHORT], asked)
            except ModelError:
                raise told from error
            return [Unread(f"refused by vLLM: {without_numbers(_line(error))}")]
        if len(found) != len(prompts):
            raise ModelError(f"{self.name}: vLLM gave {len(found)} outputs, expected {len(prompts)}")
        return found

    def _log_probs(self, output: Any) -> TokenLogProbs:  # noqa: ANN401  see __init__
        """Those of the tokens that stand in the text: the first position has none."""
        pairs = [
            (token, entry[token].logprob)
            for token, entry in zip(output.prompt_token_ids, output.prompt_logprobs or (), strict=False)
            if entry is not None
        ]
        if len(pairs) < len(output.prompt_token_ids) - 1:
            raise ModelError(
                f"{self.name}: vLLM gave {len(pairs)} log-probabilities for {len(output.prompt_token_ids)} tokens"
            )
        ids, values = zip(*pairs, strict=True) if pairs else ((), ())
        return TokenLogProbs(np.array(ids, np.int32), np.array(values, np.float32))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
