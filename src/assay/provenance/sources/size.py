"""How many files sources have, about, for the sake of the time that is left."""

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from assay.errors import DataError
from assay.provenance.sources.archives import Archive, archive_form
from assay.provenance.sources.entry import CorpusSource
from assay.provenance.sources.folders import NEVER_ENTERED, Folder
from assay.provenance.sources.git import GitRepository
from assay.provenance.sources.rows import Table, is_parquet


@dataclass(slots=True)
class _Known:
    """What is known of one source.

    Attributes:
        kind: what has as many files to a unit of `size`, about.
        files: counted beforehand; None where that would be to read it.
        size: packed bytes, or commits; 0 where that says nothing.
        done: files dealt with.
        share: of it that is behind, 0 to 1.
    """

    kind: str
    files: int | None
    size: int
    done: int = 0
    share: float = 0.0


class Expected:
    """How many files there are in all sources: counted where that is quick, else estimated from what has been read.

    A packed tar or JSON lines tell by the bytes behind, a history by its commits; one that has not been begun is taken
    to have as many files to a byte, or to a commit, as those of its kind so far.
    """

    def __init__(self, sources: Sequence[CorpusSource]) -> None:
        """Count what can be counted; nothing is read."""
        self._known = {source.name: _known(source) for source in sources}

    def reached(self, source: str, files: int, share: float | None) -> None:
        """Take note of how far a source has been read: files, and share of it, 1 where it has ended."""
        known = self._known[source]
        known.done = files
        known.share = known.share if share is None else min(1.0, share)

    @property
    def done(self) -> int:
        """Files dealt with."""
        return sum(known.done for known in self._known.values())

    @property
    def total(self) -> int | None:
        """Files in all, about; None as long as nothing tells."""
        parts = [self._files(known) for known in self._known.values()]
        return None if None in parts else sum(one for one in parts if one is not None)

    def _files(self, known: _Known) -> int | None:
        if known.share == 1:
            return known.done
        if known.files is not None:
            return max(known.files, known.done)
        if known.share:
            return round(known.done / known.share)
        alike = [one for one in self._known.values() if one.kind == known.kind]
        behind = sum(one.size * one.share for one in alike)
        return round(known.size * sum(one.done for one in alike) / behind) if behind and known.size else None


def _known(source: CorpusSource) -> _Known:
    kind = type(source).__name__
    try:
        match source:
            case Folder(path=path):
                return _Known(kind, _below(os.fspath(path)) if path.is_dir() else 1, 0)
            case Archive(path=path) if archive_form(path) == "zip":
                with zipfile.ZipFile(path) as archive:
                    return _Known(kind, sum(not one.is_dir() for one in archive.infolist()), 0)
            case Table(path=path) if is_parquet(path):
                return _Known(kind, int(pq.read_metadata(path).num_rows), 0)
            case Archive(path=path) | Table(path=path):
                return _Known(kind, None, path.stat().st_size)
            case GitRepository():
                count = source.count()
                return _Known(kind, None, count) if source.all_history else _Known(kind, count, 0)
    except (OSError, DataError, zipfile.BadZipFile, pa.ArrowException):  # what is wrong is told when it is read
        pass
    return _Known(kind, None, 0)


def _below(folder: str) -> int:
    files = 0
    for _, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in NEVER_ENTERED]
        files += len(names)
    return files
