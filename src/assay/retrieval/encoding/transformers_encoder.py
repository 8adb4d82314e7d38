"""Any encoder of transformers, or of sentence-transformers' folders, as an `Encoder`."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
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
    TokenBudget,
    check_folder,
    check_vocabulary,
    combined,
    files_digest,
    one_line,
    quiet,
    resolve_device,
    tokenizer_digest,
)
from assay.retrieval.encoding.pooling import POOLINGS
from assay.retrieval.encoding.sentence_modules import SentenceModules, apply_dense, read_modules
from assay.types import Float32Array

OUTPUT = "output:"
UNBOUNDED = 1 << 20
"""Tokenizers without a limit state an absurd one."""

DEFAULT_LENGTH = 512
BATCH_TOKENS = {"cpu": 4096, "cuda": 65536}


@dataclass(frozen=True, slots=True)
class Reading:
    """How a text becomes one vector.

    Attributes:
        poolings: names of `POOLINGS`, joined; or one `output:FIELD` of the model's own output.
        template: "{text}" with what stands around it.
        query_template: the same for queries.
        max_length: in tokens, special tokens included; longer texts are cut there.
        lower_case: texts are lower-cased first.
    """

    poolings: tuple[str, ...]
    template: str
    query_template: str
    max_length: int
    lower_case: bool


@dataclass(frozen=True, slots=True)
class _Piece:
    index: int
    ids: list[int]

    @property
    def tokens(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class TransformersEncoder:
    """A transformer, its pooling, and what stands around a text.

    `encode` is for documents; `for_queries` gives the same encoder with the queries' template.

    Attributes:
        name: what the user called it.
        digest: of weights, tokenizer, reading and dtype.
        dimensions: d, the length of a vector.
        model: in evaluation mode, on its device.
        tokenizer: its tokenizer.
        dense: layers after pooling.
        reading: how a text becomes one vector.
        budget: padded tokens in a batch.
    """

    name: str
    digest: str
    dimensions: int
    model: Any
    tokenizer: PreTrainedTokenizerBase
    dense: tuple[nn.Module, ...]
    reading: Reading
    budget: TokenBudget = field(repr=False)

    def for_queries(self) -> "TransformersEncoder":
        """The same encoder for the other side of a search."""
        return replace(self, reading=replace(self.reading, template=self.reading.query_template))

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """float32 [texts, d], rows of length 1, in the order of `texts`.

        Raises:
            ModelError: out of memory on a single text.
        """
        pieces = [_Piece(index, ids) for index, ids in enumerate(self._ids(texts))]
        vectors: list[Float32Array] = [np.zeros(0, np.float32)] * len(texts)
        for batch, found in self.budget.run(pieces, self._batch):
            for piece, vector in zip(batch, found, strict=True):
                vectors[piece.index] = vector
        return np.stack(vectors) if vectors else np.zeros((0, self.dimensions), np.float32)

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        how = self.reading
        around = [how.template.replace("{text}", text) for text in texts]
        around = [text.lower() for text in around] if how.lower_case else around
        around = [text.encode("utf-8", "replace").decode("utf-8") for text in around]  # no tokenizer takes surrogates
        with quiet():
            ids: list[list[int]] = self.tokenizer(around)["input_ids"]
        ids = [self._cut(one) for one in ids]
        if how.poolings == ("eos",):
            end = self.tokenizer.eos_token_id
            ids = [one if one[-1:] == [end] else [*one[: how.max_length - 1], end] for one in ids]
        known = [self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, self.tokenizer.unk_token_id, 0]
        filler = next(one for one in known if one is not None)
        return [one or [filler] for one in ids]  # nothing to encode still has a vector

    def _cut(self, ids: list[int]) -> list[int]:
        """At most `max_length` tokens: what stands behind the text stays, the end of the text goes."""
        most = self.reading.max_length
        if len(ids) <= most:
            return ids
        behind = self.reading.template.rpartition("{text}")[2]
        kept = len(self.tokenizer.encode(behind, add_special_tokens=False)) if behind else 0
        kept = min(kept + self.tokenizer.num_special_tokens_to_add(), most - 1)
        return [*ids[: most - kept], *ids[len(ids) - kept :]]

    def _batch(self, batch: list[_Piece]) -> tuple[list[_Piece], Float32Array]:
        device = next(self.model.parameters()).device
        longest = max(piece.tokens for piece in batch)
        filler = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([piece.ids + [filler] * (longest - piece.tokens) for piece in batch], device=device)
        lengths = torch.tensor([piece.tokens for piece in batch], device=device)
        mask = (torch.arange(longest, device=device) < lengths[:, None]).long()
        with torch.inference_mode():
            output = self.model(input_ids=ids, attention_mask=mask)
            pooled = nn.functional.normalize(apply_dense(self.dense, self._pooled(output, mask)), dim=1)
        return batch, pooled.cpu().numpy()

    def _pooled(self, output: Any, mask: torch.Tensor) -> torch.Tensor:  # noqa: ANN401  models bring their own classes
        if self.reading.poolings[0].startswith(OUTPUT):
            wanted = self.reading.poolings[0].removeprefix(OUTPUT)
            found = getattr(output, wanted, None)
            while isinstance(found, tuple | list) and found:
                found = found[-1]  # several exits: the last
            if not isinstance(found, torch.Tensor) or found.ndim != 2:  # noqa: PLR2004  texts × dimensions
                raise ModelError(f"{self.name} gives no vector {wanted!r}: expected one of {', '.join(output.keys())}")
            return found.float()
        hidden = output.last_hidden_state.float()
        return torch.cat([POOLINGS[one](hidden, mask) for one in self.reading.poolings], dim=1)


def load_encoder(
    name: str,
    *,
    pooling: str | None,
    query_prefix: str | None,
    document_prefix: str | None,
    max_length: int | None,
    batch_tokens: int | None,
    device: str,
    dtype: str,
    revision: str | None,
    trust_remote_code: bool,
) -> TransformersEncoder:
    """See `open_encoder`."""
    place = resolve_device(device)
    if dtype != "auto" and dtype not in DTYPES:
        raise ModelError(f"dtype {dtype!r}: expected auto, {', '.join(DTYPES)}")
    common = _common(name, revision, trust_remote_code=trust_remote_code)
    with quiet(), one_line(name):
        modules = read_modules(name, _finder(name, common))
        inner = modules.folder if modules else ""
        if Path(name).is_dir():
            check_folder(str(Path(name, inner)))
            check_vocabulary(str(Path(name, inner)))
        elif inner:
            common["subfolder"] = inner
        source = str(Path(name, inner)) if Path(name).is_dir() else name
        tokenizer = AutoTokenizer.from_pretrained(source, **common)
        model = _load_model(name, source, common, DTYPES.get(dtype, torch.float32 if place.type == "cpu" else "auto"))
    reading = Reading(
        poolings=_poolings(name, pooling, modules, tokenizer),
        template=_template(document_prefix, modules, "document"),
        query_template=_template(query_prefix, modules, "query"),
        max_length=_longest(model, modules, tokenizer, max_length),
        lower_case=bool(modules and modules.lower_case),
    )
    folder = Path(source) if Path(source).is_dir() else Path(str(cached_file(name, "config.json", **common))).parent
    beside = sorted({file.parent for file in modules.files}) if modules else []
    of = [files_digest([folder]), files_digest(beside), tokenizer_digest(tokenizer), asdict(reading), str(model.dtype)]
    encoder = TransformersEncoder(
        name=name,
        digest=combined(of),
        dimensions=0,
        model=model.to(place).eval(),
        tokenizer=tokenizer,
        dense=modules.dense if modules else (),
        reading=reading,
        budget=TokenBudget(batch_tokens or BATCH_TOKENS.get(place.type, 16384)),
    )
    with one_line(name):
        return replace(encoder, dimensions=encoder.encode(["x"]).shape[1])


def _common(name: str, revision: str | None, *, trust_remote_code: bool) -> dict[str, Any]:
    local = Path(name).is_dir()
    common: dict[str, Any] = {"trust_remote_code": trust_remote_code, "local_files_only": local}
    if revision is not None and not local:
        common["revision"] = revision
    return common


def _finder(name: str, common: dict[str, Any]) -> Callable[[str], Path | None]:
    def find(path: str) -> Path | None:
        if Path(name).is_dir():
            return found if (found := Path(name, path)).is_file() else None
        cached = cached_file(name, path, revision=common.get("revision"), _raise_exceptions_for_missing_entries=False)
        return Path(cached) if cached else None

    return find


def _load_model(name: str, source: str, common: dict[str, Any], dtype: object) -> Any:  # noqa: ANN401  any architecture
    config = AutoConfig.from_pretrained(source, **common)
    alone = (
        type(config) in MODEL_FOR_TEXT_ENCODING_MAPPING
    )  # the encoder of T5 and its like; most families as AutoModel
    kind: Any = AutoModelForTextEncoding if alone else AutoModel
    arguments = {DTYPE_ARGUMENT: dtype}
    model, report = kind.from_pretrained(source, config=config, output_loading_info=True, **common, **arguments)
    # heads that pooling passes by: many checkpoints were saved without them
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise ModelError(f"{name}: {len(missing)} weights are missing from the files ({', '.join(missing[:3])}, …)")
    return model.get_encoder() if not alone and getattr(config, "is_encoder_decoder", False) else model


def _poolings(
    name: str, asked: str | None, modules: SentenceModules | None, tokenizer: PreTrainedTokenizerBase
) -> tuple[str, ...]:
    if asked and asked not in POOLINGS and not asked.startswith(OUTPUT):
        raise ModelError(f"pooling {asked!r}: expected {', '.join(POOLINGS)} or {OUTPUT}FIELD of the model's output")
    if asked == "eos" and tokenizer.eos_token_id is None:
        raise ModelError(f"{name}: pooling 'eos' of a tokenizer without an end-of-sequence token; expected one")
    return (asked,) if asked else modules.poolings if modules else ("mean",)


def _longest(
    model: Any,  # noqa: ANN401  any architecture
    modules: SentenceModules | None,
    tokenizer: PreTrainedTokenizerBase,
    asked: int | None,
) -> int:
    """The smallest of what is asked for and what model, modules and tokenizer state."""
    if asked is not None and asked < 1:
        raise ModelError(f"max_length {asked}: expected at least 1")
    positions = getattr(model.config, "max_position_embeddings", None)
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    if positions and isinstance(table, nn.Embedding) and table.padding_idx is not None:
        positions -= table.padding_idx + 1  # RoBERTa and its like count positions from behind the padding's
    stated = [positions, modules.max_length if modules else None, tokenizer.model_max_length]
    known = [one for one in stated if one and 0 < one < UNBOUNDED]
    return min([*known, asked or (UNBOUNDED if known else DEFAULT_LENGTH)])


def _template(prefix: str | None, modules: SentenceModules | None, role: str) -> str:
    given = prefix if prefix is not None else modules.prompts[role] if modules else ""
    return given if "{text}" in given else given + "{text}"
