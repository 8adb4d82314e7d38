"""The files of ground truth that ship with a built-in model, as `assay.ground_truth` reads them."""

import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import repeat
from pathlib import Path

import numpy as np

from assay.files import atomic_file
from assay.ground_truth import Manifest, kept_shingles, uncompressed


def write_manifest(path: Path, manifest: Manifest) -> str:
    """Write the manifest; equal manifests give equal bytes. Return the SHA-256 of the uncompressed text.

    Raises:
        DataError: the file cannot be written.
    """
    lines: Iterable[Mapping[str, object]] = [manifest.header, *map(asdict, manifest.entries)]
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines).encode()
    with atomic_file(path) as file:
        # mtime=0: otherwise the day would be a part of the bytes
        file.write(gzip.compress(text, compresslevel=9, mtime=0))
    return hashlib.sha256(text).hexdigest()


def manifest_digest(path: Path) -> str:
    """Return the SHA-256 of the uncompressed manifest, which does not depend on the compressor's version.

    Raises:
        DataError: the file is missing, or no gzip file.
    """
    return hashlib.sha256(uncompressed(path)).hexdigest()


def write_sketch(path: Path, texts: Iterable[str]) -> None:
    """Write the sketch of texts; equal texts in any order give an equal sketch."""
    codes: dict[str, int] = {}
    parts = list(map(kept_shingles, texts, repeat(codes)))
    sketch = np.unique(np.concatenate([*parts, np.empty(0, np.uint32)]))
    with atomic_file(path) as file:
        # differences of sorted numbers are small, so they compress well
        np.savez_compressed(file, steps=np.diff(sketch, prepend=np.uint32(0)))
