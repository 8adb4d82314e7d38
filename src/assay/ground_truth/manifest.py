"""The training manifest of a built-in model: every text that it was trained on, and texts left out of training.

JSON lines, gzip. The first line is the header (how the corpus was made, and its totals); every other line is one text.
Reading needs the standard library alone.
"""

import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from assay.errors import DataError
from assay.files import parse_json

PACKAGE_FILE: Final = "package file"
LIBRARY_FUNCTION: Final = "library function"

EntryKind = Literal["package file", "library function"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """One text, by digest.

    Attributes:
        kind: a file of an installed distribution, or a function of the standard library.
        package: the distribution's name; "python" for the standard library.
        version: of the distribution or of Python.
        path: relative to the folder of installed distributions, or to the root of the standard library.
        name: qualified name of the function; empty for a file.
        line: 1-based line where the function starts; 1 for a file.
        sha256: of the text in UTF-8.
        licence: SPDX expression.
        dose: how often the text stands in the training stream; 0 means never.
        characters: length of the text.
        tokens: its tokens under the model's tokenizer, without the special ones.
        language: of the text.
        registry: from which the package comes.
    """

    kind: EntryKind
    package: str
    version: str
    path: str
    name: str
    line: int
    sha256: str
    licence: str
    dose: int
    characters: int
    tokens: int
    language: str = "python"
    registry: str = "pypi"


@dataclass(frozen=True, slots=True)
class Manifest:
    """How the corpus was made, and every text of it."""

    header: Mapping[str, object]
    entries: tuple[ManifestEntry, ...]

    def functions(self) -> Iterator[ManifestEntry]:
        """Yield the functions of the standard library, those never seen (dose 0) included."""
        return (entry for entry in self.entries if entry.kind == LIBRARY_FUNCTION)


def read_manifest(path: Path) -> Manifest:
    """Return a manifest.

    Raises:
        DataError: the file is missing, cut short, or not a manifest.
    """
    # str.splitlines would also cut at the line separators of Unicode, which JSON leaves as they are in strings
    lines = uncompressed(path).removesuffix(b"\n").split(b"\n")
    try:
        header, *entries = map(parse_json, lines)
        return Manifest({**header}, tuple(ManifestEntry(**entry) for entry in entries))
    except (ValueError, TypeError) as error:
        raise DataError(f"{path}: expected a training manifest (gzip, JSON lines), got {error!r}") from error


def uncompressed(path: Path) -> bytes:
    """Return the text of a manifest.

    Raises:
        DataError: the file is missing, or no gzip file.
    """
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: expected a training manifest (gzip, JSON lines), got {error!r}") from error
