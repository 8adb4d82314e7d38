"""Models of transformers and of sentence-transformers as an `Encoder`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import (
    MODEL_FOR_TEXT_ENCODING_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForTextEncoding,
    AutoTokenizer,
    PreTrainedTokenizerBase,
)
from transformers.utils.hub import cached_file

from assay.errors import ModelError
from assay.models import (
    DTYPE_ARGUMENT,
    DTYPES,
    PlacedWork,
    TokenBudget,
    check_config,
    check_folder,
    check_vocabulary,
    combined,
    files_digest,
    one_line,
    quiet,
    resolve_device,
    right_padded,
    tokenizer_digest,
)
from assay.retrieval.encoding.pooling import POOLINGS
from assay.retrieval.encoding.sentence_modules import SentenceModules, apply_dense, read_modules
from assay.retrieval.encoding.settings import EncoderSettings
from assay.types import Float32Array

OUTPUT_PREFIX = "output:"
UNBOUNDED = 1 << 20
"""Length from which a limit is none: tokenizers without one state a very large number."""

DEFAULT_LENGTH = 512
BATCH_TOKENS = {"cpu": 4096, "cuda": 65536}


@dataclass(frozen=True, slots=True)
class EncodingSteps:
    """Steps from a text to its vector. The digest of an encoder covers the fields.

    Attributes:
        poolings: names of `POOLINGS`, whose results are concatenated; or one `output:FIELD` of the output of the model.
        template: "{text}" with the text around it.
        query_template: the same for queries.
        max_length: in tokens, special tokens included; longer texts are truncated.
        lower_case: texts are lower-cased first.
    """

    poolings: tuple[str, ...]
    template: str
    query_template: str
    max_length: int
    lower_case: bool


@dataclass(frozen=True, eq=False)
class TransformersEncoder:
    """A transformer, its pooling, and its templates.

    `encode` is for documents; `for_queries` returns the same encoder with the template of queries.

    Attributes:
        name: what the user called it.
        digest: of weights, tokenizer, steps and dtype.
        dimensions: d, the length of a vector.
        model: in evaluation mode, on its device.
        tokenizer: its tokenizer.
        dense: layers after pooling.
        steps: from a text to its vector.
        budget: padded tokens in a batch.
    """

    name: str
    digest: str
    dimensions: int
    model: Any
    tokenizer: PreTrainedTokenizerBase
    dense: tuple[nn.Module, ...]
    steps: EncodingSteps
    budget: TokenBudget = field(repr=False)

    def for_queries(self) -> "TransformersEncoder":
        """Return the same encoder with the template of queries."""
        return replace(self, steps=replace(self.steps, template=self.steps.query_template))

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """Return float32 [texts, d], rows of length 1, in the order of `texts`.

        Raises:
            ModelError: out of memory on a single text.
        """
        pieces = [PlacedWork(index, len(ids), ids) for index, ids in enumerate(self.token_ids(texts))]
        vectors = np.zeros((0, self.dimensions), np.float32)
        for batch, batch_vectors in self.budget.run(pieces, self._batch):
            if not len(vectors):
                vectors = np.empty((len(texts), batch_vectors.shape[1]), np.float32)
            vectors[[piece.index for piece in batch]] = batch_vectors
        return vectors

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text with its template, special tokens included, at most `steps.max_length`."""
        if not texts:
            return []
        with quiet():
            rows: list[list[int]] = self.tokenizer(list(map(self._prompt, texts)))["input_ids"]
        return list(map(self._complete, map(self._truncated, rows)))

    def _prompt(self, text: str) -> str:
        prompt = self.steps.template.replace("{text}", text)
        if self.steps.lower_case:
            prompt = prompt.lower()
        # no tokenizer accepts lone surrogates
        return prompt.encode("utf-8", "replace").decode("utf-8")

    def _truncated(self, ids: list[int]) -> list[int]:
        """Return at most `max_length` tokens: the end of the text is removed, the template after it is kept."""
        most = self.steps.max_length
        if len(ids) <= most:
            return ids
        behind = self.steps.template.rpartition("{text}")[2]
        # which special tokens end a text is not known: as many are kept as there may be in all
        kept = len(self.tokenizer.encode(behind, add_special_tokens=False))
        kept = min(kept + self.tokenizer.num_special_tokens_to_add(), most - 1)
        return [*ids[: most - kept], *ids[len(ids) - kept :]]

    def _complete(self, ids: list[int]) -> list[int]:
        """Return the tokens with the end that its pooling reads; an empty text has a token too, and so a vector."""
        tokenizer = self.tokenizer
        if self.steps.poolings == ("eos",) and ids[-1:] != [tokenizer.eos_token_id]:
            return [*ids[: self.steps.max_length - 1], tokenizer.eos_token_id]
        special = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id, 0)
        return ids or [next(token for token in special if token is not None)]

    def pooled(self, token_ids: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return the pooled vectors of token sequences [n, h], before dense layers; with a graph where one is kept."""
        device = next(self.model.parameters()).device
        ids, mask = right_padded(token_ids, self.tokenizer.pad_token_id or 0)
        mask = mask.to(device)
        return self._pooled(self.model(input_ids=ids.to(device), attention_mask=mask), mask)

    def _batch(self, batch: list[PlacedWork[list[int]]]) -> tuple[list[PlacedWork[list[int]]], Float32Array]:
        with torch.inference_mode():
            pooled = self.pooled(list(map(attrgetter("content"), batch)))
            vectors = nn.functional.normalize(apply_dense(self.dense, pooled), dim=1)
        return batch, vectors.cpu().numpy()

    def _pooled(self, output: Any, mask: torch.Tensor) -> torch.Tensor:  # noqa: ANN401  models bring their own classes
        if self.steps.poolings[0].startswith(OUTPUT_PREFIX):
            field_name = self.steps.poolings[0].removeprefix(OUTPUT_PREFIX)
            pooled = getattr(output, field_name, None)
            while isinstance(pooled, tuple | list) and pooled:
                pooled = pooled[-1]  # a model with several exits: the last
            if not isinstance(pooled, torch.Tensor) or pooled.ndim != 2:  # noqa: PLR2004  texts × dimensions
                fields = ", ".join(output.keys())
                raise ModelError(f"{self.name} returns no vector {field_name!r}: expected one of {fields}")
            return pooled.float()
        hidden = output.last_hidden_state.float()
        return torch.cat([POOLINGS[name](hidden, mask) for name in self.steps.poolings], dim=1)


def load_encoder(name: str, settings: EncoderSettings) -> TransformersEncoder:
    """Load an encoder of transformers or sentence-transformers; arguments and errors as `open_encoder`."""
    place = resolve_device(settings.device)
    if settings.dtype != "auto" and settings.dtype not in DTYPES:
        raise ModelError(f"dtype {settings.dtype!r}: expected auto, {', '.join(DTYPES)}")
    is_folder = Path(name).is_dir()
    common: dict[str, Any] = {"trust_remote_code": settings.trust_remote_code, "local_files_only": is_folder}
    if settings.revision is not None and not is_folder:
        common["revision"] = settings.revision
    with quiet(), one_line(name):
        modules = read_modules(name, partial(_file_of, name, common.get("revision")))
        source = name
        if is_folder:
            source = str(Path(name, modules.folder))
            check_folder(source)
            check_vocabulary(source)
        elif modules.folder:
            common["subfolder"] = modules.folder
        tokenizer = AutoTokenizer.from_pretrained(source, **common)
        automatic = torch.float32 if place.type == "cpu" else "auto"
        model = _load_model(name=name, source=source, common=common, dtype=DTYPES.get(settings.dtype, automatic))
    steps = EncodingSteps(
        poolings=_poolings(name=name, pooling=settings.pooling, modules=modules, tokenizer=tokenizer),
        template=_template(settings.document_prefix, modules, "document"),
        query_template=_template(settings.query_prefix, modules, "query"),
        max_length=_longest(
            model=model,
            stated=modules.max_length,
            tokenizer=tokenizer,
            requested=settings.max_length,
        ),
        lower_case=modules.lower_case,
    )
    folder = Path(source) if Path(source).is_dir() else Path(str(cached_file(name, "config.json", **common))).parent
    # equal digests mean equal vectors: whatever a vector depends on is a part of it, also how it is computed
    beside = sorted({file.parent for file in modules.files})
    parts = [files_digest([folder]), files_digest(beside), tokenizer_digest(tokenizer), asdict(steps), str(model.dtype)]
    encoder = TransformersEncoder(
        name=name,
        digest=combined(parts),
        dimensions=0,
        model=model.to(place).eval(),
        tokenizer=tokenizer,
        dense=modules.dense,
        steps=steps,
        budget=TokenBudget(settings.batch_tokens or BATCH_TOKENS.get(place.type, 16384)),
    )
    with one_line(name):
        return replace(encoder, dimensions=encoder.encode(["x"]).shape[1])


def _file_of(name: str, revision: str | None, path: str) -> Path | None:
    if Path(name).is_dir():
        return file if (file := Path(name, path)).is_file() else None
    cached = cached_file(name, path, revision=revision, _raise_exceptions_for_missing_entries=False)
    return Path(cached) if cached else None


def _load_model(name: str, source: str, common: dict[str, Any], dtype: object) -> Any:  # noqa: ANN401  any architecture
    config = AutoConfig.from_pretrained(source, **common)
    check_config(name, config)
    # the encoder of T5 and similar models; AutoModel for most families
    alone = type(config) in MODEL_FOR_TEXT_ENCODING_MAPPING
    kind: Any = AutoModelForTextEncoding if alone else AutoModel
    arguments = {DTYPE_ARGUMENT: dtype}
    model, report = kind.from_pretrained(source, config=config, output_loading_info=True, **common, **arguments)
    # pooling does not use the pooler, and many checkpoints were saved without it
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise ModelError(f"{name}: {len(missing)} weights are missing from the files ({', '.join(missing[:3])}, …)")
    return model.get_encoder() if not alone and getattr(config, "is_encoder_decoder", False) else model


def _poolings(
    name: str, pooling: str | None, modules: SentenceModules, tokenizer: PreTrainedTokenizerBase
) -> tuple[str, ...]:
    if pooling and pooling not in POOLINGS and not pooling.startswith(OUTPUT_PREFIX):
        names = ", ".join(POOLINGS)
        raise ModelError(f"pooling {pooling!r}: expected {names} or {OUTPUT_PREFIX}FIELD of the model's output")
    if pooling == "eos" and tokenizer.eos_token_id is None:
        raise ModelError(f"{name}: pooling 'eos' of a tokenizer without an end-of-sequence token; expected one")
    if pooling:
        return (pooling,)
    return modules.poolings


def _longest(model: Any, stated: int | None, tokenizer: PreTrainedTokenizerBase, requested: int | None) -> int:  # noqa: ANN401
    """Return the smallest of the requested length and those that model, modules (`stated`) and tokenizer state."""
    if requested is not None and requested < 1:
        raise ModelError(f"max_length {requested}: expected at least 1")
    positions = getattr(model.config, "max_position_embeddings", None)
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    if positions and isinstance(table, nn.Embedding) and table.padding_idx is not None:
        # the positions of RoBERTa and similar models begin after that of the padding
        positions -= table.padding_idx + 1
    # the shortest statement holds: a model cannot read beyond its positions, nor well beyond what it was trained on
    limits = [limit for limit in (positions, stated, tokenizer.model_max_length) if limit and 0 < limit < UNBOUNDED]
    return min([*limits, requested or (UNBOUNDED if limits else DEFAULT_LENGTH)])


def _template(prefix: str | None, modules: SentenceModules, role: str) -> str:
    if prefix is None:
        prefix = modules.prompts.get(role, "")
    return prefix if "{text}" in prefix else prefix + "{text}"
