"""One document ↔ one point: dense vector, one sparse vector a channel, and a payload.

Sparse indices have 32 bits, fingerprints 64. An index is what `keys_of` says of a hash, cut to 31 bits: F distinct
fingerprints of a channel put F / 2^31 others on the list of each one, which costs reading (5 at 10^10) but no truth:
the full hashes stand in the payload, and every number that a trace shows is counted from them.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import models

from assay.provenance.document import Document, Origin
from assay.provenance.stored import StoredDocument, storable
from assay.retrieval import KEY_BITS, Form, Hashes, keys_of
from assay.types import Float32Array

VECTOR = "dense"
NUMBER_BITS = 53
"""Of the number of a document: JSON readers of every language take it. Two digests of 10^9 share one some 55 times;
the second document then has the next number."""

INDEX_BITS = 31
"""One fewer than an index has: a segment numbers the indices of a query that it does not know upwards from the largest
one that it has, in 32 bits, and must not come back to 0."""

DECIMALS = 6
"""Of a vector as it is sent: finer than the float16 that it is stored in, and half the bytes of all digits."""

Payload = dict[str, Any]
"""text, language, kind, name, digest, origins, places: their number; sizes and hashes by form."""

Indices = NDArray[np.uint32]


def first_number(digest: str) -> int:
    """The number that a document has unless another one has it already."""
    return int(digest[:16], 16) >> (64 - NUMBER_BITS)


def indices_of(hashes: Hashes) -> Indices:
    """The place of each fingerprint in a sparse vector, uint32 [m].

    The leading bits of its key: winnowing prefers small hashes, whose own leading bits are far from uniform.
    """
    return (keys_of(hashes) >> np.uint64(KEY_BITS - INDEX_BITS)).astype(np.uint32)


def sparse(hashes: Hashes) -> models.SparseVector:
    """A vector with 1 at each fingerprint; two at one place count once."""
    indices = np.unique(indices_of(hashes)).tolist()
    return models.SparseVector(indices=indices, values=[1.0] * len(indices))


def packed(hashes: Hashes) -> str:
    """Distinct hashes, ascending, as text of 10.7 bytes each."""
    return b64encode(np.unique(hashes).astype("<u8").tobytes()).decode()


def unpacked(text: str) -> Hashes:
    """What `packed` took, distinct and ascending."""
    return np.frombuffer(b64decode(text), "<u8").astype(np.uint64)


def point_of(
    number: int, document: Document, digest: str, hashes: Mapping[Form, Hashes], vector: Float32Array | None
) -> models.PointStruct:
    """The point of a document; a channel that it is too short for has no vector."""
    vectors: dict[str, Any] = {form: sparse(of_form) for form, of_form in hashes.items() if len(of_form)}
    if vector is not None:
        vectors[VECTOR] = np.round(np.asarray(vector, np.float64), DECIMALS).tolist()
    payload: Payload = {
        "text": storable(document.text),
        "language": document.language,
        "kind": document.kind,
        "name": storable(document.name),
        "digest": digest,
        **of_origins(document.origins),
        "sizes": {form: len(np.unique(of_form)) for form, of_form in hashes.items()},
        "hashes": {form: packed(of_form) for form, of_form in hashes.items()},
    }
    return models.PointStruct(id=number, vector=vectors, payload=payload)


def of_origins(origins: Iterable[Origin]) -> Payload:
    """The part of a payload that changes when a text is found elsewhere too; each place once."""
    rows = [
        {name: storable(value) if isinstance(value, str) else value for name, value in asdict(one).items()}
        for one in origins
    ]
    different = list({tuple(row.items()): row for row in rows}.values())
    return {"origins": different, "places": len(different)}


def origins_in(payload: Mapping[str, Any]) -> tuple[Origin, ...]:
    """All places of a document."""
    return tuple(Origin(**row) for row in payload["origins"])


def document_in(number: int, payload: Mapping[str, Any]) -> StoredDocument:
    """The document of a payload."""
    return StoredDocument(
        payload["text"], payload.get("language"), payload["kind"], payload.get("name"), origins_in(payload), number
    )


def requests_of(points: Sequence[models.PointStruct], largest: int) -> Iterable[list[models.PointStruct]]:
    """Points in groups of about so many bytes of JSON; one that is larger goes alone."""
    group: list[models.PointStruct] = []
    size = 0
    for point in points:
        mine = bytes_of(point)
        if group and size + mine > largest:
            yield group
            group, size = [], 0
        group.append(point)
        size += mine
    if group:
        yield group


def bytes_of(point: models.PointStruct) -> int:
    """About how many bytes of JSON a point takes."""
    payload = point.payload or {}
    hashes: int = sum(payload["sizes"].values())
    vector = point.vector.get(VECTOR, []) if isinstance(point.vector, dict) else []
    dense = len(vector) if isinstance(vector, list) else 0
    text, places = len(payload["text"]), len(payload["origins"])
    return 2 * text + 300 * places + 27 * hashes + 11 * dense + 500
