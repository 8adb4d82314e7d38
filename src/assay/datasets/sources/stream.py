"""Bytes from a file, unpacked, with every fault of the file turned into one line."""

import bz2
import gzip
import io
import lzma
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from assay.errors import DataError, plain_reason
from assay.guard import LARGEST_RATIO, LARGEST_UNPACKED, RATIO_FROM

COMPRESSIONS: Mapping[bytes, str] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
"""First bytes of a compressed file → its compression."""
UNPACKERS: Mapping[str, Callable[[Any], Any]] = {
    "gzip": gzip.open,
    "bzip2": bz2.open,
    "xz": lzma.open,
    "zstd": lambda file: pa.input_stream(file, compression="zstd"),
}
"""Compression → what opens a file of it."""
_LONGEST_MARK = max(map(len, COMPRESSIONS))
_PACKED_NAME = re.compile(r"\.(?:gz|bz2|xz|zst)$", re.IGNORECASE)


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """The content of a file, unpacked where it is compressed (known by its first bytes, not by its name).

    Raises:
        DataError: no such file, no permission, or a compressed stream that is broken or cut off; also while
            reading.
    """
    form = ""
    try:
        with path.open("rb") as raw:
            # by content: a download often loses the suffix of its name
            head = raw.peek(_LONGEST_MARK)
            form = next((form for mark, form in COMPRESSIONS.items() if head.startswith(mark)), "")
            if form:
                # what unpacks lacks some of what a raw stream declares, but nothing that is used here
                with (
                    UNPACKERS[form](raw) as stream,
                    io.BufferedReader(cast("Any", Unpacked(stream, raw, path))) as unpacked,
                ):
                    yield unpacked
            else:
                yield raw
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as fault:
        # faults of the content have no number of the system
        if isinstance(fault, OSError) and (fault.errno is not None or not form):
            raise file_error(path, fault) from fault
        raise DataError(
            f"{path}: broken or truncated {form} file ({plain_reason(fault)}), expected a complete one"
        ) from fault


def unpacked_name(path: Path) -> str:
    """The name of a file without the suffix of its compression."""
    return _PACKED_NAME.sub("", path.name)


class Unpacked(io.RawIOBase):
    """The content of a compressed file, which is refused once it is implausibly large for its size, or too large.

    Args:
        stream: that unpacks.
        packed: the file; its position shows how many bytes were unpacked.
        path: of the file, for the message.
    """

    def __init__(self, stream: Any, packed: io.BufferedIOBase, path: Path) -> None:  # noqa: ANN401  see `UNPACKERS`
        self._stream = stream
        self._packed = packed
        self._path = path
        self._bytes = 0

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  whatever holds bytes
        """Read bytes into a buffer; return their number.

        Raises:
            DataError: the file unpacks to too many.
        """
        count = int(self._stream.readinto(buffer))
        self._bytes += count
        if self._bytes > LARGEST_UNPACKED:
            raise _too_large(self._path, f"{LARGEST_UNPACKED:,} bytes")
        check_ratio(self._path, self._bytes, self._packed.tell())
        return count


def check_distinct(path: Path, columns: Sequence[str]) -> None:
    """Refuse a table in which a name stands for two columns: a row would keep the last, and hide the others.

    Raises:
        DataError: a name stands twice.
    """
    for name, times in Counter(columns).items():
        if times > 1:
            raise DataError(f"{path}: the column {name!r} stands twice, expected distinct names")


def check_ratio(path: Path, unpacked: int, packed: int) -> None:
    """Check that the part of a compressed file that was read so far is no bomb.

    Args:
        path: of the file.
        unpacked: bytes that were read from it.
        packed: bytes of the file that they came from.

    Raises:
        DataError: they are more than `LARGEST_RATIO` times as many, and more than `RATIO_FROM`.
    """
    # a small file may pack well and be harmless; a bomb shows once much has come out of little
    if unpacked > RATIO_FROM and unpacked > LARGEST_RATIO * packed:
        raise _too_large(path, f"{LARGEST_RATIO:g} times its size")


def _too_large(path: Path, limit: str) -> DataError:
    return DataError(
        f"{path}: unpacks to more than {limit}; expected less from a compressed file: unpack it to read it"
    )


def file_error(path: Path, fault: OSError) -> DataError:
    """Return the error that the system reports for a path, in one line."""
    message = fault.strerror or str(fault).split("\n", maxsplit=1)[0]
    return DataError(f"{path}: {message}, expected a readable file or folder")


def require_exists(path: Path) -> None:
    """Refuse a path that is missing, out of reach, or neither a file nor a folder.

    Raises:
        DataError: see above.
    """
    try:
        path.stat()
    except OSError as fault:
        raise file_error(path, fault) from fault
    except ValueError as fault:  # a NUL byte in the path, which no system call takes
        raise file_error(path, OSError(str(fault))) from fault
    if not path.is_dir() and not path.is_file():
        raise DataError(f"{path}: neither a file nor a folder (a pipe or device), expected a file or folder")


def walk(folder: Path, *, skip: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Every plain file below a folder, sorted within each folder, never through a symbolic link.

    Not following links keeps loops, files counted twice and files from elsewhere out.

    Raises:
        DataError: the folder, or one below it, cannot be listed.
    """
    for parent, _, files in folders_below(folder, skip=skip):
        for name in files:
            path = Path(parent, name)
            if not path.is_symlink() and path.is_file():
                yield path


def folders_below(folder: Path, *, skip: frozenset[str] = frozenset()) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder from the given one down, the names of its folders, and those of all else in it, sorted.

    Links are not followed.

    Raises:
        DataError: the folder, or one below it, cannot be listed.
    """

    def refuse(fault: OSError) -> None:
        raise file_error(Path(fault.filename or folder), fault) from fault

    try:
        for parent, folders, files in os.walk(folder, onerror=refuse):
            # in place: `os.walk` goes on with what is left in the list, in that order
            folders[:] = sorted(name for name in folders if name not in skip)
            yield parent, folders, sorted(files)
    except RecursionError:  # of `os.walk` before Python 3.12
        raise DataError(f"{folder}: folders inside folders, a thousand deep; expected fewer") from None


def head_of(path: Path, size: int = 65536) -> bytes:
    """The first `size` bytes of the unpacked content, fewer where it is shorter."""
    with opened(path) as stream:
        return stream.read(size)
