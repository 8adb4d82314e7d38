"""`assay.build_unseen`: unseen text for a benchmark."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from assay.datasets import MOST_UNSEEN, DataSelection, Dataset, Texts, dataset_of
from assay.errors import DataError
from assay.leakage import may_be_python
from assay.models import combined, default_cache_path
from assay.progress import inform
from assay.settings import day_named
from assay.unseen import (
    AUTO,
    LATER_PACKAGES,
    PackageFolder,
    Period,
    UnseenRequest,
    UnseenSet,
    UnseenUnit,
    build_unseen_set,
    expanded,
)

BUILTIN_DAY = "2025-08-01"
"""Day that is later than all texts of the built-in models."""
ENOUGH_PROJECTS = 35
"""Groups of unseen text of an audit: as many as the placebos have."""
CAVEAT = "for a benchmark in a form of its own, only with --parent MODEL can they rule out a leak"


def build_unseen(
    corpora: str | Path | Sequence[str | Path],
    *,
    like: Texts | None = None,
    after: date | str | None = None,
    before: date | str | None = None,
    released: date | str | None = None,
    unit: UnseenUnit = "function",
    most: int | None = MOST_UNSEEN,
    seed: int = 0,
    download: bool = False,
    groups: int | None = None,
    out: Path | str | None = None,
) -> UnseenSet:
    """Build unseen text: functions or files that are new, in the form of a benchmark and matched to it.

    Args:
        corpora: git repositories, archives (wheels, sdists, zip, tar) and folders; with `download` also names of
            packages ("numpy==2.1") and files that list them.
        like: the benchmark whose form the texts get; None leaves them as they stand.
        after: only texts of which no line existed before this day, by git or by `released`.
        before: only texts that have not changed since before this day.
        released: day on which corpora that are no git repositories were published.
        unit: "function" or "file".
        most: texts at most, drawn evenly over the repositories; None: all that fit (of 4,000 candidates).
        seed: of every random choice.
        download: packages may be downloaded by pip, as wheels and without what they need; no code of them is run.
        groups: read no further corpus when so many projects gave a text; None reads all.
        out: write JSON lines here, which `unseen=` of `assay.audit` reads.

    Raises:
        AssayError: bad input; one line says what was received and what was expected.
    """
    if isinstance(corpora, str | Path):
        corpora = [corpora]
    period = Period(day_named(after, "after"), day_named(before, "before"))
    if most is not None and most < 1:
        raise DataError(f"most {most}: expected at least 1 text")
    if period.after and period.before and period.after >= period.before:
        raise DataError(f"after {period.after} and before {period.before}: no day is both")
    if groups is not None and groups < 1:
        raise DataError(f"groups {groups}: expected at least 1 project")
    published = day_named(released, "released")
    _check_days(period.after, published)
    request = UnseenRequest(unit, period, published, most=most, seed=seed)
    form = None
    if like is not None:
        form = dataset_of(like)
        for note in form.notes:
            inform(note)
        if AUTO in corpora:
            _check_language(AUTO, form)
    result = build_unseen_set(
        list(map(str, corpora)),
        request,
        form,
        download=download,
        groups=groups,
    )
    if out is not None:
        result.save(Path(out))
    return result


def automatic_unseen(choice: str, model: str, benchmark: Dataset, *, download: bool, parent: bool = False) -> Dataset:
    """Return unseen text from the packages of our list, in the form of a benchmark; it is kept beside the cache.

    Args:
        choice: `auto:YYYY-MM-DD`, with the day of the model's release; a built-in model needs no day.
        model: its name.
        benchmark: whose form the texts get.
        download: packages may be downloaded.
        parent: the audit has a parent model.

    Raises:
        DataError: there is no day, the benchmark has no Python, or the text is not kept and nothing may be downloaded.
    """
    day = choice.partition(":")[2]
    if not day and model.startswith("builtin:"):
        day = BUILTIN_DAY
    if not day:
        raise DataError(f"--unseen {choice}: expected auto:YYYY-MM-DD, with the day of the model's release")
    _check_language(f"--unseen {choice}", benchmark)
    after = day_named(day, "--unseen auto:")
    _check_past("--unseen auto:", after)
    # the list of packages is part of the name, so that a newer list is read again
    name = combined([benchmark.digest, str(after), LATER_PACKAGES.read_text("utf-8")])[:16]
    kept = default_cache_path().parent / "unseen" / f"auto-{name}.jsonl"
    if not kept.is_file():
        caveat = "" if parent else f"; {CAVEAT}"
        if not download:
            raise DataError(
                f"--unseen {choice}: such text of {benchmark.name} is not kept yet; expected --download as well, which "
                f"fetches packages with pip until {ENOUGH_PROJECTS} of them give a text{caveat}"
            )
        # said before minutes are spent on texts that may not decide
        inform(f"packages are fetched with pip until {ENOUGH_PROJECTS} of them give a text: some minutes{caveat}")
        kept.parent.mkdir(parents=True, exist_ok=True)
        build_unseen(AUTO, like=benchmark, after=after, download=True, groups=ENOUGH_PROJECTS, out=kept)
    return dataset_of(kept, DataSelection(repeated="number"))


def _check_past(name: str, day: date | None) -> None:
    # no text is of such a day, so every one would be dated wrongly
    if day is not None and day > date.today():  # noqa: DTZ011  the day of the user's calendar
        raise DataError(f"{name} {day}: expected a day that is not in the future")


def _check_days(after: date | None, published: date | None) -> None:
    _check_past("after", after)
    _check_past("released", published)
    if published and after and published < after:
        raise DataError(f"released {published}: expected a day that is not before {after}, the day of `after`")


def _check_language(choice: str, benchmark: Dataset) -> None:
    # said before minutes are spent on packages that hold no such function
    if not may_be_python(benchmark):
        raise DataError(
            f"{choice}: the list has packages in Python, and {benchmark.name} has no Python; expected repositories or "
            "archives in its language"
        )


def undated_packages(packages: str | Sequence[str], after: date | str) -> dict[str, str]:
    """Return which packages may be older than a day, by the upload dates of pip's index: name → why.

    Args:
        packages: names, files that list them, and `auto` for our own list.
        after: nothing of them may have been uploaded before this day.

    Raises:
        DataError: a name or the day cannot be read.
    """
    day, folder, undated = day_named(after, "after"), PackageFolder(), {}
    names = [packages] if isinstance(packages, str) else packages
    for requirement in expanded(names, download=True):
        if isinstance(requirement, str) or day is None:
            raise DataError(f"{requirement}: expected names of packages, files that list them, or {AUTO}")
        obstacle = folder.obstacle_to_date(requirement.name, day)
        if obstacle is not None:
            undated[requirement.name] = obstacle
    return undated
