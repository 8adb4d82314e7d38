"""The catalogue: documents, their origins, and the files that were read, in one SQLite file in WAL mode.

documents (id, digest, language, kind, name, text)      text is deflated UTF-8; ids ascend and are never used twice
files (id, source, path, repository, …)                 one row for each different description of a file
origins (document, file, first_line)                    many to many
seen (source, path, size, modified, digest, skipped)    files read or skipped, for the next run
state (generation)                                      number of the postings and vectors that belong to this state
languages (language, documents)                         number of documents, kept by triggers; an older catalogue gets
                                                        this table when it is opened for writing
"""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from assay.database import connect
from assay.errors import CorpusIndexError
from assay.provenance.document import Document, Origin
from assay.provenance.stored import SeenFile, StoredDocument, as_index_error, storable

CATALOGUE_FORMAT = 1
CACHE_KIB = 64 * 1024
DEFLATE_LEVEL = 1
LAST_PATH = "\U0010ffff"
"""No path sorts after it."""

_SCHEMA = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, language TEXT, kind TEXT NOT NULL, name TEXT,
    text BLOB NOT NULL
);
CREATE TABLE sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE files (
    id INTEGER PRIMARY KEY, source INTEGER NOT NULL REFERENCES sources (id), path TEXT NOT NULL,
    repository TEXT, "commit" TEXT, licence TEXT NOT NULL, author TEXT, url TEXT
);
CREATE INDEX files_place ON files (source, path);
CREATE TABLE origins (
    document INTEGER NOT NULL REFERENCES documents (id), file INTEGER NOT NULL REFERENCES files (id),
    first_line INTEGER NOT NULL, PRIMARY KEY (document, file, first_line)
) WITHOUT ROWID;
CREATE INDEX origins_file ON origins (file);
CREATE TABLE seen (
    source INTEGER NOT NULL REFERENCES sources (id), path TEXT NOT NULL, size INTEGER, modified INTEGER, digest TEXT,
    skipped TEXT, PRIMARY KEY (source, path)
) WITHOUT ROWID;
CREATE TABLE state (generation INTEGER NOT NULL);
INSERT INTO state VALUES (0);
"""

# triggers, not Python: the counts stay correct even if an older version of assay writes
_LANGUAGES = """
CREATE TABLE languages (language TEXT, documents INTEGER NOT NULL);
INSERT INTO languages SELECT language, count(*) FROM documents GROUP BY language;
CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
    INSERT INTO languages
        SELECT new.language, 0 WHERE NOT EXISTS (SELECT 1 FROM languages WHERE language IS new.language);
    UPDATE languages SET documents = documents + 1 WHERE language IS new.language;
END;
CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
    UPDATE languages SET documents = documents - 1 WHERE language IS old.language;
END;
"""
_COUNTED = "SELECT language, documents FROM languages WHERE documents > 0 ORDER BY 2 DESC, 1"
_COUNTING = "SELECT language, count(*) FROM documents GROUP BY language ORDER BY 2 DESC, 1"

_ORIGINS = """
SELECT origins.document, sources.name, files.path, files.repository, files."commit", files.licence, files.author,
    files.url, origins.first_line
FROM origins JOIN files ON files.id = origins.file JOIN sources ON sources.id = files.source
WHERE origins.document IN (SELECT value FROM json_each(?))
ORDER BY origins.document, origins.file, origins.first_line
"""

_FILE = """
SELECT id FROM files WHERE source = ? AND path = ? AND repository IS ? AND "commit" IS ? AND licence = ?
    AND author IS ? AND url IS ?
"""

_NEW_FILE = """
INSERT INTO files (source, path, repository, "commit", licence, author, url) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id
"""

MOST_REMEMBERED = 10_000
"""Files whose numbers are kept in memory; the functions of a file come one after the other."""


class Catalogue:
    """One connection to the file. A writer's changes are one transaction, from `begin` to `commit`."""

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self._sources: dict[str, int] = {}
        self._files: dict[tuple[object, ...], int] = {}
        with as_index_error(path):
            self._connection = _connected(path, writable=writable)
            (version,) = self._row("PRAGMA user_version")
        if version != CATALOGUE_FORMAT:
            self.close()
            raise CorpusIndexError(
                f"{path}: catalogue of format {version}, written by another version of assay; "
                f"expected format {CATALOGUE_FORMAT}"
            )
        with as_index_error(path):
            if writable and not self._counts_languages:
                self._connection.executescript(f"BEGIN IMMEDIATE; {_LANGUAGES} COMMIT;")

    @classmethod
    def create(cls, path: Path) -> None:
        """Create an empty catalogue in a new file."""
        connection = connect(path)
        try:
            with as_index_error(path):
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(
                    f"BEGIN; {_SCHEMA} {_LANGUAGES} PRAGMA user_version = {CATALOGUE_FORMAT}; COMMIT;"
                )
        finally:
            connection.close()

    def close(self) -> None:
        """Close the file; uncommitted changes are lost."""
        self._connection.close()

    def begin(self, *, write: bool) -> None:
        """Begin a transaction: until its end all reads see one state, and the changes of this connection."""
        with as_index_error(self.path):
            self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def commit(self, generation: int) -> None:
        """Make everything since `begin` durable, together with the number of the postings that belong to it."""
        # this transaction decides: postings and vectors of a generation without it are ignored, and removed later
        with as_index_error(self.path):
            self._connection.execute("UPDATE state SET generation = ?", (generation,))
            self._connection.execute("COMMIT")

    def roll_back(self) -> None:
        """Undo everything since `begin`."""
        self._sources.clear()
        self._files.clear()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    @property
    def in_transaction(self) -> bool:
        """True between `begin` and the end of the transaction."""
        return self._connection.in_transaction

    @property
    def generation(self) -> int:
        """Number of the postings that belong to the present state."""
        (generation,) = self._row("SELECT generation FROM state")
        return int(generation)

    @property
    def size(self) -> int:
        """Bytes of the file and of its write-ahead log."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def count(self) -> tuple[int, int, int]:
        """Return the numbers of documents, origins and files seen; rows of whole sources are excluded."""
        documents, origins, seen = self._row(
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM origins), "
            "(SELECT count(*) FROM seen WHERE path != '')"
        )
        return documents, origins, seen

    def number_of(self, digest: bytes) -> int | None:
        """Return the number of the document with this digest, or None."""
        row = self._connection.execute("SELECT id FROM documents WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else int(row[0])

    def ids(self) -> list[int]:
        """Return the numbers of all documents, ascending."""
        with as_index_error(self.path):
            return [i for (i,) in self._connection.execute("SELECT id FROM documents ORDER BY id")]

    def next_id(self) -> int:
        """Return the number of the next document."""
        (highest,) = self._row("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'documents'")
        return int(highest) + 1

    def insert(self, documents: Iterable[tuple[int, bytes, Document]]) -> None:
        """Add documents with their numbers and digests, without origins."""
        rows = (
            (number, digest, document.language, document.kind, storable(document.name), _deflated(document.text))
            for number, digest, document in documents
        )
        with as_index_error(self.path):
            self._connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", rows)

    def add_origins(self, origins: Iterable[tuple[int, Origin]]) -> int:
        """Add origins to documents, and return how many were new."""
        with as_index_error(self.path):
            rows = [(document, self._file(origin), origin.first_line) for document, origin in origins]
            return self._connection.executemany("INSERT OR IGNORE INTO origins VALUES (?, ?, ?)", rows).rowcount

    def documents(self, ids: Sequence[int]) -> Iterator[StoredDocument]:
        """Yield the documents of these numbers, ascending by number; absent ones are left out."""
        # one JSON array instead of one parameter for each number: SQLite limits their count
        numbers = json.dumps(list(ids))
        with as_index_error(self.path):
            origins: dict[int, list[Origin]] = {}
            for document, *fields in self._connection.execute(_ORIGINS, (numbers,)):
                origins.setdefault(document, []).append(Origin(*fields))
            rows = self._connection.execute(
                "SELECT id, language, kind, name, text FROM documents"
                " WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
                (numbers,),
            )
            for number, language, kind, name, text in rows:
                yield StoredDocument(_inflated(text), language, kind, name, tuple(origins.get(number, ())), number)

    def remove_documents(self, ids: Sequence[int]) -> int:
        """Remove documents with their origins, and return how many there were."""
        rows = [(number,) for number in ids]
        with as_index_error(self.path):
            self._connection.executemany("DELETE FROM origins WHERE document = ?", rows)
            return self._connection.executemany("DELETE FROM documents WHERE id = ?", rows).rowcount

    def remove_origins(self, source: str, path: str | None) -> list[int]:
        """Remove a file, or a whole source, with its rows, and return the documents that have no other origin."""
        first, last = ("", LAST_PATH) if path is None else (storable(path), storable(path))
        place = (self._source(source), first, last)
        self._files.clear()
        run = self._connection.execute
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
            return [number for (number,) in orphans]

    def sources(self) -> list[str]:
        """Return the sources of the documents, in the order of adding."""
        with as_index_error(self.path):
            return [name for (name,) in self._connection.execute("SELECT name FROM sources ORDER BY id")]

    def paths(self, source: str) -> list[str]:
        """Return the files of a source that have documents, ascending."""
        with as_index_error(self.path):
            rows = self._connection.execute(
                "SELECT DISTINCT path FROM files JOIN sources ON sources.id = source WHERE sources.name = ?"
                " ORDER BY path",
                (storable(source),),
            )
            return [path for (path,) in rows]

    def languages(self) -> dict[str | None, int]:
        """Return the documents by language, the most frequent first, in a time that does not depend on their number."""
        with as_index_error(self.path):
            query = _COUNTED if self._counts_languages else _COUNTING
            return dict(self._connection.execute(query).fetchall())

    def licences(self) -> dict[str, int]:
        """Return the files by licence, the most frequent first."""
        query = "SELECT licence, count(*) FROM files GROUP BY licence ORDER BY 2 DESC, 1"
        with as_index_error(self.path):
            return dict(self._connection.execute(query).fetchall())

    def mark_seen(self, source: str, files: Iterable[SeenFile]) -> None:
        """Record files; a later row of the same path replaces an earlier one."""
        number = self._source(source)
        rows = ((number, storable(file.path), *astuple(file)[1:]) for file in files)
        with as_index_error(self.path):
            self._connection.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?, ?)", rows)

    def seen(self, source: str) -> Iterator[SeenFile]:
        """Yield the recorded files of a source, ascending by path."""
        with as_index_error(self.path):
            rows = self._connection.execute(
                "SELECT path, size, modified, seen.digest, skipped FROM seen JOIN sources ON sources.id = source"
                " WHERE sources.name = ? ORDER BY path",
                (storable(source),),
            )
            yield from (SeenFile(*row) for row in rows)

    def skipped(self) -> dict[str, int]:
        """Return the number of skipped files, by reason."""
        with as_index_error(self.path):
            rows = self._connection.execute(
                "SELECT skipped, count(*) FROM seen WHERE skipped IS NOT NULL GROUP BY skipped ORDER BY 2 DESC, 1"
            )
            return dict(rows.fetchall())

    @property
    def _counts_languages(self) -> bool:
        return self._row("SELECT 1 FROM sqlite_schema WHERE name = 'languages'") is not None

    def _row(self, query: str) -> Any:  # noqa: ANN401  the query determines the types
        with as_index_error(self.path):
            return self._connection.execute(query).fetchone()

    def _source(self, name: str) -> int:
        if name not in self._sources:
            with as_index_error(self.path):
                self._connection.execute("INSERT OR IGNORE INTO sources (name) VALUES (?)", (storable(name),))
                row = self._connection.execute("SELECT id FROM sources WHERE name = ?", (storable(name),)).fetchone()
            self._sources[name] = int(row[0])
        return self._sources[name]

    def _file(self, origin: Origin) -> int:
        described = [origin.path, origin.repository, origin.commit, origin.licence, origin.author, origin.url]
        row = (self._source(origin.source), *map(storable, described))
        if row not in self._files:
            number = self._connection.execute(_FILE, row).fetchone()
            if number is None:
                number = self._connection.execute(_NEW_FILE, row).fetchone()
            if len(self._files) > MOST_REMEMBERED:
                self._files.clear()
            self._files[row] = int(number[0])
        return self._files[row]


def _connected(path: Path, *, writable: bool) -> sqlite3.Connection:
    if not path.is_file():
        raise CorpusIndexError(f"{path}: the catalogue of the index is missing")
    connection = connect(path, "rw" if writable else "ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        if writable or path.with_name(path.name + "-wal").exists():
            raise
        # WAL mode needs a writable folder; on read-only media nobody changes the file, so no lock is needed
        connection = connect(path, "ro", immutable=True)
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    if writable:
        connection.execute("PRAGMA synchronous = FULL")
    return connection


def _deflated(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), DEFLATE_LEVEL)


def _inflated(data: bytes) -> str:
    return zlib.decompress(data).decode("utf-8", "surrogatepass")
