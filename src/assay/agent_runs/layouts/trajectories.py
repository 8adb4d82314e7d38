"""Trajectories that are one object a run: SWE-agent (`.traj`), and Harbor and Terminal-Bench (ATIF)."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.contents import (
    arguments_of,
    mapping_or_empty,
    names_in,
    outcome_of,
    string_or_none,
    text_of,
)
from assay.agent_runs.run_values import AgentRun, Step
from assay.files import parse_json


def swe_agent(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401  JSON
    """Return the run of a trajectory of SWE-agent."""
    entries = mapping_or_empty(content).get("trajectory")
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) and "action" in entry for entry in entries):
        return None
    info = content.get("info") or {}
    steps, root = [], ""
    for number, entry in enumerate(entries):
        folder = str(_state(entry).get("working_dir") or "")
        root = root or folder
        arguments = {"command": text_of(entry["action"])}
        output = text_of(entry.get("observation"))
        steps.append(Step(f"trajectory[{number}]", tool="bash", arguments=arguments, output=output, folder=folder))
    prompts = []
    for message in content.get("history") or ():
        if message.get("role") == "assistant":
            break
        # a demonstration is a run on another task, shown before this one
        if not message.get("is_demo"):
            prompts.append(text_of(message.get("content")))
    return [
        AgentRun(
            name=names_in(path)[0],
            layout="SWE-agent",
            tasks=names_in(path),
            prompt="\n".join(prompts),
            steps=tuple(steps),
            submission=string_or_none(info.get("submission")),
            root=root,
        )
    ]


def _state(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the state of a step, which older versions write as JSON within JSON."""
    state = entry.get("state")
    if isinstance(state, str):
        with suppress(ValueError):
            state = parse_json(state)
    return mapping_or_empty(state)


def harbor(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401  JSON
    """Return the run of an ATIF trajectory; task and reward are in `result.json` of its trial, where there is one."""
    if not isinstance(content, Mapping) or not str(content.get("schema_version", "")).startswith("ATIF"):
        return None
    trial = _result(path)
    names, task = names_in(path), str(trial.get("task_name") or "")
    rewards = (trial.get("verifier_result") or {}).get("rewards") or {}
    entries = content.get("steps") or []
    prompt = "\n".join(text_of(entry.get("message")) for entry in entries if entry.get("source") != "agent")
    return [
        AgentRun(
            name=str(trial.get("trial_name") or content.get("session_id") or names[0]),
            layout="ATIF",
            # a trial's folder is the task's name, two underscores and a few letters
            tasks=(*filter(None, [task]), *names, *(name.rpartition("__")[0] for name in names if "__" in name)),
            prompt=prompt,
            steps=tuple(_atif_steps(entries)),
            solved=outcome_of(rewards.get("reward")),
        )
    ]


def _atif_steps(entries: list[Mapping[str, Any]]) -> Iterator[Step]:
    for number, entry in enumerate(entries):
        place = f"step_id {entry.get('step_id', number + 1)}"
        results = (entry.get("observation") or {}).get("results") or []
        by_call = {result.get("source_call_id"): text_of(result.get("content")) for result in results}
        calls = entry.get("tool_calls") or []
        for call in calls:
            tool, arguments = str(call.get("function_name")), arguments_of(call.get("arguments"))
            # terminus sends keystrokes to one terminal and reads its screen: no result names its call
            output = by_call.pop(call.get("tool_call_id"), "")
            if not output and call is calls[-1]:
                output = by_call.pop(None, "")
            yield Step(place, tool=tool, arguments=arguments, output=output)
        if by_call:
            yield Step(place, tool="", arguments={}, output="\n".join(by_call.values()))


def _result(path: Path) -> Mapping[str, Any]:
    for folder in list(path.parents)[:3]:
        try:
            result = parse_json((folder / "result.json").read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(result, Mapping):
            return result
    return {}
