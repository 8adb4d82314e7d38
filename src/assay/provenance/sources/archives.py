"""Files inside archives: wheels, sdists, tar (gzip, bzip2, xz, zstd) and zip. Nothing is ever unpacked to the disk."""

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, cast

import pyarrow as pa

from assay.datasets import file_error
from assay.errors import DataError
from assay.provenance.sources.entry import Entry, Facts, Found, InMemory, Skipped
from assay.provenance.sources.surroundings import LARGEST, Surroundings, tells_of_others

_MAGIC: Final = {
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_TAR_MAGIC_AT, _TAR_MAGIC = 257, b"ustar"
_BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    EOFError,
    pa.ArrowException,
)
_PIECE = 1 << 20
_HEAD = 512

NAMED_ARCHIVE = re.compile(r"\.(?:whl|egg|zip|jar|war|tar|tgz|tbz2?|txz|tar\.(?:gz|bz2|xz|zst))$", re.IGNORECASE)
"""Names that promise an archive."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Where an archive stops being a plausible package and is refused.

    Attributes:
        entries: members.
        total: bytes of all members together.
        ratio: unpacked bytes over packed bytes, held against it once `ratio_from` bytes are unpacked. Source code
            packs about 5 to 1, the densest tables 100 to 1, a bomb 1,000 to 1.
        ratio_from: bytes.
    """

    entries: int = 5_000_000
    total: int = 64 * 10**9
    ratio: float = 200.0
    ratio_from: int = 64 * 10**6

    def check(self, path: Path, *, entries: int, total: int, packed: int) -> None:
        """Refuse what lies beyond.

        Raises:
            DataError: which limit was passed, and by what.
        """
        if entries > self.entries:
            raise DataError(f"{path}: archive of more than {self.entries:,} members, refused")
        if total > self.total:
            raise DataError(f"{path}: archive that unpacks to more than {self.total:,} bytes, refused")
        if total > self.ratio_from and total > self.ratio * max(packed, 1):
            raise DataError(
                f"{path}: archive of {packed:,} bytes that unpacks to {total:,} and more: "
                f"over {self.ratio:g} to 1, refused"
            )


DEFAULT_LIMITS = ArchiveLimits()


@dataclass(frozen=True, slots=True)
class Archive:
    """The members of one archive, read in its order.

    Attributes:
        path: of the archive.
        name: see `CorpusSource`.
        largest: bytes of a member; longer ones are told by their size and not read.
        limits: see `ArchiveLimits`.
    """

    path: Path
    name: str
    largest: int
    limits: ArchiveLimits = DEFAULT_LIMITS
    whole: bool = field(default=True, init=False)
    indivisible: bool = field(default=True, init=False)

    @property
    def stamp(self) -> str:
        """Size and time of the archive."""
        return file_stamp(self.path)

    def found(self) -> Iterator[Found]:
        """See `CorpusSource`. The archive is read twice: for what it says of itself, and for its files.

        Raises:
            DataError: it is corrupt, cut off, or beyond the limits.
        """
        form = archive_form(self.path)
        members = self._zip if form == "zip" else self._tar
        surroundings = Surroundings()
        for member in members(only_telling=True):
            if isinstance(member, _Member):
                surroundings.notice(member.path, member.content)
        seen: set[str] = set()
        for member in members(only_telling=False):
            if isinstance(member, Skipped):
                yield member
            elif NAMED_ARCHIVE.search(member.path):
                yield Skipped(member.path, "nested archive")
            elif member.path in seen:
                yield Skipped(member.path, "repeated path")
            else:
                seen.add(member.path)
                facts = surroundings.facts_of(member.path).over(Facts())
                content = InMemory(member.content)
                yield Entry(member.path, member.stamp, member.size, content, facts, share=member.share)

    def _zip(self, *, only_telling: bool) -> "Iterator[_Member | Skipped]":
        with _one_line(self.path), zipfile.ZipFile(self.path) as archive:
            members = archive.infolist()
            total = sum(one.file_size for one in members)
            packed = self.path.stat().st_size
            self.limits.check(self.path, entries=len(members), total=total, packed=packed)
            for one in members:
                path = inside(one.filename)
                if one.is_dir():
                    continue
                if path is None:
                    yield Skipped(one.filename, "path leads outside")
                elif (one.external_attr >> 16) & 0o170000 == 0o120000:  # noqa: PLR2004  Unix mode of a symbolic link
                    yield Skipped(path, "link")
                elif one.flag_bits & 1:
                    yield Skipped(path, "encrypted")
                elif not only_telling or tells_of_others(path):
                    yield self._zip_member(archive, one, path, LARGEST if only_telling else self.largest)

    def _zip_member(
        self, archive: zipfile.ZipFile, one: zipfile.ZipInfo, path: str, largest: int
    ) -> "_Member | Skipped":
        try:
            content = b""
            if one.file_size <= largest:
                with archive.open(one) as stream:
                    content = stream.read(largest + 1)
        except (*_BROKEN, NotImplementedError, OSError, RuntimeError):  # one member; the others may be whole
            return Skipped(path, "corrupt")
        return _Member(path, f"{one.file_size}:{one.CRC:08x}", one.file_size, content)

    def _tar(self, *, only_telling: bool) -> "Iterator[_Member | Skipped]":
        packed = self.path.stat().st_size
        entries = 0
        with _one_line(self.path), self.path.open("rb") as raw, unpacked(raw) as stream:
            counted = _Counted(stream, self, packed)
            with tarfile.open(fileobj=cast("IO[bytes]", counted), mode="r|") as archive:
                for one in archive:
                    entries += 1
                    self.limits.check(self.path, entries=entries, total=0, packed=packed)
                    # a stream is read once: what is behind need not be remembered
                    archive.members = []  # type: ignore[attr-defined]  # the name that tarfile's documentation gives
                    path = inside(one.name)
                    if one.isdir():
                        continue
                    if path is None:
                        yield Skipped(one.name, "path leads outside")
                    elif one.issym() or one.islnk():
                        yield Skipped(path, "link")
                    elif not one.isfile():
                        yield Skipped(path, "not a plain file")
                    elif not only_telling or tells_of_others(path):
                        share = raw.tell() / max(packed, 1)
                        yield self._tar_member(archive, one, path, LARGEST if only_telling else self.largest, share)

    @staticmethod
    def _tar_member(archive: tarfile.TarFile, one: tarfile.TarInfo, path: str, largest: int, share: float) -> "_Member":
        stream = archive.extractfile(one) if one.size <= largest else None
        content = stream.read() if stream else b""
        if stream and len(content) < one.size:
            raise EOFError("cut off")
        return _Member(path, f"{one.size}:{zlib.crc32(content):08x}:{one.mtime}", one.size, content, share)


@dataclass(frozen=True, slots=True)
class _Member:
    path: str
    stamp: str
    size: int
    content: bytes
    share: float | None = None


class _Counted(io.RawIOBase):
    """A stream that refuses to give more than the archive's limits allow."""

    def __init__(self, stream: IO[bytes], archive: Archive, packed: int) -> None:
        self._stream, self._archive, self._packed, self._total = stream, archive, packed, 0

    def read(self, size: int = -1) -> bytes:
        """As of any stream, in pieces, so that a bomb is told before it fills the memory."""
        pieces = []
        while size:
            piece = self._stream.read(min(size, _PIECE) if size > 0 else _PIECE)
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece) if size > 0 else 0
            self._total += len(piece)
            self._archive.limits.check(self._archive.path, entries=0, total=self._total, packed=self._packed)
        return b"".join(pieces)


def inside(name: str) -> str | None:
    """A member's path with forward slashes and without `.`; None where it leads out of the archive."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in {"", "."}]
    absolute = name.startswith(("/", "\\")) or (bool(parts) and parts[0][1:2] == ":")
    if absolute or ".." in parts or not parts or "\0" in name:
        return None
    return "/".join(parts).encode("utf-8", "backslashreplace").decode()


def archive_form(path: Path) -> str | None:
    """How a file is packed ("zip", "tar", "gzip", …) by its first bytes; None where it is none of these."""
    try:
        with path.open("rb") as file:
            return _form(file.read(_HEAD))
    except OSError as fault:
        raise file_error(path, fault) from fault


def _form(head: bytes) -> str | None:
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + len(_TAR_MAGIC)] == _TAR_MAGIC:
        return "tar"
    return next((form for magic, form in _MAGIC.items() if head.startswith(magic)), None)


def is_archive(path: Path) -> bool:
    """Whether a file is a zip or a tar, packed or not."""
    form = archive_form(path)
    if form in {"zip", "tar"} or form is None:
        return form is not None
    try:
        with path.open("rb") as raw, unpacked(raw) as stream:
            head = stream.read(_HEAD)
    except (*_BROKEN, OSError):
        return ".tar" in path.name.lower() or path.name.lower().endswith((".tgz", ".tbz2", ".txz"))
    return head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + len(_TAR_MAGIC)] == _TAR_MAGIC


@contextmanager
def unpacked(raw: IO[bytes]) -> Iterator[IO[bytes]]:
    """The content of a file without its compression, as a stream; a file that is not packed as it is.

    Where `raw` stands tells how far the file has been read.
    """
    openers: dict[str | None, Any] = {
        "gzip": gzip.open,
        "bzip2": bz2.open,
        "xz": lzma.open,
        "zstd": lambda file: pa.input_stream(file, compression="zstd"),
    }
    opener = openers.get(_form(raw.read(_HEAD)))
    raw.seek(0)
    with opener(raw) if opener else nullcontext(raw) as stream:
        yield stream


def file_stamp(path: Path) -> str:
    """Size and time of a file.

    Raises:
        DataError: there is none.
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
        said = str(fault).split("\n", maxsplit=1)[0] or type(fault).__name__
        raise DataError(f"{path}: corrupt or truncated archive ({said}), expected a complete one") from fault
    except OSError as fault:
        if fault.errno is None:  # bzip2 tells of broken data this way
            raise DataError(f"{path}: corrupt or truncated archive ({fault}), expected a complete one") from fault
        raise file_error(path, fault) from fault
