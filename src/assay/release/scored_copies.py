"""The copies of a release, scored by the models that are compared, and the tests of versions and of single tasks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, repeat
from operator import attrgetter, itemgetter, methodcaller

import numpy as np

from assay.errors import DataError
from assay.evaluation import ENOUGH, benjamini_hochberg, sequential_p
from assay.progress import inform
from assay.release import statistic
from assay.release.secret_values import Publication, Secret, SecretTask
from assay.release.settings import LEAST_COPIES, ReleaseTestSettings
from assay.release.statistic import LotTest
from assay.release.text_alone import WRITTEN, characters_alike
from assay.reports import number_of
from assay.scoring import log_likelihoods
from assay.types import Float64Array, Generator, LogProbScorer

LEAST_TASKS = 5
ROUND = 20
"""Copies of a task in the first round of its own test; each further round has twice as many."""

TextScores = Mapping[str, float]
"""Text → its value under one model; texts that the model rejects are absent."""


@dataclass(frozen=True, slots=True)
class VersionTest:
    """The tests of one version.

    Attributes:
        number: of the version.
        day: of its publication.
        names: test of the names; None for a model that gives text alone.
        content: test of the content; None where too few tasks have a choice of contents.
        adjusted: p-value of the names, adjusted over the log; None without a full log.
        content_adjusted: the same of the content.
        first: tasks (or clusters) whose published copy ranks first; by its content, for text alone.
        memorised: lower bound of the tasks that the model knows.
    """

    number: int
    day: str
    names: LotTest | None
    content: LotTest | None
    adjusted: float | None
    content_adjusted: float | None
    first: int
    memorised: int

    @property
    def decisive(self) -> tuple[LotTest, float | None]:
        """The test that the answer rests on, and its adjusted p-value: of the names, else of the content."""
        if self.names is None and self.content is not None:
            return self.content, self.content_adjusted
        assert self.names is not None  # noqa: S101  a version has one of the two
        return self.names, self.adjusted


@dataclass(frozen=True, slots=True)
class TaskTest:
    """The test of a single task: p-value of Besag and Clifford, q-value of Benjamini and Hochberg."""

    id: str
    p_value: float
    q_value: float


@dataclass(frozen=True, slots=True)
class TaskTexts:
    """The copies of one task that a test compares.

    Attributes:
        task: of the release.
        sets: version → numbers of the copies that are compared, the published one among them.
        texts: version → their texts; empty where the task has fewer copies than others.
        places: version → place of the published one among them.
        contents: version → texts of the contents that it could have had.
    """

    task: SecretTask
    sets: Mapping[int, list[int]]
    texts: Mapping[int, list[str]]
    places: Mapping[int, int]
    contents: Mapping[int, list[str]]


@dataclass(frozen=True, slots=True)
class ReleasedCopies:
    """Scored copies of a release.

    Attributes:
        secret: of the release.
        access: "gray": copies with other names; "black": contents, which text alone can show.
        models: the tested one, then its parents.
        tasks: that take part; those that a model rejects are left out.
        refused: their number.
        size: copies in each set.
        scores: of each model.
    """

    secret: Secret
    access: str
    models: Sequence[Generator | LogProbScorer]
    tasks: Sequence[TaskTexts]
    refused: int
    size: int
    scores: Sequence[TextScores]

    @classmethod
    def scored(
        cls,
        secret: Secret,
        settings: ReleaseTestSettings,
        models: Sequence[Generator | LogProbScorer],
        tranche: int | None,
    ) -> "ReleasedCopies":
        """Score the copies of a release.

        Args:
            secret: of the release.
            settings: of the test.
            models: the tested one, then its parents.
            tranche: of fresh copies, for a server; None for the copies that were verified.

        Raises:
            DataError: too few copies or tasks can be compared.
            ModelError: a model cannot be run.
        """
        if settings.access == "black":
            tasks = _tasks_by_content(secret)
            size = len(tasks[0].sets[1])
            whole, scores = tasks, _written(models, tasks)
        else:
            tasks = list(map(partial(_texts_of, secret, tranche=tranche), secret.committed.tasks))
            size = max(len(entry.sets[1]) for entry in tasks)
            if size < LEAST_COPIES:
                raise DataError(f"{secret.path}: {size} copies are left to compare, expected {LEAST_COPIES}")
            # a table has one width: tasks whose pool of copies is used up take no part
            whole = [entry if len(entry.sets[1]) == size else replace(entry, texts={}) for entry in tasks]
            scores = _likelihoods(models, whole)
        comparable = [entry for entry in whole if entry.texts and _are_scored(chain(*entry.texts.values()), scores)]
        if len(comparable) < min(LEAST_TASKS, len(tasks)):
            raise DataError(f"{len(comparable)} of {len(tasks)} tasks could be scored, expected at least {LEAST_TASKS}")
        return cls(
            secret=secret,
            access=settings.access,
            models=models,
            tasks=comparable,
            refused=len(tasks) - len(comparable),
            size=size,
            scores=scores,
        )

    def versions(self) -> list[VersionTest]:
        """Return the tests of all versions; their p-values are not adjusted."""
        return list(map(self._version_test, self.secret.versions))

    def _version_test(self, version: Publication) -> VersionTest:
        number = version.number
        result, first, clusters = self._published_test(number, self.scores)
        by_names = self.access == "gray"
        return VersionTest(
            number=number,
            day=version.day,
            names=result if by_names else None,
            content=self._content_test(number) if by_names else result,
            adjusted=None,
            content_adjusted=None,
            first=first,
            memorised=statistic.memorised_at_least(first, clusters, self.size),
        )

    def parent_p(self) -> float | None:
        """Return the p-value of the first parent itself, in the first version; None without a parent."""
        if len(self.scores) == 1:
            return None
        return self._published_test(self.secret.versions[0].number, self.scores[1:2])[0].p_value

    def _published_test(self, number: int, scores: Sequence[TextScores]) -> tuple[LotTest, int, int]:
        """Return what `_test` does of the texts of one version."""
        rows = list(map(itemgetter(number), map(attrgetter("texts"), self.tasks)))
        lots = list(map(itemgetter(number), map(attrgetter("places"), self.tasks)))
        return self._test(scores, tasks=self.tasks, rows=rows, lots=lots)

    def _test(
        self,
        scores: Sequence[TextScores],
        tasks: Sequence[TaskTexts],
        rows: Sequence[Sequence[str]],
        lots: Sequence[int],
    ) -> tuple[LotTest, int, int]:
        """Return the test of one lot, how many clusters rank their published copy first, and their number."""
        tables = _tables(scores, rows)
        d = statistic.standardised_within(statistic.residuals(tables[0], tables[1:]))
        clusters = list(map(attrgetter("task.cluster"), tasks))
        table, members = statistic.by_cluster(statistic.evidence(d), clusters)
        sums, _ = statistic.by_cluster(d, clusters)
        # tasks of a cluster share their lot, so that of its first task is the lot of all
        drawn = np.array([lots[group[0]] for group in members])
        own = sums[np.arange(len(sums)), drawn]
        # alone at the top: nothing else comes within a tie of it
        first = ((sums >= own[:, None] - statistic.TIE).sum(axis=1) == 1).sum()
        return statistic.lot_test(table, drawn), int(first), len(sums)

    def _content_test(self, number: int) -> LotTest | None:
        """Return the test of the content, of the tasks with the usual number of contents: a table has one width."""
        by_width: dict[int, list[TaskTexts]] = {}
        for entry in self.tasks:
            contents = entry.contents[number]
            if len(contents) > 1 and _are_scored(contents, self.scores):
                by_width.setdefault(len(contents), []).append(entry)
        tasks = max(by_width.values(), key=len, default=[])
        if len(tasks) < LEAST_TASKS:
            return None
        lots = list(map(partial(self.secret.content_lot, number=number), map(attrgetter("task.cluster"), tasks)))
        rows = list(map(itemgetter(number), map(attrgetter("contents"), tasks)))
        return self._test(self.scores, tasks=tasks, rows=rows, lots=lots)[0]


def _texts_of(secret: Secret, task: SecretTask, tranche: int | None) -> TaskTexts:
    """Return the copies of a task that are compared, in each version; a server gets no contents."""
    sets: dict[int, list[int]] = {}
    texts: dict[int, list[str]] = {}
    places: dict[int, int] = {}
    contents: dict[int, list[str]] = {}
    for version in secret.versions:
        number = version.number
        sets[number] = _members(secret, task=task, number=number, tranche=tranche)
        texts[number] = _copies(secret, task=task, members=sets[number], number=number)
        places[number] = sets[number].index(secret.lot(task.cluster, number))
        contents[number] = _contents_of(secret, task, number) if tranche is None else []
    return TaskTexts(task, sets=sets, texts=texts, places=places, contents=contents)


def _contents_of(secret: Secret, task: SecretTask, number: int) -> list[str]:
    """Return the published copy of a task with each content that it could have had."""
    scored = partial(secret.scored, task, secret.lot(task.cluster, number))
    return list(map(scored, range(secret.contents_of(task.cluster))))


def _tasks_by_content(secret: Secret) -> list[TaskTexts]:
    """Return the tasks whose content the lot chose, with their contents: those with the usual number of them.

    Raises:
        DataError: too few tasks have a choice.
    """
    by_width: dict[int, list[TaskTexts]] = {}
    numbers = list(map(attrgetter("number"), secret.versions))
    for task in secret.committed.tasks:
        width = secret.contents_of(task.cluster)
        texts = {number: _contents_of(secret, task, number) for number in numbers}
        places = {number: secret.content_lot(task.cluster, number) for number in numbers}
        sets = {number: list(range(width)) for number in numbers}
        # two contents that look alike to a model are no choice
        if width > 1 and len(set(texts[numbers[0]])) == width:
            by_width.setdefault(width, []).append(TaskTexts(task, sets=sets, texts=texts, places=places, contents={}))
    tasks = max(by_width.values(), key=len, default=[])
    if len(tasks) < LEAST_TASKS:
        raise DataError(
            f"{secret.path}: the lot chose examples or their order in {number_of(len(tasks), 'task')}, expected "
            f"{LEAST_TASKS} or more for --access black; --access gray compares names"
        )
    return tasks


def _members(secret: Secret, task: SecretTask, number: int, tranche: int | None) -> list[int]:
    """Return the copies of the set of a version; fewer than others have where a pool is used up."""
    if tranche is None:
        return secret.set_of(task, number)
    # with the published copy as many as in the set of a first version, which excludes the twin
    size = secret.committed.first - 2
    start = secret.committed.first + (tranche - 1) * size
    return [secret.lot(task.cluster, number), *range(start, min(start + size, len(task.copies)))]


def _copies(secret: Secret, task: SecretTask, members: Iterable[int], number: int) -> list[str]:
    """Return the texts of some copies, with the content that a version has."""
    content = secret.content_lot(task.cluster, number)
    return list(map(partial(secret.scored, task, content=content), members))


def _likelihoods(models: Sequence[Generator | LogProbScorer], tasks: Sequence[TaskTexts]) -> list[dict[str, float]]:
    """Return the log-likelihood of each text under each model."""
    texts: dict[str, None] = {}
    for entry in tasks:
        for contents in (*entry.texts.values(), *entry.contents.values()):
            # a task with a single text has nothing to compare it with
            texts |= dict.fromkeys(contents if len(contents) > 1 else ())
    inform(f"{number_of(len(models), 'model')} will read {number_of(len(texts), 'text')} once each")
    return list(map(log_likelihoods, models, repeat(list(texts))))


def _written(models: Sequence[Generator | LogProbScorer], tasks: Sequence[TaskTexts]) -> list[dict[str, float]]:
    """Return for each content how much of it each model writes."""
    contents = list(chain.from_iterable(map(methodcaller("values"), map(attrgetter("texts"), tasks))))
    inform(
        f"{number_of(len(models), 'model')} will continue {number_of(len(contents), 'public prompt')} once each, "
        f"{WRITTEN} tokens at most"
    )
    return list(map(characters_alike, models, repeat(contents)))


def _are_scored(texts: Iterable[str], scores: Sequence[TextScores]) -> bool:
    """Return True if every model gave every text a value."""
    distinct = set(texts)
    return all(distinct <= of_model.keys() for of_model in scores)


def _tables(scores: Sequence[TextScores], rows: Sequence[Sequence[str]]) -> list[Float64Array]:
    """Return a table for each model: a row a task, a column a copy."""
    tables = []
    for of_model in scores:
        values = [list(map(of_model.__getitem__, row)) for row in rows]
        tables.append(np.array(values))
    return tables


def single_tasks(copies: ReleasedCopies, number: int) -> tuple[TaskTest, ...]:
    """Return the test of each task in a version: further copies are scored until enough of them beat its own.

    Args:
        copies: scored.
        number: of the version.
    """
    secret, tasks = copies.secret, list(map(attrgetter("task"), copies.tasks))
    sets = list(map(partial(secret.set_of, number=number), tasks))
    rows = list(map(partial(_copies, secret, number=number), tasks, sets))
    weights = _weights_of_parents(_tables(copies.scores, rows), list(map(attrgetter("cluster"), tasks)))
    own: list[float] = []
    drawn: list[list[float]] = []
    for place, task in enumerate(tasks):
        values = [_left(text, copies.scores, weights[place]) for text in rows[place]]
        own.append(values.pop(sets[place].index(secret.lot(task.cluster, number))))
        drawn.append(values)
    begin, size = secret.committed.first, ROUND
    while True:
        further = {}
        for place, task in enumerate(tasks):
            fresh = range(begin, min(begin + size, len(task.copies)))
            # enough copies that beat its own make a p-value: the others of a task need not be scored
            if fresh and _beaten(own[place], drawn[place]) < ENOUGH:
                further[place] = _copies(secret, task, fresh, number=number)
        if not further:
            break
        _add_scores(drawn, further, copies.models, weights=weights)
        begin, size = begin + size, 2 * size
    p_values = list(map(sequential_p, own, drawn))
    q_values = map(float, benjamini_hochberg(p_values))
    return tuple(map(TaskTest, map(attrgetter("id"), tasks), p_values, q_values))


def _add_scores(
    drawn: Sequence[list[float]],
    further: Mapping[int, list[str]],
    models: Sequence[Generator | LogProbScorer],
    weights: Float64Array,
) -> None:
    """Score further copies of some tasks (by their places) and add what the parents leave of their values."""
    scores = list(map(log_likelihoods, models, repeat(list(chain(*further.values())))))
    for place, texts in further.items():
        for text in texts:
            if _are_scored([text], scores):
                drawn[place].append(_left(text, scores, weights[place]))


def _weights_of_parents(tables: Sequence[Float64Array], clusters: Sequence[str]) -> Float64Array:
    """Return how much of each parent is subtracted: a row a task, a column a parent."""
    weights = np.zeros((len(clusters), len(tables) - 1))
    if len(tables) > 1:
        _, groups = statistic.by_cluster(tables[0], clusters)
        for group in groups:
            # without the task's own cluster: its slope must not know which copies were in the set
            weights[group] = statistic.slopes(tables[0], tables[1:], group)
    return weights


def _left(text: str, scores: Sequence[TextScores], weights: Float64Array) -> float:
    """Return what the parents leave of the value of a text."""
    explained = sum(weight * parent[text] for weight, parent in zip(weights, scores[1:], strict=True))
    return scores[0][text] - float(explained)


def _beaten(own: float, drawn: Sequence[float]) -> int:
    """Return how many copies are at least as likely as the published one."""
    return sum(value >= own - statistic.TIE for value in drawn)
