"""Source files that are traced, not indexed."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Literal

from assay.code import Function, Unparsable, functions_in
from assay.corpora.blocks import CodeBlock, view_of
from assay.corpora.entry import DocumentKind, Entry, Reason
from assay.corpora.filters import (
    decode_source,
    language_of_file,
    skip_by_bytes,
    skip_by_language,
    skip_by_name,
    skip_by_text,
)
from assay.corpora.open import DEFAULT, open_sources
from assay.corpora.settings import CorpusSettings, Granularity
from assay.errors import DataError
from assay.languages import languages_with

LARGEST_TEXT = 1_000_000
"""Bytes of a file that is traced: as many as the index reads."""


_IMPORT = re.compile(
    r"^[ \t]*(?:import\s|from\s+[\w.]+\s+import\b|package\s+[\w.]+;?[ \t]*$|(?:pub\s+)?use\s+[\w:{]|using\s+[\w:.]+;"
    r"|#[ \t]*include\b|export\s[^=\n]*?\bfrom\s|(?:const|let|var)\s+(?:\w+|\{[^{}=;]*\})\s*=\s*require\b)"
    # the statement ends with its line, brackets and continued lines aside
    r"(?:\([^()]*\)|\{[^{}]*\}|\\\r?\n|[^\r\n({])*",
    re.MULTILINE,
)
"""Statements that name other modules, in every language."""

SourceKind = Literal["file", "function", "remainder"]


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file, a function of one, or the remainder of one: its lines outside of functions.

    Attributes:
        path: within the corpus.
        text: of the piece.
        language: as `Sample.language` spells it, or None.
        name: dotted name of the function; None for a file or a remainder.
        first_line: line of the file at which the text begins.
        kind: of the piece. In a remainder functions and imports are blank, so that its lines are those of the file.
        blocks: of code inside the text, of a whole file.
        is_aligned: True if the lines of a whole file are those of the disk.
        behind: text whose lines are counted after those of the whole; see `TextView`.
    """

    path: str
    text: str
    language: str | None
    name: str | None = None
    first_line: int = 1
    kind: SourceKind = "file"
    blocks: tuple[CodeBlock, ...] = ()
    is_aligned: bool = True
    behind: str = ""

    def below(self, prefix: str) -> "SourceText":
        """Return the text with a prefix before its path."""
        return replace(self, path=prefix + self.path)

    @classmethod
    def of(cls, path: str, text: str, language: str | None) -> "SourceText":
        """Return the text of a file as it is judged: of a notebook its cells, of a page with its blocks."""
        view = view_of(path, text, language)
        return cls(
            path,
            view.text,
            view.language,
            blocks=view.blocks,
            is_aligned=view.is_aligned,
            behind=view.behind,
        )


def source_texts(
    corpora: Sequence[str], settings: CorpusSettings = DEFAULT, skipped: Counter[str] | None = None
) -> Iterator[SourceText]:
    """Yield the source files of folders, archives, repositories or tables, whole; other files are skipped.

    Args:
        corpora: to read.
        settings: what is read of them.
        skipped: is given the number of skipped files, by reason.

    Raises:
        DataError: a corpus does not exist or cannot be read.
    """
    for source in open_sources(corpora):
        for entry in source.files():
            text = text_or_reason(entry, settings) if isinstance(entry, Entry) else entry.reason
            if isinstance(text, SourceText):
                yield text
            elif skipped is not None:
                skipped[text] += 1


def by_function(texts: Iterable[SourceText]) -> Iterator[SourceText]:
    """Yield the functions of each file; a file without functions, or that cannot be split, as a whole."""
    for file in texts:
        for piece in pieces(file.text, file.language, "function").pieces:
            yield replace(file, text=piece.text, name=piece.name, first_line=piece.first_line, kind=piece.kind)


def parts_of(file: SourceText) -> tuple[SourceText, ...]:
    """Return the functions of a file, its remainder and the whole: each is traced by itself.

    The remainder is without imports, which are alike in all users of a library. A file whose functions are not known
    gives itself alone; so does a file that is one function, under its name. Blocks inside it come before the rest.
    """
    inside = chain.from_iterable(_divided(_of_block(file, block)) for block in file.blocks)
    return (*inside, *_divided(replace(file, blocks=())))


def blocks_and_whole(file: SourceText) -> tuple[SourceText, ...]:
    """Return the blocks inside a file, and the whole."""
    return (*(_of_block(file, block) for block in file.blocks), replace(file, blocks=()))


def _of_block(file: SourceText, block: CodeBlock) -> SourceText:
    name = f"the block at line {block.first_line}"
    return SourceText(file.path, block.text, block.language, name=name, first_line=block.first_line)


def _divided(file: SourceText) -> tuple[SourceText, ...]:
    if file.language is None or file.language not in languages_with("functions"):
        return (file,)
    try:
        functions = functions_in(file.text, file.language)
    except Unparsable:
        return (file,)
    above = file.first_line - 1
    inside = [
        replace(file, text=function.text, name=function.name, first_line=above + function.first_line, kind="function")
        for function in functions
    ]
    outside = outside_functions(file.text, functions)
    if not inside or (len(inside) == 1 and not outside.strip()):
        return tuple(inside) or (file,)
    own = without_imports(outside)
    if not own.strip():
        return (*inside, file)
    rest = SourceText(file.path, own, file.language, first_line=file.first_line, kind="remainder")
    return (*inside, rest, file)


def without_imports(text: str) -> str:
    """Return a text with its imports blank, so that the numbers of its lines stay."""
    return _IMPORT.sub(lambda statement: _NOT_A_LINE_END.sub(" ", statement[0]), text)


def text_or_reason(entry: Entry, settings: CorpusSettings) -> SourceText | Reason:
    """Return the text of a file, or the reason why the settings skip it or it cannot be read."""
    if reason := skip_by_name(entry.path, entry.size, settings):
        return reason
    # a file without a suffix may state its language in the first line
    if "." in PurePosixPath(entry.path).name.lstrip(".") and (
        reason := skip_by_language(language_of_file(entry.path), settings)
    ):
        return reason
    try:
        raw = entry.content.read(settings.largest + 1)
        if reason := skip_by_bytes(raw, settings.largest):
            return reason
        text = raw if isinstance(raw, str) else decode_source(raw)[0]
    except OSError:
        return "unreadable"
    except UnicodeError:
        return "undecodable"
    language = entry.facts.language or language_of_file(entry.path, text[:200])
    reason = skip_by_language(language, settings) or skip_by_text(text, settings)
    return reason or SourceText(entry.path, text, language)


def read_source_text(path: Path, language: str | None = None) -> SourceText:
    """Read one file, or standard input for "-", whatever its suffix.

    Raises:
        DataError: it cannot be read, is binary, or is too large.
    """
    return text_of_bytes("stdin" if str(path) == "-" else path.as_posix(), bytes_of(path), language)


def bytes_of(path: Path) -> bytes:
    """Return the bytes of a file, or of standard input for "-", at most one more than `LARGEST_TEXT`.

    Raises:
        DataError: it cannot be read.
    """
    try:
        if str(path) == "-":
            return sys.stdin.buffer.read(LARGEST_TEXT + 1)
        with path.open("rb") as file:
            return file.read(LARGEST_TEXT + 1)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def text_of_bytes(name: str, raw: bytes, language: str | None = None) -> SourceText:
    """Return the text of a file.

    Raises:
        DataError: it is binary, in no known encoding, or too large.
    """
    try:
        text = decode_source(raw)[0]
    except UnicodeError as error:
        raise DataError(f"{name}: cannot be read: {error}") from error
    reason = skip_by_bytes(raw, LARGEST_TEXT)
    if reason is not None and reason != "empty":  # an empty file is code too, and too short to be traced
        raise DataError(f"{name}: {reason}; expected source code of at most {LARGEST_TEXT:,} bytes")
    return SourceText(name, text, language or language_of_file(PurePosixPath(name).name, text[:200]))


_NOT_A_LINE_END = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one document.

    Attributes:
        kind: "file" or "function".
        name: dotted name of the function within its file; None for a file.
        first_line: line of the file at which the text begins, from 1.
        text: of a function dedented, with one newline at the end; lines as in the file.
    """

    kind: DocumentKind
    name: str | None
    first_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of one file; `parsed` is False where its functions could not be recognised."""

    pieces: tuple[Piece, ...]
    parsed: bool


def pieces(text: str, language: str | None, granularity: Granularity = "both") -> Pieces:
    """Return the pieces of one file, the whole first, functions in text order.

    A file that cannot be split gives itself under every granularity, so that nothing is lost. A file that is one
    function and blank lines gives that function alone: the same text twice would be one document without a name.

    Args:
        text: of the file.
        language: as `Sample.language` spells it, or None.
        granularity: "file", "function", or "both".
    """
    whole = Piece("file", name=None, first_line=1, text=text)
    if granularity == "file" or language is None or language not in languages_with("functions"):
        return Pieces((whole,), parsed=True)
    try:
        functions = functions_in(text, language)
    except Unparsable:
        return Pieces((whole,), parsed=False)
    inside = tuple(
        Piece("function", name=function.name, first_line=function.first_line, text=function.text)
        for function in functions
    )
    # a document is its text: a file that is one function would be that function a second time
    is_function = len(inside) == 1 and inside[0].text.strip("\n") == text.strip("\n")
    if is_function or (granularity == "function" and inside):
        return Pieces(inside, parsed=True)
    return Pieces((whole, *inside), parsed=True)


def outside_functions(text: str, functions: Sequence[Function]) -> str:
    """Return the text of a file with its functions blank; lines stay where they are."""
    kept, at = [], 0
    for function in functions:
        # a function inside another one is blank already
        if function.span.start >= at:
            kept += [text[at : function.span.start], _NOT_A_LINE_END.sub(" ", text[slice(*function.span)])]
            at = function.span.stop
    return "".join(kept) + text[at:]
