"""From a string to an index: a folder, or the address of a Qdrant server."""

from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import CorpusIndexError, MissingExtra
from assay.provenance.index import CodeIndex
from assay.provenance.index_folder import DESCRIPTION, Description, read_description
from assay.provenance.searchable import WritableIndex
from assay.retrieval import Profile
from assay.types import Encoder

if TYPE_CHECKING:  # an extra
    from assay.provenance.qdrant import QdrantIndex

SCHEMES = ("http://", "https://")


def is_address(place: str) -> bool:
    """Return True if a place is the address of a server, not a folder."""
    return place.lower().startswith(SCHEMES)


def description_at(place: str) -> Description | None:
    """Return profile and encoder of the index at a place; None if there is no index yet.

    Raises:
        CorpusIndexError: the index is damaged or of another format version; the server does not answer or refuses.
        MissingExtra: an address, without the extra `qdrant`.
    """
    if is_address(place):
        return _qdrant().described(place)
    return read_description(Path(place)) if (Path(place) / DESCRIPTION).is_file() else None


def create_index(place: str, *, profile: Profile | str = "default", encoder: Encoder | None = None) -> WritableIndex:
    """Create an empty index, and open it for writing. See `CodeIndex.create` and `QdrantIndex.create`."""
    if is_address(place):
        return _qdrant().create(place, profile=profile, encoder=encoder)
    return CodeIndex.create(place, profile=profile, encoder=encoder)


def open_index(place: str, *, writable: bool = False, encoder: Encoder | None = None) -> WritableIndex:
    """Open an index. See `CodeIndex.open` and `QdrantIndex.open`.

    Raises:
        CorpusIndexError: there is no index, it has another encoder, or it cannot be opened.
        MissingExtra: an address, without the extra `qdrant`.
    """
    if is_address(place):
        return _qdrant().open(place, writable=writable, encoder=encoder)
    return CodeIndex.open(place, writable=writable, encoder=encoder)


def folder_named(place: str, purpose: str) -> Path:
    """Return the folder of an index.

    Raises:
        CorpusIndexError: the place is an address, and `purpose` needs a folder.
    """
    if is_address(place):
        raise CorpusIndexError(f"{place}: {purpose}: expected the folder of an index")
    return Path(place)


def _qdrant() -> "type[QdrantIndex]":
    try:
        from assay.provenance.qdrant import QdrantIndex  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("qdrant_client"):
            raise
        raise MissingExtra("qdrant_client", purpose="an index at an address") from error
    return QdrantIndex
