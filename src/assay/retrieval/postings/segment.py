"""A segment: the postings of several documents in one immutable, memory-mapped file.

    documents                     uint32 [D], ascending
    of each form
        sizes                     uint32 [D], distinct fingerprints of each document
        directory                 uint32 [2^r + 1], first entry of the keys that share their first r bits
        starts                    uint32 [2^r + 1], first posting of these keys
        remainders                uint32 [e], the other 48 - r bits of the key of each entry, ascending in a bucket
        lengths                   uint8 [e], its postings; a key with more than 255 has several entries
        postings                  uint16 [n], or uint32 from 65,537 documents on: rank of the document among all of the
                                  segment, ascending among equal keys
    contents                      JSON: name, type, offset, length and CRC-32 of each section
    tail                          length and CRC-32 of the contents, version, magic: 20 bytes

Little endian; sections begin at multiples of 64. A half-written file has no tail.
"""

import mmap
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import CorpusIndexError, plain_reason
from assay.files import parse_json
from assay.retrieval.canonical import Form
from assay.retrieval.postings.kernels import (
    Bounds,
    Documents,
    count_living,
    count_members,
    find_lists,
    places_in,
    read_lists,
)
from assay.retrieval.postings.keys import KEY_BITS, Keys
from assay.retrieval.segmented import SegmentFile

VERSION = 2
MAGIC = b"assayseg"
TAIL = struct.Struct("<III8s")
ALIGNMENT = 64
LEAST_RADIX, LARGEST_RADIX = 16, 26
CHECKED_ON_OPENING = 1 << 26
"""Bytes of a section up to which its checksum is compared on opening; `check` and merges compare all sections."""

CHECKED_TOGETHER = 1 << 24
"""Numbers of a section that are read before their memory is released."""


@dataclass(frozen=True, slots=True, eq=False)
class FormPostings:
    """Postings of one form; see the head of this file."""

    sizes: Documents
    directory: Documents
    starts: Documents
    remainders: Documents
    lengths: NDArray[np.uint8]
    postings: Documents

    @property
    def remainder_bits(self) -> int:
        """48 - r."""
        return KEY_BITS - (len(self.directory) - 1).bit_length() + 1

    def fits(self, documents: int) -> bool:
        """Return True if the sections have lengths that belong together, of a segment of that many documents."""
        # r is not stored: the length of the directory, 2^r + 1, tells it
        buckets = len(self.directory) - 1
        is_power = buckets >= 1 << LEAST_RADIX and buckets & (buckets - 1) == 0
        is_parallel = len(self.starts) == len(self.directory) and len(self.lengths) == len(self.remainders)
        return is_power and is_parallel and len(self.sizes) == documents

    def lists(self, keys: Keys) -> tuple[Bounds, Bounds]:
        """Return start and stop of the list of each key."""
        buckets, entries = (self.directory, self.starts), (self.remainders, self.lengths)
        return find_lists(buckets, entries, keys, self.remainder_bits, len(self.postings))

    def keys_between(self, first_bucket: int, last_bucket: int) -> tuple[Keys, Documents]:
        """Return keys of the postings in a range of buckets, the last one excluded, and ranks of their documents."""
        start, stop = int(self.directory[first_bucket]), int(self.directory[last_bucket])
        # the directory has the leading bits of the keys: bucket b is repeated once for each of its entries
        begins = self.directory[first_bucket : last_bucket + 1]
        counts = (begins[1:] - begins[:-1]).astype(np.int64)
        keys = np.repeat(np.arange(first_bucket, last_bucket, dtype=np.uint64), counts)
        keys <<= np.uint64(self.remainder_bits)
        keys |= self.remainders[start:stop]
        ranks = self.postings[self.starts[first_bucket] : self.starts[last_bucket]]
        return np.repeat(keys, self.lengths[start:stop]), ranks


@dataclass(frozen=True, eq=False, kw_only=True)
class Segment(SegmentFile):
    """One segment, and those of its documents that were removed since.

    Attributes:
        forms: postings by form.
        checksums: name, content and CRC-32 of each section.
        data: of the file, or of one that is still to be written.
    """

    forms: dict[Form, FormPostings]
    checksums: tuple[tuple[str, NDArray[Any], int], ...]
    data: mmap.mmap | bytes

    @classmethod
    def open(cls, path: Path) -> Self:
        """Map a file.

        Raises:
            CorpusIndexError: it is absent, half-written, damaged or of another version.
        """
        try:
            with path.open("rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise CorpusIndexError(f"{path}: segment cannot be read: {plain_reason(error)}") from error
        try:
            segment = cls.of(data, {"name": path.name})
        except CorpusIndexError as error:
            raise CorpusIndexError(f"{path}: {error}") from error
        # a large section is not read in full before the first query: an error there gives wrong matches, never a crash,
        # because what the compiled loops rely on was compared above
        segment.check(path.parent, CHECKED_ON_OPENING)
        return segment

    @classmethod
    def of(cls, data: mmap.mmap | bytes, entry: Mapping[str, Any]) -> Self:
        """Read the bytes of a segment, without copying them; without an entry it is in memory."""
        contents = _contents(data)
        try:
            ranks = rank_type(contents["documents"][1])
            types = {"lengths": np.dtype("u1"), "postings": ranks}
            sections: dict[str, NDArray[Any]] = {
                section: np.frombuffer(
                    data, types.get(section.rpartition(".")[2], np.dtype("<u4")), count=length, offset=offset
                )
                for section, (offset, length, _) in contents.items()
            }
            names: tuple[Form, ...] = ("characters", "tokens")
            forms = {form: _form_postings(sections, form) for form in names if f"{form}.sizes" in sections}
            documents = sections["documents"]
            checksums = tuple((section, array, contents[section][2]) for section, array in sections.items())
            # the compiled loops do not check bounds, so sections that do not fit each other must not reach them
            fit = all(form.fits(len(documents)) for form in forms.values())
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CorpusIndexError(
                f"segment is damaged: its list of contents is wrong: {plain_reason(error)}"
            ) from error
        if not fit:
            raise CorpusIndexError("segment is damaged: its sections do not fit each other")
        return cls(
            entry=entry,
            size=len(data),
            documents=documents,
            dead=np.frombuffer(b"", "<u4"),  # read-only, as the other arrays, so that loops have one type of argument
            weight=sum(len(form.postings) for form in forms.values()),
            forms=forms,
            checksums=checksums,
            data=data,
        )

    @cached_property
    def living(self) -> NDArray[np.bool_]:
        """Mask of the documents that were not removed."""
        return ~np.isin(self.documents, self.dead, assume_unique=True)

    @cached_property
    def dead_ranks(self) -> Documents:
        """Ranks of the removed documents, ascending; read-only, as the arrays of the file."""
        ranks = np.searchsorted(self.documents, self.dead).astype("<u4")
        ranks.flags.writeable = False
        return ranks

    def numbers(self, ranks: Documents) -> Documents:
        """Return the documents of these ranks."""
        # ranks in a section that was not checked may be damaged: they must give wrong documents, never a crash
        numbers: Documents = self.documents.take(ranks, mode="clip")
        return numbers

    def read(self, form: Form, lists: tuple[Bounds, Bounds], chosen: NDArray[np.bool_]) -> Documents:
        """Return the documents of the chosen lists that were not removed, list after list."""
        return self.numbers(read_lists(self.forms[form].postings, *lists, chosen, self.dead_ranks))

    def count(self, form: Form, lists: tuple[Bounds, Bounds], documents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the number of lists that have each of these documents of the segment, which ascend."""
        return count_members(self.forms[form].postings, *lists, self.places(documents))

    def places(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the position of each document in `documents` of the segment; -1 if it is absent or removed."""
        documents = np.ascontiguousarray(documents)
        places = places_in(self.documents, documents)
        # a removed document keeps its place in the file until a merge: a second search finds that it is dead
        if len(self.dead):
            places[places_in(self.dead, documents) >= 0] = -1
        return places

    def holds(self, documents: NDArray[np.int64]) -> NDArray[np.bool_]:
        """See `SegmentFile`."""
        present: NDArray[np.bool_] = self.places(documents) >= 0
        return present

    def sizes(self, form: Form, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return |D| of each document; 0 if it is not in the segment."""
        places = self.places(documents)
        present = places >= 0
        sizes = np.zeros(len(documents), np.int32)
        sizes[present] = self.forms[form].sizes[places[present]]
        return sizes

    def frequencies(self, form: Form, lists: tuple[Bounds, Bounds], limit: int) -> Bounds:
        """Return the number of living documents of each list; above `limit` only some number above it."""
        return count_living(self.forms[form].postings, *lists, self.dead_ranks, limit)

    def release(self) -> None:
        """Return the pages of the file to the system: they stay in its cache, but no longer count as used memory."""
        if isinstance(self.data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self.data.madvise(mmap.MADV_DONTNEED)

    def check(self, folder: Path, limit: int | None = None) -> None:
        """See `SegmentFile`; sections of more than `limit` bytes are not compared."""
        for name, section, checksum in self.checksums:
            if (limit is None or section.nbytes <= limit) and self._checksum(section) != checksum:
                path = folder / self.name
                raise CorpusIndexError(f"{path}: segment is damaged: section {name!r} is not what was written")

    def _checksum(self, section: NDArray[Any]) -> int:
        checksum = 0
        for start in range(0, len(section), CHECKED_TOGETHER):
            checksum = zlib.crc32(section[start : start + CHECKED_TOGETHER].data, checksum)
            self.release()
        return checksum


def _form_postings(sections: Mapping[str, NDArray[Any]], form: Form) -> FormPostings:
    parts = ("sizes", "directory", "starts", "remainders", "lengths", "postings")
    return FormPostings(*[sections[f"{form}.{part}"] for part in parts])


def rank_type(documents: int) -> np.dtype[np.uint16] | np.dtype[np.uint32]:
    """Return the type of the postings of a segment with so many documents."""
    return np.dtype("<u2") if documents <= 1 << 16 else np.dtype("<u4")


def _contents(data: mmap.mmap | bytes) -> dict[str, tuple[int, int, int]]:
    """Offset, length and checksum of each section by name."""
    # the list of contents is written last, so a file that was cut off has none, wherever it ends
    if len(data) < TAIL.size:
        raise CorpusIndexError("segment is half-written: it has no tail")
    length, checksum, version, magic = TAIL.unpack(data[-TAIL.size :])
    if magic != MAGIC:
        raise CorpusIndexError("segment is half-written or damaged: it has no tail")
    if version != VERSION:
        raise CorpusIndexError(
            f"segment of format {version}, written by another version of assay; expected format {VERSION}; "
            "`assay index verify --repair` computes it again"
        )
    encoded = data[-TAIL.size - length : -TAIL.size]
    if zlib.crc32(encoded) != checksum:
        raise CorpusIndexError("segment is damaged: its list of contents is not what was written")
    contents: dict[str, tuple[int, int, int]] = parse_json(encoded)
    return contents
