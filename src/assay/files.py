"""JSON of others, the lock of a folder, and atomic writing: a reader sees the old file or folder, or the whole new one.

That holds whenever the writer is killed.
"""

import json
import os
import re
import secrets
import shutil
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import ENOSPC
from pathlib import Path
from typing import IO, Any

from filelock import FileLock, Timeout
from safetensors import SafetensorError

from assay.errors import AssayError, DataError, plain_reason

CONFIGURATION_VARIABLE = "ASSAY_CONFIG"
"""Names the configuration file; a file that it names is read strictly."""

UNFINISHED = ".unfinished"
_DRAWN = 8
"""Random bytes in the name of a temporary file."""
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""A link is not followed, on systems that can refuse one."""

LOCK = ".lock"
"""Name of the lock of a folder that one process at a time works in."""
MOST_DOTS = 10**6
"""Sum of the squares of the dots in the lines of a TOML text."""


def paths_of(places: Iterable[Path | str] | Path | str) -> list[Path]:
    """Return one path or several as a list: a text alone would otherwise be read as the paths of its letters."""
    if isinstance(places, Path | str):
        return [Path(places)]
    return list(map(Path, places))


def new_file(path: Path, *, mode: int = 0o666) -> Path:
    """Create an empty file beside `path` under a name that nobody can guess, and return its path.

    In a folder that others can write to, a link under a name known beforehand would be written through.

    Args:
        path: file that the new one will replace.
        mode: permissions, less those that the process takes away from every file (umask).

    Raises:
        OSError: it cannot be created.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(_DRAWN)}{UNFINISHED}")
    # O_EXCL fails where anything has that name, a link that leads nowhere too (open(2))
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, mode)
    os.close(descriptor)
    return unfinished


def remove_leftovers(paths: Iterable[Path]) -> None:
    """Remove the temporary files that killed writers of these files left; no other process may write them now."""
    targets = set(paths)
    drawn = re.compile(rf"\.(.+)\.[0-9a-f]{{{2 * _DRAWN}}}{re.escape(UNFINISHED)}", re.DOTALL)
    for folder in {path.parent for path in targets}:
        for entry in folder.glob(f".*{UNFINISHED}"):
            name = drawn.fullmatch(entry.name)
            if name and entry.with_name(name[1]) in targets:
                _remove(entry)


@contextmanager
def atomic_path(path: Path, *, mode: int = 0o666) -> Iterator[Path]:
    """Yield the path of a new empty file beside `path`, and rename it onto `path` when the block ends.

    If the block fails, nothing of it stays.

    Args:
        path: file that is replaced.
        mode: permissions of the new file; see `new_file`.

    Raises:
        DataError: the file cannot be written.
    """
    unfinished = None
    try:
        unfinished = new_file(path, mode=mode)
        yield unfinished
        # atomic on one file system, which is why the new file lies beside the old one and not in a temporary folder
        unfinished.replace(path)
    except OSError as error:
        raise DataError(cannot_write(path, error)) from error
    finally:
        _remove(unfinished)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary binary file that replaces `path` when the block ends.

    Raises:
        DataError: the file cannot be written.
    """
    with atomic_path(path) as unfinished, unfinished.open("w+b") as file:
        yield file


@contextmanager
def durable_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary binary file; when the block ends it is on the disk, under its name, even after a power cut.

    Raises:
        OSError: the file cannot be written.
    """
    unfinished = new_file(path)
    try:
        with unfinished.open("w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # content, name, folder: in another order a power cut could leave the name of an empty file
        unfinished.replace(path)
        sync_folder(path.parent)
    finally:
        _remove(unfinished)


def _remove(unfinished: Path | None) -> None:
    """Remove what a block left that failed; a file that cannot be removed is no second error."""
    if unfinished is not None:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a new empty folder beside `path`, and rename it to `path` when the block ends.

    Raises:
        DataError: the folder exists already, or cannot be written.
    """
    # a name known beforehand, so that what a killed writer left is found and replaced
    unfinished = path.with_name(f".{path.name}{UNFINISHED}")
    check_new_folder(path)
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        yield unfinished
        unfinished.rename(path)
    # weights are written by safetensors, whose error for a full disk is of its own type
    except (OSError, SafetensorError) as error:
        raise DataError(cannot_write(path, error)) from error


@contextmanager
def sole_process(lock: Path, refusal: AssayError) -> Iterator[None]:
    """Hold a lock file while the block runs; the system releases that of a killed process.

    Args:
        lock: the file; it stays, because removing it would let two processes hold two files of one name.
        refusal: raised where another process holds it.

    Raises:
        AssayError: `refusal`, or an error of its type: the file cannot be written.
    """
    # no waiting (timeout 0): the other process may take hours. Not bound to a thread: a service may leave the block in
    # another one
    process = FileLock(lock, timeout=0, thread_local=False)
    try:
        process.acquire()
    except Timeout:
        raise refusal from None
    except OSError as error:
        raise type(refusal)(cannot_write(lock, error)) from error
    try:
        yield
    finally:
        process.release()


def write_text(path: Path, text: str) -> None:
    """Replace a file by this text, in UTF-8.

    Raises:
        DataError: the file cannot be written.
    """
    with atomic_file(path) as file:
        file.write(text.encode("utf-8"))


def write_json(path: Path, content: object, *, sort_keys: bool = False) -> None:
    """Replace a file by a JSON value, indented, with a line break at its end.

    Raises:
        DataError: the file cannot be written.
        ValueError: the value contains NaN or an infinity, which JSON does not know.
    """
    write_text(path, json.dumps(content, indent=1, sort_keys=sort_keys, allow_nan=False, ensure_ascii=False) + "\n")


def parse_json(text: str | bytes, pairs: Callable[[list[tuple[str, Any]]], object] | None = None) -> Any:  # noqa: ANN401  whatever JSON can hold
    """Return the value of a JSON text from outside.

    Args:
        text: the JSON.
        pairs: makes the value of an object from its members; None for a dict, in which the last of a name counts.

    Raises:
        ValueError: it is not JSON or not UTF-8, has a number of thousands of digits, or is nested too deeply.
    """
    try:
        return json.loads(text, object_pairs_hook=pairs)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text from outside.

    Raises:
        ValueError: it is not TOML, has a number of thousands of digits, is nested too deeply, or has keys of so many
            parts that its parser would take hours: their number counts squared.
    """
    if sum(line.count(".") ** 2 for line in text.splitlines()) > MOST_DOTS:
        raise ValueError("TOML with thousands of dots in a line")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("TOML that is nested too deeply") from None


def assay_table(path: Path, data: bytes) -> dict[str, Any] | None:
    """Return the table of ours in a TOML file; None in a `pyproject.toml` without one.

    Raises:
        DataError: the bytes are not TOML.
    """
    is_project = path.name == "pyproject.toml"
    try:
        # as a file that is opened for text has them: tomllib takes a lone carriage return for a control character
        content = parse_toml(data.decode("utf-8").replace("\r\n", "\n"))
    except ValueError as error:  # no TOML or no text
        if is_project and CONFIGURATION_VARIABLE not in os.environ:
            # of another project; its own tools report what is wrong with it
            return None
        raise DataError(f"{path} is not a TOML file: {error}") from error
    if not is_project:
        return content
    tools = content.get("tool")
    if not isinstance(tools, dict) or not isinstance(tools.get("assay"), dict):
        return None
    table: dict[str, Any] = tools["assay"]
    return table


def check_target(*paths: Path | None) -> None:
    """Check that files can lie at these paths, before the work whose result they take; None is passed over.

    Raises:
        DataError: a path is a folder or a device, or the folder around it is missing.
    """
    for path in filter(None, paths):
        if path.is_dir():
            raise DataError(f"{path} is a folder, expected the path of a file")
        # a device or pipe would be renamed over
        if path.exists() and not path.is_file():
            raise DataError(f"{path} is not a plain file, expected the path of a file")
        if not path.parent.is_dir():
            raise DataError(f"{path}: the folder {path.parent} does not exist, expected one that does")


def check_target_folder(folder: Path, marks: Collection[str] = (), maker: str = "") -> None:
    """Check, before the work whose result it takes, that a folder can be made or written at this path.

    Args:
        folder: that is written.
        marks: patterns of names, one of which every folder of this kind holds; none for any folder.
        maker: the command that writes such folders.

    Raises:
        DataError: a file or a broken link is in its place, it cannot be written, or it holds other files; hidden files
            do not count.
    """
    # a link that leads nowhere is there for `lexists`, and mkdir would fail on it
    nearest = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        reason = "not a folder that can be written"
        if not nearest.exists():
            reason = "a link to a missing place"
        raise DataError(f"cannot write the folder {folder}: {nearest} is {reason}")
    if not marks or nearest is not folder or any(any(folder.glob(mark)) for mark in marks):
        return
    if any(not entry.name.startswith(".") for entry in folder.iterdir()):
        raise DataError(f"{folder} holds other files; expected a new or empty folder, or one that `{maker}` wrote")


def check_new_folder(folder: Path) -> None:
    """Check, before the work whose result it takes, that a folder can be made at this path.

    Raises:
        DataError: it exists, a broken link is in its place, or the folder around it cannot be written.
    """
    if folder.exists():
        raise DataError(f"{folder} exists already; expected a folder that is not there yet")
    check_target_folder(folder)


def cannot_write(path: Path, error: OSError | SafetensorError) -> str:
    """Return the line for a file that cannot be written; safetensors has the error of the system in its text alone."""
    full = getattr(error, "errno", None) == ENOSPC or f"(os error {ENOSPC})" in str(error)
    reason = plain_reason(error)
    if full:
        reason = "the disk is full"
    return f"{path}: cannot be written: {reason}"


def sync_folder(folder: Path) -> None:
    """Make the names of new files as durable as their content, on systems that can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
