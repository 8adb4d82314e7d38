"""The source files that `assay trace` and `assay pairs` read."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import DataError

_NO_CODE = frozenset({"empty", "too short", "no known language", "other language"})
"""Reasons to skip a file that are not worth a word."""

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.corpora import SourceText


def source_files(code: Sequence[Path], language: str | None) -> "list[SourceText]":
    """Read files, folders and standard input; one binary file among several arguments is skipped with a note.

    Raises:
        DataError: a file cannot be read, a folder has no source file, or there is no such language.
    """
    from assay.cli.terminal import echo
    from assay.corpora import CorpusSettings, SourceText, read_source_text, source_texts
    from assay.languages import checked_language

    language = None if language is None else checked_language(language)
    # a comment that calls code generated, or one long line, must not keep it from being traced
    settings = CorpusSettings(generated=True, max_file_size="10MB")
    files: list[SourceText] = []
    skipped = Counter[str]()
    for path in code:
        if path.is_dir():
            inside = [
                SourceText(f"{path.as_posix().rstrip('/')}/{file.path}".removeprefix("./"), file.text, file.language)
                for file in source_texts([str(path)], settings, skipped)
                if language is None or file.language == language
            ]
            if not inside:
                raise DataError(f"{path}: no source file in it; expected files with the suffix of a known language")
            files += inside
            continue
        try:
            files.append(read_source_text(path, language))
        except DataError as error:
            if len(code) == 1 or not path.is_file():
                raise
            echo(f"assay: note: skipped {error}", err=True)
    if unread := ", ".join(f"{skipped[why]:,} {why}" for why in sorted(skipped.keys() - _NO_CODE)):
        echo(f"assay: note: files and folders that were not read: {unread}", err=True)
    return list({file.path: file for file in files}.values())  # a file may be named beside its folder
