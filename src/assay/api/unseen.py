"""`assay.build_unseen`: unseen text for a benchmark."""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from assay.datasets import MOST_UNSEEN, Texts, dataset_of
from assay.errors import DataError
from assay.unseen import Period, UnseenRequest, UnseenSet, UnseenUnit, build_unseen_set


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
    enough: Callable[[int], bool] | None = None,
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
        enough: the same decision as a function: number of projects → True if there are enough.
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
    request = UnseenRequest(unit, period, day_named(released, "released"), most=most, seed=seed)
    form = None
    if like is not None:
        form = dataset_of(like)
    result = build_unseen_set(
        list(map(str, corpora)),
        request,
        form,
        download=download,
        enough=lambda found: (groups is not None and found >= groups) or (enough is not None and enough(found)),
    )
    if out is not None:
        result.save(Path(out))
    return result


def day_named(value: date | str | None, option: str) -> date | None:
    """Return a day.

    Raises:
        DataError: the text is no day of the calendar.
    """
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise DataError(f"{option} {value!r}: expected a day as YYYY-MM-DD") from None
