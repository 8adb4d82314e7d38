"""Bytes from a file, unpacked, with every fault of the file turned into one line."""

import gzip
import io
import os
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from assay.errors import DataError, plain_reason
from assay.guard import LARGEST_RATIO, LARGEST_UNPACKED, RATIO_FROM

GZIP = b"\x1f\x8b"


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """The content of a file, unpacked where it is gzip (known by its first two bytes, not by its name).

    Raises:
        DataError: no such file, no permission, or a gzip stream that is broken or cut off; also while
            reading.
    """
    try:
        with path.open("rb") as raw:
            # by content: a download often loses the suffix of its name
            if raw.peek(2)[:2] == GZIP:
                # a GzipFile lacks some of what a raw stream declares, but nothing that is used here
                with io.BufferedReader(cast("Any", Unpacked(gzip.GzipFile(fileobj=raw), raw, path))) as unpacked:
                    yield unpacked
            else:
                yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
        raise DataError(
            f"{path}: broken or truncated gzip file ({plain_reason(fault)}), expected a complete one"
        ) from fault
    except OSError as fault:
        raise file_error(path, fault) from fault


class Unpacked(io.RawIOBase):
    """The content of a compressed file, which is refused once it is implausibly large for its size, or too large.

    Args:
        stream: that unpacks.
        packed: the file; its position shows how many bytes were unpacked.
        path: of the file, for the message.
    """

    def __init__(self, stream: io.BufferedIOBase, packed: io.BufferedIOBase, path: Path) -> None:
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
        count = self._stream.readinto(buffer)
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

    def refuse(fault: OSError) -> None:
        raise file_error(Path(fault.filename or folder), fault) from fault

    try:
        for parent, folders, files in os.walk(folder, onerror=refuse):
            # in place: `os.walk` goes on with what is left in the list, in that order
            folders[:] = sorted(name for name in folders if name not in skip)
            for name in sorted(files):
                path = Path(parent, name)
                if not path.is_symlink() and path.is_file():
                    yield path
    except RecursionError:  # of `os.walk` before Python 3.12
        raise DataError(f"{folder}: folders inside folders, a thousand deep; expected fewer") from None


def head_of(path: Path, size: int = 65536) -> bytes:
    """The first `size` bytes of the unpacked content, fewer where it is shorter."""
    with opened(path) as stream:
        return stream.read(size)
