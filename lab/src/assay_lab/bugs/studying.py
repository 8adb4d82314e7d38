"""What a model remembers of bug benchmarks."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from itertools import repeat
from pathlib import Path

from assay.datasets import DataSelection, read_dataset
from assay.errors import DataError
from assay.models import ModelSettings
from assay.progress import progress_bar
from assay.provenance import open_for_search
from assay.scoring import Opener, ScoreSelection, check_variants, plan_scores
from assay.settings import day_named
from assay_lab.bugs import (
    REFERENCE,
    BugSet,
    BugStudy,
    ControlSet,
    StudySettings,
    check_sets,
    drawn_pairs,
    later_commits,
    read_repositories,
    run_bug_study,
    with_whole_files,
    without_empty,
)
from assay_lab.bugs.pairs import PairedDataset, comparable_sides, read_pairs
from assay_lab.bugs.study import PAPER_STARTS, Starts, score_names


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
    starts: Starts = "all",
    settings: ModelSettings | None = None,
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
        limit: most bugs of a benchmark, drawn with a fixed seed.
        probes: also ask the model to repeat paths, functions and patches; it has to generate text.
        variants: verified rewritings of both sides of each bug: the preference for the fix is measured on them too.
        starts: of 5-gram accuracy: "all" positions, or the five in 512 tokens of the "paper".
        settings: how the models are opened.
        progress: show progress on a terminal.

    Raises:
        AssayError: bad input; one line says what was received and what was expected.
    """
    day = day_named(cutoff, "cutoff")
    sources = _PairSources(limit=limit, whole_files=source_root, later=_later(later_commits_in, source_root, day))
    check_variants(variants)
    listed = None if repositories is None else read_repositories(Path(repositories))
    paths = _paths(data, benchmarks)
    opener = Opener(settings or ModelSettings())
    opener.check(model, reference)
    with progress_bar("reading", shown=progress):
        sets, notes = _read_sets(paths, controls or {}, sources)
    check_sets(sets)
    names = [*score_names(starts), *([REFERENCE] if reference else [])]
    selection = ScoreSelection(",".join(names), reference=reference)
    with ExitStack() as stack:
        # models take the longest to open, so they come last
        opened = None if index is None else stack.enter_context(open_for_search(index))
        with progress_bar("opening the model", shown=progress):
            plan, remarks = plan_scores(selection, model, opener)
            generator = opener.generator(model) if probes else None
        report = stack.enter_context(progress_bar("studying", shown=progress))
        return run_bug_study(
            sets,
            plan,
            StudySettings(index=opened, repositories=listed, cutoff=day, generator=generator, variants=variants),
            notes=(*notes, *remarks, *([PAPER_STARTS] if starts == "paper" else [])),
            progress=report,
            searched=report,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _PairSources:
    """What is read of each benchmark.

    Attributes:
        limit: most bugs; None for all.
        whole_files: folder of checkouts, for whole files in place of hunks; None leaves the hunks.
        later: folder of checkouts, and first day of later commits; None leaves them out.
    """

    limit: int | None
    whole_files: Path | str | None
    later: tuple[Path, date] | None


def _later(folder: Path | str | None, source_root: Path | str | None, day: date | None) -> tuple[Path, date] | None:
    if folder is None:
        return None
    if day is None:
        raise DataError("later commits need a cutoff, from which on they count; expected a day such as 2024-03-01")
    if source_root is not None:
        raise DataError("later commits are hunks, which do not compare with whole files; expected only one of both")
    return Path(folder), day


def _read_sets(
    benchmarks: Sequence[tuple[str, Path | str | None]], controls: Mapping[str, Path | str], sources: _PairSources
) -> tuple[list[BugSet | ControlSet], list[str]]:
    """Return all sets of a study, and notes on them."""
    sets: list[BugSet | ControlSet] = []
    notes: list[str] = []
    for name, path in benchmarks:
        of_benchmark, more = _bug_sets(read_pairs(name, DataSelection(data=path)), sources)
        sets += of_benchmark
        notes += more
    if sources.later is not None and len(sets) == len(benchmarks):
        raise DataError(f"no benchmark has later commits; {notes[-1]}")
    for label, control_path in controls.items():
        dataset = read_dataset(control_path)
        sets.append(ControlSet(label, dataset.samples))
        notes += dataset.notes
    return sets, notes


def _bug_sets(both: PairedDataset, sources: _PairSources) -> tuple[list[BugSet], list[str]]:
    """Return the bugs of a benchmark and, with checkouts and a day, later commits to their files; and notes."""
    benchmark = both.fixed.name
    pairs = drawn_pairs(both.pairs, sources.limit)
    notes = [*dict.fromkeys((*both.fixed.notes, *both.buggy.notes))]
    if len(pairs) < len(both.pairs):
        notes.append(f"{benchmark}: {len(pairs)} of {len(both.pairs)} bugs, drawn at random")
    pairs, more = without_empty(pairs, benchmark=benchmark)
    notes += more
    if sources.whole_files is not None:
        pairs, more = with_whole_files(pairs, Path(sources.whole_files), benchmark=benchmark)
        notes += more
    pairs, more = comparable_sides(pairs, benchmark)
    notes += more
    sets = [BugSet(benchmark, pairs)]
    if sources.later is not None:
        root, day = sources.later
        commits, more = later_commits(pairs, root, after=day, most=len(pairs), benchmark=benchmark)
        if commits:
            sets.append(BugSet(f"{benchmark}, later commits", commits, is_control=True))
        notes += more
    return sets, notes


def _paths(
    data: Mapping[str, Path | str] | Path | str | None, benchmarks: Sequence[str | Path]
) -> list[tuple[str, Path | str | None]]:
    """Return each benchmark and its file or folder; None where the user names none."""
    names = list(map(str, benchmarks))
    if isinstance(data, Path | str):
        if len(names) > 1:
            raise DataError(
                f"received data {str(data)!r} for {len(names)} benchmarks, expected a path for each by name"
            )
        return list(zip(names, repeat(data)))
    paths = data or {}
    if unused := sorted(set(paths) - set(names)):
        raise DataError(f"data for {unused[0]!r}, which is not among the benchmarks {', '.join(names)}")
    return list(zip(names, map(paths.get, names), strict=True))
