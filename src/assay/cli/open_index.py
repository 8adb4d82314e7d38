"""An index with the encoder that it was made with, where that can be had."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.terminal import warn
from assay.errors import AssayError

if TYPE_CHECKING:  # this imports numpy and more; --help does not wait for it
    from assay.provenance import CodeIndex
    from assay.types import Encoder


def open_index(folder: Path, *, vectors: bool | None = None) -> "CodeIndex":
    """Open an index for reading.

    Args:
        folder: of the index.
        vectors: True: with its encoder or not at all; False: without; None: with it where that can be opened.

    Raises:
        CorpusIndexError: there is no index, or it is damaged.
        AssayError: `vectors` is True, and the encoder cannot be opened.
    """
    from assay.provenance import CodeIndex

    encoder = None if vectors is False else query_encoder(folder, required=bool(vectors))
    try:
        return CodeIndex.open(folder, encoder=encoder)
    except AssayError as error:
        if vectors or encoder is None:
            raise
        warn(f"going on without vectors: {error}")
        return CodeIndex.open(folder)


def query_encoder(folder: Path, *, required: bool = False) -> "Encoder | None":
    """The encoder that an index was made with; None where it has none or it cannot be opened.

    Raises:
        AssayError: it is required, and cannot be opened.
    """
    name = _encoder_name(folder)
    if name is None:
        return None
    from assay.retrieval.encoding import open_encoder

    try:
        return open_encoder(name)
    except AssayError as error:
        if required:
            raise
        warn(f"going on without vectors: {error}")
        return None


def _encoder_name(folder: Path) -> str | None:
    """What `index.json` says; whatever is wrong with it, opening the index tells."""
    try:
        name = json.loads((folder / "index.json").read_bytes())["encoder"]["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(name)
