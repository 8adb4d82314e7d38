"""Documents as points: a dense vector, one sparse vector for each channel, and a payload.

Sparse indices have 32 bits, fingerprints 64. An index is the key of a hash (`keys_of`) cut to 31 bits: with F distinct
fingerprints in a channel, the list of each contains F / 2^31 others (5 at 10^10). They cost time but no correctness:
the full hashes are in the payload, and every number that a trace shows is counted from them.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import models

from assay.corpora import Document, Origin
from assay.provenance.index import StoredDocument, storable
from assay.retrieval import KEY_BITS, Form, Hashes, keys_of
from assay.types import Float32Array

VECTOR = "dense"
NUMBER_BITS = 53
"""Bits of the number of a document: JSON readers of every language accept it. Among 10^9 digests some 55 pairs
share one; the second document then has the next number."""

INDEX_BITS = 31
"""One bit less than an index has: a segment numbers the unknown indices of a query upwards from its largest one, in 32
bits, and must not overflow to 0."""

DECIMALS = 6
"""Decimals of a vector in a request: finer than the stored float16, and half the bytes of all digits."""

Payload = dict[str, Any]
"""text, language, kind, name, digest, origins, places (number of origins), sizes and hashes by form."""

_Indices = NDArray[np.uint32]


def first_number(digest: str) -> int:
    """Return the number of a document, unless another one has it already."""
    # a digest is uniform, so its leading bits spread the numbers evenly over the shards
    return int(digest[:16], 16) >> (64 - NUMBER_BITS)


def indices_of(hashes: Hashes) -> _Indices:
    """Return the index of each fingerprint in a sparse vector, uint32 [m].

    It is the leading bits of the key: winnowing prefers small hashes, whose own leading bits are far from uniform.
    """
    return (keys_of(hashes) >> np.uint64(KEY_BITS - INDEX_BITS)).astype(np.uint32)


def sparse(hashes: Hashes) -> models.SparseVector:
    """Return a vector with 1 at each fingerprint; two with the same index count once."""
    indices = np.unique(indices_of(hashes)).tolist()
    return models.SparseVector(indices=indices, values=[1.0] * len(indices))


def pack_hashes(hashes: Hashes) -> str:
    """Return distinct hashes, ascending, as text of 10.7 bytes each."""
    return b64encode(np.unique(hashes).astype("<u8").tobytes()).decode()


def unpack_hashes(text: str) -> Hashes:
    """Return the hashes of a text of `pack_hashes`, distinct and ascending."""
    return np.frombuffer(b64decode(text), "<u8").astype(np.uint64)


def point_of(
    number: int, document: Document, digest: str, hashes: Mapping[Form, Hashes], dense: Float32Array | None
) -> models.PointStruct:
    """Return the point of a document; a channel for which it is too short has no vector.

    Args:
        number: of the point.
        document: what is stored.
        digest: of its text.
        hashes: of each channel.
        dense: float32 [d], or [k, d] where the encoder gives a document several vectors; None without an encoder.
    """
    vectors: dict[str, Any] = {form: sparse(of_form) for form, of_form in hashes.items() if len(of_form)}
    if dense is not None:
        vectors[VECTOR] = np.round(np.asarray(dense, np.float64), DECIMALS).tolist()
    payload: Payload = {
        "text": storable(document.text),
        "language": document.language,
        "kind": document.kind,
        "name": storable(document.name),
        "digest": digest,
        **of_origins(document.origins),
        "sizes": {form: len(np.unique(of_form)) for form, of_form in hashes.items()},
        "hashes": {form: pack_hashes(of_form) for form, of_form in hashes.items()},
    }
    return models.PointStruct(id=number, vector=vectors, payload=payload)


def of_origins(origins: Iterable[Origin]) -> Payload:
    """Return the part of a payload that changes with a further origin; each origin once."""
    different: dict[tuple[object, ...], Payload] = {}
    for origin in origins:
        row = asdict(origin)
        for name, value in row.items():
            if isinstance(value, str):
                row[name] = storable(value)
        different[tuple(row.values())] = row
    return {"origins": list(different.values()), "places": len(different)}


def origins_in(payload: Mapping[str, Any]) -> tuple[Origin, ...]:
    """Return the origins in a payload."""
    return tuple(Origin(**row) for row in payload["origins"])


def document_in(number: int, payload: Mapping[str, Any]) -> StoredDocument:
    """Return the document of a payload."""
    return StoredDocument(
        payload["text"],
        language=payload.get("language"),
        kind=payload["kind"],
        name=payload.get("name"),
        origins=origins_in(payload),
        id=number,
    )


def requests_of(points: Sequence[models.PointStruct], largest: int) -> Iterable[list[models.PointStruct]]:
    """Yield points in groups of at most about `largest` bytes of JSON; a larger point is alone."""
    group: list[models.PointStruct] = []
    size = 0
    for point in points:
        bytes_needed = bytes_of(point)
        if group and size + bytes_needed > largest:
            yield group
            group, size = [], 0
        group.append(point)
        size += bytes_needed
    if group:
        yield group


def bytes_of(point: models.PointStruct) -> int:
    """Return the approximate bytes of a point as JSON."""
    payload = point.payload or {}
    hashes: int = sum(payload["sizes"].values())
    vectors: Any = point.vector  # by name, see `point_of`
    dense = np.size(vectors.get(VECTOR, []))
    text, places = len(payload["text"]), len(payload["origins"])
    # a hash is an index and a value in the vector, and 10.7 bytes in the payload; characters may be escaped
    return 2 * text + 300 * places + 27 * hashes + 11 * dense + 500
