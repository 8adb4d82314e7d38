"""A folder of immutable files, and numbered manifests that say which of them count.

A writer puts new files beside the old ones and then publishes a manifest with the next number; files that no manifest
names are nothing. Manifests appear whole or not at all, so a process killed at any moment leaves the last published
state, and a reader keeps the state that it opened while the next one is written.
"""

import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from assay.errors import CorpusIndexError
from assay.files import cannot_write, durable_file

MANIFEST = re.compile(r"manifest-(\d{10})\.json")


def published(folder: Path) -> list[int]:
    """Numbers of the manifests in a folder, ascending."""
    return sorted(int(found[1]) for path in folder.iterdir() if (found := MANIFEST.fullmatch(path.name)))


def read_manifest(folder: Path, generation: int) -> dict[str, Any]:
    """Return the content of a manifest.

    Raises:
        FileNotFoundError: it is not there; a writer may have replaced it.
        CorpusIndexError: it is damaged.
    """
    path = _path(folder, generation)
    checksum, _, content = path.read_bytes().partition(b"\n")
    if checksum != f"{zlib.crc32(content):08x}".encode():
        raise CorpusIndexError(f"{path}: damaged: its checksum is not that of its content")
    try:
        manifest: dict[str, Any] = json.loads(content)
    except ValueError as error:
        raise CorpusIndexError(f"{path}: damaged: {error}") from error
    return manifest


def publish(folder: Path, generation: int, manifest: Mapping[str, object]) -> None:
    """Write a manifest: after this call it is there, and so is every file written before it, whatever happens.

    Raises:
        CorpusIndexError: the disk is full, or the folder cannot be written.
    """
    content = json.dumps(manifest, indent=1)
    path = _path(folder, generation)
    try:
        with durable_file(path) as file:
            file.write(f"{zlib.crc32(content.encode()):08x}\n{content}".encode())
    except OSError as error:
        raise unwritable(path, error) from error


def sweep(folder: Path, keep: Mapping[int, set[str]]) -> None:
    """Delete the manifests that are not to be kept, and the files that none of the kept ones names."""
    wanted = {_path(folder, generation).name for generation in keep}.union(*keep.values())
    for path in folder.iterdir():
        if path.name not in wanted:
            with suppress(OSError):  # held open elsewhere, on a system that does not delete such files: next time
                path.unlink()


@contextmanager
def writing(path: Path) -> Iterator[Any]:
    """A new file, on disk when the block ends; nothing of it stays where the block fails.

    Raises:
        CorpusIndexError: the disk is full, or the file cannot be written.
    """
    try:
        with path.open("w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> CorpusIndexError:
    """Return the error for a file that cannot be written."""
    return CorpusIndexError(f"{cannot_write(path, error)}; what was committed before is untouched")


def _path(folder: Path, generation: int) -> Path:
    return folder / f"manifest-{generation:010d}.json"
