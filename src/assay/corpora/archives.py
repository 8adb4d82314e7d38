"""Files inside archives: wheels, sdists, tar (gzip, bzip2, xz, zstd) and zip. Nothing is ever unpacked to the disk."""

import gzip
import io
import lzma
import posixpath
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, Self, cast

import pyarrow as pa

from assay.corpora.entry import NEVER_ENTERED, NO_FACTS, Entry, Facts, InMemory, Reason, Skipped, SourceFile
from assay.corpora.surroundings import Surroundings, describes_neighbours
from assay.datasets import COMPRESSIONS, UNPACKERS, file_error
from assay.errors import DataError, plain_reason
from assay.guard import (
    LARGEST_MEMBER,
    LARGEST_METADATA,
    LARGEST_RATIO,
    LONGEST_HEADER,
    LONGEST_NUMBER,
    LONGEST_PATH,
    MOST_MEMBERS,
    MOST_RECORDS,
    MOST_UNPACKED,
    RATIO_FROM,
    MiB,
)

_MAGIC: Final = {
    b"PK\x03\x04": "zip",
    # a zip without members begins with the end of its directory
    b"PK\x05\x06": "zip",
    **COMPRESSIONS,
}
_TAR_MAGIC_AT, _TAR_MAGIC = 257, b"ustar"
_SUM, _SUM_AS_BLANKS, _OCTAL = slice(148, 156), 8 * ord(" "), re.compile(rb" *([0-7]+)[ \0]*")
_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, gzip.BadGzipFile, EOFError, pa.ArrowException,
    ValueError, OverflowError, struct.error,
    NotImplementedError,  # zipfile, for a version that it does not know
    RecursionError,  # tarfile, for a header before a header before a header
)  # fmt: skip
_READ_WHOLE = frozenset(
    (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
)
"""Types of headers whose content tarfile reads whole before it yields a member."""
_NO_SPARSE: Final = "NOT.sparse."
_SPARSE_CONTINUED = 504
"""Byte of a block of a GNU sparse map that is set where another one follows."""
_PIECE = 1 << 20
MOST_EMPTY_READS = 100
"""Reads after the end of a stream; tarfile needs a few to find the end."""
_HEAD = 512

MOST_NESTED = 3
"""Archives inside one another that are opened."""
LARGEST_NESTED = 64 * MiB
"""Bytes of an archive inside another file, which is kept in memory while its members are read."""

NAMED_ARCHIVE = re.compile(
    r"\.(?:whl|egg|zip|jar|war|ear|aar|apk|nupkg|vsix|xpi|crate|gem|tar|tgz|tbz2?|txz|tar\.(?:gz|bz2|xz|zst))$",
    re.IGNORECASE,
)
"""Names that promise an archive."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits from which an archive is not a plausible package and is refused.

    Attributes:
        entries: members.
        total: bytes of all members together.
        ratio: unpacked bytes over packed bytes, checked once `ratio_from` bytes are unpacked.
        ratio_from: bytes.
    """

    entries: int = MOST_MEMBERS
    total: int = MOST_UNPACKED
    ratio: float = LARGEST_RATIO
    ratio_from: int = RATIO_FROM

    def check(self, path: Path, *, entries: int, total: int, packed: int) -> None:
        """Refuse an archive beyond the limits.

        Raises:
            DataError: a limit is exceeded; it is named.
        """
        if entries > self.entries:
            raise DataError(f"{path}: archive of more than {self.entries:,} members; expected fewer")
        if total > self.total:
            raise DataError(f"{path}: archive that unpacks to more than {self.total:,} bytes; expected less")
        if total > self.ratio_from and total > self.ratio * max(packed, 1):
            raise DataError(
                f"{path}: archive of {packed:,} bytes that unpacks to {total:,} and more: "
                f"expected at most {self.ratio:g} to 1"
            )


DEFAULT_ARCHIVE_LIMITS = ArchiveLimits()


@dataclass(frozen=True, slots=True)
class Archive:
    """The members of one archive, read in its order.

    Attributes:
        path: of the archive.
        name: see `CorpusSource`.
        largest: bytes of a member; larger ones are not read.
        limits: see `ArchiveLimits`.
        data: its bytes, of an archive inside another file, whose path is a name only; None reads them from the disk.
        depth: archives around it.
    """

    path: Path
    name: str
    largest: int
    limits: ArchiveLimits = DEFAULT_ARCHIVE_LIMITS
    data: bytes | None = field(default=None, repr=False)
    depth: int = 0
    whole: bool = field(default=True, init=False)
    indivisible: bool = field(default=True, init=False)

    @property
    def stamp(self) -> str:
        """Size and time of the archive."""
        return file_stamp(self.path)

    def files(self) -> Iterator[SourceFile]:
        """See `CorpusSource`. The archive is read for its metadata, and then for its files.

        Raises:
            DataError: it is corrupt, truncated, or beyond the limits.
        """
        form = archive_form(self.path) if self.data is None else content_form(self.data)
        members = self._zip if form == "zip" else self._tar
        # no member is ever written to the disk, so no path of a member can lead anywhere
        surroundings = Surroundings()
        # a licence file may come after the files that it covers, hence the first pass
        for is_metadata in (describes_neighbours, surroundings.is_named_text):
            if is_metadata is describes_neighbours or surroundings.named_texts:
                for member in members(is_metadata):
                    if isinstance(member, _Member):
                        surroundings.notice(member.path, member.content)
        seen: set[str] = set()
        for member in members(None):
            if isinstance(member, Skipped):
                yield member
            # readers of archives differ on which of two members with one path counts
            elif member.path in seen:
                yield Skipped(member.path, "repeated path")
            else:
                seen.add(member.path)
                facts = surroundings.facts_of(member.path).over(Facts())
                if content_form(member.content):
                    yield from members_of(
                        member.path, member.content, largest=self.largest, facts=facts, depth=self.depth + 1
                    )
                    continue
                content = InMemory(member.content)
                yield Entry(member.path, member.stamp, member.size, content=content, facts=facts, share=member.share)

    def _opened(self) -> IO[bytes]:
        if self.data is None:
            return self.path.open("rb")
        return io.BytesIO(self.data)

    def _packed(self) -> int:
        if self.data is None:
            return self.path.stat().st_size
        return len(self.data)

    def _zip(self, is_metadata: Callable[[str], bool] | None) -> "Iterator[_Member | Skipped]":
        with _one_line(self.path), self._opened() as raw, zipfile.ZipFile(raw) as archive:
            members = archive.infolist()
            # by the stated sizes: a bomb is refused before anything is unpacked
            total = sum(map(attrgetter("file_size"), members))
            packed = self._packed()
            self.limits.check(self.path, entries=len(members), total=total, packed=packed)
            for member in members:
                path = inside(member.filename)
                if not member.filename or member.is_dir():
                    continue
                if path is None:
                    yield Skipped(member.filename, "path leads outside")
                elif (member.external_attr >> 16) & 0o170000 == 0o120000:  # noqa: PLR2004  Unix mode of a symbolic link
                    # a link holds its target as content; "/" stands for one that is too long
                    target = archive.read(member)[:LONGEST_PATH] if member.file_size <= LONGEST_PATH else b"/"
                    yield Skipped(path, link_reason(path, target.decode("utf-8", "replace")))
                elif member.flag_bits & 1:
                    yield Skipped(path, "encrypted")
                elif is_metadata is None or is_metadata(path):
                    largest = self._largest(path, of_metadata=is_metadata is not None)
                    yield self._zip_member(archive, member, path, largest=largest)

    def _zip_member(
        self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str, *, largest: int
    ) -> "_Member | Skipped":
        try:
            content = b""
            if member.file_size <= largest:
                with archive.open(member) as stream:
                    # the stated size may be wrong, so the read has a limit of its own
                    content = stream.read(largest + 1)
        except (*_BROKEN, OSError, RuntimeError):  # this member alone; the others may be intact
            return Skipped(path, "corrupt")
        return _Member(path, f"{member.file_size}:{member.CRC:08x}", size=member.file_size, content=content)

    def _largest(self, path: str, *, of_metadata: bool) -> int:
        """Return the bytes of a member that are read: more of an archive, whose members have limits of their own."""
        if of_metadata:
            return LARGEST_METADATA
        if NAMED_ARCHIVE.search(path):
            return max(self.largest, LARGEST_NESTED)
        return self.largest

    def _tar(self, is_metadata: Callable[[str], bool] | None) -> "Iterator[_Member | Skipped]":
        packed = self._packed()
        entries = 0
        with _one_line(self.path), self._opened() as raw, decompressed(raw) as stream:
            counted = _Counted(stream, self, packed)
            # r|: a stream, in which nothing is sought, so a pass decompresses each byte once
            with tarfile.open(fileobj=cast("IO[bytes]", counted), mode="r|", tarinfo=GuardedInfo) as archive:
                for member in archive:
                    entries += 1
                    self.limits.check(self.path, entries=entries, total=0, packed=packed)
                    # tarfile keeps every member that it has read: in a stream of millions only memory is lost by that
                    archive.members = []  # type: ignore[attr-defined]  # the name that tarfile's documentation gives
                    path = inside(member.name)
                    if member.isdir():
                        continue
                    if path is None:
                        yield Skipped(member.name, "path leads outside")
                    elif member.issym() or member.islnk():
                        # a hard link names its target from the root of the archive, a symbolic one from its folder
                        yield Skipped(path, link_reason(path if member.issym() else "", member.linkname))
                    elif not member.isfile() or cast("GuardedInfo", member).is_hollow:
                        yield Skipped(path, "not a plain file")
                    elif is_metadata is None or is_metadata(path):
                        share = raw.tell() / max(packed, 1)
                        largest = self._largest(path, of_metadata=is_metadata is not None)
                        yield self._tar_member(archive, member, path, largest=largest, share=share)
                # an archive that was appended to another one would be passed over
                rest = cast("IO[bytes]", archive.fileobj)
                if any(piece.strip(b"\0") for piece in iter(partial(rest.read, _PIECE), b"")):
                    raise tarfile.ReadError("more content behind its end")
                # some writers leave it out, and what was cut off between two members looks the same
                if hasattr(archive, "has_no_end"):
                    yield Skipped("(end)", "no end of the archive")

    @staticmethod
    def _tar_member(
        archive: tarfile.TarFile, member: tarfile.TarInfo, path: str, *, largest: int, share: float
    ) -> "_Member":
        content = b""
        if member.size <= largest and (stream := archive.extractfile(member)):
            content = stream.read()
            # tarfile returns without an error what there is of a member that is cut off
            if len(content) < member.size:
                raise EOFError("cut off")
        stamp = f"{member.size}:{zlib.crc32(content):08x}:{member.mtime}"
        return _Member(path, stamp, size=member.size, content=content, share=share)


@dataclass(frozen=True, slots=True)
class _Member:
    path: str
    stamp: str
    size: int
    content: bytes
    share: float | None = None


class GuardedInfo(tarfile.TarInfo):
    """Header of a tar member whose sizes are checked before tarfile reads so many bytes.

    tarfile itself reads a long name or an extended header whole, whatever its size; a size field in base 256 can be
    negative or larger than any file, and the map of a sparse file may lead anywhere. The hooks are those that tarfile
    has for subclasses.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header in a block.

        Raises:
            tarfile.HeaderError: there is none; without another error where the block is the end.
        """
        try:
            info = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as fault:
            # tarfile ends without a word at a header that is damaged or missing; only a block of zeros is the end
            if not buf or (len(buf) == tarfile.BLOCKSIZE and not buf.strip(b"\0")):
                raise
            raise tarfile.ReadError("damaged or cut off between two members") from fault
        if not 0 <= info.size <= LARGEST_MEMBER:
            raise tarfile.ReadError(f"a member of {info.size:,} bytes")
        if info.type in _READ_WHOLE and info.size > LONGEST_HEADER:
            raise tarfile.ReadError(f"a name or extended header of {info.size:,} bytes")
        return info

    @classmethod
    def fromtarfile(cls, archive: Any) -> Self:  # noqa: ANN401  `tarfile` is our module
        """Return the next header of an archive.

        Raises:
            tarfile.HeaderError: as `frombuf`.
        """
        try:
            return super().fromtarfile(archive)
        except tarfile.EmptyHeaderError:  # type: ignore[attr-defined]  # an error that typeshed leaves out
            # tarfile ends here as at the blocks of zeros that mark an end
            archive.has_no_end = True
            raise

    @property
    def is_hollow(self) -> bool:
        """True for a sparse file: what is stored is not its content."""
        return self.type == tarfile.GNUTYPE_SPARSE or any(name.startswith(_NO_SPARSE) for name in self.pax_headers)

    def _proc_sparse(self, archive: Any) -> Any:  # noqa: ANN401  a hook that typeshed leaves out
        is_continued = self._sparse_structs[1]  # type: ignore[attr-defined]
        while is_continued:
            block = archive.fileobj.read(tarfile.BLOCKSIZE)
            if len(block) < tarfile.BLOCKSIZE:
                raise tarfile.ReadError("cut off")
            is_continued = bool(block[_SPARSE_CONTINUED])
        self.offset_data = archive.fileobj.tell()
        archive.offset = self.offset_data + self._block(self.size)  # type: ignore[attr-defined]
        return self

    def _proc_pax(self, archive: Any) -> Any:  # noqa: ANN401  a hook that typeshed leaves out
        # tarfile searches the records by expressions that take quadratic time and memory where the records are wrong
        stream = archive.fileobj
        content = stream.read(self._block(self.size))  # type: ignore[attr-defined]  # a method that typeshed leaves out
        _check_records(content[: self.size])
        # under another name, for tarfile would follow the map of a sparse file wherever it leads
        content = re.sub(rb"(\d )GNU\.sparse\.", rb"\1" + _NO_SPARSE.encode(), content)
        # back into the stream, for tarfile
        stream.buf, stream.pos = content + stream.buf, stream.pos - len(content)
        return super()._proc_pax(archive)  # type: ignore[misc]

    def _apply_pax_info(self, pax_headers: Mapping[str, str], encoding: str, errors: str) -> None:
        if len(pax_headers) > MOST_RECORDS:  # tarfile copies those for all members once for each
            raise tarfile.ReadError(f"more than {MOST_RECORDS:,} records in extended headers")
        super()._apply_pax_info(pax_headers, encoding, errors)  # type: ignore[misc]  # a hook that typeshed leaves out
        self.name = pax_headers.get(f"{_NO_SPARSE}name", self.name)
        if not 0 <= self.size <= LARGEST_MEMBER:
            raise tarfile.ReadError(f"a member of {self.size:,} bytes")


def _check_records(content: bytes) -> None:
    """Check the records of an extended header, `LENGTH NAME=VALUE` and a line break each."""
    if any(len(digits) > LONGEST_NUMBER for digits in re.findall(rb"\d+", content)):
        raise tarfile.ReadError(f"a number of more than {LONGEST_NUMBER} digits in an extended header")
    start = 0
    while start < len(content):
        number = content[start : start + LONGEST_NUMBER].partition(b" ")[0]
        end = start + int(number)
        record = content[start:end]
        if end <= start or end > len(content) or b"=" not in record or not record.endswith(b"\n"):
            raise tarfile.ReadError("a wrong record in an extended header")
        start = end


class _Counted(io.RawIOBase):
    """Stream that stops with an error beyond the archive's limits, and when it is read on and on after its end."""

    def __init__(self, stream: IO[bytes], archive: Archive, packed: int) -> None:
        self._stream, self._archive, self._packed, self._total = stream, archive, packed, 0
        self._empty = 0

    def read(self, size: int = -1) -> bytes:
        """Read as from any stream, in pieces, so that a bomb is detected before it fills the memory."""
        # the ratio is checked while the bytes come, not after: a bomb of a few KB would fill the memory first
        pieces = []
        while size:
            piece = self._stream.read(min(size, _PIECE) if size > 0 else _PIECE)
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece) if size > 0 else 0
            self._total += len(piece)
            self._archive.limits.check(self._archive.path, entries=0, total=self._total, packed=self._packed)
        self._empty += not pieces
        if self._empty > MOST_EMPTY_READS:  # tarfile skips the stated size of a member, whether it is there or not
            raise EOFError("cut off")
        return b"".join(pieces)


def inside(name: str) -> str | None:
    """Return a member's path with forward slashes and without `.`; None if it leads out of the archive."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in {"", "."}]
    # a drive letter leads outside too
    absolute = name.startswith(("/", "\\")) or (bool(parts) and parts[0][1:2] == ":")
    if absolute or ".." in parts or not parts or "\0" in name:
        return None
    # bytes that are no UTF-8 become escapes, which any database accepts
    path = "/".join(parts).encode("utf-8", "backslashreplace").decode()
    if len(path) > LONGEST_PATH:
        return None
    return path


def link_reason(path: str, target: str) -> Reason:
    """Return the reason to skip a link: its target is read under its own name, or lies outside.

    Args:
        path: of the link, with forward slashes.
        target: as the link states it.
    """
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    is_inside = target and not target.startswith("/") and place.partition("/")[0] not in {"..", *NEVER_ENTERED}
    if is_inside:
        return "link to a judged file"
    return "link"


def members_of(
    path: str, content: Path | bytes, *, largest: int, facts: Facts = NO_FACTS, depth: int = 1
) -> Iterator[SourceFile]:
    """Yield the members of an archive inside another source, below its own path; a corrupt one is skipped.

    Args:
        path: of the archive within the source.
        content: a file on the disk, or the bytes of one.
        largest: bytes of a member.
        facts: of the archive, for members about which it states nothing itself.
        depth: archives around the members.
    """
    if depth > MOST_NESTED:
        yield Skipped(path, "nested archive")
        return
    raw = content if isinstance(content, bytes) else None
    shown = Path(path) if raw is not None else content
    assert isinstance(shown, Path)  # noqa: S101  a path where there are no bytes
    try:
        # a compressed file that is no archive, as main.c.gz, has one member without a name
        if single := _decompressed_file(path, content, largest):
            yield single
            return
        inside_it = Archive(shown, path, largest, data=raw, depth=depth)
        for file in inside_it.files():
            below = f"{path}/{file.path}"
            if isinstance(file, Skipped):
                yield Skipped(below, file.reason)
            else:
                yield replace(file, path=below, facts=file.facts.over(facts), share=None)
    except DataError:
        yield Skipped(path, "corrupt")


def _decompressed_file(path: str, content: Path | bytes, largest: int) -> Entry | None:
    """Return the file in a compressed stream; None of an archive.

    Raises:
        DataError: the stream is broken.
    """
    with content.open("rb") if isinstance(content, Path) else io.BytesIO(content) as raw:
        if _form(raw.read(_HEAD)) in {"zip", "tar"}:
            return None
        raw.seek(0)
        with _one_line(Path(path)), decompressed(raw) as stream:
            unpacked = stream.read(largest + 1)
    if _form(unpacked[:_HEAD]) == "tar":
        return None
    name = PurePosixPath(path).stem
    stamp = f"{len(unpacked)}:{zlib.crc32(unpacked):08x}"
    return Entry(f"{path}/{name}", stamp, len(unpacked), content=InMemory(unpacked))


def content_form(content: bytes) -> str | None:
    """Return the format of an archive or a compressed file by its first bytes; None for any other."""
    return _form(content[:_HEAD])


def archive_form(path: Path) -> str | None:
    """Return the format of a file ("zip", "tar", "gzip", …) by its first bytes; None for any other."""
    try:
        with path.open("rb") as file:
            return _form(file.read(_HEAD))
    except OSError as fault:
        raise file_error(path, fault) from fault


def _form(head: bytes) -> str | None:
    if _begins_tar(head):
        return "tar"
    return next((form for magic, form in _MAGIC.items() if head.startswith(magic)), None)


def is_archive(path: Path) -> bool:
    """Return True if a file is a zip or a tar, compressed or not."""
    form = archive_form(path)
    if form in {"zip", "tar"} or form is None:
        return form is not None
    try:
        with path.open("rb") as raw, decompressed(raw) as stream:
            head = stream.read(_HEAD)
    except (*_BROKEN, OSError):
        # broken: the name decides, so that it is reported as a broken archive
        return ".tar" in path.name.lower() or path.name.lower().endswith((".tgz", ".tbz2", ".txz"))
    return _begins_tar(head)


def _begins_tar(head: bytes) -> bool:
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + len(_TAR_MAGIC)] == _TAR_MAGIC:
        return True
    # tar of Unix Version 7 has no mark; the sum of a header's bytes, the field of it taken as blanks, is written in it
    field = _OCTAL.fullmatch(head[_SUM]) if len(head) == _HEAD else None
    return field is not None and int(field[1], 8) == sum(head) - sum(head[_SUM]) + _SUM_AS_BLANKS


@contextmanager
def decompressed(raw: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield the content of a file as a stream, decompressed if it is compressed.

    The position of `raw` shows how far the file was read.
    """
    opener = UNPACKERS.get(_form(raw.read(_HEAD)) or "")
    raw.seek(0)
    with opener(raw) if opener else nullcontext(raw) as stream:
        yield stream


def file_stamp(path: Path) -> str:
    """Return size and time of a file.

    Raises:
        DataError: there is no such file.
    """
    try:
        status = path.stat()
    except OSError as fault:
        raise file_error(path, fault) from fault
    return f"{status.st_size}:{status.st_mtime_ns}"


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    try:
        yield
    except _BROKEN as fault:
        reason = str(fault).split("\n", maxsplit=1)[0] or type(fault).__name__
        raise DataError(f"{path}: corrupt or truncated archive ({reason}), expected a complete one") from fault
    except OSError as fault:
        if fault.errno is None:  # bzip2 reports broken data this way
            raise DataError(
                f"{path}: corrupt or truncated archive ({plain_reason(fault)}), expected a complete one"
            ) from fault
        raise file_error(path, fault) from fault
