"""The catalogue: documents, their origins, and the files that were read, in one SQLite file in WAL mode.

Every row has a checksum, which is compared whenever the row is read: see `assay.provenance.index.tables`.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from assay.corpora import Document, Origin
from assay.database import connect
from assay.errors import CorpusIndexError
from assay.provenance.index.searchable import (
    LEAST_FUNCTION,
    Holder,
    SeenFile,
    StoredDocument,
    as_index_error,
    owner_of,
    storable,
)
from assay.provenance.index.stored_texts import PLAIN, StoredText, deflated, inflated, stored_texts
from assay.provenance.index.tables import (
    BUILD_AGAIN,
    CATALOGUE_FORMAT,
    SCHEMA,
    connect_catalogue,
    origin_checksum,
    row_checksum,
)

LAST_PATH = "\U0010ffff"
"""No path sorts after it."""

_DOCUMENTS = """
SELECT documents.id, digest, language, kind, name, size, base, start, stop, documents.checksum, text,
    places.checksum
FROM documents LEFT JOIN places ON places.document = documents.id
WHERE documents.id IN (SELECT value FROM json_each(?)) ORDER BY documents.id
"""

_BASE = """
SELECT id, digest, language, kind, name, size, base, start, stop, checksum, text FROM documents WHERE id = ?
"""

_DEPENDENTS = """
WITH bases AS (SELECT value FROM json_each(?))
SELECT id FROM documents WHERE base IN (SELECT value FROM bases) AND id NOT IN (SELECT value FROM bases)
"""

_ORIGINS = """
SELECT origins.document, origins.file, files.checksum, sources.name, files.path, files.repository, files."commit",
    files.licence, files.author, files.url, files.content, files.purl, files.declared, origins.first_line
FROM origins JOIN files ON files.id = origins.file JOIN sources ON sources.id = files.source
WHERE origins.document IN (SELECT value FROM json_each(?))
ORDER BY origins.document, origins.file, origins.first_line
"""

_ADD_FILE = "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

_PLACES = "SELECT document, file, first_line FROM origins WHERE document IN (SELECT value FROM json_each(?))"

_LISTS = "SELECT document, checksum FROM places WHERE document IN (SELECT value FROM json_each(?))"

_FILES = """
SELECT files.id, files.checksum, sources.name, path, repository, "commit", licence, author, url, content, purl,
    declared
FROM files JOIN sources ON sources.id = files.source WHERE files.id IN (SELECT value FROM json_each(?))
"""

_FILE = """
SELECT id FROM files WHERE source = ? AND path = ? AND repository IS ? AND "commit" IS ? AND licence = ?
    AND author IS ? AND url IS ? AND content IS ? AND purl IS ? AND declared IS ?
"""

MOST_REMEMBERED = 10_000
"""Files whose numbers are kept in memory; the functions of a file come one after the other."""


class Catalogue:
    """One connection to the file. A writer's changes are one transaction, from `begin` to `commit`.

    Attributes:
        path: of the file.
        connection: of SQLite, for `assay.provenance.index.damage`.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self._sources: dict[str, int] = {}
        self._files: dict[tuple[object, ...], int] = {}
        self._holders: dict[int, Holder] = {}
        self._owners: dict[int, str] = {}
        self._every = 0
        self._counted: tuple[int, int] | None = None
        with as_index_error(path):
            self.connection = connect_catalogue(path, writable=writable)
            (version,) = self._row("PRAGMA user_version")
        if version != CATALOGUE_FORMAT:
            self.close()
            raise CorpusIndexError(
                f"{path}: catalogue of format {version}, written by another version of assay; "
                f"expected format {CATALOGUE_FORMAT}; {BUILD_AGAIN}"
            )

    @classmethod
    def create(cls, path: Path, description: str) -> None:
        """Create an empty catalogue in a new file, for an index of that description."""
        connection = connect(path)
        try:
            with as_index_error(path):
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {CATALOGUE_FORMAT}; COMMIT;")
                state = (0, description, row_checksum(0, description, [], []))
                connection.execute("INSERT INTO state VALUES (?, ?, ?)", state)
        finally:
            connection.close()

    def close(self) -> None:
        """Close the file; uncommitted changes are lost."""
        self.connection.close()

    def begin(self, *, write: bool) -> None:
        """Begin a transaction: until its end all reads see one state, and the changes of this connection."""
        # IMMEDIATE takes the lock of a writer at once, not at the first change
        self._all("BEGIN IMMEDIATE" if write else "BEGIN")

    def commit(self, generation: int) -> None:
        """Make everything since `begin` durable, together with the number of the postings that belong to it."""
        # this transaction decides: postings and vectors of a generation without it are ignored, and removed later
        with as_index_error(self.path):
            checksum = row_checksum(generation, self.description, *self._counts())
            self.connection.execute("UPDATE state SET generation = ?, checksum = ?", (generation, checksum))
            self.connection.execute("COMMIT")

    def roll_back(self) -> None:
        """Undo everything since `begin`."""
        self.forget_numbers()
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    @property
    def in_transaction(self) -> bool:
        """True between `begin` and the end of the transaction."""
        return self.connection.in_transaction

    @property
    def generation(self) -> int:
        """Number of the postings that belong to the present state."""
        (generation,) = self._row("SELECT generation FROM state")
        if not isinstance(generation, int):
            raise self.damaged("its state")
        return generation

    @property
    def description(self) -> str:
        """Content of index.json when the index was created."""
        return str(self._row("SELECT description FROM state")[0])

    def check_state(self) -> int:
        """Compare the state and the counts with their checksum, and return the number of documents.

        Raises:
            CorpusIndexError: they differ.
        """
        generation, description, checksum = self._row("SELECT generation, description, checksum FROM state")
        languages, licences = self._counts()
        if checksum != row_checksum(generation, description, languages, licences):
            raise self.damaged("its state")
        return sum(documents for _, documents in languages)

    @property
    def size(self) -> int:
        """Bytes of the file and of its write-ahead log."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def count(self) -> tuple[int, int, int]:
        """Return the numbers of documents, origins and files seen; rows of whole sources are excluded."""
        origins, seen = self._row("SELECT (SELECT count(*) FROM origins), (SELECT count(*) FROM seen WHERE path != '')")
        return sum(self.languages().values()), origins, seen

    def number_of(self, digest: bytes) -> int | None:
        """Return the number of the document with this digest, or None."""
        numbers = self._column("SELECT id FROM documents WHERE digest = ?", digest)
        return int(numbers[0]) if numbers else None

    def ids(self) -> list[int]:
        """Return the numbers of all documents, ascending."""
        return self._column("SELECT id FROM documents ORDER BY id")

    def next_id(self) -> int:
        """Return the number of the next document."""
        # SQLite keeps the highest number that it ever gave, also of documents that were removed
        (highest,) = self._row("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'documents'")
        return int(highest) + 1

    def insert(self, documents: Iterable[tuple[int, bytes, Document]]) -> None:
        """Add documents with their numbers and digests, without origins."""
        entries = list(documents)
        texts = stored_texts((number, document) for number, _, document in entries)
        rows = (_document_row(*entry, text) for entry, text in zip(entries, texts, strict=True))
        self._many("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def add_origins(self, origins: Iterable[tuple[int, Origin]]) -> int:
        """Add origins to documents, and return how many were new."""
        rows = [(document, self._file(origin), origin.first_line) for document, origin in origins]
        return self._many("INSERT OR IGNORE INTO origins VALUES (?, ?, ?)", rows)

    def documents(self, ids: Sequence[int]) -> Iterator[StoredDocument]:
        """Yield the documents of these numbers, ascending by number; absent ones are left out.

        Raises:
            CorpusIndexError: a document, its origins or a file of them is not what was written.
        """
        # one JSON array instead of one parameter for each number: SQLite limits their count
        numbers = json.dumps(list(ids))
        with as_index_error(self.path):
            origins: dict[int, list[Origin]] = {}
            places: dict[int, int] = {}
            for document, file, checksum, *fields in self.connection.execute(_ORIGINS, (numbers,)):
                *described, first_line = fields
                if checksum != row_checksum(file, *described):
                    raise self.damaged(f"an origin of document {document}")
                # xor of the rows that were found, compared below with the one that triggers kept: a lost row is noticed
                # too
                places[document] = places.get(document, 0) ^ origin_checksum(document, file, first_line)
                source, path, repository, commit, licence, author, url, content, purl, declared = described
                origin = Origin(
                    source=source,
                    path=path,
                    repository=repository,
                    commit=commit,
                    licence=licence,
                    author=author,
                    url=url,
                    first_line=first_line,
                    content=content.hex() if content else None,
                    purl=purl,
                    declared=declared,
                )
                origins.setdefault(document, []).append(origin)
            for (number, _, language, kind, name, *_), plain in self._with_texts(numbers, places):
                text = plain.decode("utf-8", "surrogatepass")
                places_of = tuple(origins.get(number, ()))
                yield StoredDocument(text, language, kind=kind, name=name, origins=places_of, id=number)

    def holders(self, ids: Sequence[int]) -> dict[int, Holder]:
        """Return the owners and files of each of these documents, and whether it is a function.

        Raises:
            CorpusIndexError: a document, or an origin of it, is not what was written.
        """
        self._forget_owners()
        files: dict[int, list[int]] = defaultdict(list)
        lists: dict[int, int] = {}
        new = json.dumps([number for number in ids if number not in self._holders])
        with as_index_error(self.path):
            for document, *place in self.connection.execute(_PLACES, (new,)):
                files[document].append(place[0])
                lists[document] = lists.get(document, 0) ^ origin_checksum(document, *place)
            unknown = set(chain.from_iterable(files.values())) - self._owners.keys()
            for file, checksum, *described in self.connection.execute(_FILES, (json.dumps(list(unknown)),)):
                if checksum != row_checksum(file, *described):
                    raise self.damaged(f"the record of file {file}")
                source, _, repository, _, _, author, *_ = described
                self._owners[file] = owner_of(source, repository, author)
            for number, _, _, kind, _, size, *_ in self._rows(new, lists):
                places = tuple((self._owners[file], file) for file in files.get(number, ()))
                is_function = kind == "function" and size >= LEAST_FUNCTION
                self._holders[number] = Holder(places, is_function)
        return {number: self._holders[number] for number in ids if number in self._holders}

    def _rows(self, numbers: str, places: Mapping[int, int]) -> Iterator[Sequence[Any]]:
        """Yield the rows of documents, by number.

        Args:
            numbers: of the documents, a JSON array.
            places: the checksum of the origins that were found of each.

        Raises:
            CorpusIndexError: a row, or its list of origins, is not what was written.
        """
        for *row, of_places in self.connection.execute(_DOCUMENTS, (numbers,)):
            self._check_row(row)
            # 0 stands for no origin: the XOR of nothing
            if (of_places or 0) != places.get(row[0], 0):
                raise self.damaged(f"the list of origins of document {row[0]}")
            yield row

    def _with_texts(self, numbers: str, places: Mapping[int, int]) -> Iterator[tuple[Sequence[Any], bytes]]:
        """Yield what `_rows` does, each row with its text in UTF-8."""
        base: tuple[int | None, bytes] = (None, b"")
        for row in self._rows(numbers, places):
            number, *_, on, start, stop, _, stored = row
            if on is None:
                text = inflated(stored)
                base = (number, text)
            else:
                # documents come by number, so the functions of a file come together
                if on != base[0]:
                    base = (on, self._base(on))
                text = inflated(stored, base[1][start:stop])
            yield row, text

    def _base(self, number: int) -> bytes:
        for row in self._all(_BASE, number):
            self._check_row(row)
            return inflated(row[-1])
        raise self.damaged(f"document {number}")

    def _check_row(self, row: Sequence[Any]) -> None:
        *content, checksum, text = row
        if checksum != row_checksum(*content, text):
            raise self.damaged(f"document {row[0]}")

    def owners_up_to(self, most: int) -> int:
        """Return the number of owners of projects, or `most` if there are more."""
        self._forget_owners()
        if not self._every:
            rows = self._all("SELECT DISTINCT name, repository, author FROM files JOIN sources ON sources.id = source")
            self._every = len({owner_of(*row) for row in rows})
        return min(most, self._every)

    def _forget_owners(self) -> None:
        """Forget the owners of another state: of another commit, or from before a change of this writer."""
        # total_changes also counts changes that are not committed yet
        state = (self.generation, self.connection.total_changes)
        if state != self._counted or len(self._holders) > MOST_REMEMBERED:
            self._holders.clear()
            self._owners.clear()
            self._every, self._counted = 0, state

    def release(self, ids: Sequence[int]) -> None:
        """Store the texts of other documents without these, which are about to be removed."""
        with as_index_error(self.path):
            numbers = json.dumps(self._column(_DEPENDENTS, json.dumps(list(ids))))
            rows = []
            for row, plain in self._with_texts(numbers, dict(self._all(_LISTS, numbers))):
                text = deflated(plain)
                rows.append((*PLAIN, row_checksum(*row[:6], *PLAIN, text), text, row[0]))
        self._many("UPDATE documents SET base = ?, start = ?, stop = ?, checksum = ?, text = ? WHERE id = ?", rows)

    def remove_documents(self, ids: Sequence[int]) -> int:
        """Remove documents with their origins, and return how many there were."""
        self.release(ids)
        rows = list(zip(ids, strict=True))
        self._many("DELETE FROM origins WHERE document = ?", rows)
        return self._many("DELETE FROM documents WHERE id = ?", rows)

    def remove_origins(self, source: str, path: str | None) -> list[int]:
        """Remove a file, or a whole source, with its rows, and return the documents that have no other origin."""
        # the same queries for both: a whole source is all paths from the first to the last
        first, last = ("", LAST_PATH) if path is None else (storable(path), storable(path))
        place = (self._source(source), first, last)
        self._files.clear()
        # a document is gone with its last origin: those that lose one are noted first, and looked at again at the end
        run = self.connection.execute
        with as_index_error(self.path):
            run("CREATE TEMP TABLE IF NOT EXISTS touched (document INTEGER PRIMARY KEY)")
            run("DELETE FROM touched")
            run(
                "INSERT OR IGNORE INTO touched SELECT document FROM origins WHERE file IN"
                " (SELECT id FROM files WHERE source = ? AND path BETWEEN ? AND ?)",
                place,
            )
            run(
                "DELETE FROM origins WHERE file IN (SELECT id FROM files WHERE source = ? AND path BETWEEN ? AND ?)",
                place,
            )
            run("DELETE FROM files WHERE source = ? AND path BETWEEN ? AND ?", place)
            run("DELETE FROM seen WHERE source = ? AND path BETWEEN ? AND ?", place)
            if path is None:
                run("DELETE FROM sources WHERE id = ?", place[:1])
                self._sources.clear()
            orphans = run(
                "SELECT document FROM touched WHERE NOT EXISTS"
                " (SELECT 1 FROM origins WHERE origins.document = touched.document)"
            )
            return list(map(itemgetter(0), orphans))

    def sources(self) -> list[str]:
        """Return the sources of the documents, in the order of adding."""
        return self._column("SELECT name FROM sources ORDER BY id")

    def paths(self, source: str) -> list[str]:
        """Return the files of a source that have documents, ascending."""
        return self._column(
            "SELECT DISTINCT path FROM files JOIN sources ON sources.id = source WHERE sources.name = ? ORDER BY path",
            storable(source),
        )

    def languages(self) -> dict[str | None, int]:
        """Return the documents by language, the most frequent first, in a time that does not depend on their number."""
        return dict(sorted(self._counts()[0], key=_frequent_first))

    def licences(self) -> dict[str, int]:
        """Return the files by licence, the most frequent first, in a time that does not depend on their number."""
        return dict(sorted(self._counts()[1], key=_frequent_first))

    def mark_seen(self, source: str, files: Iterable[SeenFile]) -> None:
        """Record files; a later row of the same path replaces an earlier one."""
        number = self._source(source)
        rows = []
        for file in files:
            row = (number, storable(file.path), *astuple(file)[1:])
            rows.append((*row, row_checksum(*row)))
        self._many("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def seen(self, source: str) -> Iterator[SeenFile]:
        """Yield the recorded files of a source, ascending by path.

        Raises:
            CorpusIndexError: a row is not what was written.
        """
        with as_index_error(self.path):
            rows = self.connection.execute(
                "SELECT seen.* FROM seen JOIN sources ON sources.id = source WHERE sources.name = ? ORDER BY path",
                (storable(source),),
            )
            for number, *fields, checksum in rows:
                if checksum != row_checksum(number, *fields):
                    raise self.damaged(f"the record of a file of {source}")
                yield SeenFile(*fields)

    def skipped(self) -> dict[str, int]:
        """Return the number of skipped files, by reason."""
        return dict(
            self._all("SELECT skipped, count(*) FROM seen WHERE skipped IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1")
        )

    def forget_numbers(self) -> None:
        """Read numbers of sources and files from the tables again, because rows of them were removed."""
        self._sources.clear()
        self._files.clear()

    def damaged(self, part: str) -> CorpusIndexError:
        """Return the error for a part that is not what was written."""
        return CorpusIndexError(
            f"{self.path}: damaged: {part} is not what was written; see `assay index verify --repair`"
        )

    def _counts(self) -> tuple[list[tuple[str | None, int]], list[tuple[str, int]]]:
        """Return the documents by language and the files by licence, in a fixed order."""
        languages = self._all("SELECT language, documents FROM languages WHERE documents > 0 ORDER BY 1")
        return languages, self._all("SELECT licence, files FROM licences WHERE files > 0 ORDER BY 1")

    def _all(self, query: str, *parameters: object) -> list[Any]:
        with as_index_error(self.path):
            return self.connection.execute(query, parameters).fetchall()

    def _column(self, query: str, *parameters: object) -> list[Any]:
        """Return the first field of each row."""
        return list(map(itemgetter(0), self._all(query, *parameters)))

    def _many(self, statement: str, rows: Iterable[Sequence[object]]) -> int:
        with as_index_error(self.path):
            return self.connection.executemany(statement, rows).rowcount

    def _row(self, query: str) -> Any:  # noqa: ANN401  the query determines the types
        for row in self._all(query):
            return row
        raise self.damaged("its state")

    def _source(self, name: str) -> int:
        if name not in self._sources:
            stored = storable(name)
            numbers = self._column("SELECT id FROM sources WHERE name = ?", stored)
            if not numbers:
                numbers = self._column("SELECT coalesce(max(id), 0) + 1 FROM sources")
                row = (*numbers, stored)
                self._all("INSERT INTO sources VALUES (?, ?, ?)", *row, row_checksum(*row))
            self._sources[name] = int(numbers[0])
        return self._sources[name]

    def _file(self, origin: Origin) -> int:
        described = [origin.path, origin.repository, origin.commit, origin.licence, origin.author, origin.url]
        content = bytes.fromhex(origin.content) if origin.content else None
        fields = [*map(storable, described), content, storable(origin.purl), storable(origin.declared)]
        row = (self._source(origin.source), *fields)
        if row not in self._files:
            numbers = self._column(_FILE, *row)
            if not numbers:
                numbers = self._column("SELECT coalesce(max(id), 0) + 1 FROM files")
                checksum = row_checksum(*numbers, storable(origin.source), *fields)
                self._all(_ADD_FILE, *numbers, *row, checksum)
            if len(self._files) > MOST_REMEMBERED:
                self._files.clear()
            self._files[row] = int(numbers[0])
        return self._files[row]


def _document_row(number: int, digest: bytes, document: Document, stored: StoredText) -> tuple[object, ...]:
    described = (number, digest, document.language, document.kind, storable(document.name))
    *reference, text = stored
    return (*described, *reference, row_checksum(*described, *reference, text), text)


def _frequent_first(counted: tuple[str | None, int]) -> tuple[int, str]:
    # None, an unknown language, sorts first among equal counts, as SQLite has it
    return -counted[1], counted[0] or ""
