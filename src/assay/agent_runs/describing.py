"""Verdicts on runs as a report: counts, the steps that read the fix with their evidence, and the solved rates."""

import math
from collections import Counter
from dataclasses import asdict
from functools import partial
from operator import attrgetter

from assay.agent_runs.annotating import AnnotatedRuns, solved_rate
from assay.agent_runs.judging import RUN_VERDICTS, JudgedRun, RunVerdict
from assay.codec import encode
from assay.escaping import cut_off
from assay.evaluation import Estimate
from assay.reports import (
    Answer,
    Column,
    Juxtaposition,
    Report,
    Table,
    describe,
    number_of,
    percent,
    percent_interval,
)

RUNS_VERSION = "1.0"
"""Version of the JSON; `docs/schemas` has its schema. A further field raises the last number."""
SHOWN = 50
"""Rows of a table, and runs with their evidence on the page."""
WORDS = 90
"""Characters of a command in a table."""

LIMITS = (
    "A verdict rests on the text of the file: what the harness did not record is not in it, nor what a model learned.",
    "A fix that was read after the agent had written it is not counted.",
)
WITHOUT = "Without --repositories, what the agent saw of the working tree before its first edit is no evidence."
WITH = "What the repository has at the base commit is no evidence."


@describe.register
def _(annotated: AnnotatedRuns) -> Report:
    """Return the report: the answer, verdicts, readings, the runs without a verdict, and solved rates."""
    readers = annotated.with_verdict("read the fix")
    notes = [*LIMITS, WITH if annotated.repositories else WITHOUT]
    if annotated.without_base:
        notes.append(f"{number_of(annotated.without_base, 'task')} without its base commit in a repository.")
    return Report(
        title="Had the agents read the fix before they wrote it?",
        statement="",
        answer=_answer(annotated, readers),
        tables=tuple(filter(attrgetter("rows"), _tables(annotated, readers))),
        juxtapositions=tuple(map(_evidence, readers[:SHOWN])),
        notes=(*notes, *annotated.notes),
        data=_data(annotated),
        kind="runs of agents",
        on_first_screen=2,
    )


def _answer(annotated: AnnotatedRuns, readers: list[JudgedRun]) -> Answer:
    sure = len(annotated.runs) - len(annotated.with_verdict("cannot tell"))
    left_out = []
    if sure < len(annotated.runs):
        left_out.append(f"{number_of(len(annotated.runs) - sure, 'run')} without a verdict")
    if annotated.unread:
        left_out.append(f"{number_of(len(annotated.unread), 'file')} not read")
    measured = "no run has a verdict"
    if sure:
        measured = f"{len(readers)} of {number_of(sure, 'run')} read the fix: {_share(annotated.read)}"
    measured = "; ".join([measured, *left_out])
    if readers:
        because = "A step of these runs shows the gold patch, before the agent wrote it."
        step = f"open {readers[0].place} of {readers[0].source}: {_short(readers[0].command)}"
        return Answer("Fixes were read", because=because, measured=measured, next_step=step)
    if left_out:
        because = "No step shows the gold patch before the agent wrote it, but not everything could be read."
        step = f"the most frequent reason: {next(iter(_reasons(annotated)))}"
        return Answer("Undecided", because=because, measured=measured, next_step=step)
    because = "No step of any run shows the gold patch before the agent wrote it."
    return Answer("No reading found", because=because, measured=measured)


def _share(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} (95 % interval {percent_interval(estimate)})"


def _tables(annotated: AnnotatedRuns, readers: list[JudgedRun]) -> list[Table]:
    scored = sum(run.solved is not None for run in annotated.runs)
    every = f"all runs with an outcome, {scored:,} of {len(annotated.runs):,}"
    rates = ((every, annotated.solved), ("without those that read the fix", annotated.solved_without))
    has_outcomes = not math.isnan(annotated.solved.value)
    wrote = annotated.with_verdict("wrote it without reading")
    return [
        Table.of(
            name="verdicts",
            title="Verdicts",
            items=RUN_VERDICTS,
            columns=(
                Column("runs that …", get=str),
                Column("runs", "count", get=lambda verdict: len(annotated.with_verdict(verdict))),
                Column("solved", "share", get=partial(_solved_of, annotated), missing="no outcome"),
            ),
        ),
        Table.of(
            name="solved",
            title="Solved",
            items=rates * has_outcomes,
            columns=(Column("runs", get=lambda rate: rate[0]), Column("solved", "share", get=lambda rate: rate[1])),
            caption=("In brackets: 95 % intervals over tasks.",),
        ),
        Table.of(
            name="readings",
            title="Runs that read the fix",
            items=readers[:SHOWN],
            columns=(
                Column("run", "name", get=lambda run: run.run),
                Column("step", "count", get=lambda run: run.step),
                Column("at", get=lambda run: run.place),
                Column("channel", get=lambda run: run.channel),
                Column("command", get=lambda run: _short(run.command)),
                Column("lines read", "count", get=lambda run: len(run.lines)),
                Column("written afterwards", "share", get=lambda run: run.written_after),
            ),
            caption=_first_of(readers),
        ),
        Table.of(
            name="written",
            title="Runs that wrote the fix without having read it",
            items=wrote[:SHOWN],
            columns=(
                Column("run", "name", get=lambda run: run.run),
                Column("share of the fix", "share", get=lambda run: run.share),
                Column("further runs that do so", "count", get=lambda run: run.others),
            ),
            caption=_first_of(wrote),
        ),
        Table.of(
            name="reasons",
            title="Why there is no verdict",
            items=list(_reasons(annotated).items())[:SHOWN],
            columns=(Column("reason", get=lambda entry: entry[0]), Column("n", "count", get=lambda entry: entry[1])),
        ),
    ]


def _reasons(annotated: AnnotatedRuns) -> dict[str, int]:
    """Return the reasons why runs have no verdict and files no run, with their numbers, the most frequent first."""
    reasons = Counter(filter(None, map(attrgetter("reason"), annotated.runs)))
    reasons.update(map("file not read: {.reason}".format, annotated.unread))
    return dict(reasons.most_common())


def _solved_of(annotated: AnnotatedRuns, verdict: RunVerdict) -> Estimate:
    return solved_rate(annotated.with_verdict(verdict))


def _first_of(runs: list[JudgedRun]) -> tuple[str, ...]:
    return (f"The first {SHOWN} of {len(runs):,}; all are in the JSON.",) * (len(runs) > SHOWN)


def _short(command: str) -> str:
    return cut_off(command, WORDS)


def _evidence(run: JudgedRun) -> Juxtaposition:
    """Return the timeline of a run, with what its step showed beside the gold patch."""
    entries = [(f"step {entry.step}", f"{entry.kind}: {_short(entry.command)}") for entry in run.timeline]
    chosen = next((number for number, entry in enumerate(run.timeline) if entry.kind == "read the fix"), None)
    return Juxtaposition(
        title=run.run,
        about=f"{run.channel}, {run.place} of {run.source}",
        entries=tuple(entries),
        chosen=chosen,
        left=(f"Output of step {run.step}", run.excerpt),
        right=("Gold patch", run.patch),
        marked=run.lines,
    )


def _data(annotated: AnnotatedRuns) -> dict[str, object]:
    per_run = []
    for run in annotated.runs:
        row = asdict(run)
        del row["patch"], row["excerpt"]
        per_run.append(row)
    return {
        "schema_version": RUNS_VERSION,
        "counts": {verdict: len(annotated.with_verdict(verdict)) for verdict in RUN_VERDICTS},
        "read": encode(annotated.read),
        "solved": encode(annotated.solved),
        "solved_without": encode(annotated.solved_without),
        "unread": [{"path": str(unread.path), "reason": unread.reason} for unread in annotated.unread],
        "notes": list(annotated.notes),
        "per_run": per_run,
    }
