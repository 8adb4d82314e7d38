"""A GGUF file that llama.cpp runs, with its weights quantised as they are: token statistics and continuations.

The package llama-cpp-python loads the file, tokenises and generates. Statistics need the logits of every token. Its
class `Llama` keeps them for the whole context, gigabytes; so texts are run through its documented low-level functions,
some hundred tokens at a time, and the logits are reduced as those of any other model.
"""

import ctypes
import weakref
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Unpack

import numpy as np
import torch

from assay.errors import ModelError, require
from assay.models.digest import combined
from assay.models.encoding import encodable
from assay.models.forward import ROWS, as_statistics, reduce_logits
from assay.models.generators import Decoding, DecodingArguments, before_first, prompt_seeds, room_for
from assay.models.gguf_file import GgufFile, is_gguf, locate_gguf, read_gguf
from assay.models.names import LLAMA_PREFIX
from assay.models.settings import ModelSettings
from assay.models.windows import Window, resolve_stride, windows
from assay.types import Float32Array, Indexed, Tokens, TokenStatistics

BATCH = 512
"""Tokens of one call at most: llama.cpp's own default."""

LOGITS = 2**25
"""Logits of one call at most, the largest array: 128 MiB. Gemma's 262,144 token ids leave 128 tokens a call."""

ALL_LAYERS = -1


def open_llama(name: str, settings: ModelSettings) -> "LlamaCppModel":
    """Load the file behind `llama:PATH.gguf` or `llama:hub-id:FILE.gguf`.

    Raises:
        MissingExtra: llama-cpp-python, gguf or torch is not installed.
        ModelError: there is no such file, or llama.cpp cannot load it.
    """
    require("llama_cpp", "gguf", "torch", "transformers", purpose=f"model {name!r}")
    place = name.removeprefix(LLAMA_PREFIX)
    if not is_gguf(place):
        raise ModelError(f"model {name!r}: expected llama:PATH.gguf or llama:hub-id:FILE.gguf")
    file = read_gguf(locate_gguf(place, settings.revision))
    import llama_cpp  # noqa: PLC0415  an optional dependency

    try:
        loaded = llama_cpp.Llama(
            str(file.path),
            n_ctx=settings.max_length or 0,  # 0: the file's own
            n_batch=BATCH,
            n_gpu_layers=ALL_LAYERS * (settings.device != "cpu"),
            n_threads=torch.get_num_threads(),
            n_threads_batch=torch.get_num_threads(),
            type_k=llama_cpp.GGML_TYPE_F32,  # llama.cpp's default, float16, moves log-probabilities by some 0.001
            type_v=llama_cpp.GGML_TYPE_F32,
            swa_full=False,  # layers with a sliding window keep that window alone: no text is continued from its middle
            verbose=False,
        )
    except (ValueError, RuntimeError, OSError) as error:
        raise ModelError(f"model {name!r}: llama.cpp cannot load it ({' '.join(str(error).split())[:200]})") from error
    return LlamaCppModel(name=name, file=file, loaded=loaded, settings=settings)


class LlamaCppModel:
    """A `llama_cpp.Llama` as a `TokenScorer` and a `TokenGenerator`.

    Attributes:
        name: the user's name for it.
        gguf: the file that it came from.
        context: longest sequence of tokens, a BOS included.
        stride: distance between the windows of a longer text.
        prefix: tokens before each text.
    """

    def __init__(self, name: str, file: GgufFile, loaded: Any, settings: ModelSettings) -> None:  # noqa: ANN401  an optional package's class
        """Settle context, windows and the tokens before a text.

        Raises:
            ModelError: a setting that does not fit the model.
        """
        import llama_cpp  # noqa: PLC0415  see open_llama

        self.name = name
        self.gguf = file
        self._low: Any = llama_cpp
        self._model = loaded
        weakref.finalize(self, loaded.close)  # its own destructor fails when the interpreter ends
        self._pieces: dict[int, bytes] = {}
        self._vocabulary = self._low.llama_model_get_vocab(loaded.model)
        trained = int(self._low.llama_model_n_ctx_train(loaded.model))
        if settings.max_length is not None and settings.max_length > trained:
            raise ModelError(f"{name}: max_length {settings.max_length}: expected 2 to {trained}")
        self.context = settings.max_length or trained
        self.stride = resolve_stride(settings.stride, self.context)
        adds = bool(self._low.llama_vocab_get_add_bos(self._vocabulary))
        self.prefix = self._beginning() if settings.bos == "always" or (settings.bos == "auto" and adds) else ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file, windows and BOS; not of the device."""
        return combined(["llama.cpp", self.gguf.digest, self.context, self.stride, self.prefix])

    @cached_property
    def tokenizer_digest(self) -> str:
        """SHA-256 of the file, which holds the tokenizer."""
        return combined(["llama.cpp tokenizer", self.gguf.digest])

    @property
    def vocabulary_size(self) -> int:
        """Number of logits, V."""
        return int(self._model.n_vocab())

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[Indexed]]:
        """Statistics text by text.

        Raises:
            ModelError: llama.cpp cannot run a text, or a statistic is not finite.
        """
        for index, text in enumerate(texts):
            yield [(index, self._statistics(text))]

    def token_statistics(self, texts: Sequence[str]) -> Iterator[TokenStatistics]:
        """Statistics in the order of `texts`."""
        for text in texts:
            yield self._statistics(text)

    def generate(self, prompts: Sequence[str], **how: Unpack[DecodingArguments]) -> Iterator[str]:
        """Continuations in the order of `prompts`, see `assay.types.Generator`; each prompt has a seed of its own.

        A prompt too long for the context keeps its end, so that `max_new_tokens` fit behind it.

        Raises:
            ModelError: a setting out of its range.
        """
        decoding = Decoding(**how)
        room = room_for(decoding.max_new_tokens, self.context, len(self.prefix))
        seeds = prompt_seeds(decoding.seed, prompts)
        for prompt, own in zip(prompts, islice(seeds, len(prompts)), strict=True):
            ids = [*self.prefix, *self._ids(prompt)[-room:]] or list(self._beginning())
            self._model.reset()  # no part of an earlier prompt is reused: numbers would depend on the neighbours
            answer = self._model.create_completion(
                ids,
                max_tokens=decoding.max_new_tokens,
                temperature=decoding.temperature,
                top_p=decoding.top_p,
                top_k=0,
                min_p=0.0,
                stop=list(decoding.stop),
                seed=own,
            )
            yield before_first(answer["choices"][0]["text"], decoding.stop)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Each text as the model reads it."""
        return list(map(self._tokens, texts))

    def continue_tokens(self, prompts: Sequence[Sequence[int]], *, max_new_tokens: int) -> Iterator[tuple[int, ...]]:
        """Greedy continuations in the order of `prompts`, in tokens.

        Raises:
            ModelError: an empty prompt, or `max_new_tokens` leaves no room for one.
        """
        before = len(self.prefix)
        room = room_for(max_new_tokens, self.context, before)
        for prompt in prompts:
            ids = [*prompt[:before], *prompt[before:][-room:]]
            if not ids:
                raise ModelError("an empty prompt of tokens: expected at least one token")
            self._model.reset()
            new = islice(self._model.generate(ids, temp=0.0), max_new_tokens)
            yield tuple(self._before_end(new))

    def _tokens(self, text: str) -> Tokens:
        ids, before = self._ids(text), len(self.prefix)
        return Tokens(ids=(*self.prefix, *ids), offsets=self._offsets(text, ids), first=max(1, before), special=before)

    def _before_end(self, tokens: Iterator[int]) -> Iterator[int]:
        for token in tokens:
            if self._low.llama_vocab_is_eog(self._vocabulary, token):
                return
            yield int(token)

    def _beginning(self) -> tuple[int, ...]:
        """Return the token that a sequence begins with: BOS, or EOS where there is no BOS.

        Raises:
            ModelError: there is neither.
        """
        for token in (self._model.token_bos(), self._model.token_eos()):
            if token >= 0:
                return (int(token),)
        raise ModelError(f"{self.name}: neither a BOS nor an EOS token: expected --model-option bos=never")

    def _ids(self, text: str) -> list[int]:
        return list(self._model.tokenize(encodable(text).encode(), add_bos=False, special=True))

    def _statistics(self, text: str) -> TokenStatistics:
        ids = np.array([*self.prefix, *self._ids(text)], np.int32)
        first = max(1, len(self.prefix))
        if len(ids) <= first:
            return TokenStatistics.empty()
        parts = [
            self._run(ids, window)
            for window in windows(len(ids), context=self.context, stride=self.stride, first=first)
        ]
        columns = np.concatenate(parts, axis=1)
        if not np.isfinite(columns).all():
            raise ModelError(f"{self.name}: a token's log-probability is not finite: expected weights without NaN")
        offsets = self._offsets(text, ids[len(self.prefix) :].tolist())
        return as_statistics(ids[first:], columns, offsets[first:])

    def _run(self, ids: np.ndarray, window: Window) -> Float32Array:
        """Return the statistics of the scored tokens of one window, float32 [6, tokens]."""
        low, context = self._low, self._model.ctx
        self._model.reset()
        low.llama_memory_clear(low.llama_get_memory(context), True)
        most = max(1, min(BATCH, LOGITS // self.vocabulary_size))
        batch = low.llama_batch_init(most, 0, 1)
        parts = []
        try:
            for start in range(window.start, window.stop - 1, most):
                stop = min(start + most, window.stop - 1)
                # logits are requested for the last tokens of the call alone, those that predict a token to be scored
                targets = ids[max(start + 1, window.first) : stop + 1]
                # positions count from the start of the window: a text behind it would see another context
                _fill(batch=batch, ids=ids[start:stop], position=start - window.start, outputs=len(targets))
                if code := low.llama_decode(context, batch):
                    raise ModelError(f"{self.name}: llama.cpp cannot run {window.inputs} tokens (code {code})")
                if len(targets):
                    shape = (len(targets), self.vocabulary_size)
                    # llama.cpp owns this memory and overwrites it at its next call: it is reduced here, before that
                    pointer = ctypes.cast(low.llama_get_logits(context), ctypes.POINTER(ctypes.c_float))
                    logits = torch.from_numpy(np.ctypeslib.as_array(pointer, shape))
                    parts.append(reduce_logits(logits, torch.from_numpy(targets.astype(np.int64))).numpy())
        finally:
            low.llama_batch_free(batch)
        result: Float32Array = np.concatenate(parts, axis=1) if parts else np.empty((len(ROWS), 0), np.float32)
        return result

    def _offsets(self, text: str, ids: Sequence[int]) -> np.ndarray:
        """Return each token's place in the text in characters, int32 [prefix and text tokens, 2]; -1 where unknown."""
        before = len(self.prefix)
        offsets = np.full((before + len(ids), 2), -1, np.int32)
        content = encodable(text).encode()
        pieces = list(map(self._piece, ids))
        joined = b"".join(pieces)
        # places are known only where the pieces of all tokens, put together, are the text itself
        surplus = len(joined) - len(content)  # SentencePiece puts a space before the text
        if not ids or surplus < 0 or joined[surplus:] != content or joined[:surplus].strip():
            return offsets
        # tokens are bytes and may split a character: their ends in bytes are looked up in the ends of characters
        ends = np.cumsum(list(map(len, pieces))) - surplus
        starts = np.concatenate([[0], ends[:-1]]).clip(0)
        characters = np.cumsum([0, *(len(encodable(letter).encode()) for letter in text)])
        offsets[before:, 0] = np.searchsorted(characters, starts, "right") - 1
        offsets[before:, 1] = np.searchsorted(characters, ends, "left")
        return offsets

    def _piece(self, token: int) -> bytes:
        """Return the bytes that a token stands for."""
        if token not in self._pieces:
            size = 256
            # the first call says by a negative length how much space the second one needs
            while True:
                space = ctypes.create_string_buffer(size)
                length = self._low.llama_token_to_piece(self._vocabulary, token, space, size, 0, True)
                if length >= 0:
                    break
                size = -length  # the size that it needs
            self._pieces[token] = space.raw[:length]
        return self._pieces[token]


def _fill(batch: Any, ids: np.ndarray, position: int, outputs: int) -> None:  # noqa: ANN401  a C structure
    """Write tokens into a batch; logits are computed for the last `outputs` of them."""
    batch.n_tokens = len(ids)
    for place, token in enumerate(ids.tolist()):
        batch.token[place] = token
        batch.pos[place] = position + place
        batch.n_seq_id[place] = 1
        batch.seq_id[place][0] = 0
        batch.logits[place] = place >= len(ids) - outputs
