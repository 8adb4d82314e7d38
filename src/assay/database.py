"""One set-up of SQLite for every database file: write-ahead log, explicit transactions, patience with other writers."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.retrying import Busy, Patience, with_retries

BUSY_SECONDS = 60.0
"""How long a writer waits for another process's transaction: longer than any batch takes to write."""

_CREATION = Patience(attempts=10_000, seconds=BUSY_SECONDS, first_pause=0.02, longest_pause=0.02)


def connect(path: Path, mode: str = "rwc", *, immutable: bool = False) -> sqlite3.Connection:
    """Open a database file; transactions are begun explicitly.

    The connection may be used, and closed by the garbage collector, in any thread; the caller keeps threads apart.

    Args:
        path: the file.
        mode: "ro", "rw", or "rwc" to create the file if it is missing.
        immutable: nobody else changes the file, as on media that cannot be written.

    Raises:
        sqlite3.Error: the file cannot be opened.
    """
    # isolation_level None: otherwise the module of Python begins and commits transactions of its own
    address = f"{path.absolute().as_uri()}?mode={mode}{'&immutable=1' if immutable else ''}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what the block writes, or nothing of it if the block fails.

    Raises:
        sqlite3.Error: the file cannot be written.
    """
    # IMMEDIATE takes the lock for writing at once: one that is asked for after reading cannot wait for it (SQLite,
    # "Transactions", SQLITE_BUSY_SNAPSHOT)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def run_script(connection: sqlite3.Connection, script: str) -> None:
    """Run a script, again while another process holds the file.

    Two processes that create one file meet in ways for which SQLite's own waiting does not hold.

    Raises:
        sqlite3.Error: the script fails, or the file stays held.
    """

    def attempt() -> None:
        try:
            connection.executescript(script)
        except sqlite3.OperationalError as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            # the lowest byte is the error, the others say more of its cause (SQLite, "Extended Result Codes")
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise Busy(str(error)) from error
            raise

    try:
        with_retries(attempt, _CREATION)
    except Busy as busy:
        raise sqlite3.OperationalError(busy.reason) from busy


def size_on_disk(path: Path) -> int:
    """Return the bytes of a database file, its log included."""
    # the newest pages lie in the log until a checkpoint moves them
    files = (path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm"))
    return sum(file.stat().st_size for file in files if file.exists())
