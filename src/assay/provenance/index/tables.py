"""Tables of the catalogue, and the checksums of their rows.

documents (id, digest, language, kind, name, size, base, start, stop, checksum, text)
                                                        text as in `stored_texts`, of `size` bytes;
                                                        ids are never used twice
places (document, checksum)                             XOR of the checksums of all rows that `origins` has of it
sources (id, name, checksum)                            corpora
files (id, source, path, repository, …, checksum)       one row for each different description of a file
origins (document, file, first_line)                    many to many
seen (source, path, size, …, checksum)                  files read or skipped, for the next run
languages (language, documents)                         number of documents
licences (licence, files)                               number of files
state (generation, description, checksum)               number of the postings and vectors that belong to this state,
                                                        the content of index.json; the checksum includes both counts

Triggers keep `places`, `languages` and `licences`: their rows change with every row that is added or removed, whatever
statement does it. XOR does not depend on the order, so a document's checksum changes in constant time, and a row that
is lost, added or altered changes it.
"""

import sqlite3
from hashlib import blake2b
from pathlib import Path

from assay.database import connect
from assay.errors import CorpusIndexError

CATALOGUE_FORMAT = 6
BUILD_AGAIN = "build it again in a new folder: assay index build CORPUS… --index FOLDER"
"""What to do about an index of another version; a build into its own folder would only continue it."""
CACHE_KIB = 64 * 1024
LARGEST_LOG = 1 << 26
"""Bytes to which the write-ahead log is cut after a commit."""

DIGEST_BYTES = 16
"""The leading bytes of SHA-256 that tell texts apart."""

CHECKSUM_BYTES = 8
"""An accident leaves a checksum unchanged once in 2^64. There is no key, so a person can compute it again."""

# SQLite has no XOR: the triggers take a | b less a & b
SCHEMA = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, language TEXT, kind TEXT NOT NULL, name TEXT,
    size INTEGER NOT NULL, base INTEGER, start INTEGER, stop INTEGER, checksum BLOB NOT NULL, text BLOB NOT NULL
);
CREATE INDEX documents_base ON documents (base) WHERE base IS NOT NULL;
CREATE TABLE places (document INTEGER PRIMARY KEY, checksum INTEGER NOT NULL);
CREATE TABLE sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum BLOB NOT NULL);
CREATE TABLE files (
    id INTEGER PRIMARY KEY, source INTEGER NOT NULL REFERENCES sources (id), path TEXT NOT NULL,
    repository TEXT, "commit" TEXT, licence TEXT NOT NULL, author TEXT, url TEXT, content BLOB,
    purl TEXT, declared TEXT, checksum BLOB NOT NULL
);
CREATE INDEX files_place ON files (source, path);
CREATE TABLE origins (
    document INTEGER NOT NULL REFERENCES documents (id), file INTEGER NOT NULL REFERENCES files (id),
    first_line INTEGER NOT NULL, PRIMARY KEY (document, file, first_line)
) WITHOUT ROWID;
CREATE INDEX origins_file ON origins (file);
CREATE TABLE seen (
    source INTEGER NOT NULL REFERENCES sources (id), path TEXT NOT NULL, size INTEGER, modified INTEGER, digest TEXT,
    skipped TEXT, checksum BLOB NOT NULL, PRIMARY KEY (source, path)
) WITHOUT ROWID;
CREATE TABLE languages (language TEXT, documents INTEGER NOT NULL);
CREATE TABLE licences (licence TEXT PRIMARY KEY, files INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state (generation INTEGER NOT NULL, description TEXT NOT NULL, checksum BLOB NOT NULL);
CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
    INSERT INTO languages
        SELECT new.language, 0 WHERE NOT EXISTS (SELECT 1 FROM languages WHERE language IS new.language);
    UPDATE languages SET documents = documents + 1 WHERE language IS new.language;
END;
CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
    UPDATE languages SET documents = documents - 1 WHERE language IS old.language;
    DELETE FROM places WHERE document = old.id;
END;
CREATE TRIGGER file_added AFTER INSERT ON files BEGIN
    INSERT INTO licences VALUES (new.licence, 1) ON CONFLICT (licence) DO UPDATE SET files = files + 1;
END;
CREATE TRIGGER file_removed AFTER DELETE ON files BEGIN
    UPDATE licences SET files = files - 1 WHERE licence = old.licence;
END;
CREATE TRIGGER origin_added AFTER INSERT ON origins BEGIN
    INSERT INTO places VALUES (new.document, origin_checksum(new.document, new.file, new.first_line))
        ON CONFLICT (document) DO UPDATE SET
            checksum = (checksum | excluded.checksum) - (checksum & excluded.checksum);
END;
CREATE TRIGGER origin_removed AFTER DELETE ON origins BEGIN
    UPDATE places SET checksum =
        (checksum | origin_checksum(old.document, old.file, old.first_line))
        - (checksum & origin_checksum(old.document, old.file, old.first_line))
        WHERE document = old.document;
END;
"""

RECOUNT = (
    "DELETE FROM state",
    "DELETE FROM languages",
    "INSERT INTO languages SELECT language, count(*) FROM documents GROUP BY language",
    "DELETE FROM licences",
    "INSERT INTO licences SELECT licence, count(*) FROM files GROUP BY licence",
)
"""Statements that count documents and files again; a new state must follow."""


def row_checksum(*values: object) -> bytes:
    """Return the checksum of a row: BLAKE2b of its values and their types; the last one may be long and binary."""
    *short, last = values
    # repr distinguishes types, so a number that became the text of the same digits is noticed
    checksum = blake2b(repr(short).encode("utf-8", "surrogatepass"), digest_size=CHECKSUM_BYTES)
    checksum.update(last if isinstance(last, bytes) else repr(last).encode("utf-8", "surrogatepass"))
    return checksum.digest()


def origin_checksum(document: int, file: int, first_line: int) -> int:
    """Return the checksum of a row of `origins`, a signed number of 64 bits, as SQLite has them."""
    row = blake2b(b"%d %d %d" % (document, file, first_line), digest_size=CHECKSUM_BYTES)
    return int.from_bytes(row.digest(), "little", signed=True)


def connect_catalogue(path: Path, *, writable: bool) -> sqlite3.Connection:
    """Open the file of a catalogue.

    Raises:
        CorpusIndexError: it is missing.
        sqlite3.Error: it cannot be opened.
    """
    if not path.is_file():
        raise CorpusIndexError(f"{path}: the catalogue of the index is missing")
    connection = connect(path, "rw" if writable else "ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.DatabaseError as error:
        connection.close()
        if not isinstance(error, sqlite3.OperationalError) or writable or path.with_name(path.name + "-wal").exists():
            raise
        # WAL mode needs a writable folder; on read-only media nobody changes the file, so no lock is needed
        connection = connect(path, "ro", immutable=True)
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    if writable:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {LARGEST_LOG}")
        connection.create_function("origin_checksum", 3, origin_checksum, deterministic=True)
    return connection
