"""An index opened for searching, with the encoder that it was made with."""

from pathlib import Path

from assay.errors import AssayError
from assay.progress import warn
from assay.provenance.index import Searchable, description_at, open_index
from assay.retrieval import open_encoder
from assay.types import Encoder


def open_for_search(at: Path | str, *, vectors: bool | None = None) -> Searchable:
    """Open an index for searching, with the encoder that it was made with.

    Args:
        at: folder or address.
        vectors: True for its encoder or an error; False for none; None for the encoder if it can be opened.

    Raises:
        CorpusIndexError: there is no index, or it is damaged.
        AssayError: `vectors` is True, and the encoder cannot be opened.
    """
    encoder = None if vectors is False else query_encoder(at, required=bool(vectors))
    try:
        return open_index(str(at), encoder=encoder)
    except AssayError as error:
        if vectors or encoder is None:
            raise
        without = open_index(str(at))
        warn(f"going on without vectors: {error}")
        return without


def query_encoder(at: Path | str, *, required: bool = False) -> Encoder | None:
    """Return the encoder that an index was made with; None where it has none or it cannot be opened.

    Raises:
        AssayError: it is required, and cannot be opened.
    """
    described = description_at(str(at))
    if described is None or described.encoder is None:
        return None
    try:
        return open_encoder(described.encoder)
    except AssayError as error:
        if required:
            raise
        warn(f"going on without vectors: {error}")
        return None
