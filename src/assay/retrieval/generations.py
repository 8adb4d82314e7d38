"""A folder of immutable files, and numbered manifests that list the valid ones.

A writer adds new files beside the old ones and then publishes a manifest with the next number; files that no manifest
lists are ignored. A manifest is written atomically, so a process that is killed at any moment leaves the last published
state, and a reader keeps the state that it opened while the next one is written.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from assay.errors import AssayError, CorpusIndexError, plain_reason
from assay.files import cannot_write, durable_file, parse_json

CHECKED_WHEN_OPENED = 1 << 26
"""Bytes of a file up to which its checksum is compared when it is opened; `check` compares all."""

READ_AT_ONCE = 1 << 24
MANIFEST_NAME = re.compile(r"manifest-(\d{10})\.json")


def generations_in(folder: Path) -> list[int]:
    """Return the numbers of the manifests in a folder, ascending; none if there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(int(match[1]) for path in folder.iterdir() if (match := MANIFEST_NAME.fullmatch(path.name)))


def read_generation(folder: Path, generation: int) -> dict[str, Any]:
    """Return the content of a manifest.

    Raises:
        FileNotFoundError: it is absent; a writer may have replaced it.
        CorpusIndexError: it is damaged.
    """
    path = _path(folder, generation)
    checksum, _, content = path.read_bytes().partition(b"\n")
    if checksum != f"{zlib.crc32(content):08x}".encode():
        raise CorpusIndexError(f"{path}: damaged: its checksum is not that of its content")
    with as_damage(path):
        manifest = parse_json(content)
        if not isinstance(manifest, dict):
            raise TypeError(f"received {type(manifest).__name__}, expected an object")
    return manifest


@contextmanager
def as_damage(path: Path) -> Iterator[None]:
    """Turn the errors of reading fields, which a damaged or forged file lacks, into an error of one line.

    Raises:
        CorpusIndexError: the block raised such an error; `path` is named.
    """
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, AssayError) as error:
        if isinstance(error, CorpusIndexError):
            raise
        reason = plain_reason(error)
        raise CorpusIndexError(f"{path}: damaged: {' '.join(reason.split())}") from error


def publish(folder: Path, generation: int, manifest: Mapping[str, object]) -> None:
    """Write a manifest; after this call it and every file written before it survive a crash of the machine.

    Raises:
        CorpusIndexError: the disk is full, or the folder cannot be written.
    """
    content = json.dumps(manifest, indent=1)
    with durable_writer(_path(folder, generation)) as file:
        file.write(f"{zlib.crc32(content.encode()):08x}\n{content}".encode())


def sweep(folder: Path, keep: Mapping[int, set[str]]) -> None:
    """Delete all manifests except those of `keep`, and the files that these do not list."""
    kept = {_path(folder, generation).name for generation in keep}.union(*keep.values())
    for path in folder.iterdir():
        if path.name not in kept:
            # a file that another process has open cannot be deleted on some systems: it is deleted the next time
            with suppress(OSError):
                path.unlink()


def check_size(path: Path, size: int, noun: str, verb: str = "is") -> None:
    """Compare the size of a file with the bytes that a manifest states.

    Raises:
        CorpusIndexError: the file is absent or half-written; the line names what it holds.
    """
    try:
        present = path.stat().st_size
    except OSError as error:
        raise CorpusIndexError(f"{path}: {noun} cannot be read: {plain_reason(error)}") from error
    if present != size:
        raise CorpusIndexError(f"{path}: {noun} {verb} half-written: {present:,} bytes of {size:,}")


def check_content(path: Path, checksum: int, noun: str, verb: str = "is") -> None:
    """Compare a file with the CRC-32 that a manifest states.

    Raises:
        CorpusIndexError: it is damaged.
    """
    if size_and_checksum(path)[1] != checksum:
        raise CorpusIndexError(f"{path}: {noun} {verb} damaged: not what was written")


def size_and_checksum(path: Path) -> tuple[int, int]:
    """Return the bytes of a file, and their CRC-32."""
    size = checksum = 0
    with path.open("rb") as file:
        while portion := file.read(READ_AT_ONCE):
            size, checksum = size + len(portion), zlib.crc32(portion, checksum)
    return size, checksum


@contextmanager
def durable_writer(path: Path) -> Iterator[Any]:
    """Open a new file, which is on disk under its name when the block ends; there is none if the block fails.

    Raises:
        CorpusIndexError: the disk is full, or the file cannot be written.
    """
    try:
        with durable_file(path) as file:
            yield file
    except OSError as error:
        raise CorpusIndexError(f"{cannot_write(path, error)}; the last commit is unchanged") from error


def _path(folder: Path, generation: int) -> Path:
    return folder / f"manifest-{generation:010d}.json"
