"""From one file to its documents and fingerprints: a pure function, the same for every builder."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from assay.provenance.document import Document
from assay.provenance.filters import DEFAULT_FILTERS, Filters, decode_source, language_of_file
from assay.provenance.licences import resolved
from assay.provenance.sources.entry import Entry, Reason
from assay.provenance.splitting import Granularity, Piece, pieces
from assay.retrieval import DEFAULT, Form, Hashes, Profile, document_vectors, fingerprint_hashes
from assay.types import Encoder, Float32Array


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How a file becomes documents.

    Attributes:
        filters: files that are read.
        granularity: files, functions, or both.
        profile: of the fingerprints.
    """

    filters: Filters = DEFAULT_FILTERS
    granularity: Granularity = "both"
    profile: Profile = DEFAULT

    @property
    def digest(self) -> str:
        """Digest of the settings: a file that was read under another one is read again."""
        parts = (
            *(self.filters.include, self.filters.exclude, sorted(self.filters.languages), self.filters.all_text),
            *(self.filters.generated, self.filters.largest, self.granularity, self.profile),
        )
        return _digest(repr(parts))


@dataclass(frozen=True, slots=True, eq=False)
class FileRead:
    """Result of reading one entry.

    Attributes:
        entry: without its content.
        stamp: that the index records; see `Stamp`.
        documents: in text order, the whole file first; none where it was skipped or did not change.
        hashes: of each document, by form.
        vectors: float32 [k, d] of each document, where an encoder was given.
        skipped: reason why there is no document; None where there is one.
        unchanged: content and facts are as before, so the index has the documents already.
        size: bytes read.
        notes: counts of other events, by their description.
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
    """Two digests in one text: of the facts before reading, and of the content.

    If the first halves are equal, the file did not change and is not opened. If only the second halves are equal, the
    file was touched, and its documents remain.
    """

    before: str
    content: str

    def __str__(self) -> str:
        return f"{self.before}:{self.content}"


def stamp_before(entry: Entry, settings: str) -> str:
    """Return the first half of a stamp, from facts that need no reading; `settings` is their digest."""
    return _digest(f"{entry.stamp} {entry.facts} {settings}")


def read_entry(source: str, entry: Entry, settings: IndexSettings, stamp: str | None = None) -> FileRead:
    """Read one file, cut it into documents and fingerprint them.

    Args:
        source: name of the source, for the origins.
        entry: the file.
        settings: see `IndexSettings`.
        stamp: of the entry in the index, if the index has documents of it.
    """
    filters = settings.filters
    before = stamp_before(entry, settings.digest)
    bare = replace(entry, content=_DROPPED)
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
    if stamp is not None and stamp.endswith(f":{after.content}"):
        return FileRead(bare, str(after), unchanged=True, size=size)
    try:
        text, assumed = (raw, False) if isinstance(raw, str) else decode_source(raw)
    except UnicodeError:
        return replace(unread, skipped="undecodable", size=size)
    split = _documents(source, entry, settings, text)
    notes = split.notes + Counter({NOT_UTF8: int(assumed)})  # the sum of counters drops counts of 0
    return FileRead(bare, str(after), split.documents, split.hashes, (), split.skipped, size=size, notes=notes)


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    documents: tuple[Document, ...] = ()
    hashes: tuple[Mapping[Form, Hashes], ...] = ()
    skipped: Reason | None = None
    notes: Counter[str] = field(default_factory=Counter)


def _documents(source: str, entry: Entry, settings: IndexSettings, text: str) -> _Split:
    language = entry.facts.language or language_of_file(entry.path, text[:200])
    if reason := settings.filters.by_language(language) or settings.filters.by_text(text):
        return _Split(skipped=reason)
    cut = pieces(text, language, settings.granularity)
    hashed = list(fingerprint_hashes([piece.text for piece in cut.pieces], language, settings.profile))
    kept = [(piece, hashes) for piece, hashes in zip(cut.pieces, hashed, strict=True) if any(map(len, hashes.values()))]
    functions = sum(piece.kind == "function" for piece in cut.pieces)
    short = functions - sum(piece.kind == "function" for piece, _ in kept)
    licence = resolved(entry.facts.metadata, text, entry.facts.nearest)
    origin = entry.facts.origin(source, entry.path, licence)

    def document(piece: Piece) -> Document:
        return Document(piece.text, language, piece.kind, piece.name, (replace(origin, first_line=piece.first_line),))

    return _Split(
        tuple(document(piece) for piece, _ in kept),
        tuple(hashes for _, hashes in kept),
        None if kept else "too short",
        +Counter({SHORT_FUNCTIONS: short, NOT_PARSED: int(not cut.parsed)}),
    )


def read_entries(
    batch: Sequence[tuple[str, Entry, str | None]], settings: IndexSettings, encoder: Encoder | None = None
) -> list[FileRead]:
    """Read several files; with an encoder, encode their documents together."""
    files = [read_entry(source, entry, settings, stamp) for source, entry, stamp in batch]
    texts = [document.text for file in files for document in file.documents]
    if encoder is None or not texts:
        return files
    remaining = iter(document_vectors(encoder, texts))
    return [replace(file, vectors=tuple(islice(remaining, len(file.documents)))) for file in files]


class _Dropped:
    """Content that stays in the process that read it: it would only be copied between processes for nothing."""

    def read(self, limit: int) -> bytes:
        raise OSError(f"received a request for {limit} bytes of content that another process has read")


_DROPPED = _Dropped()


def _digest(words: str, content: bytes = b"") -> str:
    digest = hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=12)
    digest.update(b"\0")
    digest.update(content)
    return digest.hexdigest()
