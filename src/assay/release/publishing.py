"""After a release was made: verify it, write its twins, publish a later version."""

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from assay.datasets import read_rows
from assay.errors import DataError
from assay.release.making import MadeRelease, card_path_of, publish_version
from assay.release.secret_file import check_outputs, held_secret, release_lines, write_private
from assay.release.secret_values import LogState, Secret
from assay.release.settings import LEAST_COPIES
from assay.release.testing import published_secret
from assay.release.verifying import FailedCopy, failed_copies, packages_in
from assay.reports import TabularResult, number_of

SHOWN = 5
"""Ids that an error lists."""


@dataclass(frozen=True, slots=True, repr=False)
class VerifiedRelease(TabularResult):
    """A public file that belongs to a secret.

    Attributes:
        release: its name.
        version: number of the version.
        commitment: SHA-256 of what was committed to.
        tasks: that can be tested.
        rows: of the public file.
        tested: tasks whose tests were run again; those of the others were not run when they were made.
        day: of the publication.
        beacon: value of the beacon; "" without one.
        log: of the secret.
        failed: copies that fail the tests which they passed when they were made.
    """

    release: str
    version: int
    commitment: str
    tasks: int
    rows: int
    tested: int
    day: str
    beacon: str
    log: LogState
    failed: tuple[FailedCopy, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class WrittenTwins(TabularResult):
    """The twins of a release in a file."""

    release: str
    path: str
    tasks: int
    rows: int


def verify_release(public: str | Path, secret: str | Path, packages: str | None = None) -> VerifiedRelease:
    """Check that a public file is a version of a release, and run the tests of its copies again.

    Args:
        public: the public file.
        secret: the secret file.
        packages: folder of the packages that the tests import.

    Raises:
        DataError: it is of no version, and the line names the tasks that differ; or nothing can run the tests.
    """
    folders = packages_in(packages)
    value, public = published_secret(Path(secret)), Path(public)
    rows = list(read_rows(public, lambda _: None))
    differing = {version.number: _differing(value, version.number, rows) for version in value.versions}
    # the version that differs least is the one that is meant: an error then lists few ids
    number = min(differing, key=lambda each: len(differing[each]))
    if differing[number]:
        ids = differing[number]
        if len(ids) >= len(value.committed.tasks):
            raise DataError(f"{public} does not match {secret}: every task differs; expected the secret of this file")
        more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
        raise DataError(
            f"{public} differs from version {number} of the release in {number_of(len(ids), 'task')}: "
            f"{', '.join(ids[:SHOWN])}{more}; expected it as `assay release make` wrote it"
        )
    failed, tested = failed_copies(value, number, folders)
    version = value.versions[number - 1]
    return VerifiedRelease(
        release=value.committed.name,
        version=number,
        commitment=value.commitment,
        tasks=len(value.committed.tasks),
        rows=len(rows),
        tested=tested,
        day=version.day,
        beacon=version.beacon,
        log=value.log_state,
        failed=tuple(failed),
    )


def _differing(secret: Secret, number: int, rows: list[dict[str, object]]) -> list[str]:
    """Return the ids of the tasks in which rows differ from a version, also those that are missing or added."""
    expected = secret.published(number)
    ids: dict[str, None] = {}
    for place, name in enumerate(secret.committed.order):
        # a slice, since the file may have fewer rows
        if rows[place : place + 1] != [expected[place]]:
            ids[name] = None
    for place in range(len(expected), len(rows)):
        ids[f"row {place + 1}"] = None
    return list(ids)


def write_twins(secret: str | Path, out: str | Path) -> WrittenTwins:
    """Write the twin of each task, for evaluations that stay private.

    Raises:
        DataError: the file cannot be written, or the lot has not been drawn.
    """
    out, secret = Path(out), Path(secret)
    check_outputs(secret, out)
    value = published_secret(secret)
    rows = value.published(0)
    write_private(out, release_lines(rows))
    return WrittenTwins(release=value.committed.name, path=str(out), tasks=len(value.committed.tasks), rows=len(rows))


def rotate_release(secret: str | Path, out: str | Path, beacon: str = "") -> MadeRelease:
    """Publish a later version: of each task a copy that no version has.

    Args:
        secret: the secret file; the new version is recorded in it.
        out: the new public file.
        beacon: value of a beacon that did not exist when the version before was published.

    Raises:
        DataError: too few copies would stay secret, or the beacon has the value of an earlier version.
    """
    out, secret = Path(out), Path(secret)
    check_outputs(secret, out, card_path_of(out))
    with held_secret(secret):
        value = published_secret(secret)
        # a copy is the twin, and each version has made another one public
        left = value.committed.first - 1 - len(value.versions)
        if left < LEAST_COPIES:
            raise DataError(f"{secret}: {left} secret copies of each task are left, expected {LEAST_COPIES} or more")
        if beacon and beacon in map(attrgetter("beacon"), value.versions):
            raise DataError("--beacon has the value of an earlier version, expected that of a later round")
        if value.committed.round and not beacon:
            raise DataError("the release names a beacon, expected --beacon VALUE of a round after the last version")
        return publish_version(value, beacon, out)
