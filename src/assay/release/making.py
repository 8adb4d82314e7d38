"""Make a release: copies of every task, verified and committed to, then the lot that chooses what is published.

The order is the point. Copies are made, verified and made distinct first; the commitment covers them and the key; only
then the lot is drawn. What cannot be tested is left out before the lot, so that no choice depends on it.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import compress, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.code import Problem, reordered, replaced_tests
from assay.datasets import DataSelection, SourceRow, TaskLayout, read_rows, scored_text, task_table
from assay.errors import DataError, SandboxUnavailable
from assay.files import write_text
from assay.progress import Phases, progress_bar
from assay.python_parser import compiles
from assay.release.clusters import clusters_of
from assay.release.data_card import data_card
from assay.release.drafting import CopyDraft, drafted, other_content, same_names
from assay.release.examples import shows_as_much
from assay.release.lot import drawn_order, keyed_seed, new_key
from assay.release.naming import NameSources, read_name_sources
from assay.release.power import FEWER_COPIES
from assay.release.secret_checks import MOST_CHARACTERS, most_characters
from assay.release.secret_file import check_outputs, held_secret, read_secret, release_lines, write_secret
from assay.release.secret_values import (
    COMPILES,
    LEVELS,
    PARSES,
    PASSES,
    Committed,
    Publication,
    Secret,
    SecretTask,
    TaskContent,
)
from assay.release.settings import LEAST_COPIES, ReleaseSettings
from assay.release.verifying import TaskTests, packages_in, sandbox_threads
from assay.reports import TabularResult, number_of

POOL = 1000
"""Copies of a task, from which single tasks and fresh tranches are served."""
CONTENTS = 4
"""Contents of a task that are drawn beside its names, where it has examples or independent parts."""
DRAWN = 12 * CONTENTS
"""Sets of examples that are drawn, since most show less than the original."""


@dataclass(frozen=True, slots=True, repr=False)
class MadeRelease(TabularResult):
    """A release that was made.

    Attributes:
        secret: with the commitment.
        secret_path: file of the secret.
        public_path: file of the publication; None where the lot is still to be drawn.
        card_path: page for the data card; None as well.
        notes: what a reader has to know, one sentence each.
    """

    secret: Secret
    secret_path: Path
    public_path: Path | None
    card_path: Path | None
    notes: tuple[str, ...] = ()


def today() -> str:
    """Return the day, in UTC."""
    return datetime.now(UTC).date().isoformat()


def card_path_of(public: Path) -> Path:
    """Return the path of the data card beside a public file."""
    return public.with_name(f"{public.name.partition('.')[0]}.card.md")


def make_release(
    tasks: str | Path,
    out: str | Path,
    secret: str | Path,
    settings: ReleaseSettings | None = None,
    **by_name: Any,  # noqa: ANN401  the types of the settings
) -> MadeRelease:
    """Commit to copies of all tasks, draw the lot and publish; or only commit, where a round of a beacon is named.

    Args:
        tasks: a file of tasks, in one of the known formats or a table of texts.
        out: the public file, JSON lines; the page for its data card is written beside it.
        secret: the secret file, with mode 600; one of the same tasks is continued with the value of the beacon.
        settings: copies, round, beacon, canary, and columns of a table.
        by_name: single settings of it by name.

    Raises:
        DataError: bad input; nothing was written.
    """
    settings, out, secret = (settings or ReleaseSettings()).with_values(**by_name), Path(out), Path(secret)
    check_outputs(secret, out, card_path_of(out))
    if settings.test_key is not None and not re.fullmatch("[0-9a-f]{64}", settings.test_key):
        raise DataError("--test-key: expected 64 hexadecimal digits, received another text")
    if settings.round and settings.beacon:
        raise DataError("received a round and its value at once; expected --round NAME, and --beacon VALUE later")
    notes: list[str] = []
    rows = task_rows(Path(tasks), notes)
    committed = None
    if not secret.exists():
        if settings.beacon:
            raise DataError(f"{secret} does not exist, so nothing was committed; expected --round NAME first")
        # before the lock, which stays: tasks that are refused leave nothing
        committed = committed_release(rows, source=str(tasks), settings=settings, notes=notes)
    with held_secret(secret, is_new=committed is not None):
        # another process may have made the secret before this one got the lock
        if committed is None or secret.exists():
            return _continued(read_secret(secret), rows=rows, out=out, settings=settings, notes=notes)
        value = Secret(committed, path=secret).sealed()
        if settings.round:
            write_secret(secret, value)
            return MadeRelease(secret=value, secret_path=secret, public_path=None, card_path=None, notes=tuple(notes))
        return publish_version(value, beacon="", out=out, notes=notes)


def task_rows(tasks: Path, notes: list[str]) -> list[SourceRow]:
    """Return the tasks as JSON holds them.

    Raises:
        DataError: the file cannot be read, or a text is not Unicode.
    """
    rows = []
    for number, row in enumerate(read_rows(tasks, notes.append), 1):
        as_json = json.loads(json.dumps(row, default=str), parse_constant=lambda _: None)  # NaN is no JSON
        if re.search("[\ud800-\udfff]", json.dumps(as_json, ensure_ascii=False)):
            raise DataError(f"{tasks}: task {number} has half of a surrogate pair, expected text that is Unicode")
        rows.append(as_json)
    return rows


def _source(rows: Sequence[Mapping[str, object]]) -> str:
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def _continued(
    secret: Secret, rows: Sequence[SourceRow], out: Path, settings: ReleaseSettings, notes: list[str]
) -> MadeRelease:
    if secret.committed.source != _source(rows):
        raise DataError(f"{secret.path} exists already and is of other tasks; expected another name for the secret")
    if settings.round:
        raise DataError(f"{secret.path} exists already, with its round; expected --beacon VALUE, or another name")
    if not secret.versions:
        if not settings.beacon:
            raise DataError(f"no value of the beacon; expected --beacon VALUE of {secret.committed.round!r}")
        return publish_version(secret, beacon=settings.beacon, out=out, notes=notes)
    if settings.beacon and settings.beacon != secret.versions[0].beacon:
        raise DataError(f"{secret.path}: the lot was drawn with another value of the beacon, which stays")
    return _written(
        secret, number=1, out=out, notes=[*notes, "The lot was drawn before; the public file is written again."]
    )


def publish_version(secret: Secret, beacon: str, out: Path, notes: Iterable[str] = ()) -> MadeRelease:
    """Draw the lot of the next version and write the secret, the public file and the page of its data card.

    Raises:
        DataError: a file cannot be written.
    """
    number = len(secret.versions) + 1
    version = Publication(number, day=today(), beacon=beacon, digests={})
    drawn = replace(secret, versions=(*secret.versions, version))
    value = secret.logged(replace(version, digests=drawn.digests(number)))
    # The key first: a public file without it could never be tested. A later version is drawn with the key that is
    # there, so its file comes first: a rotation that was cut short is the same when it is repeated.
    if number == 1:
        write_secret(secret.path, value)
    release = _written(value, number=number, out=out, notes=notes)
    if number > 1:
        write_secret(secret.path, value)
    return release


def _written(secret: Secret, number: int, out: Path, notes: Iterable[str]) -> MadeRelease:
    card = card_path_of(out)
    write_text(out, release_lines(secret.published(number)))
    # names and values may hold bytes that are no UTF-8
    write_text(card, data_card(secret, number).encode(errors="replace").decode())
    return MadeRelease(secret=secret, secret_path=secret.path, public_path=out, card_path=card, notes=tuple(notes))


def committed_release(
    rows: Sequence[SourceRow],
    source: str,
    settings: ReleaseSettings,
    notes: list[str],
    *,
    every: int = 1,
) -> Committed:
    """Return verified copies of all tasks under a key.

    Args:
        rows: of the tasks, as JSON holds them.
        source: where they come from, for errors.
        settings: how.
        notes: takes sentences on what was left out.
        every: distance of the tasks that are taken; 1 for all.

    Raises:
        DataError: no task can be tested, or the table is not what it has to be.
    """
    columns = DataSelection(text=settings.text, id=settings.id, group=settings.group, language=settings.language)
    layout, ids, languages = task_table(rows, columns, source)
    naming = read_name_sources(settings.names, rows=rows, ids=ids, unrelated=settings.unrelated)
    # only now: lists of names may be of any task of the file
    rows, ids, languages = rows[::every], ids[::every], languages[::every]
    first = settings.copies + 1  # one copy of each is the twin
    texts = list(map(partial(scored_text, layout=layout), rows))
    clusters = clusters_of(ids, rows=rows, texts=texts, languages=languages, group=columns.group)
    packages = packages_in(settings.packages)
    if packages and "python" not in languages:
        raise DataError(f"--packages {settings.packages}: no task is in Python, so no test imports them")
    plan = _CopyPlan(
        rows=rows,
        ids=ids,
        languages=languages,
        clusters=clusters,
        layout=layout,
        key=settings.test_key or new_key(),
        first=first,
        naming=naming,
        tests=TaskTests(layout, packages=packages, unverified=settings.unverified),
    )
    tasks, left_out = plan.verified_tasks(notes)
    if not tasks:
        reason = Counter(left_out.values()).most_common(1)[0][0]
        raise DataError(f"{source}: no task has enough copies (most often: {reason}); expected code with names")
    if sum(map(most_characters, tasks)) > MOST_CHARACTERS:
        raise DataError(f"{source}: the copies have more than {MOST_CHARACTERS:,} characters, expected fewer tasks")
    return Committed(
        key=plan.key,
        valid=settings.test_key is None,
        name=Path(source).name.split(".")[0],
        created=today(),
        layout=layout.name,
        text=layout.code[0] if layout.name == "table" else "",
        ids=columns.id or "",
        round=settings.round,
        canary=settings.canary,
        first=first,
        tasks=tuple(tasks),
        left_out=left_out,
        others={name: row for row, name in zip(rows, ids, strict=True) if name in left_out},
        order=tuple(ids),
        source=_source(rows),
        naming=plan.naming.title,
    )


@dataclass(frozen=True, slots=True)
class _CopyPlan:
    """The tasks of a release, and how their copies are made.

    Attributes:
        rows: of the tasks.
        ids: of the tasks.
        languages: of their code.
        clusters: of the tasks.
        layout: their format.
        key: of the release.
        first: copies of each task that are verified.
        naming: where their names come from.
        tests: how they are verified.
    """

    rows: Sequence[SourceRow]
    ids: Sequence[str]
    languages: Sequence[str]
    clusters: Sequence[str]
    layout: TaskLayout
    key: str
    first: int
    naming: NameSources
    tests: TaskTests

    def verified_tasks(self, notes: list[str]) -> tuple[list[SecretTask], dict[str, str]]:
        """Return the tasks with their copies, and why others are left out, by their ids."""
        left_out: dict[str, str] = {}
        pending: list[Future[SecretTask]] = []
        tasks, few = [], 0
        with sandbox_threads() as pool, progress_bar("running the tests of the originals", unit="tasks") as progress:
            # the tests of the original come first: a task that fails its own shows nothing of a copy
            levels = self._levels(pool, progress)
            shown = self._shown_examples(notes)
            # sandboxes run the tests of earlier tasks while this process makes the copies of the next one
            for place, name in enumerate(self.ids):
                draft = self._draft(place) if levels[place] in LEVELS else levels[place]
                if isinstance(draft, CopyDraft) and len(draft.copies) < self.first:
                    # more than, since a copy is the twin
                    few += len(draft.copies) > LEAST_COPIES
                    draft = f"its names give {len(draft.copies)} of {self.first} copies"
                if isinstance(draft, str):
                    left_out[name] = draft
                    continue
                blank = self._blank(place, draft, level=levels[place], shown=shown.get(place, ()))
                pending.append(pool.submit(self._verified, blank, draft))
            if progress:
                progress.phase("running the tests of the copies")
            for done, future in enumerate(pending, 1):
                task = future.result()
                if task.copies:
                    tasks.append(task)
                else:
                    left_out[task.id] = f"fewer than {self.first} copies pass its tests"
                if progress:
                    progress(done, len(pending))
        if few:
            notes.append(f"--copies {LEAST_COPIES} tests {number_of(few, 'task')} more. {FEWER_COPIES}")
        return tasks, left_out

    def _levels(self, pool: Executor, progress: Phases | None) -> list[str]:
        """Return what `_level` says of each task."""
        levels = []
        for level in pool.map(self._level, range(len(self.ids))):
            levels.append(level)
            if progress:
                progress(len(levels), len(self.ids))
        if progress:
            progress.phase("making copies")
        return levels

    def _level(self, place: int) -> str:
        """Return how the copies of a task can be verified, or why the original is no ground for a copy."""
        row, language = self.rows[place], self.languages[place]
        task = SecretTask.original(self.ids[place], row=row, language=language)
        outcome = self.tests.outcomes([row], task)
        if outcome == [False]:
            failure = self.tests.failure(row, task)
            if failure.startswith("ModuleNotFoundError"):
                failure += "; expected --packages DIR with it"
            return f"its own solution fails its tests: {failure}"
        if outcome == [True]:
            return PASSES
        return COMPILES if language == "python" and _compiles(row, self.layout) else PARSES

    def _shown_examples(self, notes: list[str]) -> dict[int, tuple[str, ...]]:
        """Return the code of each Python task with other examples in its docstrings; empty where none can be replaced.

        Raises:
            DataError: there is no sandbox, and copies have to be verified.
        """
        places = [place for place in range(len(self.rows)) if self.languages[place] == "python" and not self.layout.end]
        codes = [scored_text(self.rows[place], replace(self.layout, statement=())) for place in places]
        seed = keyed_seed(self.key, "examples")
        try:
            rewritings = replaced_tests(list(map(Problem, codes, codes)), DRAWN, seed=seed)
        except SandboxUnavailable as error:
            if not self.tests.unverified:
                raise DataError(f"nothing can be run: {error}; expected a sandbox, or --unverified") from None
            notes.append(f"No tests were run, and examples stay: {error}.")
            return dict.fromkeys(places, ())
        shown = {}
        for place, rewriting in zip(places, rewritings, strict=True):
            texts = map(attrgetter("text"), rewriting.variants)
            fitting = filter(partial(shows_as_much, rewriting.original), texts)
            shown[place] = tuple(islice(fitting, CONTENTS))
        return shown

    def _draft(self, place: int) -> CopyDraft | str:
        """Return the copies of a task before they are verified, or why there are none."""
        return drafted(
            self.rows[place],
            self.layout,
            self.languages[place],
            seed=keyed_seed(self.key, "copies", self.ids[place]),
            most=max(POOL, self.first),
            least=self.first,
            naming=self.naming,
            task=self.ids[place],
        )

    def _blank(self, place: int, draft: CopyDraft, *, level: str, shown: Sequence[str]) -> SecretTask:
        """Return a task without its copies."""
        row = self.rows[place]
        return SecretTask(
            id=self.ids[place],
            cluster=self.clusters[place],
            level=level,
            language=self.languages[place],
            row=row,
            words=draft.words,
            copies=(),
            contents=_contents(draft, row=row, layout=self.layout, shown=shown, key=self.key),
        )

    def _verified(self, task: SecretTask, draft: CopyDraft) -> SecretTask:
        """Return a task with its copies in the order that the key draws; without any where too few pass its tests."""
        order = drawn_order(self.key, len(draft.copies), "order", task.id)
        copies = [" ".join(map(str, draft.copies[index])) for index in order]
        task = replace(task, copies=tuple(copies))
        good: list[int] = []
        tried = 0
        # with a limit: where most copies fail, the tests of the whole pool are not worth their time
        while len(good) < self.first and tried < min(len(copies), 3 * self.first):
            batch = range(tried, min(tried + self.first - len(good), len(copies)))
            good += compress(batch, self._pass(list(map(task.copy, batch)), task))
            tried = batch.stop
        if len(good) < self.first:
            return replace(task, copies=())
        if task.level == PASSES and len(task.contents) > 1:
            checked = self._pass(list(map(partial(task.copy, good[0]), range(len(task.contents)))), task)
            kept = tuple(compress(task.contents, checked))
            if len(kept) <= 1:  # a lot of one content decides nothing
                kept = (draft.content,)
            task = replace(task, contents=kept)
        # what failed is gone; what was not tried serves single tasks and fresh tranches
        return replace(task, copies=(*map(copies.__getitem__, good), *copies[tried:]))

    def _pass(self, rows: Sequence[Mapping[str, object]], task: SecretTask) -> list[bool]:
        """Return for each copy whether it passes what the original passes."""
        if task.level == PASSES:
            # None: the original could be run and these cannot, which counts as failed
            return self.tests.outcomes(rows, task) or [False] * len(rows)
        return [task.level == PARSES or _compiles(row, self.layout) for row in rows]


def _contents(
    draft: CopyDraft, row: SourceRow, layout: TaskLayout, shown: Sequence[str], key: str
) -> tuple[TaskContent, ...]:
    """Return the contents of a task: other examples, in other orders; its own content where nothing can change."""
    code = scored_text(row, replace(layout, statement=()))
    texts: dict[str, None] = {}
    # without other examples the order of independent parts is the only choice
    for number, base in enumerate(shown or (code,) * CONTENTS):
        moved = reordered(base, 1, keyed_seed(key, "order", code, number))
        texts.setdefault(next(iter(moved), base), None)
    # the original is never a copy: every model that knows it prefers it
    texts.pop(code, None)
    others = [
        same_names(draft, row=other_content(row, layout, text), layout=layout, language="python") for text in texts
    ]
    usable = tuple(filter(None, others))
    return usable if len(usable) > 1 else (draft.content,)


def _compiles(row: Mapping[str, object], layout: TaskLayout) -> bool:
    return compiles(scored_text(row, replace(layout, statement=())) + layout.end)
