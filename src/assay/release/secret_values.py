"""The secret of a release: what was committed to, and the log of what happened since.

    committed    key, copies of every task, levels, clusters; never changes, its SHA-256 is the commitment
    versions     the value of the beacon and the digests of each publication
    tests        every test
    spent        copies that were sent to servers
    seal         closes the log, which has an entry for each version, test and tranche

The digest of an entry is keyed, and covers the entry and the seal of the entries before it; the seal is a keyed digest
of the last one. So an entry that is missing, changed or moved shows, also the last one: its seal stands in no entry.
A log cannot show what the holder of the key made up, or that the whole file is an older copy: its number of entries
and its last digest are printed after each test, so that they can be published.

The classes print nothing of their content: `repr`, errors and reports have the path and the commitment alone.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.codec import encode
from assay.datasets import TASK_LAYOUTS, CellAddress, TaskLayout, scored_text, with_cells
from assay.release.lot import chosen_indices, drawn_number, salted_digest

PASSES, COMPILES, PARSES = "tests run", "compiled", "parsed"
"""How the copies of a task were verified."""
LEVELS = (PASSES, COMPILES, PARSES)


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
        parts[1::2] = list(map(names.__getitem__, self.order))
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

    @classmethod
    def original(cls, name: str, row: Mapping[str, object], language: str) -> "SecretTask":
        """Return a task of which no copy is made yet."""
        return cls(id=name, cluster=name, level=PARSES, language=language, row=row, words=(), copies=(), contents=())

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
        naming: where names come from, in words; "" in releases of older versions.
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
    naming: str = ""


@dataclass(frozen=True, slots=True)
class Publication:
    """One version that was published.

    Attributes:
        number: from 1.
        day: of the publication.
        beacon: value of the beacon, "" without one.
        digests: id → salted digest of the published row.
        place: of the entry in the log, from 1.
        digest: chains the entry to the ones before it.
    """

    number: int
    day: str
    beacon: str
    digests: Mapping[str, str]
    place: int = 0
    digest: str = ""


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
        place: of the entry in the log, from 1.
        digest: chains the entry to the ones before it.
    """

    day: str
    model: str
    subject: str
    settings: str
    p_value: float
    placebo: bool
    place: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class SpentCopies:
    """Copies that a server has received.

    Attributes:
        day: when.
        server: name of the model.
        tranche: number of the tranche, from 1.
        place: of the entry in the log, from 1.
        digest: chains the entry to the ones before it.
    """

    day: str
    server: str
    tranche: int
    place: int = 0
    digest: str = ""


LogEntry = Publication | LoggedTest | SpentCopies
PARTS_OF_LOG: Mapping[type, str] = {Publication: "versions", LoggedTest: "tests", SpentCopies: "spent"}


@dataclass(frozen=True, slots=True)
class LogState:
    """The log of a secret at one time.

    Attributes:
        entries: versions, tests and tranches.
        digest: of the last entry; the commitment where there is none.
        is_full: no entry is missing, changed or moved.
        backward: two days of which the later entry has the earlier one; empty where the days run forward.
    """

    entries: int
    digest: str
    is_full: bool
    backward: tuple[str, ...]

    @property
    def to_publish(self) -> str:
        """The sentence for a publisher: once both are public, nobody can shorten or replace the log unseen."""
        return f"Entries in the log: {self.entries}, the last with digest {self.digest}. Publish both after each test."


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """The whole file.

    Attributes:
        committed: what never changes.
        versions: publications, the first one first.
        tests: log of the tests.
        spent: tranches that servers have received.
        seal: closes the log; "" where there is none, which no log fits.
        path: of the file, for errors.
    """

    committed: Committed
    versions: tuple[Publication, ...] = ()
    tests: tuple[LoggedTest, ...] = ()
    spent: tuple[SpentCopies, ...] = ()
    seal: str = ""
    path: Path = field(default=Path(), compare=False)

    def __repr__(self) -> str:
        return f"Secret({str(self.path)!r}, commitment {self.commitment[:12]}…)"

    @property
    def commitment(self) -> str:
        """SHA-256 of the committed part as JSON with sorted keys."""
        content = encode(self.committed)
        if not self.committed.naming:  # commitments of older versions do not cover it
            del content["naming"]
        return hashlib.sha256(canonical_json(content)).hexdigest()

    @property
    def layout(self) -> TaskLayout:
        """The format of the tasks."""
        name, text = self.committed.layout, self.committed.text
        layouts = {layout.name: layout for layout in TASK_LAYOUTS}
        return layouts.get(name) or TaskLayout("table", (text,), code=(text,))

    def lot(self, cluster: str, number: int) -> int:
        """Return the copy of a cluster that version `number` publishes, which no other has; version 0 is the twin."""
        return self.lots(cluster, number)[-1]

    def lots(self, cluster: str, most: int) -> list[int]:
        """Return the copy of a cluster that is its twin, then those of the first versions, `most` of them."""
        # a copy is drawn from those that are left, so the lots before it have to be drawn first, once each
        drawn = [self.twin(cluster)]
        for version in self.versions[:most]:
            free = chosen_indices(drawn, self.committed.first)
            place = drawn_number(self.committed.key, len(free), "lot", version.beacon, cluster, version.number)
            drawn.append(free[place])
        return drawn

    def twin(self, cluster: str) -> int:
        """Return the copy of a cluster that is kept for private evaluations."""
        # by the first beacon alone: the twin stays the same in later versions
        return drawn_number(self.committed.key, self.committed.first, "twin", self.versions[0].beacon, cluster)

    def content_lot(self, cluster: str, number: int) -> int:
        """Return the content of a cluster in a version; 0 is the twin."""
        size = self.contents_of(cluster)
        # the twin has no version of its own and takes the first beacon
        beacon = self.versions[max(number, 1) - 1].beacon
        return drawn_number(self.committed.key, size, "content", beacon, cluster, number)

    def contents_of(self, cluster: str) -> int:
        """Return the contents among which the lot of a cluster chooses: as many as the task with the fewest has."""
        return min(len(task.contents) for task in self.committed.tasks if task.cluster == cluster)

    def digests(self, number: int) -> dict[str, str]:
        """Return the salted digest of each row of a version."""
        return dict(zip(self.committed.order, map(self.row_digest, self.published(number)), strict=True))

    def published(self, number: int) -> list[dict[str, object]]:
        """Return the rows of a version, in the order of the original; version 0 are the twins."""
        rows: dict[str, Mapping[str, object]] = dict(self.committed.others)
        for task in self.committed.tasks:
            rows[task.id] = task.copy(self.lot(task.cluster, number), self.content_lot(task.cluster, number))
        canary = {}
        if self.committed.canary:
            canary = {"canary": self.committed.canary}
        return [{**rows[name], **canary} for name in self.committed.order]

    def set_of(self, task: SecretTask, number: int) -> list[int]:
        """Return the copies that version `number` of a task is compared with, and itself, in the order of the file."""
        others = self.lots(task.cluster, len(self.versions))
        # copies of other versions are public, and the twin is for evaluations: neither is compared
        del others[number]
        return chosen_indices(others, self.committed.first)

    def scored(self, task: SecretTask, index: int, content: int) -> str:
        """Return the text of one copy that a model is asked about."""
        return scored_text(task.copy(index, content), self.layout)

    def row_digest(self, row: Mapping[str, object]) -> str:
        """Return the salted digest of a row."""
        return salted_digest(self.committed.key, canonical_json(row).decode())

    @property
    def log(self) -> list[LogEntry]:
        """The entries of the log, the first one first."""
        return sorted((*self.versions, *self.tests, *self.spent), key=attrgetter("place"))

    @property
    def log_state(self) -> LogState:
        """The state of the log."""
        entries, digest = self.log, self.commitment
        if entries:
            digest = entries[-1].digest
        days = pairwise([self.committed.created, *map(attrgetter("day"), entries)])
        backward = next((pair for pair in days if pair[1] < pair[0]), ())
        return LogState(len(entries), digest, is_full=self._is_full(entries), backward=backward)

    def _is_full(self, entries: Sequence[LogEntry]) -> bool:
        # the seal of an entry is never stored but for the last one: what is cut off cannot be closed again by hand
        seal = self._seal_of(self.commitment)
        for place, entry in enumerate(entries, 1):
            digest = self._digest_of(entry, seal)
            if (entry.place, entry.digest) != (place, digest):
                return False
            seal = self._seal_of(digest)
        return seal == self.seal

    def sealed(self) -> "Secret":
        """Return a secret without entries whose log can begin."""
        return replace(self, seal=self._seal_of(self.commitment))

    def logged(self, entry: LogEntry) -> "Secret":
        """Return the secret with one more entry in its log; what was wrong with the log stays wrong."""
        part = PARTS_OF_LOG[type(entry)]
        # the place first: the digest covers it
        entry = replace(entry, place=len(self.log) + 1)
        entry = replace(entry, digest=self._digest_of(entry, self.seal))
        changes: dict[str, Any] = {part: (*getattr(self, part), entry), "seal": self._seal_of(entry.digest)}
        return replace(self, **changes)

    def _digest_of(self, entry: LogEntry, seal: str) -> str:
        content = {**encode(entry), "digest": "", "part": PARTS_OF_LOG[type(entry)]}
        return salted_digest(self.committed.key, seal + canonical_json(content).decode())

    def _seal_of(self, digest: str) -> str:
        return salted_digest(self.committed.key, f"seal {digest}")


def canonical_json(value: object) -> bytes:
    """Return a value as JSON with sorted keys and no white space.

    Raises:
        ValueError: it contains NaN or an infinity.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
