"""One string → an encoder: `builtin:fragments`, `builtin:windows`, a folder, or a hub id."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from assay.errors import ModelError, plain_reason, require
from assay.retrieval.encoding.bag import BagEncoder
from assay.retrieval.encoding.settings import EncoderSettings
from assay.retrieval.encoding.windows import WindowEncoder
from assay.types import Encoder, Float32Array

BUILTIN_ENCODERS = Path(__file__).parent / "builtin"
BUILTIN_PREFIX = "builtin:"
BAG_WEIGHTS = "encoder.safetensors"
DEFAULT_SETTINGS = EncoderSettings()
OF_TRANSFORMERS = ("pooling", "query_prefix", "document_prefix", "max_length")
"""Settings that the bag encoder does not have."""
WHOLE_TEXTS, WINDOWS = "fragments", "windows"
"""Built-in encoders: one vector of a document, or several by the same weights."""

FEATURES_VERSION = 1
"""Raised when the features of a text change: vectors of different versions cannot be compared."""


@runtime_checkable
class TwoSided(Protocol):
    """An encoder that treats queries and documents differently."""

    def for_queries(self) -> Encoder:
        """Return the encoder of queries; its vectors are compared with those of `encode` of this encoder."""
        ...


@runtime_checkable
class ManyVectors(Protocol):
    """An encoder that gives a document several vectors."""

    def encode_documents(self, texts: Sequence[str]) -> list[Float32Array]:
        """Return the vectors of each text, float32 [k, d]."""
        ...


def open_encoder(
    name: str = "builtin:fragments", settings: EncoderSettings = DEFAULT_SETTINGS, **changes: object
) -> Encoder:
    """Open an encoder by name. A folder never opens a network connection.

    The bag encoder (`builtin:fragments`, `builtin:windows`) has no pooling, prefix or length, and ignores the settings
    of computation.

    Args:
        name: `builtin:fragments` (ships with assay; one vector of a document), `builtin:windows` (the same weights,
            several vectors of a document, so that short fragments are found), a folder that `train-encoder` exported, a
            model folder of transformers or sentence-transformers, or a hub id of such a model.
        settings: how to open it.
        changes: single settings by name, for example `pooling="cls"`.

    Raises:
        ModelError: there is no such encoder, it does not work, or it does not have a setting; one line says why.
    """
    settings = replace(settings, **changes)  # type: ignore[arg-type]  # a wrong name raises TypeError, as any call does
    folder = _builtin(name) if name.startswith(BUILTIN_PREFIX) else Path(name)
    if (folder / BAG_WEIGHTS).is_file():
        if surplus := [key for key in OF_TRANSFORMERS if getattr(settings, key) is not None]:
            raise ModelError(f"{name}: received {', '.join(surplus)}; expected none of them, it encodes whole texts")
        bag = open_bag(folder, name=name)
        return WindowEncoder(name, bag) if name == BUILTIN_PREFIX + WINDOWS else bag
    require("torch", "transformers", purpose=f"encoder {name!r}")
    # torch takes seconds to import; the built-in encoder does not need it
    from assay.models import check_place  # noqa: PLC0415
    from assay.retrieval.encoding.transformers_encoder import load_encoder  # noqa: PLC0415

    check_place(name)
    return load_encoder(name, settings)


def for_queries(encoder: Encoder) -> Encoder:
    """Return the encoder of queries: the encoder itself unless it is `TwoSided`."""
    return encoder.for_queries() if isinstance(encoder, TwoSided) else encoder


def document_vectors(encoder: Encoder, texts: Sequence[str]) -> list[Float32Array]:
    """Return the vectors of each text as a document, float32 [k, d]; k is 1 unless the encoder is `ManyVectors`."""
    return encoder.encode_documents(texts) if isinstance(encoder, ManyVectors) else [*encoder.encode(texts)[:, None]]


def open_bag(folder: Path, *, name: str) -> BagEncoder:
    """Return the bag encoder in a folder.

    Raises:
        ModelError: its file is damaged or not that of a bag encoder.
    """
    path = folder / BAG_WEIGHTS
    try:
        arrays = load_file(path)
        rows, scales, weights = arrays["rows"], arrays["scales"], arrays["weights"].astype(np.float32)
    except (OSError, KeyError, SafetensorError) as error:
        raise ModelError(
            f"{path}: expected the rows, scales and weights of an encoder ({plain_reason(error)})"
        ) from error
    # the version is a part of it: the same weights give other vectors of other features
    digest = hashlib.sha256(f"features {FEATURES_VERSION}\n".encode() + path.read_bytes()).hexdigest()
    sign_weights, learned_weights = weights
    return BagEncoder(
        name=name,
        digest=digest,
        learned=rows,
        sign_weights=sign_weights,
        learned_weights=learned_weights,
        scales=scales.astype(np.float32),
    )


def _builtin(name: str) -> Path:
    folder = BUILTIN_ENCODERS / WHOLE_TEXTS
    names = (WHOLE_TEXTS, WINDOWS) if (folder / BAG_WEIGHTS).is_file() else ()
    short = name.removeprefix(BUILTIN_PREFIX)
    if short not in names:
        raise ModelError(f"no built-in encoder {short!r}: expected one of {', '.join(names) or '(none are installed)'}")
    return folder
