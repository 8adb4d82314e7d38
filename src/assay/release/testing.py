"""Test a model against a release.

Null: given the copies, the model is independent of the lots. All copies of a task are scored afresh, in an order that
does not know the lot; then the lot is drawn again. Rejecting means that the lot's outcome reached the model. Not
rejecting is no evidence of anything.

The statistic was declared before data, and decided on plants (docs/results/release.md): whole log-likelihoods,
standardised_within within the set of a task, Σ log(1 - ε + ε w).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from assay.datasets import scored_text
from assay.errors import DataError
from assay.evaluation import ENOUGH, benjamini_hochberg, holm_adjusted, sequential_p
from assay.files import parse_json, write_json
from assay.models import CachedLogProbScorer, ModelSettings, display_name, is_server, open_model
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
from assay.scoring import log_likelihoods, shared_prefixes, written_names
from assay.types import PROOF_LEVEL, Float64Array, Generator, LogProbScorer, ReleaseEvidence

LEAST_TASKS = 5
ROUND = 20
"""Copies of a task in the first round of its own test; each further round has twice as many."""
NAMED = 0.05


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

    def describe(self) -> Report:
        """Return the report."""
        return describe(self)


def run_release_test(
    model: str | Generator | LogProbScorer,
    secret: str | Path,
    settings: ReleaseTestSettings | None = None,
    opened: ModelSettings | None = None,
    *,
    proven_only: bool = False,
    **by_name: Any,  # noqa: ANN401  the types of the settings
) -> ReleaseTest:
    """Test whether the lot of a release reached a model, and log the test in the secret file.

    Args:
        model: name of a model, or a model.
        secret: the secret file.
        settings: access, parent (a tuple of names), tasks, placebo, spend.
        opened: how models are opened; their cache is never used.
        proven_only: name single tasks only where the lot proves that the publication was trained on.
        by_name: instead of `settings`, its settings by name.

    Raises:
        DataError: bad input, or a secret copy would be sent to a server without `spend`.
        ModelError: a model cannot be opened or run.
    """
    settings, secret = settings or ReleaseTestSettings.of(**by_name), Path(secret)
    name = model if isinstance(model, str) else model.name
    with held_secret(secret):
        value = published_secret(secret)
        tranche = None
        server = next((each for each in (name, *settings.parent) if is_server(each)), None)
        if settings.tasks and (server is not None or settings.access == "black"):
            raise DataError("single tasks take up to 1,000 secret copies each, expected a model on this machine")
        if settings.access == "gray" and server is not None:
            tranche = len(value.spent) + 1
            if not settings.spend:
                raise DataError(
                    f"the server of {display_name(server)} gets secret copies of {len(value.committed.tasks)} tasks, "
                    "which are spent then; expected --spend, or --access black"
                )
            # before the first text is sent: a run that is interrupted has spent them too
            value = replace(value, spent=(*value.spent, SpentCopies(today(), display_name(server), tranche)))
            write_secret(secret, value)
        options = replace(opened or ModelSettings(), cache=False)
        other = replace(options, revision=None, adapter=None, chat_template=False)
        models = [open_model(model, options) if isinstance(model, str) else model]
        models += [open_model(parent, other) for parent in settings.parent]
        # a cache would keep the secret copies
        models = [each.scorer if isinstance(each, CachedLogProbScorer) else each for each in models]
        for parent, older in zip(settings.parent, models[1:], strict=True):
            # a model in memory may have been trained since its files were read, which its digest does not know
            if isinstance(model, str) and getattr(older, "digest", 0) == getattr(models[0], "digest", 1):
                raise DataError(f"--parent {parent} is the tested model itself; expected an older one")
        bench = _Bench(value, settings, models, tranche)
        tests, refused, parent_p = bench.versions()
        value, versions = _logged(value, tests, display_name(name), settings)
        write_secret(secret, value)
        single: tuple[TaskTest, ...] = ()
        strongest = min(versions, key=lambda version: version.names.p_value)
        is_proof = value.committed.valid and strongest.adjusted is not None and strongest.adjusted <= PROOF_LEVEL
        if settings.tasks and (is_proof or not proven_only):
            single = bench.single_tasks(strongest.number)
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
        DataError: it was not, because the value of the beacon is missing; a version was changed after it was
            published; or see `read_secret`.
    """
    secret = read_secret(path)
    if not secret.versions:
        raise DataError(
            f"{path}: the value of the beacon is missing, expected that of {secret.committed.round!r}: "
            "assay release make TASKS --beacon VALUE"
        )
    for version in secret.versions:
        if version.digests != secret.digests(version.number):
            raise DataError(f"{path}: version {version.number} was changed, expected it as it was published")
    return secret


def check_published(secret: Path, texts: Sequence[str]) -> None:
    """Check that texts are of a release, so that what its lot shows is about them; white space does not count.

    Raises:
        DataError: some are in no version; or see `published_secret`.
    """
    value = published_secret(secret)
    rows = [row for version in value.versions for row in value.published(version.number)]
    cells = (cell for row in rows for cell in (scored_text(row, value.layout), *map(str, row.values())))
    whole = "\0".join("".join(cell.split()) for cell in cells)
    others = sum("".join(text.split()) not in whole for text in texts)
    if others:
        raise DataError(f"{others} of {len(texts)} texts are not of the release of {secret}, expected its public file")


def evidence_of_release(
    model: str | Generator | LogProbScorer, secret: str | Path, *, kept: Path | None = None
) -> ReleaseEvidence:
    """Return what an audit needs of the test of a release; the test is logged.

    Args:
        model: name of a model, or a model.
        secret: the secret file.
        kept: file of the result, for a run that is continued: each test counts, and this one is then made once.

    Raises:
        AssayError: see `run_release_test`.
    """
    if kept is not None and kept.exists():
        return ReleaseEvidence(**parse_json(kept.read_bytes()))
    result = run_release_test(model, secret, ReleaseTestSettings(tasks=True), proven_only=True)
    best = result.strongest
    shown = ReleaseEvidence(
        p_value=best.names.p_value,
        adjusted_p_value=best.adjusted,
        named={task.id: task.q_value for task in result.named},
        memorised=best.memorised,
        tasks=result.tasks,
        valid=result.valid,
        has_beacon=result.has_beacon,
    )
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_json(kept, asdict(shown))
    return shown


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
    adjusted = holm_adjusted([secret.tests[place].p_value for place in counted])
    by_place: dict[int, float | None] = dict(zip(counted, adjusted, strict=True)) if is_full else {}
    places = iter(range(before, len(secret.tests)))
    judged = [
        replace(
            version,
            adjusted=by_place.get(next(places)),
            content_adjusted=by_place.get(next(places)) if version.content is not None else None,
        )
        for version in versions
    ]
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
        scores: of each model, the value of each text.
    """

    secret: Secret
    settings: ReleaseTestSettings
    models: Sequence[Generator | LogProbScorer]
    tranche: int | None
    tasks: list[SecretTask] = field(default_factory=list)
    copies: int = 0
    scores: list[dict[str, float]] = field(default_factory=list)

    def members(self, task: SecretTask, number: int) -> list[int]:
        """Return the copies of the set of a version; fewer than others have where a pool is used up."""
        if self.tranche is None:
            return self.secret.set_of(task, number)
        size = self.secret.committed.first - 2
        start = self.secret.committed.first + (self.tranche - 1) * size
        return [self.secret.lot(task.cluster, number), *range(start, min(start + size, len(task.copies)))]

    def texts(self, task: SecretTask, members: Iterable[int], number: int) -> list[str]:
        """Return the texts of some copies, with the content that a version has."""
        content = self.secret.content_lot(task.cluster, number)
        return [self.secret.scored(task, index, content) for index in members]

    def contents(self, task: SecretTask, number: int) -> list[str]:
        """Return the texts of the contents that a version of a task could have had."""
        if self.tranche is not None or self.settings.access == "black":
            return []
        lot = self.secret.lot(task.cluster, number)
        return [self.secret.scored(task, lot, content) for content in range(self.secret.contents_of(task.cluster))]

    def versions(self) -> tuple[list[VersionTest], int, float | None]:
        """Return the tests of all versions, the tasks that could not be scored, and the p-value of the parent."""
        every, numbers = self.secret.committed.tasks, [version.number for version in self.secret.versions]
        sets = [{number: self.members(task, number) for number in numbers} for task in every]
        self.copies = max(len(group[1]) for group in sets)
        if self.copies < LEAST_COPIES:
            raise DataError(f"{self.secret.path}: {self.copies} copies are left to compare, expected {LEAST_COPIES}")
        texts = [
            {number: self.texts(task, group[number], number) for number in numbers}
            if len(group[1]) == self.copies
            else {}
            for task, group in zip(every, sets, strict=True)
        ]
        contents = [{number: self.contents(task, number) for number in numbers} for task in every]
        self.scores = self._scores(
            [list(dict.fromkeys(text for row in group.values() for text in row)) for group in texts],
            [text for group in contents for row in group.values() if len(row) > 1 for text in row],
        )
        places = [place for place, group in enumerate(texts) if group and all(map(self._are_scored, group.values()))]
        if len(places) < min(LEAST_TASKS, len(every)):
            raise DataError(f"{len(places)} of {len(every)} tasks could be scored, expected at least {LEAST_TASKS}")
        self.tasks = [every[place] for place in places]
        tests, parent_p = [], None
        for number in numbers:
            lots = [sets[place][number].index(self.secret.lot(every[place].cluster, number)) for place in places]
            rows = [texts[place][number] for place in places]
            names, first, clusters = self._test(self.scores, self.tasks, rows, lots)
            if len(self.scores) > 1 and parent_p is None:
                parent_p = self._test(self.scores[1:2], self.tasks, rows, lots)[0].p_value
            content = self._content_test({place: contents[place][number] for place in places}, number)
            memorised = statistic.memorised_at_least(first, clusters, self.copies)
            day = self.secret.versions[number - 1].day
            tests.append(VersionTest(number, day, names, content, None, None, first, memorised))
        return tests, len(every) - len(places), parent_p

    def _are_scored(self, texts: Iterable[str]) -> bool:
        return all(text in score for text in texts for score in self.scores)

    def _test(
        self,
        scores: Sequence[Mapping[str, float]],
        tasks: Sequence[SecretTask],
        rows: Sequence[Sequence[str]],
        lots: Sequence[int],
    ) -> tuple[LotTest, int, int]:
        """Return the test of one lot, how many clusters rank their published copy first, and their number."""
        tables = _tables(scores, rows)
        d = statistic.standardised_within(statistic.residuals(tables[0], tables[1:]))
        clusters = [task.cluster for task in tasks]
        table, members = statistic.by_cluster(statistic.evidence(d), clusters)
        sums, _ = statistic.by_cluster(d, clusters)
        drawn = np.array([lots[group[0]] for group in members])
        own = sums[np.arange(len(sums)), drawn]
        # alone at the top: nothing else comes within a tie of it
        first = ((sums >= own[:, None] - statistic.TIE).sum(axis=1) == 1).sum()
        return statistic.lot_test(table, drawn), int(first), len(sums)

    def _content_test(self, texts: Mapping[int, Sequence[str]], number: int) -> LotTest | None:
        """Return the test of the content, of the tasks with the usual number of contents: a table has one width."""
        widths: dict[int, list[int]] = {}
        for place, row in texts.items():
            if len(row) > 1 and self._are_scored(row):
                widths.setdefault(len(row), []).append(place)
        places = max(widths.values(), key=len, default=[])
        if len(places) < LEAST_TASKS:
            return None
        tasks = [self.secret.committed.tasks[place] for place in places]
        lots = [self.secret.content_lot(task.cluster, number) for task in tasks]
        return self._test(self.scores, tasks, [texts[place] for place in places], lots)[0]

    def _scores(self, sets: Sequence[Sequence[str]], others: Sequence[str]) -> list[dict[str, float]]:
        """Return the value of each text under each model; texts that a model rejects are absent."""
        if self.settings.access == "gray":
            return [log_likelihoods(model, [*chain(*sets), *others]) for model in self.models]
        prompts = shared_prefixes(sets)
        if not any(prompts):
            raise DataError(
                "black-box access sends what all copies of a task share, and here that holds nothing of the tasks; "
                "expected --access gray"
            )
        return [written_names(model, sets, prompts) for model in self.models]

    def single_tasks(self, number: int) -> tuple[TaskTest, ...]:
        """Return the test of each task in a version: further copies are scored until enough of them beat its own."""
        sets = [self.secret.set_of(task, number) for task in self.tasks]
        rows = [self.texts(task, group, number) for task, group in zip(self.tasks, sets, strict=True)]
        tables = _tables(self.scores, rows)
        weights = np.zeros((len(self.tasks), len(tables) - 1))
        _, clusters = statistic.by_cluster(tables[0], [task.cluster for task in self.tasks])
        for group in clusters if len(tables) > 1 else ():
            # without the task's own cluster: its slope must not know which copies were in the set
            weights[group] = statistic.slopes(tables[0], tables[1:], group)

        def left(place: int, text: str, scores: Sequence[Mapping[str, float]]) -> float:
            """Return what the parents leave of a value."""
            return scores[0][text] - float(sum(w * s[text] for w, s in zip(weights[place], scores[1:], strict=True)))

        columns = [group.index(self.secret.lot(t.cluster, number)) for t, group in zip(self.tasks, sets, strict=True)]
        own = [left(place, row[columns[place]], self.scores) for place, row in enumerate(rows)]
        drawn = [
            [left(place, text, self.scores) for at, text in enumerate(row) if at != columns[place]]
            for place, row in enumerate(rows)
        ]
        begin, size = self.secret.committed.first, ROUND
        while further := {
            place: self.texts(task, range(begin, min(begin + size, len(task.copies))), number)
            for place, task in enumerate(self.tasks)
            if begin < len(task.copies) and sum(value >= own[place] - statistic.TIE for value in drawn[place]) < ENOUGH
        }:
            scores = [log_likelihoods(model, list(chain(*further.values()))) for model in self.models]
            for place, texts in further.items():
                drawn[place] += [left(place, text, scores) for text in texts if all(text in each for each in scores)]
            begin, size = begin + size, 2 * size
        p_values = [sequential_p(value, others) for value, others in zip(own, drawn, strict=True)]
        q_values = benjamini_hochberg(p_values)
        return tuple(TaskTest(task.id, p, float(q)) for task, p, q in zip(self.tasks, p_values, q_values, strict=True))


def _tables(scores: Sequence[Mapping[str, float]], rows: Sequence[Sequence[str]]) -> list[Float64Array]:
    return [np.array([[score[text] for text in row] for row in rows]) for score in scores]
