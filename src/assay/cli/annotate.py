"""`assay annotate`: the accuracy of an evaluation on contaminated, clean and unknown tasks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from assay.cli.completing import complete_benchmarks
from assay.cli.groups import Shown, grouped
from assay.cli.options import LINES, PAGES, STANDARD_OUTPUT, check_ending, further_file, output_file
from assay.cli.unused import refuse_format, refuse_unused
from assay.datasets import DataSelection
from assay.errors import DataError
from assay.settings import COLUMNS, Setting, Settings

SPLIT = "Split"
LOG = "Log"
AGENTS = "Runs of agents"
UNUSED_OF_RUNS = (
    *("data", "subset", "language", "limit", "split", "part", "label", "group", "labels", "repeated"),
    *("outcome", "date"),
)
"""Settings of a data set and of a log that say nothing about runs of agents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPaths(Settings):
    """Paths of fields that a log has and a table of texts has not."""

    PANEL: ClassVar[str] = "Data"
    outcome: Annotated[
        str | None, Setting("Path of the outcome in a log of any layout.", safe_when_found=True, inside=COLUMNS)
    ] = None
    date: Annotated[
        str | None, Setting("Path of the day of a task in a log.", safe_when_found=True, inside=COLUMNS)
    ] = None


@grouped
def annotate_command(
    context: typer.Context,
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS …",
            help="Log of lm-eval, inspect, lighteval, EvalScope, OpenCompass, HELM or every_eval_ever; results of "
            "EvalPlus, BigCodeBench, LiveCodeBench, bigcode-evaluation-harness or SWE-bench (also Pro, Multi); or any "
            "JSON or Parquet with --columns id=PATH,outcome=PATH. With --tasks: files or folders of runs of agents.",
            show_default=False,
        ),
    ],
    *,
    audit: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Split by an audit of the same tasks: its run folder.", rich_help_panel=SPLIT),
    ] = None,
    scan: Annotated[
        Path | None,
        typer.Option(
            metavar="EVIDENCE",
            help="Split by what `assay scan` found in training data: the file of its -o.",
            rich_help_panel=SPLIT,
        ),
    ] = None,
    # of an earlier version; it ends with the line that names the option of today
    index: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Replaced by --scan.", rich_help_panel=SPLIT, hidden=True),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Keep the tasks that were published after this day.", rich_help_panel=SPLIT),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="BENCHMARK",
            autocompletion=complete_benchmarks,
            help="Texts and days of the tasks by their ids, where the log has none (--data names its file).",
            rich_help_panel=LOG,
        ),
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(
            metavar="TASKS",
            autocompletion=complete_benchmarks,
            help="Benchmark, or table of tasks with gold patches: had the agents read the fix before they wrote it?",
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
            metavar="NAME",
            help="Metric or scorer that holds the outcomes (the first one); scorer.key of a scorer of several.",
            rich_help_panel=LOG,
        ),
    ] = None,
    every_eval_ever: Annotated[
        Path | None,
        further_file("Write samples of every_eval_ever again, with what is known of their contamination.", *LINES),
    ] = None,
    clean: Annotated[
        Path | None,
        further_file("Write the ids of the tasks that are not contaminated; - is standard output.", printable=True),
    ] = None,
    output: Annotated[
        Path | None,
        output_file(
            "Write a JSON line for each task or run; - is standard output. .html: the page of runs.",
            *LINES,
            *PAGES,
            printable=True,
        ),
    ] = None,
    which: Annotated[DataSelection, Shown("data", "columns")],
    paths: LogPaths,
) -> None:
    """Compare an evaluation on contaminated and clean tasks, correct its score, and write a cleaned list.

    The tasks are split by an audit or by a scan of training data; the output says on what the split rests. --columns
    names the fields of the log by paths: text=doc.prompt, outcome=attempts[].passed.

    With --tasks it says which agents read the fix before they wrote it; --columns text=NAME is then the gold patch.

    **Example**: `assay annotate samples_humaneval.jsonl --scan humaneval.parquet -o tasks.jsonl`

    **Example**: `assay annotate trajectories/ report.json --tasks swe-bench-verified -o runs.jsonl`
    """
    from assay.annotation import LogColumns, write_every_eval_ever
    from assay.api import annotate
    from assay.cli.present import show
    from assay.datasets import read_dataset
    from assay.escaping import json_text

    refuse_format(context, clean, output)
    if tasks is not None or repositories is not None:
        split = {"--audit": audit, "--scan": scan, "--index": index, "--benchmark": benchmark, "--metric": metric}
        written = {"--every-eval-ever": every_eval_ever, "--clean": clean}
        _refuse_others(context, split | written | {"--after": after})
        _annotate_runs(results, tasks, repositories, output=output, which=which)
        return
    if clean == output == STANDARD_OUTPUT:
        raise DataError("received - for --clean and for -o, expected one of them on standard output")
    _check_split(audit, scan, index)
    check_ending(output, LINES)
    # the columns are those of the log, unless it needs none and a table of tasks is named
    in_log = benchmark is None or paths.outcome is not None
    columns = LogColumns(metric=metric, outcome=paths.outcome, date=paths.date)
    if in_log:
        columns = replace(columns, text=which.text, id=which.id)
        which = replace(which, text=None, id=None)
    # what is left in `which` is about the file of a benchmark
    if benchmark is None and which != DataSelection():
        raise DataError("received options of a benchmark without --benchmark, expected both or neither")
    annotated = annotate(
        results,
        audit=audit,
        scan=scan,
        benchmark=None if benchmark is None else read_dataset(benchmark, which),
        columns=columns,
        after=after,
    )
    if STANDARD_OUTPUT not in (clean, output):
        show(annotated.describe())
    if output is not None:
        _write("".join(f"{json_text(row, ensure_ascii=False)}\n" for row in annotated.rows()), output)
    if every_eval_ever is not None:
        write_every_eval_ever(every_eval_ever, results, annotated)
    # last: a split that names no task has no cleaned list, but it has been printed
    if clean is not None:
        _write("".join(f"{name}\n" for name in annotated.clean_ids()), clean)


def _check_split(audit: Path | None, scan: Path | None, index: str | None) -> None:
    """Raise an error unless an audit or a scan splits the tasks."""
    if index is not None:
        raise DataError(
            f"received --index {index}, expected --scan EVIDENCE: `assay scan CORPUS --for BENCHMARK -o EVIDENCE` asks "
            "the training data themselves"
        )
    if (audit is None) == (scan is None):
        raise DataError("expected one of --audit RUN, --scan EVIDENCE and --tasks TASKS")


def _annotate_runs(
    runs: list[Path], tasks: str | None, repositories: Path | None, *, output: Path | None, which: DataSelection
) -> None:
    from assay.api import annotate_runs
    from assay.cli.present import show
    from assay.escaping import json_text
    from assay.reports import write_html

    if tasks is None:
        raise DataError("received --repositories without --tasks, which names the table of the gold patches")
    # the text of such a task is its gold patch, so that --columns needs no key of its own for it
    annotated = annotate_runs(runs, tasks, repositories=repositories, id=which.id, patch=which.text)
    described = annotated.describe()
    if output != STANDARD_OUTPUT:
        show(described)
    if output is not None and output.suffix.lower() in PAGES:
        write_html(described, output)
    elif output is not None:
        rows = described.data["per_run"]  # type: ignore[index]  # see assay.agent_runs.describing
        _write("".join(f"{json_text(row, ensure_ascii=False)}\n" for row in rows), output)


def _refuse_others(context: typer.Context, options: Mapping[str, object]) -> None:
    """Refuse the options that split tasks, and those of a data set that say nothing about runs of agents.

    Raises:
        DataError: one of them is given.
    """
    reason = "of a table of tasks only the columns of ids and of gold patches are used: --columns id=NAME,text=NAME"
    refuse_unused(context, dict.fromkeys(UNUSED_OF_RUNS, reason))
    received = [name for name, value in options.items() if value is not None]
    if received:
        raise DataError(f"received {received[0]} and --tasks, expected one of them: runs are judged, not split")


def _write(text: str, path: Path) -> None:
    """Write a text to a file, or to standard output for "-"."""
    from assay.files import write_text

    if path == STANDARD_OUTPUT:
        typer.echo(text, nl=False)
    else:
        write_text(path, text)
