"""`assay.api.annotate_runs`: had the agents read the fix before they wrote it?"""

from collections.abc import Sequence
from pathlib import Path

from assay.agent_runs import AnnotatedRuns, judge_runs, read_gold_tasks
from assay.annotation import LogColumns, read_task_results
from assay.datasets import copies_named_by
from assay.errors import DataError
from assay.files import paths_of
from assay.guard import json_file
from assay.progress import progress_bar

RESULTS = {"resolved_ids", "resolved", "eval"}
"""Keys of a file that has outcomes and no run."""


def annotate_runs(
    runs: Sequence[Path | str] | Path | str,
    tasks: Path | str,
    *,
    repositories: Path | str | None = None,
    id: str | None = None,  # noqa: A002  the column is called what `Sample` calls it
    patch: str | None = None,
    progress: bool = True,
) -> AnnotatedRuns:
    """Return for each run of an agent whether it had read the gold patch before it wrote it, and where.

    Args:
        runs: files and folders of runs, and a file with the outcomes of the tasks.
        tasks: benchmark, or table with the gold patches: SWE-bench and its relatives, or any table.
        repositories: folder of git mirrors or checkouts: what they have at the base commit is no evidence.
        id: column of the ids of the tasks.
        patch: column of the gold patches.
        progress: show progress.

    Raises:
        AssayError: bad input; one line.
    """
    notes: list[str] = []
    # a column that is not named is looked for under its usual names
    columns = {name: column for name, column in (("id", id), ("patch", patch)) if column is not None}
    with copies_named_by("--tasks PATH"):
        table = read_gold_tasks(tasks, columns, notes.append)
    folder = Path(repositories) if repositories is not None else None
    if folder is not None and not folder.is_dir():
        raise DataError(f"{folder}: no such folder, expected one with git repositories")
    paths: list[Path] = []
    outcomes: dict[str, float] = {}
    for path in paths_of(runs):
        if _has_outcomes(path):
            results = read_task_results([path], LogColumns(), notes.append)
            outcomes |= {result.id: result.correct for result in results if result.correct is not None}
        else:
            paths.append(path)
    if not paths:
        raise DataError("received outcomes only, expected files or folders of runs of an agent too")
    with progress_bar("reading", unit="runs", shown=progress) as report:
        return judge_runs(paths, table, repositories=folder, outcomes=outcomes, notes=notes, progress=report)


def _has_outcomes(path: Path) -> bool:
    """Return True for a file of outcomes, such as the report of SWE-bench: small, JSON, and without a run."""
    if path.suffix != ".json" or not path.is_file() or path.name.endswith(".traj.json"):
        return False
    try:
        content = json_file(path)
    except (OSError, ValueError):
        return False
    if not isinstance(content, dict) or {"messages", "trajectory", "steps", "samples"} & content.keys():
        return False
    # harnesses write the ids that were solved, or each id with true or false
    return bool(RESULTS & content.keys()) or (bool(content) and all(isinstance(v, bool) for v in content.values()))
