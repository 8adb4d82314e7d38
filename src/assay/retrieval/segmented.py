"""Immutable files in one folder, and the changes since: the life cycle that postings and vectors share.

New documents are collected in memory. A commit writes them to a file, merges files if there are many, and publishes a
manifest of the files that are valid. A removed document stays in its file until that is merged; its number stands in a
list beside the file. This is a log-structured merge tree: O'Neil, Cheng, Gawlick, O'Neil, Acta Informatica 33, 1996.
"""

import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.errors import CorpusIndexError, plain_reason
from assay.files import cannot_write
from assay.retrieval.generations import as_damage, durable_writer, generations_in, publish, read_generation, sweep
from assay.types import BooleanArray, Int64Array

FANOUT = 4
"""Files of about the same size that are merged: content is rewritten log4(growth) times."""

DEAD_SHARE = 0.25
"""Share of the documents of a file; if more were removed, the file is rewritten."""

FILE_NAME = re.compile(r"\d{10}\.[a-z]+(?:\.\d+\.dead)?")
NO_DOCUMENTS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class SegmentFile(ABC):
    """One immutable file, and those of its documents that were removed since.

    Attributes:
        entry: its entry in a manifest; empty while it is in memory.
        size: bytes.
        documents: all documents, removed or not, ascending.
        dead: documents that were removed, ascending.
        weight: number of postings or vectors, those of removed documents included.
    """

    entry: Mapping[str, Any]
    size: int
    documents: NDArray[Any]
    dead: NDArray[Any]
    weight: int

    @property
    def name(self) -> str:
        """Name of the file."""
        return str(self.entry["name"])

    def __len__(self) -> int:
        """Return the number of documents that were not removed."""
        return len(self.documents) - len(self.dead)

    def ids(self) -> Int64Array:
        """Return the documents that were not removed, ascending."""
        return np.setdiff1d(self.documents, self.dead, assume_unique=True).astype(np.int64)

    def holds(self, documents: Int64Array) -> BooleanArray:
        """Return for each document whether it is in the file and was not removed, bool [n]."""
        at = np.searchsorted(self.documents, documents)
        # a number above all others would be looked up behind the last one: it is compared with that, and differs
        at = at.clip(max=max(len(self.documents) - 1, 0))
        present: BooleanArray = self.documents[at] == documents if len(self.documents) else np.zeros(len(at), np.bool_)
        # a binary search for each, because a search by vector asks for a few documents among millions of dead ones
        dead = np.searchsorted(self.dead, documents, "right") > np.searchsorted(self.dead, documents, "left")
        return present & ~dead

    def without(self, dead: NDArray[Any]) -> Self:
        """Return the same file with these documents, ascending, as the removed ones."""
        dead = dead.astype(self.documents.dtype)
        dead.flags.writeable = False  # as arrays of a file are, so that compiled loops have one type of argument
        return replace(self, dead=dead)

    @abstractmethod
    def check(self, folder: Path) -> None:
        """Compare the file in this folder with its checksums.

        Raises:
            CorpusIndexError: it is damaged; the error names it.
        """


File = TypeVar("File", bound=SegmentFile)
Shape = TypeVar("Shape")


class SegmentedIndex(ABC, Generic[File, Shape]):
    """Files of one kind, their manifest, and the changes that are not committed.

    One writer and any number of readers use a folder at a time; the caller ensures that there is one writer. A reader
    sees the last commit before it opened the index. Changes are visible to the writer at once, to others after
    `commit`, and lost if the process ends before.

    Attributes:
        PART: what the folder contains, for messages.
        FORMAT: version of the files.
        ENTRIES: name of the list of files in a manifest.
        SUFFIX: of the names of files.
        NUMBERS: type of the numbers of removed documents on disk.
        DEAD_CHECKSUM: name of their checksum in a manifest.
        LARGEST: weight of a merged file at most, so that no merge takes hours.
        LEAST_TIER: files below this weight are in one tier.
        described: what all files have in common, as a manifest has it.
    """

    PART: ClassVar[str]
    FORMAT: ClassVar[int]
    ENTRIES: ClassVar[str]
    SUFFIX: ClassVar[str]
    NUMBERS: ClassVar[str]
    DEAD_CHECKSUM: ClassVar[str]
    LARGEST: ClassVar[int]
    LEAST_TIER: ClassVar[int]
    described: Mapping[str, Any]

    def __init__(self, folder: Path, shape: Shape, generation: int = 0) -> None:
        """Use `create`, `open` or `salvage`."""
        self.folder = folder
        self.shape = shape
        self.generation = generation
        self._files: list[File] = []
        self._added: list[File] = []
        # new files get numbers above those of all files in the folder, so none is ever written over
        numbers = (path.name.partition(".")[0] for path in folder.iterdir())
        self._numbers = max((int(number) for number in numbers if number.isdecimal()), default=0)
        self._kept: dict[int, set[str]] = {}
        self._changed = False

    @classmethod
    def create(cls, folder: Path, shape: Shape) -> Self:
        """Create an empty index in a new folder."""
        folder.mkdir(parents=True)
        index = cls(folder, shape)
        index._publish(0)
        return index

    @classmethod
    def open(
        cls, folder: Path, generation: int | None = None, *, writable: bool = False, damaged: bool = False
    ) -> Self:
        """Open the last commit, or a given generation.

        Args:
            folder: of `create`.
            generation: number of a commit; None is the last one.
            writable: open it for writing, and delete the files of later, uncommitted changes.
            damaged: ignore files that cannot be read, or that repeat documents of others.

        Raises:
            CorpusIndexError: the folder, its manifest or a file is damaged, half-written or of another version.
            FileNotFoundError: the generation does not exist any more: a writer has replaced it.
        """
        if not (numbers := generations_in(folder)):
            raise CorpusIndexError(f"{folder}: no {cls.PART} here")
        generation = numbers[-1] if generation is None else generation
        manifest = read_generation(folder, generation)
        with as_damage(folder):
            if manifest["version"] != cls.FORMAT:
                raise CorpusIndexError(
                    f"{folder}: {cls.PART} of format {manifest['version']}, written by another version of assay; "
                    f"expected format {cls.FORMAT}; `assay index verify --repair` computes them again"
                )
            index = cls(folder, cls.shape_in(manifest), generation)
            index.read_further(manifest)
            for entry in manifest[cls.ENTRIES]:
                try:
                    file = index._with_dead(index.open_file(index._place(entry["name"]), entry), entry)
                except CorpusIndexError:
                    if not damaged:
                        raise
                    continue
                if not (damaged and any(file.holds(other.ids()).any() for other in index._files)):
                    index._files.append(file)
            if writable:
                index._kept = {generation: index._names(manifest)}
                sweep(folder, index._kept)
        return index

    @classmethod
    def salvage(cls, folder: Path, shape: Shape, generation: int) -> Self:
        """Open what can be read of a damaged index; where that is nothing, begin again beside the damaged files."""
        try:
            index = cls.open(folder, generation, writable=True, damaged=True)
            if index.shape == shape:
                return index
        except (CorpusIndexError, FileNotFoundError):  # the manifest is damaged or missing
            pass
        try:
            if not folder.is_dir():
                folder.unlink(missing_ok=True)
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise CorpusIndexError(cannot_write(folder, error)) from error
        return cls(folder, shape, generation)

    @classmethod
    @abstractmethod
    def shape_in(cls, manifest: Mapping[str, Any]) -> Shape:
        """Return what all files have in common, from a manifest; a damaged one raises any error."""

    @abstractmethod
    def open_file(self, path: Path, entry: Mapping[str, Any]) -> File:
        """Map a file, of which a manifest has this entry.

        Raises:
            CorpusIndexError: it is absent, half-written, damaged or of another version.
        """

    @abstractmethod
    def write_file(self, path: Path, files: Sequence[File]) -> dict[str, Any]:
        """Write the living documents of several files to a new one, and return its entry in a manifest."""

    def read_further(self, manifest: Mapping[str, Any]) -> None:
        """Read what a manifest has beside its list of files; nothing, unless a subclass writes more."""

    def visible(self) -> list[File]:
        """Return all files, those in memory last."""
        return self._files + self._added

    def spill(self) -> None:
        """Write the documents that are in memory to a file."""
        if any(map(len, self._added)):
            self._files.append(self._write(self._added))
        self._added = []

    def __len__(self) -> int:
        """Return the number of documents."""
        return sum(map(len, self.visible()))

    @property
    def bytes(self) -> int:
        """Size of the files."""
        return sum(map(attrgetter("size"), self._files))

    @property
    def segments(self) -> int:
        """Number of files."""
        return len(self._files)

    def ids(self) -> Int64Array:
        """Return all documents, ascending."""
        return np.sort(np.concatenate([NO_DOCUMENTS, *(file.ids() for file in self.visible())]))

    def holds(self, documents: Int64Array) -> BooleanArray:
        """Return for each document whether it is here, bool [n]."""
        present = np.zeros(len(documents), np.bool_)
        for file in self.visible():
            present |= file.holds(documents)
        return present

    def remove_all(self, documents: Int64Array) -> None:
        """Remove documents; absent ones are ignored."""
        for files in (self._files, self._added):
            for at, file in enumerate(files):
                # a removal is a number in a list; the content stays until a quarter of its file is dead
                gone = documents[file.holds(documents)]
                if len(gone):
                    files[at] = file.without(np.union1d(file.dead, gone))
                    self._changed = True

    def commit(self, generation: int | None = None) -> None:
        """Make all changes since the last commit durable, and merge files if there are many.

        Raises:
            CorpusIndexError: the disk is full, or a file to be merged is damaged; the last commit stands.
        """
        if generation is None and not self._changed:
            return
        self.spill()
        # new content is a small file first; merging small ones as it grows keeps searches to a few files
        while chosen := self._to_merge():
            self._merge(chosen)
        self._publish(self.generation + 1 if generation is None else generation)

    def compact(self) -> None:
        """Merge the files into as few as possible; `commit` makes that durable.

        Raises:
            CorpusIndexError: the disk is full or a file is damaged; the last commit stands.
        """
        self.spill()
        fitting = self._fitting(self._files)
        if len(fitting) > 1 or any(len(file.dead) for file in fitting):
            self._merge(fitting)
            self._changed = True

    def check(self) -> None:
        """Read every file in full.

        Raises:
            CorpusIndexError: a file is damaged, or two have the same document; the error names it.
        """
        for file in self._files:
            file.check(self.folder)
        ids = self.ids()
        if (ids[1:] == ids[:-1]).any():
            raise CorpusIndexError(f"{self.folder}: damaged: two files have the same document")

    def _write(self, files: Sequence[File]) -> File:
        self._numbers += 1
        path = self.folder / f"{self._numbers:010d}.{self.SUFFIX}"
        return self.open_file(path, self.write_file(path, files))

    def _merge(self, chosen: Sequence[File]) -> None:
        merged = [self._write(chosen)] if any(map(len, chosen)) else []
        self._files = [file for file in self._files if file not in chosen] + merged

    def _to_merge(self) -> list[File]:
        """Return the files to merge next; empty if none need be."""
        for file in self._files:
            if len(file.dead) > DEAD_SHARE * len(file.documents):
                return [file]
        # Files of a tier weigh the same up to a factor of four. As many of them as FANOUT become one of the next tier,
        # so their number grows with the logarithm of the content; smaller files are rewritten along with them.
        for tier in sorted(set(map(self._tier, self._files))):
            up_to = self._fitting([file for file in self._files if self._tier(file) <= tier])
            if sum(self._tier(file) == tier for file in up_to) >= FANOUT:
                return up_to
        return []

    def _tier(self, file: File) -> int:
        return (max(file.weight // self.LEAST_TIER, 1).bit_length() - 1) // 2

    def _fitting(self, files: Sequence[File]) -> list[File]:
        """Return the smallest files, as many as fit into one."""
        fitting: list[File] = []
        total = 0
        for file in sorted(files, key=attrgetter("weight")):
            total += file.weight
            if total > self.LARGEST:
                break
            fitting.append(file)
        return fitting

    def _publish(self, generation: int) -> None:
        entries = []
        for file in self._files:
            entry = dict(file.entry)
            if len(file.dead):
                # files are never changed: what was removed is a list of its own, under the number of its generation
                removed = file.dead.astype(self.NUMBERS).tobytes()
                entry |= {"dead": f"{file.name}.{generation}.dead", self.DEAD_CHECKSUM: zlib.crc32(removed)}
                with durable_writer(self.folder / entry["dead"]) as sink:
                    sink.write(removed)
            entries.append(entry)
        manifest = {"version": self.FORMAT, **self.described, self.ENTRIES: entries}
        # all files of the manifest are on the disk by now: this one write makes the generation exist, or not
        publish(self.folder, generation, manifest)
        self.generation, self._changed = generation, False
        # a reader that has just read the previous number can still open that generation
        before = sorted(number for number in self._kept if number < generation)[-1:]
        self._kept = {number: self._kept[number] for number in before} | {generation: self._names(manifest)}
        sweep(self.folder, self._kept)

    def _names(self, manifest: Mapping[str, Any]) -> set[str]:
        entries = manifest[self.ENTRIES]
        return {entry["name"] for entry in entries} | {entry["dead"] for entry in entries if "dead" in entry}

    def _place(self, name: str) -> Path:
        # a forged manifest must not open a file elsewhere
        if not FILE_NAME.fullmatch(name):
            raise CorpusIndexError(f"{self.folder}: damaged: a file named {name!r}")
        return self.folder / name

    def _with_dead(self, file: File, entry: Mapping[str, Any]) -> File:
        """Return a file with the documents that were removed since it was written."""
        if "dead" not in entry:
            return file
        path = self._place(entry["dead"])
        try:
            removed = path.read_bytes()
        except OSError as error:
            raise CorpusIndexError(f"{path}: cannot be read: {plain_reason(error)}") from error
        if zlib.crc32(removed) != entry[self.DEAD_CHECKSUM]:
            raise CorpusIndexError(f"{path}: damaged: its checksum is not that of its content")
        with as_damage(path):
            dead = np.frombuffer(removed, self.NUMBERS).astype(np.int64)
        if (np.diff(dead) <= 0).any() or not file.holds(dead).all():
            raise CorpusIndexError(f"{path}: damaged: documents that the file does not have")
        return file.without(dead)
