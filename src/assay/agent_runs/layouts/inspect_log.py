"""Logs of inspect (`.eval`, or JSON): a sample with tool calls is a run."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.chat import chat_steps, first_prompt
from assay.agent_runs.run_values import AgentRun
from assay.errors import DataError, plain_reason, require


def is_inspect(content: object) -> bool:
    """Return True for the content of a JSON log of inspect."""
    return isinstance(content, Mapping) and {"eval", "status", "version"} <= content.keys()


def inspect_runs(path: Path) -> Iterator[AgentRun]:
    """Yield the runs of a log, read by inspect_ai itself.

    Raises:
        DataError: it cannot be read as a log.
        MissingExtra: inspect_ai is not installed.
    """
    require("inspect_ai", purpose=f"the inspect log {path}")
    from inspect_ai.log import read_eval_log  # noqa: PLC0415  slow to import

    try:
        log = read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # inspect_ai raises what zip, JSON and pydantic raise
        raise DataError(f"{path} cannot be read as an inspect log: {plain_reason(error)[:200]}") from error
    yield from runs_of_log(log)


def runs_of_log(log: Any) -> Iterator[AgentRun]:  # noqa: ANN401  inspect_ai is optional
    """Yield the runs of a log."""
    from inspect_ai.scorer import value_to_float  # noqa: PLC0415  slow to import

    as_float = value_to_float()
    for sample in log.samples or ():
        messages = [message.model_dump(mode="json") for message in sample.messages]
        score = next(iter((sample.scores or {}).values()), None)
        stopped = sample.error or sample.limit
        value = None if score is None or stopped else as_float(score.value)
        yield AgentRun(
            name=f"{sample.id}" if sample.epoch == 1 else f"{sample.id} (epoch {sample.epoch})",
            layout="inspect",
            tasks=(str(sample.id),),
            prompt=first_prompt(messages),
            steps=tuple(chat_steps(messages)),
            solved=value if value is not None and 0 <= value <= 1 else None,
            cut="the sample ended with an error or at a limit" if stopped else "",
        )
