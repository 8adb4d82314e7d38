"""`assay.api.annotate`: an evaluation log, split by an audit or by a scan of training data."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from assay.annotation import (
    AnnotatedTasks,
    LogColumns,
    TaskSplit,
    annotate_tasks,
    read_task_results,
    split_by_audit,
    split_by_evidence,
    with_texts,
    younger_than,
)
from assay.datasets import Dataset
from assay.errors import DataError
from assay.files import paths_of
from assay.leakage import Audit, read_run
from assay.reports import number_of
from assay.scan import ScanEvidence, read_evidence
from assay.settings import day_named


def annotate(
    results: Sequence[Path | str] | Path | str,
    *,
    audit: Audit | Path | str | None = None,
    scan: ScanEvidence | Path | str | None = None,
    benchmark: Dataset | None = None,
    columns: LogColumns | None = None,
    after: date | str | None = None,
) -> AnnotatedTasks:
    """Return the accuracy of an evaluation on contaminated, clean and unknown tasks, and the score without the first.

    Args:
        results: files of one evaluation: a log, or predictions and the file with their outcomes.
        audit: of the same tasks, or its run folder.
        scan: instead of `audit`: evidence of `assay scan` for the same benchmark, or its file.
        benchmark: the tasks with their texts and days, where the log has none.
        columns: places of the fields in the log; None for the usual ones.
        after: keep the tasks that were published after this day.

    Raises:
        AssayError: bad input; one line.
    """
    if (audit is None) == (scan is None):
        raise DataError("expected one of an audit and a scan")
    paths, notes = paths_of(results), list[str]()
    # a log of answers alone is usual, and splits nothing: it would print an accuracy of no tasks
    tasks = read_task_results(paths, columns or LogColumns(), notes.append)
    if all(task.correct is None for task in tasks):
        raise DataError(
            f"{', '.join(map(str, paths))}: {number_of(len(tasks), 'task')} without an outcome, so there are no "
            "results to split; expected the file with the outcomes too "
            "(…_eval_results.json of EvalPlus, the report of SWE-bench)"
        )
    if benchmark is not None:
        tasks = with_texts(tasks, benchmark.samples, benchmark.name, note=notes.append)
    day = day_named(after, "--after")
    if day is not None:
        tasks = younger_than(day, tasks, notes.append)
    split: TaskSplit
    if scan is not None:
        evidence = scan if isinstance(scan, ScanEvidence) else read_evidence(Path(scan))
        split = split_by_evidence(evidence, tasks, notes.append)
    else:
        run = audit if isinstance(audit, Audit) else read_run(Path(str(audit)))[0]
        split = split_by_audit(run, tasks)
    return annotate_tasks(paths[0].name, tasks, split, notes=notes)
