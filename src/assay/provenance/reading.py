"""One file → what the index stores of it: a pure function, the same for every builder."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from assay.provenance.document import Document
from assay.provenance.filters import DEFAULT_FILTERS, Filters, decoded, language_of_file
from assay.provenance.licences import resolved
from assay.provenance.sources.entry import Entry, Reason
from assay.provenance.splitting import Granularity, Piece, pieces
from assay.retrieval import DEFAULT, Form, Hashes, Profile, fingerprint_hashes
from assay.types import Encoder, Float32Array


@dataclass(frozen=True, slots=True)
class Settings:
    """How a file becomes documents.

    Attributes:
        filters: what is read.
        granularity: files, functions, or both.
        profile: of the fingerprints.
    """

    filters: Filters = DEFAULT_FILTERS
    granularity: Granularity = "both"
    profile: Profile = DEFAULT

    @property
    def digest(self) -> str:
        """Equal settings have equal digests; a file that was read under others is read again."""
        parts = (
            *(self.filters.include, self.filters.exclude, sorted(self.filters.languages), self.filters.all_text),
            *(self.filters.generated, self.filters.largest, self.granularity, self.profile),
        )
        return _digest(repr(parts))


@dataclass(frozen=True, slots=True, eq=False)
class FileRead:
    """What one entry gave.

    Attributes:
        entry: without its content.
        stamp: what the index remembers of it; see `Stamp`.
        documents: in text order, the whole file first; none where it was skipped or did not change.
        hashes: of each document, by form.
        vectors: float32 [d] of each document, where an encoder was given.
        skipped: why there is no document.
        unchanged: content and facts are what they were: the documents are there already.
        size: bytes read.
        notes: what happened beside, with counts.
    """

    entry: Entry
    stamp: str
    documents: tuple[Document, ...] = ()
    hashes: tuple[Mapping[Form, Hashes], ...] = ()
    vectors: tuple[Float32Array, ...] = ()
    skipped: Reason | None = None
    unchanged: bool = False
    size: int = 0
    notes: Counter[str] = field(default_factory=Counter)


NOT_UTF8 = "files not UTF-8, read as Latin-1"
NOT_PARSED = "files kept whole because they do not parse"
SHORT_FUNCTIONS = "functions too short for a fingerprint"


@dataclass(frozen=True, slots=True)
class Stamp:
    """Two digests in one text: of what is known before reading, and of what was read.

    Equal first halves: nothing changed, no look inside. Equal second halves: the file was touched, its documents stand.
    """

    before: str
    content: str

    def __str__(self) -> str:
        return f"{self.before}:{self.content}"


def stamp_before(entry: Entry, settings: str) -> str:
    """The first half of a stamp, from what a source tells without reading; `settings` by their digest."""
    return _digest(f"{entry.stamp} {entry.facts} {settings}")


def read_entry(source: str, entry: Entry, settings: Settings, known: str | None = None) -> FileRead:
    """Read one file, cut it into documents and fingerprint them.

    Args:
        source: name of the source, for the origins.
        entry: the file.
        settings: see `Settings`.
        known: stamp that the index remembers of the entry, where it holds documents of it.
    """
    filters = settings.filters
    before = stamp_before(entry, settings.digest)
    bare = replace(entry, content=_GONE)
    unread = FileRead(bare, str(Stamp(before, "")))
    try:
        raw = entry.content.read(filters.largest + 1)
    except OSError:
        return replace(unread, skipped="unreadable")
    size = len(raw)
    content = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    if reason := filters.by_bytes(content):
        return replace(unread, skipped=reason, size=size)
    after = Stamp(before, _digest(f"{entry.facts} {settings.digest}", content))
    if known is not None and known.endswith(f":{after.content}"):
        return FileRead(bare, str(after), unchanged=True, size=size)
    try:
        text, assumed = (raw, False) if isinstance(raw, str) else decoded(raw)
    except UnicodeError:
        return replace(unread, skipped="undecodable", size=size)
    found = _documents(source, entry, settings, text)
    notes = found.notes + Counter({NOT_UTF8: int(assumed)})  # what is 0 falls away
    return FileRead(bare, str(after), found.documents, found.hashes, (), found.skipped, size=size, notes=notes)


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
    documents: tuple[Document, ...] = ()
    hashes: tuple[Mapping[Form, Hashes], ...] = ()
    skipped: Reason | None = None
    notes: Counter[str] = field(default_factory=Counter)


def _documents(source: str, entry: Entry, settings: Settings, text: str) -> _Cut:
    language = entry.facts.language or language_of_file(entry.path, text[:200])
    if reason := settings.filters.by_language(language) or settings.filters.by_text(text):
        return _Cut(skipped=reason)
    cut = pieces(text, language, settings.granularity)
    hashed = list(fingerprint_hashes([one.text for one in cut.pieces], language, settings.profile))
    kept = [(piece, hashes) for piece, hashes in zip(cut.pieces, hashed, strict=True) if any(map(len, hashes.values()))]
    functions = sum(piece.kind == "function" for piece in cut.pieces)
    short = functions - sum(piece.kind == "function" for piece, _ in kept)
    licence = resolved(entry.facts.metadata, text, entry.facts.nearest)
    origin = entry.facts.origin(source, entry.path, licence)

    def document(piece: Piece) -> Document:
        return Document(piece.text, language, piece.kind, piece.name, (replace(origin, first_line=piece.first_line),))

    return _Cut(
        tuple(document(piece) for piece, _ in kept),
        tuple(hashes for _, hashes in kept),
        None if kept else "too short",
        +Counter({SHORT_FUNCTIONS: short, NOT_PARSED: int(not cut.parsed)}),
    )


def read_entries(
    batch: Sequence[tuple[str, Entry, str | None]], settings: Settings, encoder: Encoder | None = None
) -> list[FileRead]:
    """`read_entry` of several, with their documents encoded together where there is an encoder."""
    found = [read_entry(source, entry, settings, known) for source, entry, known in batch]
    texts = [document.text for one in found for document in one.documents]
    if encoder is None or not texts:
        return found
    remaining = iter(encoder.encode(texts))
    return [replace(one, vectors=tuple(islice(remaining, len(one.documents)))) for one in found]


class _Gone:
    """Content that stayed with the process that read it."""

    def read(self, limit: int) -> bytes:
        raise OSError(f"content of {limit} bytes was left behind")


_GONE = _Gone()


def _digest(words: str, content: bytes = b"") -> str:
    made = hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=12)
    made.update(b"\0")
    made.update(content)
    return made.hexdigest()
