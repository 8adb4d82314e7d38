"""Test a model against a release.

Null: given the copies, the model is independent of the lots. All copies of a task are scored afresh, in an order that
does not know the lot; then the lot is drawn again. Rejecting means that the lot's outcome reached the model. Not
rejecting is no evidence of anything.

The statistic was declared before data, and decided on plants (docs/results/release.md): whole log-likelihoods,
standardised_within within the set of a task, Σ log(1 - ε + ε w).
"""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from assay.errors import DataError, MissingCapability
from assay.evaluation import benjamini_hochberg
from assay.models import ModelSettings, display_name, is_server, open_model
from assay.progress import progress_bar
from assay.release import statistic
from assay.release.making import today
from assay.release.secret_file import (
    LEAST_COPIES,
    LoggedTest,
    Secret,
    SecretTask,
    SpentCopies,
    held_secret,
    read_secret,
    write_secret,
)
from assay.release.settings import ReleaseTestSettings
from assay.release.statistic import LotTest
from assay.reports import Report, TabularResult, describe
from assay.types import Float64Array, Generator, Int64Array, LogProbScorer, Rejected, ReleaseEvidence

LEAST_TASKS = 5
GENERATED = 256
"""Tokens that a model writes behind a shared prefix."""
LEAST_WORDS = 5
"""Words of a task that a shared prefix needs."""
ROUND = 20
"""Copies of a task in the first round of its own test; each further round has twice as many."""
NAMED = 0.05
_WORD = re.compile(r"[^\W\d]\w*")
_IMPORT = re.compile(r"^[ \t]*(?:import|from|#include|using|package)\b.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class VersionTest:
    """The tests of one version.

    Attributes:
        number: of the version.
        day: of its publication.
        names: test of the names.
        content: test of the content; None where no task has a choice of contents.
        adjusted: p-value of the names, adjusted over the log; None without a full log.
        content_adjusted: the same of the content.
        first: tasks (or clusters) whose published copy ranks first.
        memorised: lower bound of the tasks that the model knows.
    """

    number: int
    day: str
    names: LotTest
    content: LotTest | None
    adjusted: float | None
    content_adjusted: float | None
    first: int
    memorised: int


@dataclass(frozen=True, slots=True)
class TaskTest:
    """The test of a single task: p-value of Besag and Clifford, q-value of Benjamini and Hochberg."""

    id: str
    p_value: float
    q_value: float


@dataclass(frozen=True, slots=True, repr=False)
class ReleaseTest(TabularResult):
    """A model tested against a release.

    Attributes:
        model: name for people.
        release: name of the release.
        commitment: SHA-256 of what was committed to.
        valid: False for a release with a chosen key.
        has_beacon: every version has the value of a beacon.
        access: "gray" or "black".
        parents: models whose preferences were subtracted.
        tasks: that were tested.
        clusters: that were drawn.
        copies: in each set.
        versions: the tests.
        single: tests of single tasks; empty where they were not places for.
        placebo: the model is said to be older than the publication.
        logged: tests in the log that p-values are adjusted for, these included.
        placebos: p-values of the placebos in the log.
        parent_p: p-value of the first parent itself; None without one.
        refused: tasks of which the model rejected a copy, or that share no prefix.
        spent: tranche that the server of the model has received; None where nothing secret was sent.
    """

    model: str
    release: str
    commitment: str
    valid: bool
    has_beacon: bool
    access: str
    parents: tuple[str, ...]
    tasks: int
    clusters: int
    copies: int
    versions: tuple[VersionTest, ...]
    single: tuple[TaskTest, ...] = ()
    placebo: bool = False
    logged: int = 0
    placebos: tuple[float, ...] = ()
    parent_p: float | None = None
    refused: int = 0
    spent: int | None = None

    @property
    def strongest(self) -> VersionTest:
        """The version with the smallest p-value."""
        return min(self.versions, key=lambda version: version.names.p_value)

    @property
    def named(self) -> tuple[TaskTest, ...]:
        """Tasks that are named at a false discovery rate of 5 %."""
        return tuple(task for task in self.single if task.q_value <= NAMED)

    @property
    def e_value(self) -> float:
        """Product of the e-values of all versions."""
        return float(np.prod([version.names.e_value for version in self.versions]))

    def describe(self) -> Report:
        """Return the report."""
        return describe(self)


Sets = Sequence[Sequence[str]]
"""Texts of the copies of each task."""


def run_release_test(
    model: str | Generator, secret: str | Path, settings: ReleaseTestSettings, opened: ModelSettings | None = None
) -> ReleaseTest:
    """Test whether the lot of a release reached a model, and log the test in the secret file.

    Args:
        model: name of a model, or a model.
        secret: the secret file.
        settings: access, parents and the rest.
        opened: how models are opened; their cache is never used.

    Raises:
        DataError: bad input, or a secret copy would be sent to a server without `spend`.
        ModelError: a model cannot be opened or run.
    """
    name, secret = model if isinstance(model, str) else model.name, Path(secret)
    with held_secret(secret):
        value = published_secret(secret)
        tranche = None
        if settings.access == "gray" and is_server(name):
            tranche = len(value.spent) + 1
            if not settings.spend:
                raise DataError(
                    f"testing {display_name(name)} sends secret copies of {len(value.committed.tasks)} tasks to its "
                    "server, where they are spent; expected --spend, or --access black"
                )
            # before the first text is sent: a run that is interrupted has spent them too
            value = replace(value, spent=(*value.spent, SpentCopies(today(), display_name(name), tranche)))
            write_secret(secret, value)
        options = replace(opened or ModelSettings(), cache=False)
        other = replace(options, revision=None, adapter=None, chat_template=False)
        models = [open_model(model, options) if isinstance(model, str) else model]
        models += [open_model(parent, other) for parent in settings.parent]
        bench = _Bench(value, settings, models, tranche)
        tests, refused, parent_p = bench.versions()
        strongest = min(tests, key=lambda version: version.names.p_value)
        single = bench.single_tasks(strongest.number) if settings.tasks else ()
        value, versions = _logged(value, tests, display_name(name), settings)
        write_secret(secret, value)
    return ReleaseTest(
        model=display_name(name),
        release=value.committed.name,
        commitment=value.commitment,
        valid=value.committed.valid,
        has_beacon=all(version.beacon for version in value.versions),
        access=settings.access,
        parents=tuple(display_name(parent) for parent in settings.parent),
        tasks=len(bench.tasks),
        clusters=len({task.cluster for task in bench.tasks}),
        copies=bench.copies,
        versions=versions,
        single=single,
        placebo=settings.placebo,
        logged=sum(not entry.placebo for entry in value.tests),
        placebos=tuple(entry.p_value for entry in value.tests if entry.placebo),
        parent_p=parent_p,
        refused=refused,
        spent=tranche,
    )


def published_secret(path: Path) -> Secret:
    """Return a secret whose lot has been drawn.

    Raises:
        DataError: it was not, because the value of the beacon is missing; or see `read_secret`.
    """
    secret = read_secret(path)
    if not secret.versions:
        raise DataError(
            f"{path}: the value of the beacon is missing, expected that of {secret.committed.round!r}: "
            "assay release make TASKS --beacon VALUE"
        )
    return secret


def evidence_of_release(
    model: str | Generator, secret: str | Path, *, opened: ModelSettings | None = None, tasks: bool = True
) -> ReleaseEvidence:
    """Return what an audit needs of the test of a release; the test is logged.

    Args:
        model: name of a model, or a model.
        secret: the secret file.
        opened: how the model is opened.
        tasks: name single tasks, which scores more copies.

    Raises:
        AssayError: see `run_release_test`.
    """
    result = run_release_test(model, secret, ReleaseTestSettings(tasks=tasks), opened)
    best = result.strongest
    return ReleaseEvidence(
        p_value=best.names.p_value,
        adjusted_p_value=best.adjusted,
        named={task.id: task.q_value for task in result.named},
        memorised=best.memorised,
        tasks=result.tasks,
        valid=result.valid,
        has_beacon=result.has_beacon,
    )


def _logged(
    secret: Secret, versions: Sequence[VersionTest], model: str, settings: ReleaseTestSettings
) -> tuple[Secret, tuple[VersionTest, ...]]:
    """Return the secret with these tests in its log, and the tests with p-values adjusted over it."""
    words = ", ".join((settings.access, *(f"parent {display_name(parent)}" for parent in settings.parent)))
    before = len(secret.tests)
    is_full = secret.full_log
    for version in versions:
        for subject, result in (("names", version.names), ("content", version.content)):
            if result is not None:
                subject_words = f"{subject} of version {version.number}"
                entry = LoggedTest(today(), model, subject_words, words, result.p_value, settings.placebo)
                secret = replace(secret, tests=(*secret.tests, secret.chained(entry)))
    # a placebo cannot have seen the lot: it is a check, and takes nothing from the others
    counted = [place for place, entry in enumerate(secret.tests) if settings.placebo or not entry.placebo]
    adjusted = dict(
        zip(counted, statistic.holm_adjusted([secret.tests[place].p_value for place in counted]), strict=True)
    )
    places = iter(range(before, len(secret.tests)))
    judged = []
    for version in versions:
        own = adjusted[next(places)] if is_full else (next(places), None)[1]
        content = None
        if version.content is not None:
            place = next(places)
            content = adjusted[place] if is_full else None
        judged.append(replace(version, adjusted=own, content_adjusted=content))
    return secret, tuple(judged)


@dataclass(slots=True)
class _Bench:
    """The copies of a release and the models that score them.

    Attributes:
        secret: of the release.
        settings: of the test.
        models: the tested one, then its parents.
        tranche: of fresh copies, for a server; None for the copies that were verified.
        tasks: that take part; those that a model rejects leave.
        copies: in each set.
    """

    secret: Secret
    settings: ReleaseTestSettings
    models: Sequence[Generator]
    tranche: int | None
    tasks: list[SecretTask] = field(default_factory=list)
    copies: int = 0

    def members(self, task: SecretTask, number: int) -> list[int]:
        """Return the copies of the set of a version, in ascending order; too few where a pool is used up."""
        verified = self.secret.set_of(task, number)
        if self.tranche is None:
            return verified
        size = self.secret.committed.first - 2
        start = self.secret.committed.first + (self.tranche - 1) * size
        return [self.secret.lot(task.cluster, number), *range(start, min(start + size, len(task.copies)))]

    def versions(self) -> tuple[list[VersionTest], int, float | None]:
        """Return the tests of all versions, the tasks that could not be scored, and the p-value of the parent."""
        numbers = [version.number for version in self.secret.versions]
        sets = {number: [self.members(task, number) for task in self.secret.committed.tasks] for number in numbers}
        size = max(len(group) for group in sets[1])
        kept = [place for place, group in enumerate(sets[1]) if len(group) == size]
        if size < LEAST_COPIES:
            raise DataError(f"{self.secret.path}: {size} copies are left to compare with, expected {LEAST_COPIES}")
        every = self.secret.committed.tasks
        texts_by_order: dict[str, None] = {}
        for number in numbers:
            for place in kept:
                texts_by_order |= dict.fromkeys(self._texts(every[place], sets[number][place], number))
        with_content = [place for place in kept if self.tranche is None and self._contents(every[place]) > 1]
        for number in numbers:
            for place in with_content:
                texts_by_order |= dict.fromkeys(self._content_texts(every[place], number))
        unions = [
            list({text: None for number in numbers for text in self._texts(every[place], sets[number][place], number)})
            for place in kept
        ]
        scores = self._scores(list(texts_by_order), unions)
        usable = [
            place
            for place in kept
            if all(
                text in scores[0] and all(text in other for other in scores)
                for number in numbers
                for text in self._texts(every[place], sets[number][place], number)
            )
        ]
        if len(usable) < min(LEAST_TASKS, len(every)) or not usable:
            raise DataError(
                f"{len(usable)} of {len(every)} tasks could be scored, expected at least {LEAST_TASKS}"
                + (": the copies share no text that holds the task" if self.settings.access == "black" else "")
            )
        self.tasks, self.copies = [every[place] for place in usable], size
        tests, parent_p = [], None
        for number in numbers:
            groups = [sets[number][place] for place in usable]
            texts = [self._texts(task, group, number) for task, group in zip(self.tasks, groups, strict=True)]
            published = np.array(
                [
                    group.index(self.secret.lot(task.cluster, number))
                    for task, group in zip(self.tasks, groups, strict=True)
                ]
            )
            tables = [np.array([[score[text] for text in row] for row in texts]) for score in scores]
            names, first, drawn = self._test(tables, published)
            if len(tables) > 1 and parent_p is None:
                parent_p = self._test(tables[1:2], published)[0].p_value
            content = self._content_test([place for place in with_content if place in usable], number, scores)
            tests.append(
                VersionTest(
                    number,
                    self.secret.versions[number - 1].day,
                    names,
                    content,
                    None,
                    None,
                    first,
                    statistic.memorised_at_least(first, drawn, size),
                )
            )
        return tests, len(every) - len(usable), parent_p

    def _test(
        self, tables: Sequence[Float64Array], published: Int64Array, tasks: Sequence[SecretTask] | None = None
    ) -> tuple[LotTest, int, int]:
        """Return the test of one lot, how many clusters rank their published copy first, and their number."""
        d = statistic.standardised_within(statistic.residuals(tables[0], tables[1:]))
        clusters = [task.cluster for task in tasks or self.tasks]
        table, members = statistic.by_cluster(statistic.evidence(d), clusters)
        drawn = np.array([published[group[0]] for group in members])
        sums, _ = statistic.by_cluster(d, clusters)
        rows = np.arange(len(sums))
        own = sums[rows, drawn]
        others = sums.copy()
        others[rows, drawn] = -np.inf
        first = int((own > others.max(axis=1) + statistic.TIE).sum())
        return statistic.lot_test(table, drawn), first, len(sums)

    def _contents(self, task: SecretTask) -> int:
        return min(len(each.contents) for each in self.secret.committed.tasks if each.cluster == task.cluster)

    def _content_texts(self, task: SecretTask, number: int) -> list[str]:
        lot = self.secret.lot(task.cluster, number)
        return [self.secret.scored(task, lot, content) for content in range(self._contents(task))]

    def _content_test(
        self, places: Sequence[int], number: int, scores: Sequence[Mapping[str, float]]
    ) -> LotTest | None:
        """Return the test of the content; tasks with as many contents stand together, since a table has one width."""
        if self.settings.access == "black" or self.tranche is not None:
            return None
        widths: dict[int, list[SecretTask]] = {}
        for place in places:
            task = self.secret.committed.tasks[place]
            if all(text in score for score in scores for text in self._content_texts(task, number)):
                widths.setdefault(self._contents(task), []).append(task)
        if not widths:
            return None
        tasks = max(widths.values(), key=len)
        if len(tasks) < LEAST_TASKS:
            return None
        tables = [
            np.array([[score[text] for text in self._content_texts(task, number)] for task in tasks])
            for score in scores
        ]
        published = np.array([self.secret.content_lot(task.cluster, number) for task in tasks])
        return self._test(tables, published, tasks)[0]

    def _texts(self, task: SecretTask, members: Sequence[int], number: int) -> list[str]:
        content = self.secret.content_lot(task.cluster, number)
        return [self.secret.scored(task, index, content) for index in members]

    def _scores(self, texts: Sequence[str], sets: Sets) -> list[dict[str, float]]:
        """Return the value of each text under each model; texts that a model rejects are absent."""
        if self.settings.access == "gray":
            return [log_likelihoods(model, texts) for model in self.models]
        prompts = shared_prefixes(sets)
        if not any(prompts):
            raise DataError(
                "black-box access sends what all copies of a task share, and here that holds nothing of the tasks; "
                "expected --access gray"
            )
        return [written_names(model, sets, prompts) for model in self.models]

    def single_tasks(self, number: int) -> tuple[TaskTest, ...]:
        """Return the test of each task in a version: further copies are scored until enough of them beat its own."""
        if self.settings.access == "black" or self.tranche is not None:
            raise DataError("--tasks scores up to 1,000 secret copies of a task, expected a model on this machine")
        verified = {task.id: self.secret.set_of(task, number) for task in self.tasks}
        lots = {task.id: self.secret.lot(task.cluster, number) for task in self.tasks}
        sets = [self._texts(task, verified[task.id], number) for task in self.tasks]
        scores = [log_likelihoods(model, [text for row in sets for text in row]) for model in self.models]
        tables = [np.array([[score[text] for text in row] for row in sets]) for score in scores]
        _, members = statistic.by_cluster(tables[0], [task.cluster for task in self.tasks])
        weights = np.zeros((len(self.tasks), len(tables) - 1))
        for group in members if len(tables) > 1 else ():
            # without the task's own cluster: its slope must not know which copies were in the set
            weights[group] = statistic.slopes(tables[0], tables[1:], group)
        residual = tables[0] - sum(weights[:, [k]] * table for k, table in enumerate(tables[1:]))
        own: list[float] = []
        drawn: list[list[float]] = []
        for row, task in zip(residual, self.tasks, strict=True):
            column = verified[task.id].index(lots[task.id])
            own.append(float(row[column]))
            drawn.append([float(x) for place, x in enumerate(row) if place != column])
        active = list(range(len(self.tasks)))
        begin, size = self.secret.committed.first, ROUND
        while active:
            active = [
                place
                for place in active
                if begin < len(self.tasks[place].copies)
                and sum(x >= own[place] - statistic.TIE for x in drawn[place]) < statistic.ENOUGH
            ]
            texts = {
                place: self._texts(
                    self.tasks[place], range(begin, min(begin + size, len(self.tasks[place].copies))), number
                )
                for place in active
            }
            further = [
                log_likelihoods(model, [text for group in texts.values() for text in group]) if texts else {}
                for model in self.models
            ]
            for place, group in texts.items():
                for text in group:
                    if all(text in score for score in further):
                        explained = sum(w * score[text] for w, score in zip(weights[place], further[1:], strict=True))
                        drawn[place].append(further[0][text] - float(explained))
            begin, size = begin + size, 2 * size
        p_values = [statistic.sequential_p(value, others) for value, others in zip(own, drawn, strict=True)]
        q_values = benjamini_hochberg(p_values)
        return tuple(TaskTest(task.id, p, float(q)) for task, p, q in zip(self.tasks, p_values, q_values, strict=True))


def log_likelihoods(model: Generator, texts: Sequence[str]) -> dict[str, float]:
    """Return the log-likelihood of each text in nats; texts that the model rejects are absent.

    Raises:
        MissingCapability: the model only generates text.
        ModelError: it cannot be run.
    """
    if not isinstance(model, LogProbScorer):
        raise MissingCapability(f"{display_name(model.name)} only generates text: expected --access black")
    # sorted by digest: neither the order nor the batches know the lot
    ordered = sorted(set(texts), key=lambda text: hashlib.sha256(text.encode()).digest())
    values: dict[str, float] = {}
    with progress_bar(f"scoring copies with {display_name(model.name)}", shown=len(ordered) > 1) as progress:
        for batch in model.completed(ordered):
            for index, reply in batch:
                if not isinstance(reply, Rejected) and len(reply):
                    values[ordered[index]] = float(reply.log_probs.sum(dtype=np.float64))
            if progress:
                progress(len(values), len(ordered))
    return values


def shared_prefixes(sets: Sets) -> list[str]:
    """Return what all copies of each task begin with; "" where that holds nothing of the task."""
    common = [os.path.commonprefix(list(texts)) for texts in sets]  # noqa: RUF071  of texts, not of paths
    prefixes = [re.sub(r"\w+\Z", "", text) for text in common]
    return [
        prefix
        if prefixes.count(prefix) == 1 and len(set(_WORD.findall(_IMPORT.sub("", prefix)))) >= LEAST_WORDS
        else ""
        for prefix in prefixes
    ]


def written_names(model: Generator, sets: Sets, prompts: Sequence[str]) -> dict[str, float]:
    """Return for each copy the share of its own words that a model writes behind the prefix that all copies share."""
    values: dict[str, float] = {}
    places = [place for place, prompt in enumerate(prompts) if prompt]
    replies = model.generate([prompts[place] for place in places], max_new_tokens=GENERATED)
    for place, reply in zip(places, replies, strict=True):
        if isinstance(reply, Rejected):
            continue
        words = [set(_WORD.findall(text)) for text in sets[place]]
        common = set.intersection(*words)
        written = set(_WORD.findall(reply))
        for text, own in zip(sets[place], words, strict=True):
            values[text] = len((own - common) & written) / max(1, len(own - common))
    return values
