"""All runs of an evaluation with their verdicts, and the solved rate with and without those that read the fix."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from assay.agent_runs.gold import GoldTask, Item
from assay.agent_runs.judging import JudgedRun, RunVerdict, judge_run
from assay.agent_runs.reading import UnreadRun, read_runs, run_files
from assay.agent_runs.repositories import base_items
from assay.agent_runs.run_values import AgentRun
from assay.errors import DataError
from assay.evaluation import Estimate, grouped_mean, grouped_share, wilson_ends
from assay.processes import closed_at_end, map_with, worker_processes
from assay.reports import TabularResult, number_of

WORTH_PROCESSES = 64 * 2**20
"""Bytes of runs from which further processes are started."""
BEGINNING = 400
"""Characters at the beginning of a task's text that name it in a prompt."""
SHORTEST = 60
"""Characters that such a text needs."""


@dataclass(frozen=True, repr=False)
class AnnotatedRuns(TabularResult):
    """Runs of agents with their verdicts.

    Attributes:
        runs: in the order of the files.
        unread: files, or parts of them, that gave no run.
        repositories: True where the base commits were looked up.
        without_base: tasks whose base commit no repository has.
        notes: what was guessed.
    """

    runs: tuple[JudgedRun, ...]
    unread: tuple[UnreadRun, ...]
    repositories: bool = False
    without_base: int = 0
    notes: tuple[str, ...] = ()

    @cached_property
    def read(self) -> Estimate:
        """Share of the runs that read the fix, among those with a verdict."""
        return _read_share(_without(self.runs, "cannot tell"))

    @cached_property
    def solved(self) -> Estimate:
        """Solved rate of all runs with an outcome."""
        return solved_rate(self.runs)

    @cached_property
    def solved_without(self) -> Estimate:
        """The same without the runs that read the fix."""
        return solved_rate(_without(self.runs, "read the fix"))

    def with_verdict(self, verdict: RunVerdict) -> list[JudgedRun]:
        """Return the runs with a verdict."""
        return [run for run in self.runs if run.verdict == verdict]


def judge_runs(
    paths: Iterable[Path],
    tasks: Mapping[str, GoldTask],
    *,
    repositories: Path | None = None,
    outcomes: Mapping[str, float] | None = None,
    notes: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> AnnotatedRuns:
    """Return a verdict on every run in some files and folders.

    Args:
        paths: files and folders of runs.
        tasks: by id.
        repositories: folder of git mirrors or checkouts of the projects.
        outcomes: id of a task → outcome of its run, where the runs themselves have none.
        notes: what was guessed.
        progress: is called with the files done and their total.

    Raises:
        DataError: nothing could be read.
        MissingExtra: a log of inspect without inspect_ai.
    """
    named = dict(run_files(paths))
    files = list(named)
    base = partial(_base, tasks=tasks, folder=repositories) if repositories else None
    judged: list[JudgedRun] = []
    unread: list[UnreadRun] = []
    with _mapper(files) as mapped:
        for number, results in enumerate(mapped(partial(_judged, tasks=tasks, base=base), files), 1):
            for result in results:
                if isinstance(result, JudgedRun):
                    judged.append(result)
                else:
                    unread.append(result)
            if progress is not None:
                progress(number, len(files))
    if not judged:
        further = f" (and {len(unread) - 1} further)" * (len(unread) > 1)
        raise DataError(f"{unread[0].path}: {unread[0].reason}{further}")
    runs = _with_others(_with_outcomes(judged, outcomes or {}))
    worked_on = set(filter(None, map(attrgetter("task"), runs)))
    unused = len((outcomes or {}).keys() - worked_on)
    more = [f"{number_of(unused, 'outcome')} of tasks without a run"] * bool(unused)
    if not worked_on:
        raise DataError(
            f"no run is on a task of the table: names such as {runs[0].run!r} and {next(iter(tasks), '')!r} differ; "
            "expected the tasks that the agents worked on, or --columns id=NAME"
        )
    return AnnotatedRuns(
        runs=tuple(runs),
        # what harnesses write beside runs is passed over in a folder, not where it was named
        unread=tuple(part for part in unread if named[part.path] or not part.is_beside),
        repositories=base is not None,
        without_base=sum(base(task) is None for task in worked_on if base),
        notes=(*notes, *more),
    )


def _with_others(judged: Sequence[JudgedRun]) -> list[JudgedRun]:
    """Return the runs, each with the number of further ones of its task that wrote the fix without reading it."""
    wrote = Counter(map(attrgetter("task"), filter(attrgetter("wrote_unread"), judged)))
    return [replace(run, others=wrote[run.task] - run.wrote_unread) for run in judged]


def _without(runs: Iterable[JudgedRun], verdict: RunVerdict) -> list[JudgedRun]:
    return [run for run in runs if run.verdict != verdict]


def _read_share(runs: Sequence[JudgedRun]) -> Estimate:
    """Return the share of the runs that read the fix; few tasks have Wilson's interval too, for its upper end."""
    tasks = list(map(attrgetter("task"), runs))
    share = grouped_share(list(map("read the fix".__eq__, map(attrgetter("verdict"), runs))), tasks)
    if share.has_interval or not runs:
        return share
    low, high = wilson_ends(share.value, len(set(tasks)), float(ndtri((1 + share.level) / 2)))
    return replace(share, low=low, high=high, reason=None)


def task_of_run(run: AgentRun, tasks: Mapping[str, GoldTask]) -> GoldTask | None:
    """Return the task that a run worked on: by its names, else by the text of the task in its prompt."""
    named = next(filter(None, map(tasks.get, run.tasks)), None)
    if named is not None or not run.prompt:
        return named
    prompt = " ".join(run.prompt.split())
    for task in tasks.values():
        # cut before the white space is made even, as texts may be long, and once more after it
        text = " ".join(task.text[: 2 * BEGINNING].split())[:BEGINNING]
        if len(text) >= SHORTEST and text in prompt:
            return task
    return None


def _judged(
    path: Path, tasks: Mapping[str, GoldTask], base: Callable[[str], frozenset[Item] | None] | None
) -> list[JudgedRun | UnreadRun]:
    results: list[JudgedRun | UnreadRun] = []
    for run in read_runs(path):
        if isinstance(run, UnreadRun):
            results.append(run)
            continue
        task = task_of_run(run, tasks)
        results.append(judge_run(run, str(path), task, base=base(task.id) if base and task else None))
    return results


def _base(name: str, tasks: Mapping[str, GoldTask], folder: Path) -> frozenset[Item] | None:
    return base_items(tasks[name], folder)


def solved_rate(runs: Sequence[JudgedRun]) -> Estimate:
    """Return the mean outcome of the runs that have one, with an interval over tasks."""
    scored = [run for run in runs if run.solved is not None]
    outcomes = np.array(list(map(attrgetter("solved"), scored)), np.float64)
    return grouped_mean(outcomes, list(map(attrgetter("task"), scored)))


def _with_outcomes(judged: list[JudgedRun], outcomes: Mapping[str, float]) -> list[JudgedRun]:
    """Return the runs with their outcomes; one file of outcomes cannot say which of several runs it is about."""
    count = Counter(map(attrgetter("task"), judged))
    repeated = max(outcomes, key=count.__getitem__, default="")
    if count[repeated] > 1 and outcomes:
        raise DataError(f"outcomes of tasks, and {count[repeated]} runs of {repeated}; expected one run of each task")
    return [replace(run, solved=outcomes.get(run.task, run.solved)) for run in judged]


@contextmanager
def _mapper(files: Sequence[Path]) -> Iterator[Callable[..., Iterable[list[JudgedRun | UnreadRun]]]]:
    """Yield `map`, over several processes where there is much to read."""
    jobs = min(os.cpu_count() or 1, len(files))
    sizes = sum(path.stat().st_size for path in files if path.is_file())
    if jobs == 1 or sizes < WORTH_PROCESSES:
        yield map
        return
    with closed_at_end(worker_processes(jobs, preload=__name__)) as pool:
        # several files at a time spare messages; four shares a process even out runs of different length
        yield partial(map_with, pool, chunksize=max(1, min(16, len(files) // (4 * jobs))))
