"""The one classifier of content: what a file holds is judged, cannot hold code, or was not read.

Nothing that was not read is clean. So every file that is given lands in one of the classes of `FilesRead`, and a file
that could hold code and was not read is named with the reason.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.corpora.archives import content_form, members_of
from assay.corpora.content import text_in_media
from assay.corpora.entry import HOLDS_NO_CODE, LEFT_OUT, CorpusSource, Reason, Skipped, SourceFile
from assay.corpora.filters import decode_source, is_minified_code, language_of_file, skip_by_bytes
from assay.corpora.folders import Folder
from assay.corpora.open import open_sources
from assay.corpora.settings import CorpusForm, CorpusSettings
from assay.corpora.texts import LARGEST_TEXT, SourceText, bytes_of
from assay.errors import DataError

WORDS: dict[Reason, str] = {
    "binary": "binary, and no kind of media that cannot hold code",
    "corrupt": "an archive that is corrupt or protected",
    "link": "a link that leads outside, or to nothing",
    "minified": "minified, so its names and its structure are not those of its source",
    "nested archive": "an archive inside too many others",
    "submodule": "a submodule whose files are not there",
    "too large": f"larger than {LARGEST_TEXT:,} bytes",
}
"""Reason → words for a reader, where the reason itself says too little."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that could hold code and was not read, or not in a way that finds a copy.

    Attributes:
        path: of the file, with the archives around it.
        reason: in words.
        content: digest of its content where that is known, else "".
    """

    path: str
    reason: str
    content: str = ""

    def __str__(self) -> str:
        return f"{self.path} ({self.reason})"

    def below(self, prefix: str) -> "Unread":
        """Return the file with a prefix before its path."""
        return replace(self, path=prefix + self.path)


@dataclass(slots=True)
class FilesRead:
    """Files by class.

    Attributes:
        texts: that are judged.
        unread: that could hold code and were not read.
        no_code: number of files that cannot hold code, by reason.
        left_out: number of files that a setting or .gitignore leaves out, by reason.
    """

    texts: list[SourceText] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    no_code: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def skip(self, path: str, reason: Reason, content: str = "") -> None:
        """Count a file that is not judged, or name it."""
        if reason in HOLDS_NO_CODE:
            self.no_code[reason] += 1
        elif reason in LEFT_OUT:
            self.left_out[reason] += 1
        else:
            self.unread.append(Unread(path, WORDS.get(reason, reason), content))

    def add(self, other: "FilesRead") -> None:
        """Add the files of another value."""
        self.texts += other.texts
        self.unread += other.unread
        self.no_code += other.no_code
        self.left_out += other.left_out

    @property
    def remarks(self) -> tuple[str, ...]:
        """Counts of what was not judged and changes no answer, in words."""
        counted = self.no_code + self.left_out
        return tuple(f"{counted[reason]:,} {reason}" for reason in sorted(counted))


def read_content(path: str, raw: bytes, *, largest: int = LARGEST_TEXT, language: str | None = None) -> FilesRead:
    """Read the bytes of one file, or of the members of an archive.

    Args:
        path: of the file; its name may say a language.
        raw: all bytes, or more than `largest`.
        largest: bytes of a text at most.
        language: of the text; None to find it out.
    """
    read = FilesRead()
    if content_form(raw):
        for member in members_of(path, raw, largest=largest):
            read.add(read_file(member, largest=largest))
        return read
    digest = hashlib.sha256(raw).hexdigest()
    reason = skip_by_bytes(raw, largest)
    text = ""
    if reason == "media":
        text = text_in_media(raw)
    # readable lines inside of media are judged as text
    if reason is not None and not text:
        read.skip(path, reason, digest)
        return read
    try:
        text = text or decode_source(raw)[0]
    except UnicodeError:
        read.skip(path, "undecodable", digest)
        return read
    language = language or language_of_file(path, text[:200])
    source = SourceText.of(path, text, language)
    read.texts.append(source)
    parts = [(source.text, source.language), *((block.text, block.language) for block in source.blocks)]
    # judged and named as unread: a copy in it may not look like its source
    if any(is_minified_code(path, part, spoken) for part, spoken in parts):
        read.skip(path, "minified", digest)
    return read


def read_file(file: SourceFile, *, largest: int = LARGEST_TEXT) -> FilesRead:
    """Read one file of a source."""
    read = FilesRead()
    if isinstance(file, Skipped):
        read.skip(file.path, file.reason)
        return read
    try:
        raw = file.content.read(largest + 1)
    except OSError:
        read.skip(file.path, "unreadable")
        return read
    content = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    return read_content(file.path, content, largest=largest, language=file.facts.language)


def read_named_file(path: Path, language: str | None = None) -> FilesRead:
    """Read one file, or standard input for "-", whatever its suffix.

    Raises:
        DataError: it cannot be opened, or is too large.
    """
    name = "stdin" if str(path) == "-" else path.as_posix()
    raw = bytes_of(path)
    if len(raw) > LARGEST_TEXT:
        raise DataError(f"{name}: too large; expected source code of at most {LARGEST_TEXT:,} bytes")
    read = read_content(name, raw, language=language)
    # an empty file is code too, and too short to be traced
    if read.no_code["empty"]:
        read.texts.append(SourceText(name, "", language))
    return read


def read_folder(path: Path) -> FilesRead:
    """Read a folder, or an archive that is given by name, with all that is in it, as the disk has it now.

    Raises:
        DataError: it does not exist, or cannot be read as a whole.
    """
    read = FilesRead()
    for _, content in files_read(path):
        read.add(content)
    return read


def files_read(path: Path) -> Iterator[tuple[str, FilesRead]]:
    """Yield path and content of each file of a folder or an archive.

    Raises:
        DataError: it does not exist, or cannot be read as a whole.
    """
    for file in _source(path).files():
        yield file.path, read_file(file)


def _source(path: Path) -> CorpusSource:
    if path.is_dir() and (path / ".git").exists():  # what is not committed is read too
        return Folder(path, str(path), largest=LARGEST_TEXT)
    form: CorpusForm | None = "archive" if path.is_file() else None
    (source,) = open_sources([str(path)], CorpusSettings(form=form, max_file_size=f"{LARGEST_TEXT}"))
    return source
