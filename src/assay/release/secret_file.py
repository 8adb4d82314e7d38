"""The secret of a release as a file: one JSON object with mode 600, written whole or not at all."""

import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.codec import decode, encode
from assay.errors import DataError, plain_reason
from assay.files import atomic_path, check_target, parse_json, sole_process
from assay.guard import LARGEST_JSON
from assay.release.lot import salted_digest
from assay.release.secret_checks import check_history, check_tasks, in_unicode, only_once
from assay.release.secret_values import (
    Committed,
    LogEntry,
    LoggedTest,
    Publication,
    Secret,
    SpentCopies,
    canonical_json,
)

FORMAT = "assay release secret"
VERSION = 2
WITHOUT_SEAL = 1
"""Version of the files of 0.2.0, whose log chains the tests alone."""
MODE = 0o600
PARTS = {
    "committed": Committed,
    "versions": tuple[Publication, ...],
    "tests": tuple[LoggedTest, ...],
    "spent": tuple[SpentCopies, ...],
}


def write_secret(path: Path, secret: Secret) -> None:
    """Replace the file of a secret; nobody else can read it at any time, and a reader never sees half of it.

    Raises:
        DataError: the file cannot be written.
    """
    content = {
        "format": FORMAT,
        "version": VERSION,
        "commitment": secret.commitment,
        "seal": secret.seal,
        **{name: encode(getattr(secret, name)) for name in PARTS},
    }
    write_private(path, json.dumps(content, allow_nan=False) + "\n")


def write_private(path: Path, text: str) -> None:
    """Replace a file that nobody else can read at any time; a reader never sees half of it.

    Raises:
        DataError: the file cannot be written.
    """
    # a link stays one: a copy in its place would leave the file behind it with an old log
    # created with its mode: a file that is opened first and protected later can be read in between
    with atomic_path(path.resolve(), mode=MODE) as unfinished, unfinished.open("wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def read_secret(path: Path) -> Secret:
    """Return the secret of a file.

    Raises:
        DataError: it cannot be read, others can read it, it has a second name, it is no secret of a release, or it was
            changed. No line holds anything of its content.
    """
    content = _content_of(path)
    try:
        parts: dict[str, Any] = {name: decode(kind, content[name]) for name, kind in PARTS.items()}
        secret = Secret(**parts, seal=decode(str, content.get("seal", "")), path=path)
        commitment = secret.commitment
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        # the reason of the decoder may quote the content, and the traceback would too
        raise damaged(path) from None
    if content.get("commitment") != commitment:
        raise DataError(f"{path}: the committed part was changed after the commitment, expected it as it was written")
    try:
        check_tasks(secret)
        check_history(secret)
    except (LookupError, TypeError, ValueError, RecursionError):
        raise damaged(path) from None
    return _renewed(secret) if content["version"] == WITHOUT_SEAL else secret


def damaged(path: Path) -> DataError:
    """Return the error for a secret that no command of ours wrote, whatever is wrong with it."""
    return DataError(f"{path}: the secret is damaged, expected what `assay release` wrote")


def _check_private(path: Path) -> None:
    """Check that a secret is read by its owner alone, under one name.

    Raises:
        DataError: others can read it, or it has a second name.
    """
    status = path.stat()
    mode = stat.S_IMODE(status.st_mode)
    if os.name == "posix" and mode & 0o077:
        raise DataError(f"{path} can be read by others (mode {mode:o}); expected mode 600: chmod 600")
    if status.st_nlink > 1:
        # the next entry of the log would replace the file under this name, and leave the old log under the other
        raise DataError(
            f"{path} is one file under {status.st_nlink} names (hard links), whose logs would part; expected one name: "
            "remove the others, or link with ln -s"
        )


def _content_of(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file that says that it is a secret.

    Raises:
        DataError: see `read_secret`; it is larger than a reader of JSON takes.
    """
    check_name(path)
    try:
        status = path.stat()
        # before it is read: a pipe may block, and a device may never end
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path} is not a plain file, expected the secret file of a release")
        if status.st_size > LARGEST_JSON:
            raise DataError(f"{path} has {status.st_size:,} bytes, expected {LARGEST_JSON:,} at most of a secret file")
        content = parse_json(path.read_bytes(), pairs=only_once)
        in_unicode(content)
    except OSError as error:
        raise DataError(f"{path}: {plain_reason(error)}; expected the secret file of a release") from None
    except ValueError:
        raise DataError(f"{path} is not a JSON file, expected the secret file of `assay release make`") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path}: expected the secret file of `assay release make`, received other JSON")
    version = content.get("version")
    if version not in (VERSION, WITHOUT_SEAL):
        raise DataError(f"{path}: the secret has version {version!r:.20}, expected {VERSION}")
    _check_private(path)
    return content


def _renewed(secret: Secret) -> Secret:
    """Return a secret of version 1 with a log of this version; one without a seal where a test is missing or changed.

    Its versions and tranches were not chained: they come before its tests.
    """
    renewed = replace(secret, versions=(), tests=(), spent=()).sealed()
    unchained: tuple[LogEntry, ...] = (*secret.versions, *secret.spent)
    for entry in unchained:
        renewed = renewed.logged(entry)
    digest = secret.commitment
    for test in secret.tests:
        content = {**encode(test), "digest": ""}
        # entries of version 1 had no place, so their digests do not cover it
        del content["place"]
        digest = salted_digest(secret.committed.key, digest + canonical_json(content).decode())
        if digest != test.digest:
            # without a seal no log is full: the damage stays visible in every later report
            return replace(secret, seal="")
        renewed = renewed.logged(test)
    return renewed


def check_name(path: Path) -> None:
    """Check that the name of a secret is one.

    Raises:
        DataError: it is "-": a secret is never read from a pipe, printed, or written to a file of that name.
    """
    if path == Path("-"):
        raise DataError("received - for the secret, expected the name of a file: its log grows with each test")


@contextmanager
def held_secret(path: Path, *, is_new: bool = False) -> Iterator[None]:
    """Hold the lock of a secret while its log grows: two tests at a time must not lose an entry.

    Args:
        path: of the secret.
        is_new: the block makes the secret; else it has to be there, since a lock stays beside what it locked.

    Raises:
        DataError: another process holds it, the lock cannot be written, or the file is no secret.
    """
    check_name(path)
    check_target(path)
    if not is_new:
        read_secret(path)
    path = path.resolve()  # links to one secret share its lock
    lock = path.with_name(f".{path.name}.lock")
    with sole_process(lock, DataError(f"{path} is in use by another process; wait until it ends")):
        yield


def check_outputs(secret: Path, *outputs: Path) -> None:
    """Check that files can be written, and that none would replace the secret.

    Raises:
        DataError: one cannot, or would; or see `check_name`.
    """
    check_name(secret)
    check_target(secret, *outputs)
    for path in outputs:
        # as files, not as names: a link may lead to the secret
        if path.resolve() == secret.resolve():
            raise DataError(f"{path} is the secret file; expected another name for what is published or handed out")


def release_lines(rows: Sequence[dict[str, object]]) -> str:
    """Return rows as JSON lines."""
    return "".join(map("{}\n".format, map(json.dumps, rows)))
