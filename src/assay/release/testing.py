"""Test a model against a release.

Null: given the copies, the model is independent of the lots. All copies of a task are scored afresh, in an order that
does not know the lot; then the lot is drawn again. Rejecting means that the lot's outcome reached the model. Not
rejecting is no evidence of anything.

The statistic was declared before data, and decided on plants (docs/results/release.md): whole log-likelihoods,
standardised_within within the set of a task, Σ log(1 - ε + ε w).
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.datasets import scored_text
from assay.errors import DataError
from assay.evaluation import holm_adjusted
from assay.files import parse_json, write_json
from assay.models import (
    CachedLogProbScorer,
    ModelSettings,
    StatisticsCache,
    cached_generator,
    cached_scorer,
    display_name,
    is_server,
    open_model,
)
from assay.progress import inform
from assay.release.making import today
from assay.release.scored_copies import ReleasedCopies, TaskTest, VersionTest, single_tasks
from assay.release.secret_file import held_secret, read_secret, write_secret
from assay.release.secret_values import LoggedTest, LogState, Secret, SpentCopies
from assay.release.settings import ReleaseTestSettings
from assay.reports import TabularResult, number_of
from assay.types import PROOF_LEVEL, Generator, LogProbScorer, ReleaseEvidence

NAMED = 0.05
"""False discovery rate at which single tasks are named."""


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
        log: of the secret, with these tests.
        single: tests of single tasks; empty where they were not places for.
        placebo: the model is said to be older than the publication.
        logged: tests in the log that p-values are adjusted for, these included.
        placebos: p-values of the placebos in the log.
        parent_p: p-value of the first parent itself; None without one.
        refused: tasks of which the model rejected a copy, or that share no prefix.
        spent: tranche that the server of the model has received; None where nothing secret was sent.
        naming: where the names of the copies come from, in words.
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
    log: LogState
    single: tuple[TaskTest, ...] = ()
    placebo: bool = False
    logged: int = 0
    placebos: tuple[float, ...] = ()
    parent_p: float | None = None
    refused: int = 0
    spent: int | None = None
    naming: str = ""

    @property
    def strongest(self) -> VersionTest:
        """The version with the smallest p-value."""
        return _strongest(self.versions)

    @property
    def named(self) -> tuple[TaskTest, ...]:
        """Tasks that are named at a false discovery rate of 5 %."""
        return tuple(task for task in self.single if task.q_value <= NAMED)


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
        by_name: single values of `settings` by name.

    Raises:
        DataError: bad input, or a secret copy would be sent to a server without `spend`.
        ModelError: a model cannot be opened or run.
    """
    settings, path = (settings or ReleaseTestSettings()).with_values(**by_name), Path(secret)
    name = display_name(model if isinstance(model, str) else model.name)
    with held_secret(path):
        value = published_secret(path)
        server = _server_in(model, settings)
        tranche = None
        if settings.access == "gray" and server is not None:
            value, tranche = _spent(value, path, display_name(server), allowed=settings.spend)
        models = _models(model, settings, opened or ModelSettings())
        # a model in memory may be trained on between two runs, and a server gets fresh copies each time
        kept = isinstance(model, str) and tranche is None
        with _resumable(path, models, access=settings.access, kept=kept) as scorers:
            copies = ReleasedCopies.scored(value, settings=settings, models=scorers, tranche=tranche)
            value, versions = _logged(value, versions=copies.versions(), model=name, settings=settings)
            single: tuple[TaskTest, ...] = ()
            if settings.tasks and not (proven_only and not _is_proof(value, versions)):
                single = single_tasks(copies, _strongest(versions).number)
            write_secret(path, value)
    placebos = [entry.p_value for entry in value.tests if entry.placebo]
    return ReleaseTest(
        model=name,
        release=value.committed.name,
        commitment=value.commitment,
        valid=value.committed.valid,
        has_beacon=all(map(attrgetter("beacon"), value.versions)),
        access=settings.access,
        parents=tuple(map(display_name, settings.parent)),
        tasks=len(copies.tasks),
        clusters=len(set(map(attrgetter("task.cluster"), copies.tasks))),
        copies=copies.size,
        versions=versions,
        single=single,
        placebo=settings.placebo,
        logged=len(value.tests) - len(placebos),
        placebos=tuple(placebos),
        parent_p=copies.parent_p(),
        refused=copies.refused,
        spent=tranche,
        naming=value.committed.naming,
        log=value.log_state,
    )


def _server_in(model: str | Generator | LogProbScorer, settings: ReleaseTestSettings) -> str | None:
    """Return the first model that is asked over the network; None where all run on this machine.

    Raises:
        DataError: single tasks are to be tested, and their copies would leave this machine; or copies may be spent
            where none is sent.
    """
    name = model if isinstance(model, str) else model.name
    server = next(filter(is_server, (name, *settings.parent)), None)
    if settings.spend and (server is None or settings.access == "black"):
        raise DataError("--spend: no secret copy would be sent to a server, expected the command without it")
    if settings.tasks and (server is not None or settings.access == "black"):
        raise DataError("single tasks take up to 1,000 secret copies each, expected a model on this machine")
    return server


def _spent(secret: Secret, path: Path, server: str, *, allowed: bool) -> tuple[Secret, int]:
    """Record that a server gets a tranche of secret copies, and return the secret and the number of the tranche.

    Raises:
        DataError: copies may not be spent.
    """
    if not allowed:
        raise DataError(
            f"the server of {server} gets secret copies of {number_of(len(secret.committed.tasks), 'task')}, "
            "which are spent then; expected --spend, or --access black"
        )
    tranche = len(secret.spent) + 1
    # before the first text is sent: a run that is interrupted has spent them too
    secret = secret.logged(SpentCopies(today(), server, tranche))
    write_secret(path, secret)
    return secret, tranche


def _models(
    model: str | Generator | LogProbScorer, settings: ReleaseTestSettings, opened: ModelSettings
) -> list[Generator | LogProbScorer]:
    """Open the tested model and its parents, without a cache: it would keep the secret copies.

    Raises:
        DataError: a parent is the tested model.
        ModelError: a model cannot be opened.
    """
    options = replace(opened, cache=False)
    tested = _uncached(open_model(model, options) if isinstance(model, str) else model)
    models = [tested]
    # these options belong to the tested model alone
    of_parents = replace(options, revision=None, adapter=None, chat_template=False)
    for parent in settings.parent:
        older = _uncached(open_model(parent, of_parents))
        # a model in memory may have been trained since its files were read, which its digest does not know
        if isinstance(model, str) and getattr(older, "digest", 0) == getattr(tested, "digest", 1):
            raise DataError(f"--parent {parent} is the tested model itself; expected an older one")
        models.append(older)
    return models


def _uncached(model: Generator | LogProbScorer) -> Generator | LogProbScorer:
    return model.scorer if isinstance(model, CachedLogProbScorer) else model


@contextmanager
def _resumable(
    secret: Path, models: Sequence[Generator | LogProbScorer], *, access: str, kept: bool
) -> Iterator[list[Generator | LogProbScorer]]:
    """Keep what models compute in a private folder beside the secret: a killed test goes on when it is repeated.

    The folder holds token ids, which are the copies: it is removed when the test is logged.

    Raises:
        DataError: the folder is a link.
        CacheError: its file cannot be written.
    """
    if not kept:
        yield list(models)
        return
    folder = secret.resolve().with_name(f".{secret.resolve().name}.scores")
    if folder.is_symlink():
        raise DataError(f"{folder} is a link; expected a folder of this test, or nothing")
    if folder.is_dir():
        inform("an earlier test was cut short: what it computed is not computed again")
    folder.mkdir(mode=0o700, exist_ok=True)
    with StatisticsCache(folder / "scores.sqlite") as cache:
        yield list(map(partial(_cached, cache, access), models))
    # in no `finally`: what an interrupted test leaves is what its repetition reads
    shutil.rmtree(folder)


def _cached(cache: StatisticsCache, access: str, model: Generator | LogProbScorer) -> Generator | LogProbScorer:
    if access == "gray":
        return cached_scorer(model, cache) if isinstance(model, LogProbScorer) else model
    digest = getattr(model, "digest", None)
    return cached_generator(model, cache, digest=digest) if digest and isinstance(model, Generator) else model


def _strongest(versions: Sequence[VersionTest]) -> VersionTest:
    """Return the version with the smallest p-value."""
    return min(versions, key=lambda version: version.decisive[0].p_value)


def _is_proof(secret: Secret, versions: Sequence[VersionTest]) -> bool:
    """Return True if the lot proves that the publication was trained on."""
    _, adjusted = _strongest(versions).decisive
    return secret.committed.valid and adjusted is not None and adjusted <= PROOF_LEVEL


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
    cells: list[str] = []
    for version in value.versions:
        for row in value.published(version.number):
            cells += [scored_text(row, value.layout), *map(str, row.values())]
    # the separator keeps a text from matching across two cells
    whole = "\0".join(map(_without_space, cells))
    others = sum(_without_space(text) not in whole for text in texts)
    if others:
        raise DataError(f"{others} of {len(texts)} texts are not of the release of {secret}, expected its public file")


def _without_space(text: str) -> str:
    return "".join(text.split())


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
        p_value=best.decisive[0].p_value,
        adjusted_p_value=best.decisive[1],
        named={task.id: task.q_value for task in result.named},
        memorised=best.memorised,
        tasks=result.tasks,
        valid=result.valid,
        has_beacon=result.has_beacon,
    )
    inform(result.log.to_publish)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_json(kept, asdict(shown))
    return shown


def _logged(
    secret: Secret, versions: Sequence[VersionTest], model: str, settings: ReleaseTestSettings
) -> tuple[Secret, tuple[VersionTest, ...]]:
    """Return the secret with these tests in its log, and the tests with p-values adjusted over it."""
    parents = map("parent {}".format, map(display_name, settings.parent))
    words = ", ".join([settings.access, *parents])
    is_full = secret.log_state.is_full
    places: list[dict[str, int]] = []
    for version in versions:
        places.append({})
        for subject, result in (("names", version.names), ("content", version.content)):
            if result is None:
                continue
            entry = LoggedTest(
                day=today(),
                model=model,
                subject=f"{subject} of version {version.number}",
                settings=words,
                p_value=result.p_value,
                placebo=settings.placebo,
            )
            places[-1][subject] = len(secret.tests)
            secret = secret.logged(entry)
    adjusted = _adjusted(secret, placebo=settings.placebo) if is_full else {}
    judged = []
    for version, place in zip(versions, places, strict=True):
        # -1 is no place in the log: a test that was not made has no adjusted p-value
        names = adjusted.get(place.get("names", -1))
        content = adjusted.get(place.get("content", -1))
        judged.append(replace(version, adjusted=names, content_adjusted=content))
    return secret, tuple(judged)


def _adjusted(secret: Secret, *, placebo: bool) -> dict[int, float]:
    """Return place in the log → p-value adjusted over the log (Holm).

    A placebo cannot have seen the lot: it is a check, and takes nothing from the others.
    """
    counted = [place for place, entry in enumerate(secret.tests) if placebo or not entry.placebo]
    p_values = holm_adjusted(list(map(attrgetter("p_value"), map(secret.tests.__getitem__, counted))))
    return dict(zip(counted, p_values, strict=True))
