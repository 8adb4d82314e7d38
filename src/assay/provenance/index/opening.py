"""From a string to an index: a folder, or an address of a scheme that a plug-in of `assay.indexes` opens."""

from pathlib import Path
from typing import Protocol

from assay.errors import CorpusIndexError
from assay.licences import LICENCE_READER
from assay.plug_ins import PlugIns
from assay.provenance.index.code_index import CodeIndex
from assay.provenance.index.folder import Description
from assay.provenance.index.searchable import WritableIndex
from assay.retrieval import Profile
from assay.types import Encoder

FOLDER = ""
"""Scheme of a place that is a folder."""


class IndexBackend(Protocol):
    """Way to open and create the indexes of one kind of place; the classes of the indexes are such ways."""

    def described(self, place: str, /) -> Description | None:
        """Return profile and encoder of the index at a place; None if there is no index yet."""
        ...

    def create(
        self,
        place: str,
        /,
        *,
        profile: Profile | str = "default",
        encoder: Encoder | None = None,
        licence_reader: str = LICENCE_READER,
    ) -> WritableIndex:
        """Create an empty index, and open it for writing."""
        ...

    def open(self, place: str, /, *, writable: bool = False, encoder: Encoder | None = None) -> WritableIndex:
        """Open an index."""
        ...


_BACKENDS: PlugIns[IndexBackend] = PlugIns(
    "assay.indexes",
    accepts=lambda loaded: all(callable(getattr(loaded, name, None)) for name in ("described", "create", "open")),
    description="an object with the methods described, create and open",
    own={FOLDER: CodeIndex},
)
"""Scheme of an address, in lower case → what opens it."""


def description_at(place: str) -> Description | None:
    """Return profile and encoder of the index at a place; None if there is no index yet.

    Raises:
        CorpusIndexError: the index is damaged or of another format version; the server does not answer or refuses.
    """
    return _backend(place).described(place)


def create_index(
    place: str,
    *,
    profile: Profile | str = "default",
    encoder: Encoder | None = None,
    licence_reader: str = LICENCE_READER,
) -> WritableIndex:
    """Create an empty index, and open it for writing. See `CodeIndex.create`."""
    return _backend(place).create(place, profile=profile, encoder=encoder, licence_reader=licence_reader)


def open_index(place: str, *, writable: bool = False, encoder: Encoder | None = None) -> WritableIndex:
    """Open an index. See `CodeIndex.open`.

    Raises:
        CorpusIndexError: there is no index, it has another encoder, or it cannot be opened.
    """
    return _backend(place).open(place, writable=writable, encoder=encoder)


def folder_named(place: str, purpose: str) -> Path:
    """Return the folder of an index.

    Raises:
        CorpusIndexError: the place is an address, and `purpose` needs a folder.
    """
    if _scheme(place) != FOLDER:
        raise CorpusIndexError(f"{place}: {purpose}: expected the folder of an index")
    return Path(place)


def _scheme(place: str) -> str:
    # by "://" and not by ":", so that a drive of Windows is no scheme
    scheme, separator, _ = place.partition("://")
    return scheme.lower() if separator else FOLDER


def _backend(place: str) -> IndexBackend:
    """Return what opens a place.

    Raises:
        CorpusIndexError: an address of a scheme that nothing installed opens.
        PlugInError: the plug-in of that scheme cannot be used.
    """
    scheme = _scheme(place)
    if scheme not in _BACKENDS:
        expected = "expected a folder, or an installed plug-in of assay.indexes for such addresses"
        raise CorpusIndexError(f"{place}: nothing installed opens {scheme}:// addresses; {expected}")
    return _BACKENDS[scheme]
