"""One string → an encoder: `builtin:fragments`, a folder, or a hub id."""

import hashlib
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from assay.errors import ModelError, require
from assay.retrieval.encoding.bag import BagEncoder
from assay.types import Encoder

BUILTIN = Path(__file__).parent / "builtin"
BUILTIN_PREFIX = "builtin:"
WEIGHTS = "encoder.safetensors"
KINDS = "builtin:fragments, a model folder or a Hugging Face id"

FEATURES_VERSION = 1
"""Raised when the features of a text change: vectors of another version cannot be compared with these."""


@runtime_checkable
class TwoSided(Protocol):
    """An encoder that treats queries and documents differently."""

    def for_queries(self) -> Encoder:
        """The encoder of queries; its vectors are compared with those of `encode` here."""
        ...


def open_encoder(
    name: str = "builtin:fragments",
    *,
    pooling: str | None = None,
    query_prefix: str | None = None,
    document_prefix: str | None = None,
    max_length: int | None = None,
    batch_tokens: int | None = None,
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> Encoder:
    """Open an encoder by name. A folder never opens a network connection.

    The built-in encoder takes no pooling, prefix or length; the options of computation say nothing to it.

    Args:
        name: `builtin:fragments` (ships with assay), a folder that `assay testbed train-encoder` exported, a model
            folder of transformers or sentence-transformers, or a hub id of such a model.
        pooling: "mean", "cls", "last", "eos" (a token that is put at the end), "max", "mean_sqrt", "weighted_mean", or
            "output:FIELD" for a vector that the model itself gives. None: what a sentence-transformers model says, else
            "mean".
        query_prefix: what stands before a query; with "{text}" in it, what stands around. None: as the model says.
        document_prefix: the same for documents.
        max_length: in tokens; None: what model and tokenizer state, 512 where they state nothing.
        batch_tokens: padded tokens in one batch; None chooses by device.
        device: "auto" or a torch device.
        dtype: "auto" (float32 on the CPU, the checkpoint's own elsewhere), "float32", "bfloat16" or "float16".
        revision: branch, tag or commit of a hub id.
        trust_remote_code: run the Python code that comes with a model.

    Raises:
        ModelError: no such encoder, or it does not work; one line says why.
    """
    folder = _builtin(name) if name.startswith(BUILTIN_PREFIX) else Path(name)
    if (folder / WEIGHTS).is_file():
        asked = {
            "pooling": pooling,
            "query_prefix": query_prefix,
            "document_prefix": document_prefix,
            "max_length": max_length,
        }
        if given := [key for key, value in asked.items() if value is not None]:
            raise ModelError(f"{name}: received {', '.join(given)}; expected none of them, it reads every text whole")
        return open_bag(folder, name=name)
    require("torch", "transformers", purpose=f"encoder {name!r}")
    # torch takes seconds to import; the built-in encoder does not need it
    from assay.models import check_place  # noqa: PLC0415
    from assay.retrieval.encoding.transformers_encoder import load_encoder  # noqa: PLC0415

    check_place(name)
    return load_encoder(
        name,
        pooling=pooling,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        max_length=max_length,
        batch_tokens=batch_tokens,
        device=device,
        dtype=dtype,
        revision=revision,
        trust_remote_code=trust_remote_code,
    )


def for_queries(encoder: Encoder) -> Encoder:
    """The side of an encoder that encodes queries: itself, unless it treats them differently."""
    return encoder.for_queries() if isinstance(encoder, TwoSided) else encoder


def open_bag(folder: Path, *, name: str) -> BagEncoder:
    """The bag encoder in a folder.

    Raises:
        ModelError: its file is damaged or no such encoder.
    """
    path = folder / WEIGHTS
    try:
        found = load_file(path)
        rows, scales, weights = found["rows"], found["scales"], found["weights"].astype(np.float32)
    except (OSError, KeyError, SafetensorError) as error:
        raise ModelError(f"{path}: expected the rows, scales and weights of an encoder ({error})") from error
    digest = hashlib.sha256(f"features {FEATURES_VERSION}\n".encode() + path.read_bytes()).hexdigest()
    table = rows.astype(np.float32) * scales.astype(np.float32)[:, None]
    return BagEncoder(name, digest, table, *weights)


def _builtin(name: str) -> Path:
    known = sorted(path.parent.name for path in BUILTIN.glob(f"*/{WEIGHTS}"))
    asked = name.removeprefix(BUILTIN_PREFIX)
    if asked not in known:
        raise ModelError(f"no built-in encoder {asked!r}: expected one of {', '.join(known) or '(none are installed)'}")
    return BUILTIN / asked
