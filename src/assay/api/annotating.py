"""`assay.api.annotate`: an evaluation log, split by an audit or an index."""

from collections.abc import Sequence
from pathlib import Path

from assay.annotation import (
    AnnotatedTasks,
    LogColumns,
    annotate_tasks,
    read_task_results,
    split_by_audit,
    split_by_index,
    with_texts,
)
from assay.datasets import Dataset
from assay.errors import DataError
from assay.leakage import Audit, read_run
from assay.progress import progress_bar
from assay.provenance import open_for_search


def annotate(
    results: Sequence[Path | str] | Path | str,
    *,
    audit: Audit | Path | str | None = None,
    index: str | Path | None = None,
    benchmark: Dataset | None = None,
    text: str | None = None,
    id: str | None = None,  # noqa: A002  the column is called what `Sample` calls it
    metric: str | None = None,
    progress: bool = True,
) -> AnnotatedTasks:
    """Return the accuracy of an evaluation on contaminated, clean and unknown tasks.

    Args:
        results: a log of lm-eval or inspect, or predictions and results of EvalPlus or SWE-bench.
        audit: of the same tasks, or its run folder.
        index: instead of `audit`: folder or address of an index of training data.
        benchmark: texts of the tasks by their ids, where the log has none.
        text: column of the text in the log; dots lead into nested columns.
        id: column of the id in the log.
        metric: metric of lm-eval or scorer of inspect; None for the first one.
        progress: show progress.

    Raises:
        AssayError: bad input; one line.
    """
    if (audit is None) == (index is None):
        raise DataError("expected one of an audit and an index")
    if isinstance(results, str | Path):
        results = [results]
    paths = list(map(Path, results))
    notes: list[str] = []
    tasks = read_task_results(paths, LogColumns(text, id, metric), notes.append)
    if all(task.correct is None for task in tasks):
        raise DataError(
            f"{', '.join(map(str, paths))}: {len(tasks)} tasks without an outcome, so there are no results to split; "
            "expected the file with the outcomes too (…_eval_results.json of EvalPlus, the report of SWE-bench)"
        )
    samples = getattr(benchmark, "samples", ())
    name = paths[0].name
    if index is not None:
        with open_for_search(str(index)) as opened, progress_bar(f"looking for {name}", shown=progress) as report:
            split = split_by_index(opened, tasks, samples, progress=report)
    else:
        if not isinstance(audit, Audit):
            audit, _ = read_run(Path(str(audit)))
        split = split_by_audit(audit, with_texts(tasks, samples))
    return annotate_tasks(name, tasks, split, notes=notes)
