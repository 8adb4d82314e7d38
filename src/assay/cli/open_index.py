"""An index with the encoder that it was made with, where that can be had."""

from typing import TYPE_CHECKING

from assay.cli.terminal import warn
from assay.errors import AssayError

if TYPE_CHECKING:  # this imports numpy and more; --help does not wait for it
    from assay.provenance import Searchable
    from assay.types import Encoder


def open_index(place: str, *, vectors: bool | None = None) -> "Searchable":
    """Open an index for reading.

    Args:
        place: folder or address of the index.
        vectors: True: with its encoder or not at all; False: without; None: with it where that can be opened.

    Raises:
        CorpusIndexError: there is no index, or it is damaged.
        AssayError: `vectors` is True, and the encoder cannot be opened.
    """
    from assay.provenance import places

    encoder = None if vectors is False else query_encoder(place, required=bool(vectors))
    try:
        return places.open_index(place, encoder=encoder)
    except AssayError as error:
        if vectors or encoder is None:
            raise
        warn(f"going on without vectors: {error}")
        return places.open_index(place)


def query_encoder(place: str, *, required: bool = False) -> "Encoder | None":
    """The encoder that an index was made with; None where it has none or it cannot be opened.

    Raises:
        AssayError: it is required, and cannot be opened.
    """
    from assay.provenance import description_at
    from assay.retrieval import open_encoder

    described = description_at(place)
    if described is None or described.encoder is None:
        return None
    try:
        return open_encoder(described.encoder)
    except AssayError as error:
        if required:
            raise
        warn(f"going on without vectors: {error}")
        return None
