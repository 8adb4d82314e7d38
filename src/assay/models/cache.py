"""The cache of model results: SQLite in WAL mode, one row per text, one transaction per batch."""

import hashlib
import logging
import os
import sqlite3
import sys
import weakref
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Self, TypeVar

import numpy as np

from assay.database import connect, run_script, size_on_disk, transaction
from assay.errors import CacheError, plain_reason
from assay.types import RankedLogProbs, TokenLogProbs, TokenStatistics

FORMAT = 1
"""Version of tables and blobs; a file of another version is refused, never guessed at."""

FILE_NAME = "statistics.sqlite"

LOG = logging.getLogger("assay")

Value = TypeVar("Value")

LOOKUP = 256
"""Texts looked up by one query."""

BLOCK = 4096
"""Texts put in order at a time: a missing text must not hold back an unlimited number of cached texts."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, digest TEXT UNIQUE NOT NULL, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS statistics (
    model INTEGER NOT NULL REFERENCES models (id), text BLOB NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (model, text)
);
"""

_ARRAYS = (
    ("token_ids", "<i4"),
    ("log_probs", "<f4"),
    ("ranks", "<i4"),
    ("entropy", "<f4"),
    ("variance", "<f4"),
    ("tail_mass", "<f4"),
    ("top_log_probs", "<f4"),
)
_BYTES_PER_TOKEN = 4 * (len(_ARRAYS) + 2)
_PREFIXES: tuple[tuple[bytes, type[TokenLogProbs], int], ...] = ((b"L", TokenLogProbs, 2), (b"R", RankedLogProbs, 3))
"""Entries of less than whole statistics: prefix, class, and the number of arrays, the first of `_ARRAYS`.

The prefix makes the length odd; the length of whole statistics is even, so the two cannot be confused.
"""


@dataclass(frozen=True, slots=True)
class CachedModel:
    """Entries of one model in the cache."""

    name: str
    digest: str
    entries: int


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Content of the cache. `bytes` counts the files on disk."""

    path: Path
    entries: int
    bytes: int
    models: tuple[CachedModel, ...]


def default_cache_path() -> Path:
    """Return the path of the cache that is used by default.

    The folder is $ASSAY_CACHE, else $XDG_CACHE_HOME/assay, else the platform's own: ~/Library/Caches/assay on
    macOS, %LOCALAPPDATA%/assay on Windows, ~/.cache/assay elsewhere.
    """
    if chosen := os.environ.get("ASSAY_CACHE"):
        return Path(chosen) / FILE_NAME
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "assay" / FILE_NAME
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "assay" / FILE_NAME
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home()))) / "assay" / FILE_NAME
    return Path.home() / ".cache" / "assay" / FILE_NAME


def text_digest(text: str) -> bytes:
    """Return the SHA-256 of a text; lone surrogates, which broken JSON escapes leave behind, are part of it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class StatisticsCache:
    """A file of token statistics, keyed by model digest and text digest.

    Several processes may use one file at once; an object is for one thread at a time. When `write_rows` returns, its
    entries are on disk: killing the process afterwards loses nothing. The file is closed by `close`, at the end of a
    `with`, or with the last reference.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        """Open or create the file at `path` (default: `default_cache_path()`).

        Raises:
            CacheError: the file cannot be created or read, or is not a statistics cache of this format.
        """
        self.path = Path(path or default_cache_path())
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = connect(self.path)
        except (OSError, sqlite3.Error) as error:
            raise self._problem("cannot be opened", error) from error
        weakref.finalize(self, self._connection.close)
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._connection.close()
            raise self._problem("is not a usable statistics cache", error) from error
        except CacheError:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._connection.close()

    def rows(self, model: str, keys: Iterable[bytes], read: Callable[[bytes], Value]) -> dict[bytes, Value]:
        """Return the values of these keys under the model of that digest; `read` raises ValueError for a damaged entry.

        Raises:
            CacheError: the file cannot be read.
        """
        values: dict[bytes, Value] = {}
        # a damaged entry is as good as a missing one: it is counted, computed again and overwritten
        damaged = 0
        # SQLite limits the parameters of one query, in old versions to 999
        pending = list(keys)
        try:
            for start in range(0, len(pending), LOOKUP):
                block = pending[start : start + LOOKUP]
                marks = ",".join("?" * len(block))
                rows = self._connection.execute(
                    "SELECT text, value FROM statistics JOIN models ON model = id WHERE digest = ?"  # noqa: S608  marks
                    f" AND text IN ({marks})",
                    (model, *block),
                )
                for key, value in rows:
                    try:
                        values[key] = read(value)
                    except ValueError:
                        damaged += 1
        except sqlite3.Error as error:
            raise self._problem("cannot be read", error) from error
        if damaged:
            LOG.warning("cache %s: %d damaged entries are computed again", self.path, damaged)
        return values

    def write_rows(self, model: str, name: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Write entries of a model by key, in one transaction.

        Raises:
            CacheError: nothing of this call was written.
        """
        try:
            with transaction(self._connection):
                # another process may have added the model since: the number is read back, never assumed
                self._connection.execute("INSERT OR IGNORE INTO models (digest, name) VALUES (?, ?)", (model, name))
                (number,) = self._connection.execute("SELECT id FROM models WHERE digest = ?", (model,)).fetchone()
                self._connection.executemany(
                    "INSERT OR REPLACE INTO statistics (model, text, value) VALUES (?, ?, ?)",
                    [(number, key, value) for key, value in rows],
                )
        except sqlite3.Error as error:
            raise self._problem("cannot be written", error) from error

    def info(self) -> CacheInfo:
        """Return the size of the cache, and its entries by model.

        Raises:
            CacheError: the file cannot be read.
        """
        try:
            rows = self._connection.execute(
                "SELECT name, digest, COUNT(text) FROM models LEFT JOIN statistics ON model = id"
                " GROUP BY id ORDER BY id"
            ).fetchall()
        except sqlite3.Error as error:
            raise self._problem("cannot be read", error) from error
        models = tuple(CachedModel(*row) for row in rows)
        return CacheInfo(
            path=self.path,
            entries=sum(map(attrgetter("entries"), models)),
            bytes=size_on_disk(self.path),
            models=models,
        )

    def clear(self, model: str | None = None) -> int:
        """Delete everything, or the entries of one model (its name, or six or more first digits of its digest).

        The space is given back.

        Returns:
            The number of deleted entries.

        Raises:
            CacheError: the file cannot be written.
        """
        chosen = (
            "SELECT id FROM models WHERE :model IS NULL OR name = :model"
            " OR (length(:model) >= 6 AND substr(digest, 1, length(:model)) = :model)"
        )
        try:
            with transaction(self._connection):
                dropped = self._connection.execute(
                    f"DELETE FROM statistics WHERE model IN ({chosen})",  # noqa: S608  a constant
                    {"model": model},
                ).rowcount
                self._connection.execute(f"DELETE FROM models WHERE id IN ({chosen})", {"model": model})  # noqa: S608  a constant
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise self._problem("cannot be written", error) from error
        return dropped

    def _prepare(self) -> None:
        run_script(self._connection, "PRAGMA journal_mode = WAL")
        # Transactions survive the death of the process; a power cut may take the last ones, never the file.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, FORMAT):
            raise CacheError(f"cache {self.path} has format {version}: expected {FORMAT}; delete it or name another")
        if version == 0:
            (tables,) = self._connection.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'models'").fetchone()
            (foreign,) = self._connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            if foreign and not tables:
                raise CacheError(f"cache {self.path} is another program's database: name another file")
            run_script(self._connection, f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")

    def _problem(self, problem: str, error: Exception) -> CacheError:
        return CacheError(f"cache {self.path} {problem}: {plain_reason(error)}")


class ModelStore:
    """Entries of one model. The first failure (disk full, file damaged) is reported, and the cache is no longer used.

    Attributes:
        cache: the file.
        digest: of the model; entries are kept under it.
        name: what the user calls the model.
    """

    def __init__(
        self, cache: StatisticsCache, digest: str, name: str, *, on_problem: Callable[[str], None] = LOG.warning
    ) -> None:
        self.cache = cache
        self.digest = digest
        self.name = name
        self._on_problem = on_problem
        self._usable = True

    def lookup(self, keys: Iterable[bytes], unpack: Callable[[bytes], Value]) -> dict[bytes, Value]:
        """Return the entries held under these keys; `unpack` raises ValueError for a damaged one."""
        if not self._usable:
            return {}
        try:
            return self.cache.rows(self.digest, keys, unpack)
        except CacheError as error:
            self._give_up(error)
            return {}

    def write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Keep entries by key."""
        if not self._usable or not rows:
            return
        try:
            self.cache.write_rows(self.digest, self.name, rows)
        except CacheError as error:
            self._give_up(error)

    def _give_up(self, error: CacheError) -> None:
        self._usable = False
        self._on_problem(f"{error}; going on without the cache")


def sealed(body: bytes) -> bytes:
    """Return a value as it is stored: a CRC-32 of four bytes before it."""
    return zlib.crc32(body).to_bytes(4, "little") + body


def unsealed(blob: bytes) -> bytes:
    """Return the value of a stored entry.

    Raises:
        ValueError: it is not as it was written.
    """
    if zlib.crc32(blob[4:]).to_bytes(4, "little") != blob[:4]:
        raise ValueError(f"an entry of {len(blob)} bytes does not agree with its checksum")
    return blob[4:]


def pack_statistics(statistics: TokenLogProbs) -> bytes:
    """Return a CRC-32 of four bytes, then the arrays one after another, little-endian.

    Whole statistics take 36 bytes a token, log-probabilities 8 (12 with ranks) and one byte that says so.
    """
    prefix, count = b"", len(_ARRAYS)
    if not isinstance(statistics, TokenStatistics):
        # the arrays of each class are the first of the next one, so a part is a prefix of the same layout
        prefix, _, count = _PREFIXES[isinstance(statistics, RankedLogProbs)]
    columns = [np.ascontiguousarray(getattr(statistics, name), dtype).tobytes() for name, dtype in _ARRAYS[:count]]
    if isinstance(statistics, TokenStatistics):
        columns.append(np.ascontiguousarray(statistics.offsets, "<i4").tobytes())
    return sealed(b"".join([prefix, *columns]))


def unpack_statistics(blob: bytes) -> TokenLogProbs:
    """Return the statistics that `pack_statistics` packed.

    Raises:
        ValueError: the blob is not as it was written.
    """
    body = unsealed(blob)
    # whole statistics have an even length, whatever their first byte is
    part = next(((kind, n) for prefix, kind, n in _PREFIXES if len(body) % 2 and body[:1] == prefix), None)
    names, first, width = (_ARRAYS[: part[1]], 1, 4 * part[1]) if part else (_ARRAYS, 0, _BYTES_PER_TOKEN)
    count, rest = divmod(len(body) - first, width)
    if rest:
        raise ValueError(f"an entry of {len(blob)} bytes does not hold whole tokens")
    # astype without a copy gives the native byte order on every machine; on little-endian ones it costs nothing.
    arrays = {
        name: np.frombuffer(body, dtype, count=count, offset=first + 4 * count * position).astype(dtype[1:], copy=False)
        for position, (name, dtype) in enumerate(names)
    }
    if part:
        return part[0](**arrays)
    offsets = np.frombuffer(body, "<i4", count=2 * count, offset=4 * count * len(_ARRAYS)).reshape(count, 2)
    return TokenStatistics(**arrays, offsets=offsets.astype("i4", copy=False))
