"""The source files that `assay trace` and `assay pairs` read."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import DataError

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.provenance import SourceText


def source_files(code: Sequence[Path], language: str | None) -> "list[SourceText]":
    """Read files, folders and standard input; one binary file among several arguments is skipped with a note.

    Raises:
        DataError: a file cannot be read, a folder has no source file, or there is no such language.
    """
    from assay.cli.terminal import echo
    from assay.languages import checked_language
    from assay.provenance import CorpusSettings, SourceText, read_source_text, source_texts

    settings = CorpusSettings(generated=True)  # a comment must not take a file out of the comparison
    language = None if language is None else checked_language(language)
    files: list[SourceText] = []
    for path in code:
        if path.is_dir():
            inside = [
                SourceText(f"{path.as_posix().rstrip('/')}/{file.path}".removeprefix("./"), file.text, file.language)
                for file in source_texts([str(path)], settings)
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
    return list({file.path: file for file in files}.values())  # a file may be named beside its folder
