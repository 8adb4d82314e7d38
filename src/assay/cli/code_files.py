"""The files that `assay trace` reads, and what of them was not judged."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import DataError

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.corpora import FilesRead

NAMED = 20
"""Files that were not judged and are named; the others are counted."""


def source_files(code: Sequence[Path], language: str | None) -> "FilesRead":
    """Read files, folders, archives and standard input.

    Args:
        code: to read.
        language: of standard input and of files without a known suffix; in a folder only files in it are read.

    Raises:
        DataError: a file cannot be read, nothing in a folder can be judged, or there is no such language.
    """
    from assay.corpora import FilesRead
    from assay.languages import checked_language

    language = None if language is None else checked_language(language)
    every = FilesRead()
    for path in code:
        read = _read(path, language)
        # a file without code among others is counted; alone it leaves nothing to judge, and so does a whole folder
        if not read.texts and (len(code) == 1 or not path.is_file()):
            reasons = "; ".join([*map(str, read.unread[:NAMED]), *read.remarks]) or "no file"
            raise DataError(f"{path}: nothing in it can be judged: received {reasons}; expected code")
        every.add(read)
    # a file may be named beside its folder
    every.texts = list({file.path: file for file in every.texts}.values())
    return every


def _read(path: Path, language: str | None) -> "FilesRead":
    from assay.corpora import FilesRead, is_archive, read_folder, read_named_file

    if not path.is_dir() and (str(path) == "-" or not path.exists() or not is_archive(path)):
        return read_named_file(path, language)
    read = read_folder(path)
    if language is not None:
        kept = [file for file in read.texts if file.language == language]
        read.left_out["other language"] += len(read.texts) - len(kept)
        read.texts = kept
    # `./src` and `src` give one path a file, so that a file named twice is judged once
    prefix = f"{path.as_posix().rstrip('/')}/".removeprefix("./")
    return FilesRead(
        texts=[file.below(prefix) for file in read.texts],
        unread=[file.below(prefix) for file in read.unread],
        no_code=read.no_code,
        left_out=read.left_out,
    )


def not_judged(read: "FilesRead") -> Iterator[str]:
    """Yield what was not judged, a sentence each: files that could hold code, then those that cannot."""
    for file in read.unread[:NAMED]:
        yield f"not judged: {file}"
    if len(read.unread) > NAMED:
        yield f"not judged: {len(read.unread) - NAMED:,} more; --json names them"
    if read.remarks:
        yield f"without code, or left out: {', '.join(read.remarks)}"
