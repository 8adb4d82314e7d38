"""The scanner `assay/read_the_fix` for Inspect Scout: had the agent of a transcript read the gold patch?

Inspect Scout finds it through the extension of inspect_ai: `scout scan assay/read_the_fix -S tasks=FILE`
asks it of every transcript.
"""

from functools import cache
from pathlib import Path

from inspect_scout import Reference, Result, Scanner, Transcript, scanner

from assay.agent_runs import GoldTask, base_items, judge_run, read_gold_tasks, run_of_messages, task_of_run


@scanner(messages="all")
def read_the_fix(tasks: str, repositories: str | None = None) -> Scanner[Transcript]:
    """Return a scanner whose value is True where the fix was read, False where not, and None where it cannot be told.

    Args:
        tasks: table of tasks with their gold patches.
        repositories: folder of git mirrors or checkouts; see `assay.annotate_runs`.
    """

    async def scan(transcript: Transcript) -> Result:
        messages = [message.model_dump(mode="json") for message in transcript.messages]
        run = run_of_messages(str(transcript.task_id or transcript.transcript_id), messages)
        task = task_of_run(run, _table(tasks))
        base = base_items(task, Path(repositories)) if task and repositories else None
        judged = judge_run(run, transcript.source_uri or "", task, base=base)
        references = []
        if judged.step:
            # the place of a step is written as in a file of runs; Scout refers to messages by their ids
            number = int(judged.place.removeprefix("messages[").removesuffix("]"))
            references.append(Reference(type="message", id=str(transcript.messages[number].id)))
        details = {"channel": judged.channel, "command": judged.command, "lines": list(judged.lines)}
        return Result(
            value={"read the fix": True, "cannot tell": None}.get(judged.verdict, False),
            answer=judged.verdict,
            explanation=judged.reason or f"{judged.channel}: {judged.command}".strip(": ") or None,
            metadata={**details, "written_after": judged.written_after, "share": judged.share},
            references=references,
        )

    return scan


@cache
def _table(path: str) -> dict[str, GoldTask]:
    """Return the tasks of a table, read once for all transcripts."""
    return read_gold_tasks(Path(path), {})
