"""The secret of a release: what was committed to, and what happened since. One JSON file with mode 600.

    committed    key, copies of every task, levels, clusters; never changes, its SHA-256 is the commitment
    versions     the value of the beacon and the digests of each publication
    tests        every test, in a chain of digests: a log with a gap is no full log
    spent        copies that were sent to servers

The class prints nothing of its content: `repr`, errors and reports have the path and the commitment alone.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.codec import decode, encode
from assay.datasets import TASK_LAYOUTS, CellAddress, TaskLayout, scored_text, with_cells
from assay.errors import DataError, plain_reason
from assay.files import atomic_path, check_target, parse_json, sole_process
from assay.release.lot import chosen_indices, drawn_number, salted_digest

FORMAT = "assay release secret"
VERSION = 1
MODE = 0o600
LEAST_COPIES = 5
"""Copies that a task's set needs, the published one included."""


@dataclass(frozen=True, slots=True, repr=False)
class CutCell:
    """One cell, cut at the names.

    Attributes:
        column: of the cell.
        place: in its list; -1 for a column that holds one text.
        pieces: between, before and behind the names.
        order: index of the name behind each piece but the last.
    """

    column: str
    place: int
    pieces: tuple[str, ...]
    order: tuple[int, ...]

    def with_names(self, names: Sequence[str]) -> str:
        """Return the text with these names."""
        parts = [""] * (2 * len(self.order) + 1)
        parts[::2] = self.pieces
        parts[1::2] = [names[index] for index in self.order]
        return "".join(parts)


@dataclass(frozen=True, slots=True, repr=False)
class TaskContent:
    """One content of a task: the cells that names or content change."""

    cells: tuple[CutCell, ...]

    def with_names(self, names: Sequence[str]) -> dict[CellAddress, str]:
        """Return the cells with these names."""
        return {(cell.column, cell.place): cell.with_names(names) for cell in self.cells}


@dataclass(frozen=True, slots=True, repr=False)
class SecretTask:
    """One task with all of its copies, in an order that the key drew.

    Attributes:
        id: of the task.
        cluster: tasks of one cluster share their lot.
        level: "tests run", "compiled" or "parsed": how its first copies were verified.
        language: of the code.
        row: the original row; copies replace some of its cells.
        words: the candidates of each name.
        copies: for each copy, the place of each of its names among the candidates, with spaces between.
        contents: what is drawn beside the names; one where there is no choice.
    """

    id: str
    cluster: str
    level: str
    language: str
    row: Mapping[str, object]
    words: tuple[tuple[str, ...], ...]
    copies: tuple[str, ...]
    contents: tuple[TaskContent, ...]

    def names(self, index: int) -> list[str]:
        """Return the names of one copy."""
        places = map(int, self.copies[index].split())
        return [words[place] for words, place in zip(self.words, places, strict=True)]

    def copy(self, index: int, content: int = 0) -> dict[str, object]:
        """Return the row of one copy."""
        return with_cells(self.row, self.contents[content].with_names(self.names(index)))


@dataclass(frozen=True, slots=True, repr=False)
class Committed:
    """The part of the secret that the commitment covers; see `SecretTask`.

    Attributes:
        key: 256 bits in hexadecimal.
        valid: False for a release with a chosen key, which proves nothing.
        name: of the release.
        created: day of the commitment.
        layout: name of the format.
        text: column of the texts of a plain table; "" for other formats.
        ids: column of the ids.
        round: the public random beacon that was named, "" without one.
        canary: a text in every row; "" without one.
        first: copies of a task that were verified in full; the lot chooses among them.
        tasks: that can be tested.
        left_out: id → why a task is no part of the test.
        others: id → row of a task that was left out; it is published as it was.
        order: ids as the original has them.
        source: SHA-256 of the original rows.
    """

    key: str
    valid: bool
    name: str
    created: str
    layout: str
    text: str
    ids: str
    round: str
    canary: str
    first: int
    tasks: tuple[SecretTask, ...]
    left_out: Mapping[str, str]
    others: Mapping[str, Mapping[str, object]]
    order: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Publication:
    """One version that was published.

    Attributes:
        number: from 1.
        day: of the publication.
        beacon: value of the beacon, "" without one.
        digests: id → salted digest of the published row.
    """

    number: int
    day: str
    beacon: str
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LoggedTest:
    """One test in the log.

    Attributes:
        day: of the test.
        model: as it was named.
        subject: "names" or "content" of a version: "names of version 1".
        settings: access, parents and others, in words.
        p_value: of the lot.
        placebo: the model is older than the publication.
        digest: chains the entry to the ones before it.
    """

    day: str
    model: str
    subject: str
    settings: str
    p_value: float
    placebo: bool
    digest: str = ""


@dataclass(frozen=True, slots=True)
class SpentCopies:
    """Copies that a server has received.

    Attributes:
        day: when.
        server: name of the model.
        tranche: number of the tranche, from 1.
    """

    day: str
    server: str
    tranche: int


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """The whole file.

    Attributes:
        committed: what never changes.
        versions: publications, the first one first.
        tests: log of the tests.
        spent: tranches that servers have received.
        path: of the file, for errors.
    """

    committed: Committed
    versions: tuple[Publication, ...] = ()
    tests: tuple[LoggedTest, ...] = ()
    spent: tuple[SpentCopies, ...] = ()
    path: Path = field(default=Path(), compare=False)

    def __repr__(self) -> str:
        return f"Secret({str(self.path)!r}, commitment {self.commitment[:12]}…)"

    @property
    def commitment(self) -> str:
        """SHA-256 of the committed part as JSON with sorted keys."""
        return hashlib.sha256(_canonical(encode(self.committed))).hexdigest()

    @property
    def layout(self) -> TaskLayout:
        """The format of the tasks."""
        name, text = self.committed.layout, self.committed.text
        layout = next((each for each in TASK_LAYOUTS if each.name == name), None)
        return layout or TaskLayout("table", (text,), code=(text,))

    def lot(self, cluster: str, number: int) -> int:
        """Return the copy of a cluster that version `number` publishes: never one that a version or a twin has."""
        earlier = [self.twin(cluster), *(self.lot(cluster, each) for each in range(1, number))]
        free = list(chosen_indices(earlier, self.committed.first))
        beacon = self.versions[number - 1].beacon
        return free[drawn_number(self.committed.key, len(free), "lot", beacon, cluster, number)]

    def twin(self, cluster: str) -> int:
        """Return the copy of a cluster that is kept for private evaluations."""
        return drawn_number(self.committed.key, self.committed.first, "twin", self.versions[0].beacon, cluster)

    def content_lot(self, cluster: str, number: int) -> int:
        """Return the content of a cluster in a version; 0 is the twin."""
        size = self.contents_of(cluster)
        beacon = self.versions[max(number, 1) - 1].beacon
        return drawn_number(self.committed.key, size, "content", beacon, cluster, number)

    def contents_of(self, cluster: str) -> int:
        """Return the contents among which the lot of a cluster chooses: as many as the task with the fewest has."""
        return min(len(task.contents) for task in self.committed.tasks if task.cluster == cluster)

    def published(self, number: int) -> list[dict[str, object]]:
        """Return the rows of a version, in the order of the original."""
        return self._rows(number)

    def digests(self, number: int) -> dict[str, str]:
        """Return the salted digest of each row of a version."""
        return dict(zip(self.committed.order, map(self.row_digest, self.published(number)), strict=True))

    def twins(self) -> list[dict[str, object]]:
        """Return the rows for private evaluations."""
        return self._rows(0)

    def _rows(self, number: int) -> list[dict[str, object]]:
        rows: dict[str, Mapping[str, object]] = dict(self.committed.others)
        for task in self.committed.tasks:
            index = self.lot(task.cluster, number) if number else self.twin(task.cluster)
            rows[task.id] = task.copy(index, self.content_lot(task.cluster, number))
        canary = {"canary": self.committed.canary} if self.committed.canary else {}
        return [{**rows[name], **canary} for name in self.committed.order]

    def set_of(self, task: SecretTask, number: int) -> list[int]:
        """Return the copies that version `number` of a task is compared with, and itself, in the order of the file."""
        published_otherwise = [
            self.lot(task.cluster, version.number) for version in self.versions if version.number != number
        ]
        return list(chosen_indices([self.twin(task.cluster), *published_otherwise], self.committed.first))

    def scored(self, task: SecretTask, index: int, content: int) -> str:
        """Return the text of one copy that a model is asked about."""
        return scored_text(task.copy(index, content), self.layout)

    def row_digest(self, row: Mapping[str, object]) -> str:
        """Return the salted digest of a row."""
        return salted_digest(self.committed.key, _canonical(row).decode())

    @property
    def full_log(self) -> bool:
        """True if no entry of the log is missing or changed."""
        return all(entry.digest == digest for entry, digest in zip(self.tests, self._chain(), strict=True))

    def _chain(self) -> Iterator[str]:
        digest = self.commitment
        for entry in self.tests:
            content = {**encode(entry), "digest": ""}
            digest = salted_digest(self.committed.key, digest + _canonical(content).decode())
            yield digest

    def chained(self, entry: LoggedTest) -> LoggedTest:
        """Return an entry with the digest that continues the log."""
        previous = self.tests[-1].digest if self.tests else self.commitment
        content = {**encode(entry), "digest": ""}
        digest = salted_digest(self.committed.key, previous + _canonical(content).decode())
        return replace(entry, digest=digest)


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def write_secret(path: Path, secret: Secret) -> None:
    """Replace the file of a secret; nobody else can read it at any time, and a reader never sees half of it.

    Raises:
        DataError: the file cannot be written.
    """
    content = {
        "format": FORMAT,
        "version": VERSION,
        "commitment": secret.commitment,
        **{name: encode(getattr(secret, name)) for name in ("committed", "versions", "tests", "spent")},
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
        DataError: it cannot be read, others can read it, it is no secret of a release, or it was changed. No line holds
            anything of its content.
    """
    try:
        mode = path.stat().st_mode
        if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
            raise DataError(f"{path} can be read by others (mode {stat.S_IMODE(mode):o}); expected mode 600: chmod 600")
        content = parse_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: {plain_reason(error)}; expected the secret file of a release") from None
    except ValueError:
        raise DataError(f"{path} is not a JSON file, expected the secret file of `assay release make`") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path}: expected the secret file of `assay release make`, received other JSON")
    if content.get("version") != VERSION:
        raise DataError(f"{path}: the secret has version {content.get('version')!r}, expected {VERSION}")
    parts = {
        "committed": Committed,
        "versions": tuple[Publication, ...],
        "tests": tuple[LoggedTest, ...],
        "spent": tuple[SpentCopies, ...],
    }
    try:
        secret = Secret(**{name: decode(kind, content[name]) for name, kind in parts.items()}, path=path)
        bytes.fromhex(secret.committed.key)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        # the reason of the decoder may quote the content, and the traceback would too
        raise DataError(f"{path}: the secret is damaged, expected what `assay release make` wrote") from None
    numbers = [version.number for version in secret.versions]
    if numbers != list(range(1, min(len(numbers) + 1, secret.committed.first))):
        raise DataError(f"{path}: the versions are damaged, expected what `assay release` wrote")
    if content.get("commitment") != secret.commitment:
        raise DataError(f"{path}: the committed part was changed after the commitment, expected it as it was written")
    return secret


@contextmanager
def held_secret(path: Path) -> Iterator[None]:
    """Hold the lock of a secret while its log grows: two tests at a time must not lose an entry.

    Raises:
        DataError: another process holds it, or the lock cannot be written.
    """
    check_target(path)
    path = path.resolve()  # links to one secret share its lock
    lock = path.with_name(f".{path.name}.lock")
    with sole_process(lock, DataError(f"{path} is in use by another process; wait until it ends")):
        yield


def check_outputs(secret: Path, *outputs: Path) -> None:
    """Check that files can be written, and that none would replace the secret.

    Raises:
        DataError: one cannot, or would.
    """
    check_target(secret, *outputs)
    for path in outputs:
        if path.resolve() == secret.resolve():
            raise DataError(f"{path} is the secret file; expected another name for what is published or handed out")


def release_lines(rows: list[dict[str, object]]) -> str:
    """Return rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)
