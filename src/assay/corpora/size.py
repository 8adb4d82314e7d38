"""Estimates of the number of files in sources, for the remaining time of a build."""

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import pyarrow as pa
import pyarrow.parquet as pq

from assay.corpora.archives import Archive, archive_form
from assay.corpora.entry import NEVER_ENTERED, CorpusSource
from assay.corpora.folders import Folder
from assay.corpora.git import GitRepository
from assay.corpora.rows import TableFile, is_parquet
from assay.errors import DataError


@dataclass(slots=True)
class _SourceSize:
    """Size of one source, and the progress in it.

    Attributes:
        kind: sources of the same kind have about as many files for each unit of `size`.
        files: counted beforehand; None if that would mean to read the source.
        size: compressed bytes, or commits; 0 if that says nothing.
        done: files that are done.
        share: of the source that is done, 0 to 1.
    """

    kind: str
    files: int | None
    size: int
    done: int = 0
    share: float = 0.0


class FileCount:
    """Number of files in all sources: counted where that is quick, else estimated from the files read so far.

    The estimate of a compressed tar or of JSON lines follows from the bytes read so far, that of a history from its
    commits. A source that was not begun has as many files for each byte, or commit, as those of its kind so far.
    """

    def __init__(self, sources: Sequence[CorpusSource]) -> None:
        """Count the files that can be counted without reading."""
        self._sizes = {source.name: _size_of(source) for source in sources}

    def reached(self, source: str, files: int, share: float | None) -> None:
        """Record the progress in a source: files, and share of it, 1 at its end."""
        size = self._sizes[source]
        size.done = files
        if share is not None:
            size.share = min(1.0, share)

    @property
    def done(self) -> int:
        """Files that are done."""
        return sum(map(attrgetter("done"), self._sizes.values()))

    @property
    def total(self) -> int | None:
        """Approximate number of all files; None while there is no estimate."""
        # one source without an estimate leaves the whole without one
        total = 0
        for files in map(self._files, self._sizes.values()):
            if files is None:
                return None
            total += files
        return total

    def _files(self, source: _SourceSize) -> int | None:
        if source.share == 1:
            return source.done
        if source.files is not None:
            # members of archives in a folder are done, and were not counted
            return max(source.files, source.done)
        if source.share:
            return round(source.done / source.share)
        # what is left has about as many files for each byte (or commit) as what was read of its kind
        files, done = 0, 0.0
        for other in self._sizes.values():
            if other.kind == source.kind:
                files += other.done
                done += other.size * other.share
        if not (done and source.size):
            return None
        return round(source.size * files / done)


def _size_of(source: CorpusSource) -> _SourceSize:
    kind = type(source).__name__
    try:
        match source:
            case Folder(path=path):
                return _SourceSize(kind, _below(os.fspath(path)) if path.is_dir() else 1, 0)
            case Archive(path=path) if archive_form(path) == "zip":
                with zipfile.ZipFile(path) as archive:
                    return _SourceSize(kind, sum(not member.is_dir() for member in archive.infolist()), 0)
            case TableFile(path=path) if is_parquet(path):
                return _SourceSize(kind, int(pq.read_metadata(path).num_rows), 0)
            case Archive(path=path) | TableFile(path=path):
                return _SourceSize(kind, None, path.stat().st_size)
            case GitRepository():
                count = source.count()
                return _SourceSize(kind, None, count) if source.all_history else _SourceSize(kind, count, 0)
    # the build reports it; `os.walk` of Python 3.11 calls itself for each folder inside another
    except (OSError, DataError, RecursionError, zipfile.BadZipFile, pa.ArrowException):
        pass
    return _SourceSize(kind, None, 0)


def _below(folder: str) -> int:
    files = 0
    for _, folders, names in os.walk(folder):
        # in place: os.walk enters what this list still holds
        folders[:] = [name for name in folders if name not in NEVER_ENTERED]
        files += len(names)
    return files
