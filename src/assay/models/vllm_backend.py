"""A model that vLLM runs: log-probabilities of texts, and continuations. Thin over vLLM's documented `LLM`.

vLLM batches, schedules and places the model itself. It gives log-probabilities and ranks of the text's own tokens, not
the whole distribution, so this is a `LogProbScorer` and a `Generator`. Among tokens of equal logits vLLM counts the
worst rank, where the other backends count the best.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from assay.errors import MissingExtra, ModelError
from assay.models.digest import combined, files_digest, tokenizer_digest
from assay.models.generators import Decoding, DecodingArguments, before_first, in_blocks, prompt_seeds
from assay.models.openai_http import SHORT, without_numbers
from assay.models.settings import ModelSettings
from assay.types import RankedLogProbs, Rejected, TokenLogProbs

PREFIX = "vllm:"
CHUNK = 256
"""Texts of one call: many for vLLM's scheduler, few to lose if a run is killed."""


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
        name: the user's name for it.
        gives_ranks: True.
    """

    gives_ranks = True

    def __init__(self, name: str, loaded: Any, sampling: Any, *, settings: dict[str, object]) -> None:  # noqa: ANN401  vLLM is not there when types are checked
        """Wrap a loaded model.

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
        """SHA-256 of tokenizer, settings, and the weights if the id is a folder; of a hub id, its name."""
        identifier = self.name.removeprefix(PREFIX)
        weights = files_digest([Path(identifier)]) if Path(identifier).is_dir() else identifier
        return combined(["vllm", weights, self._settings, self.tokenizer_digest])

    @cached_property
    def tokenizer_digest(self) -> str:
        """SHA-256 of the tokenizer's behaviour."""
        return tokenizer_digest(self._loaded.get_tokenizer())

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[tuple[int, TokenLogProbs | Rejected]]]:
        """Log-probabilities of each text's tokens; tokens without a prediction are left out.

        Raises:
            ModelError: vLLM cannot run the model, or refuses short texts too.
        """
        parameters = self._sampling(max_tokens=1, temperature=0.0, prompt_logprobs=0)
        done = 0
        for chunk in in_blocks(texts, CHUNK):
            outputs = self._run(chunk, [parameters] * len(chunk))
            yield list(enumerate(map(self._log_probs, outputs), done))
            done += len(chunk)

    def token_log_probs(self, texts: Sequence[str]) -> Iterator[TokenLogProbs | Rejected]:
        """As `completed`, in the order of `texts`."""
        for batch in self.completed(texts):
            yield from map(itemgetter(1), batch)

    def generate(self, prompts: Sequence[str], **how: Unpack[DecodingArguments]) -> Iterator[str | Rejected]:
        """Continuations in the order of `prompts`, see `assay.types.Generator`; each prompt has a seed of its own.

        Raises:
            ModelError: as `completed`.
        """
        decoding = Decoding(**how)
        seeds = prompt_seeds(decoding.seed, prompts)
        sampling = partial(
            self._sampling,
            max_tokens=decoding.max_new_tokens,
            temperature=decoding.temperature,
            top_p=decoding.top_p,
            stop=list(decoding.stop) or None,
        )
        for chunk in in_blocks(prompts, CHUNK):
            parameters = [sampling(seed=own) for own in islice(seeds, len(chunk))]
            for output in self._run(chunk, parameters):
                yield output if isinstance(output, Rejected) else before_first(output.outputs[0].text, decoding.stop)

    def _run(self, prompts: Sequence[str], parameters: Sequence[object]) -> list[Any]:
        """Return vLLM's output for each prompt; `Rejected` for a prompt that it rejects.

        vLLM checks all prompts before it runs any, and rejects all of them for one: halving finds the prompt at fault.
        """
        try:
            outputs = list(self._loaded.generate(list(prompts), list(parameters), use_tqdm=False))
        except Exception as error:  # see open_vllm
            # halving: log2(n) calls for each prompt at fault, and every good prompt is still answered
            if len(prompts) > 1:
                half = len(prompts) // 2
                return [*self._run(prompts[:half], parameters[:half]), *self._run(prompts[half:], parameters[half:])]
            failure = ModelError(f"{self.name}: vLLM cannot run it ({_line(error)})")
            if prompts[0] == SHORT:
                raise failure from error
            try:
                self._run([SHORT], parameters)
            except ModelError:
                raise failure from error
            return [Rejected(f"refused by vLLM: {without_numbers(_line(error))}")]
        if len(outputs) != len(prompts):
            raise ModelError(f"{self.name}: vLLM gave {len(outputs)} outputs, expected {len(prompts)}")
        return outputs

    def _log_probs(self, output: Any) -> TokenLogProbs | Rejected:  # noqa: ANN401  see __init__
        """Return the log-probabilities of the text's tokens; the first position has none."""
        if isinstance(output, Rejected):
            return output
        rows = [
            (token, entry[token].logprob, entry[token].rank)
            for token, entry in zip(output.prompt_token_ids, output.prompt_logprobs or (), strict=False)
            if entry is not None
        ]
        if len(rows) < len(output.prompt_token_ids) - 1:
            raise ModelError(
                f"{self.name}: vLLM gave {len(rows)} log-probabilities for {len(output.prompt_token_ids)} tokens"
            )
        # without a row `zip` would give nothing to unpack
        ids, values, ranks = zip(*rows, strict=True) if rows else ((), (), ())
        return RankedLogProbs(np.array(ids, np.int32), np.array(values, np.float32), np.array(ranks, np.int32))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
