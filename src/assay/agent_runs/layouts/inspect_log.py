"""Logs of inspect (`.eval`, or JSON): a sample with tool calls is a run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.chat import chat_steps, first_prompt
from assay.agent_runs.layouts.contents import arguments_of, outcome_of
from assay.agent_runs.layouts.step_record import StepRecord
from assay.agent_runs.run_values import AgentRun, Step
from assay.datasets import inspect_values, read_inspect_log
from assay.errors import DataError


def is_inspect_log(content: object) -> bool:
    """Return True for the content of a JSON log of inspect."""
    return isinstance(content, Mapping) and {"eval", "status", "version"} <= content.keys()


def inspect_runs(path: Path) -> Iterator[AgentRun]:
    """Yield the runs of a log, read by inspect_ai itself.

    Raises:
        DataError: it cannot be read as a log.
        MissingExtra: inspect_ai is not installed.
    """
    yield from _runs_of_log(read_inspect_log(path))


def _runs_of_log(log: Any) -> Iterator[AgentRun]:  # noqa: ANN401  inspect_ai is optional
    """Yield the runs of a log; of several values none is taken for the outcome."""
    if not log.samples:
        raise DataError("a log without samples, expected at least one")
    for sample in log.samples:
        values = list(inspect_values(sample).values())
        stopped = sample.error or sample.limit
        run = run_of_messages(str(sample.id), [message.model_dump(mode="json") for message in sample.messages])
        further = _from_events(sample.events or ())
        yield replace(
            run,
            name=run.name + f" (epoch {sample.epoch})" * (sample.epoch > 1),
            solved=outcome_of(values[0]) if len(values) == 1 and not stopped else None,
            cut="the sample ended with an error or at a limit" * bool(stopped),
            # messages that were compacted away, and those of sub-agents, are among the events only
            steps=max(run.steps, further, key=len),
        )


def _from_events(events: Iterable[Any]) -> tuple[Step, ...]:
    """Return the calls of tools among the events of a sample, in their order."""
    record = StepRecord()
    for number, event in enumerate(events):
        if event.event == "tool":
            place, key = f"events[{number}]", str(event.id)
            record.call(place, key, tool=event.function, arguments=arguments_of(event.arguments))
            record.answer(place, key, event.model_dump(mode="json")["result"] or getattr(event.error, "message", ""))
    return record.steps


def run_of_messages(task: str, messages: Sequence[Mapping[str, Any]]) -> AgentRun:
    """Return the run that messages of inspect make, for a task of that id."""
    return AgentRun(
        name=task,
        layout="inspect",
        tasks=(task,),
        prompt=first_prompt(messages),
        steps=chat_steps(messages),
    )
