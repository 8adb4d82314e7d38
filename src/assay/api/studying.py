"""`assay.study_bugs`: what a model remembers of bug benchmarks."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path

from assay.api.opening import Opener
from assay.api.progress import progress_bar
from assay.api.selection import ScoreSelection
from assay.api.tracing import open_index
from assay.datasets import DataSelection, read_dataset, read_pairs
from assay.errors import DataError
from assay.models import ModelSettings
from assay.studies import (
    MEASURES,
    REFERENCE,
    BugSet,
    BugStudy,
    ControlSet,
    StudySettings,
    check_sets,
    later_commits,
    read_repositories,
    run_bug_study,
    with_whole_files,
    without_empty,
)


def study_bugs(
    model: str,
    benchmarks: Sequence[str | Path],
    *,
    data: Mapping[str, Path | str] | Path | str | None = None,
    source_root: Path | str | None = None,
    later_commits_in: Path | str | None = None,
    controls: Mapping[str, Path | str] | None = None,
    reference: str | None = None,
    index: Path | str | None = None,
    repositories: Path | str | None = None,
    cutoff: date | str | None = None,
    limit: int | None = None,
    probes: bool = False,
    variants: int = 0,
    settings: ModelSettings | None = None,
    cache: bool = True,
    progress: bool = True,
) -> BugStudy:
    """Study what a model remembers of the bugs, fixes and issue texts of benchmarks.

    Args:
        model: as `assay.audit`.
        benchmarks: names of bug benchmarks, or tables with the columns `fixed` and `buggy`.
        data: benchmark → its file or folder; of a single benchmark the path alone is enough.
        source_root: folder with checkouts of the projects: texts are then whole files at the commit of each bug.
        later_commits_in: folder with checkouts of the projects: commits to the files of the bugs since the cutoff are a
            control of the same form.
        controls: name → file or folder with texts to compare with, such as files that are newer than the model.
        reference: model whose preference for the fix is subtracted.
        index: of a corpus, which says what the corpus has of each bug.
        repositories: text file with the `owner/name` of the repositories of a corpus.
        cutoff: first day that the model cannot have seen; results are then split by date.
        limit: most bugs of a benchmark.
        probes: also ask the model to repeat paths, functions and patches; it has to generate text.
        variants: verified rewritings of both sides of each bug: the preference for the fix is measured on them too.
        settings: how the models are opened.
        cache: read and write the statistics cache.
        progress: show progress on a terminal.

    Raises:
        AssayError: bad input; one line says what was received and what was expected.
    """
    day = _day(cutoff)
    if later_commits_in is not None and day is None:
        raise DataError("later commits need a cutoff, from which on they count; expected a day such as 2024-03-01")
    if later_commits_in is not None and source_root is not None:
        raise DataError("later commits are hunks, which do not compare with whole files; expected only one of both")
    if variants < 0:
        raise DataError(f"received {variants} variants, expected 0 or more")
    listed = None if repositories is None else read_repositories(Path(repositories))
    paths = _paths(data, benchmarks)
    if unused := sorted(set(paths) - set(map(str, benchmarks))):
        raise DataError(f"data for {unused[0]!r}, which is not among the benchmarks {', '.join(map(str, benchmarks))}")
    opener = Opener(settings or ModelSettings(), cache)
    opener.check(model, reference)
    sets: list[BugSet | ControlSet] = []
    notes: list[str] = []
    for name in benchmarks:
        both = read_pairs(name, DataSelection(data=paths.get(str(name)), limit=limit))
        pairs, more = without_empty(both.pairs, benchmark=both.fixed.name)
        notes += more
        if source_root is not None:
            pairs, more = with_whole_files(pairs, Path(source_root), benchmark=both.fixed.name)
            notes += more
        sets.append(BugSet(both.fixed.name, pairs))
        if later_commits_in is not None and day is not None:
            later, more = later_commits(
                pairs, Path(later_commits_in), after=day, most=len(pairs), benchmark=both.fixed.name
            )
            sets.append(BugSet(f"{both.fixed.name}, later commits", later, is_control=True))
            notes += more
        notes += dict.fromkeys((*both.fixed.notes, *both.buggy.notes))
    for name, path in (controls or {}).items():
        dataset = read_dataset(path)
        sets.append(ControlSet(name, dataset.samples))
        notes += dataset.notes
    check_sets(sets)
    names = [score for score, _ in MEASURES.values()] + ([REFERENCE] if reference else [])
    selection = ScoreSelection(",".join(names), reference=reference)
    with ExitStack() as stack:
        # models take the longest to open, so they come last
        opened = None if index is None else stack.enter_context(open_index(index))
        plan, remarks = selection.plan(model, opener)
        generator = opener.generator(model) if probes else None
        scored = stack.enter_context(progress_bar("scoring", shown=progress))
        searched = stack.enter_context(progress_bar("searching the index", shown=progress and opened is not None))
        return run_bug_study(
            sets,
            plan,
            StudySettings(index=opened, repositories=listed, cutoff=day, generator=generator, variants=variants),
            notes=(*notes, *remarks),
            progress=scored,
            searched=searched,
        )


def _paths(
    data: Mapping[str, Path | str] | Path | str | None, benchmarks: Sequence[str | Path]
) -> Mapping[str, Path | str]:
    if not isinstance(data, Path | str):
        return data or {}
    if len(benchmarks) > 1:
        raise DataError(
            f"received data {str(data)!r} for {len(benchmarks)} benchmarks, expected a path for each by name"
        )
    return {str(name): data for name in benchmarks}


def _day(cutoff: date | str | None) -> date | None:
    if cutoff is None or isinstance(cutoff, date):
        return cutoff
    try:
        return date.fromisoformat(cutoff)
    except ValueError:
        raise DataError(f"received cutoff {cutoff!r}, expected a day such as 2024-03-01") from None
