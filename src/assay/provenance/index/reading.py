"""From one file to its documents and fingerprints: a pure function, the same for every builder."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, product
from operator import attrgetter
from pathlib import PurePosixPath

from assay.code import languages_of_text
from assay.corpora import CorpusSettings, Document, Entry, Reason, SourceText, blocks_and_whole, pieces
from assay.corpora.entry import NO_CONTENT, Facts
from assay.corpora.filters import (
    decode_source,
    is_prose_or_data,
    language_of_file,
    languages_named,
    skip_by_bytes,
    skip_by_text,
)
from assay.corpora.open import DEFAULT as ALL_CODE
from assay.corpora.texts import Piece
from assay.licences import licence_of_file
from assay.retrieval import DEFAULT, Form, Hashes, Profile, document_vectors, fingerprint_hashes
from assay.types import Encoder, Float32Array


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How a file becomes documents.

    Attributes:
        corpus: files that are read, and how each is divided.
        profile: of the fingerprints.
    """

    corpus: CorpusSettings = ALL_CODE
    profile: Profile = DEFAULT

    @property
    def digest(self) -> str:
        """Digest of the settings: a file that was read under another one is read again."""
        read = self.corpus
        parts = (
            *(read.include, read.exclude, sorted(languages_named(read.language)), read.all_text),
            *(read.generated, read.largest, read.granularity, self.profile, _READING),
        )
        return _digest(repr(parts))


@dataclass(frozen=True, slots=True, eq=False)
class FileRead:
    """Result of reading one entry.

    Attributes:
        entry: without its content.
        stamp: that the index records: two digests, of the facts before reading and of the content, with a colon
            between. If the first halves are equal, the file did not change and is not opened. If only the second
            halves are equal, the file was touched, and its documents remain.
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


_READING = 2
"""Raised when the same settings read other documents from the same files: every file is then read again."""
NOT_UTF8 = "files not UTF-8, read as Latin-1"
NOT_PARSED = "files kept whole because they do not parse"
SHORT_FUNCTIONS = "functions too short for a fingerprint"


def stamp_before(entry: Entry, settings: str) -> str:
    """Return the first half of a stamp, from facts that need no reading; `settings` is their digest."""
    return _digest(f"{entry.stamp} {_as_text(entry.facts)} {settings}")


def _as_text(facts: Facts) -> str:
    """Return facts as a text that is the same in every process, as the order of a set is not."""
    return f"{replace(facts, holders=None)}{' '.join(sorted(facts.holders or ()))}"


def read_entry(source: str, entry: Entry, settings: IndexSettings, stamp: str | None = None) -> FileRead:
    """Read one file, cut it into documents and fingerprint them.

    Args:
        source: name of the source, for the origins.
        entry: the file.
        settings: see `IndexSettings`.
        stamp: of the entry in the index, if the index has documents of it.
    """
    largest = settings.corpus.largest
    before = stamp_before(entry, settings.digest)
    bare = replace(entry, content=NO_CONTENT)
    unread = FileRead(bare, f"{before}:")
    try:
        raw = entry.content.read(largest + 1)
    except OSError:
        return replace(unread, skipped="unreadable")
    size = len(raw)
    content = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    if reason := skip_by_bytes(content, largest):
        return replace(unread, skipped=reason, size=size)
    # facts and settings too: the same text under another licence has another origin
    after = _digest(f"{_as_text(entry.facts)} {settings.digest}", content)
    read = FileRead(bare, f"{before}:{after}", size=size)
    if stamp is not None and stamp.endswith(f":{after}"):
        return replace(read, unchanged=True)
    try:
        text, assumed = (raw, False) if isinstance(raw, str) else decode_source(raw)
    except UnicodeError:
        return replace(unread, skipped="undecodable", size=size)
    blob = content_digest(content)
    return _divided(
        replace(read, notes=Counter({NOT_UTF8: int(assumed)})), source, entry, settings=settings, text=text, blob=blob
    )


def _divided(read: FileRead, source: str, entry: Entry, *, settings: IndexSettings, text: str, blob: str) -> FileRead:
    """Return the file with its documents, or the reason why there is none."""
    named = entry.facts.language or language_of_file(entry.path, text[:200])
    file = _with_languages(SourceText.of(entry.path, text, named))
    reason = skip_by_text(text, settings.corpus)
    parts = [] if reason else list(_parts(file, settings.corpus))
    if not parts:
        usual: Reason = "other language" if settings.corpus.language else "prose or data"
        # `+` drops counts of 0
        return replace(read, skipped=reason or usual, notes=+read.notes)
    cut, parsed = list[tuple[Piece, str | None, int]](), True
    hashed = list[Mapping[Form, Hashes]]()
    for part in parts:
        divided = pieces(part.text, part.language, settings.corpus.granularity)
        parsed = parsed and divided.parsed
        cut += product(divided.pieces, [part.language], [part.first_line - 1])
        hashed += fingerprint_hashes(list(map(attrgetter("text"), divided.pieces)), part.language, settings.profile)
    facts = entry.facts
    licence = licence_of_file(
        facts.metadata, text, facts.nearest, stated=facts.stated, holders=facts.holders or frozenset()
    )
    origin = replace(facts.origin(source, entry.path, licence), content=blob)
    documents, kept = [], []
    short = 0
    for (piece, language, above), hashes in zip(cut, hashed, strict=True):
        if any(map(len, hashes.values())):
            origins = (replace(origin, first_line=above + piece.first_line),)
            documents.append(Document(piece.text, language, kind=piece.kind, name=piece.name, origins=origins))
            kept.append(hashes)
        else:
            short += piece.kind == "function"
    return replace(
        read,
        documents=tuple(documents),
        hashes=tuple(kept),
        skipped=None if kept else "too short",
        # the sum of counters drops counts of 0
        notes=Counter({SHORT_FUNCTIONS: short, NOT_PARSED: int(not parsed)}) + read.notes,
    )


def _with_languages(file: SourceText) -> SourceText:
    """Return a file with the languages that its texts show, where none is stated: a search reads them in these too."""
    blocks = tuple(replace(block, language=block.language or _shown(block.text)) for block in file.blocks)
    language = file.language or _language_of_program(file.path, file.text)
    return replace(file, language=language, blocks=blocks)


def _language_of_program(path: str, text: str) -> str | None:
    shown = _shown(text)
    if not is_prose_or_data(path):
        return shown
    # a program without its suffix has functions; prose has none in any language
    is_program = PurePosixPath(path).suffix in {"", ".txt"} and len(pieces(text, shown).pieces) > 1
    return shown if is_program else None


def _shown(text: str) -> str | None:
    return next(iter(languages_of_text(text)), None)


def _parts(file: SourceText, settings: CorpusSettings) -> Iterator[SourceText]:
    """Yield the whole of a program, and the blocks of any text, in the languages of the settings."""
    *blocks, whole = blocks_and_whole(file)
    is_document = file.language is None and is_prose_or_data(file.path) and not settings.all_text
    for part in blocks if is_document else (whole, *blocks):
        is_left_out = settings.language and part.language not in languages_named(settings.language)
        if part.text.strip() and not is_left_out:
            yield part


def content_digest(content: bytes) -> str:
    """Return the digest of a content as git has it for a blob, and Software Heritage in `swh:1:cnt:…`."""
    # the digest of two public systems, which protects nothing here
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def read_entries(
    batch: Sequence[tuple[str, Entry, str | None]], settings: IndexSettings, encoder: Encoder | None = None
) -> list[FileRead]:
    """Read several files; with an encoder, encode their documents together."""
    files = [read_entry(source, entry, settings, stamp=stamp) for source, entry, stamp in batch]
    texts = list(map(attrgetter("text"), chain.from_iterable(map(attrgetter("documents"), files))))
    if encoder is None or not texts:
        return files
    remaining = iter(document_vectors(encoder, texts))
    return [replace(file, vectors=tuple(islice(remaining, len(file.documents)))) for file in files]


def _digest(words: str, content: bytes = b"") -> str:
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass") + b"\0" + content, digest_size=12).hexdigest()
