"""`assay annotate`: the accuracy of an evaluation on contaminated, clean and unknown tasks."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.completing import complete_benchmarks
from assay.cli.groups import Shown, grouped
from assay.cli.options import STANDARD_OUTPUT, further_file, output_file
from assay.cli.unused import refuse_unused
from assay.datasets import DataSelection
from assay.errors import DataError

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.annotation import AnnotatedTasks

SPLIT = "Split"
AGENTS = "Runs of agents"
UNUSED_OF_RUNS = ("data", "subset", "language", "limit", "split", "part", "label", "group", "labels", "repeated")
"""Settings of a data set that say nothing about runs of agents."""
SOLUTION = "solution"
"""The part of a benchmark that is code: it is what a corpus of code holds."""


@grouped
def annotate_command(
    context: typer.Context,
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS …",
            help="lm-eval sample log (--log_samples), inspect log (.eval, .json), or predictions and results of "
            "EvalPlus or SWE-bench; with --tasks files or folders of runs of an agent.",
            show_default=False,
        ),
    ],
    *,
    audit: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Split by an audit of the same tasks: its run folder.", rich_help_panel=SPLIT),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|URL", help="Split by an index of code that the model was trained on.", rich_help_panel=SPLIT
        ),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="BENCHMARK",
            autocompletion=complete_benchmarks,
            help="Texts of the tasks by their ids, where the log has none (--data names its file).",
            rich_help_panel=SPLIT,
        ),
    ] = None,
    tasks: Annotated[
        Path | None,
        typer.Option(
            metavar="TASKS",
            help="Table of tasks with their gold patches: had the agents read the fix before they wrote it?",
            rich_help_panel=AGENTS,
        ),
    ] = None,
    repositories: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Git mirrors or checkouts: what they have at a task's base commit is no evidence.",
            rich_help_panel=AGENTS,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Metric of lm-eval or scorer of inspect (the first one).", rich_help_panel=SPLIT
        ),
    ] = None,
    clean: Annotated[
        Path | None,
        further_file("Write the ids of the tasks that are not contaminated; - is standard output.", printable=True),
    ] = None,
    output: Annotated[
        Path | None,
        output_file("Write a JSON line for each task or run; - is standard output. .html: the page.", printable=True),
    ] = None,
    which: Annotated[DataSelection, Shown("data", "columns")],
) -> None:
    """Compare an evaluation on contaminated and clean tasks; or say which agents read the fix.

    The tasks are split by an audit or by an index; the output says on what the split rests. --columns names the
    columns of the log, with dots for nested ones: text=doc.prompt. With --tasks it names those of the table of tasks,
    text the one of the gold patches.

    **Example**: `assay annotate samples_humaneval.jsonl --audit runs/humaneval --clean clean_ids.txt`

    **Example**: `assay annotate trajectories/ report.json --tasks swe-bench.jsonl -o runs.jsonl`
    """
    from assay.api import annotate
    from assay.cli.present import show
    from assay.datasets import read_dataset

    if tasks is not None:
        reason = "of a table of tasks only the columns of ids and of gold patches are used: --columns id=NAME,text=NAME"
        refuse_unused(context, dict.fromkeys(UNUSED_OF_RUNS, reason))
        _refuse_split(
            {"--audit": audit, "--index": index, "--benchmark": benchmark, "--metric": metric, "--clean": clean}
        )
        _annotate_runs(results, tasks, repositories, output=output, which=which)
        return
    if repositories is not None:
        raise DataError("received --repositories without --tasks, which names the table of the gold patches")
    if (audit is None) == (index is None):
        raise DataError("expected one of --audit RUN, --index DIR and --tasks TASKS")
    if benchmark is not None and which.part is None and index is not None:
        which = _with_solutions(benchmark, which)
    annotated = annotate(
        results,
        audit=audit,
        index=index,
        benchmark=None if benchmark is None else read_dataset(benchmark, which),
        text=None if benchmark else which.text,
        id=None if benchmark else which.id,
        metric=metric,
    )
    if STANDARD_OUTPUT not in (clean, output):
        show(annotated.describe())
    if output is not None:
        _write(_lines(annotated), output)
    if clean is not None:  # last: a split that names no task has no cleaned list, but it has been printed
        _write("".join(f"{name}\n" for name in annotated.clean_ids()), clean)


def _annotate_runs(
    runs: list[Path], tasks: Path, repositories: Path | None, *, output: Path | None, which: DataSelection
) -> None:
    from assay.api import annotate_runs
    from assay.cli.present import show
    from assay.escaping import json_text
    from assay.reports import write_report

    annotated = annotate_runs(runs, tasks, repositories=repositories, id=which.id, patch=which.text)
    described = annotated.describe()
    if output != STANDARD_OUTPUT:
        show(described)
    if output is not None and output.suffix == ".html":
        write_report(described, output)
    elif output is not None:
        rows = described.data["per_run"]  # type: ignore[index]  # see assay.agent_runs.describing
        _write("".join(f"{json_text(row, ensure_ascii=False)}\n" for row in rows), output)


def _refuse_split(options: Mapping[str, object]) -> None:
    """Refuse the options that split tasks.

    Raises:
        DataError: one of them is given.
    """
    received = [name for name, value in options.items() if value is not None]
    if received:
        raise DataError(f"received {received[0]} and --tasks, expected one of them: runs are judged, not split")


def _with_solutions(name: str, which: DataSelection) -> DataSelection:
    from assay.datasets import benchmark, is_benchmark

    return replace(which, part=SOLUTION) if is_benchmark(name) and SOLUTION in benchmark(name).parts else which


def _lines(annotated: "AnnotatedTasks") -> str:
    from assay.escaping import json_text

    pairs = zip(annotated.tasks, annotated.statuses, strict=True)
    rows = [{"id": task.id, "correct": task.correct, "status": annotated.named(status)} for task, status in pairs]
    return "".join(f"{json_text(row, ensure_ascii=False)}\n" for row in rows)


def _write(text: str, path: Path) -> None:
    """Write a text to a file, or to standard output for "-"."""
    from assay.files import write_text

    if path == STANDARD_OUTPUT:
        typer.echo(text, nl=False)
    else:
        write_text(path, text)
