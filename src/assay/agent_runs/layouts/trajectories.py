"""Trajectories that are one object a run: SWE-agent (`.traj`), and Harbor and Terminal-Bench (ATIF)."""

import html
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, filterfalse
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.contents import (
    arguments_of,
    is_mapping,
    mapping_or_empty,
    names_in,
    objects_of,
    outcome_of,
    string_or_none,
    text_of,
)
from assay.agent_runs.layouts.sessions import ELSEWHERE
from assay.agent_runs.layouts.step_record import StepRecord
from assay.agent_runs.run_values import AgentRun, Step
from assay.files import parse_json

_KEYSTROKES = re.compile(r'"keystrokes"\s*:\s*("(?:[^"\\]|\\.)*")|<keystrokes[^>]*>(.*?)</keystrokes>', re.DOTALL)


def swe_agent(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401  JSON
    """Return the run of a trajectory of SWE-agent; of one with attempts and no choice, the run of each."""
    trajectory = mapping_or_empty(content)
    if "trajectory" not in trajectory and (attempts := objects_of(trajectory.get("attempts"))):
        return list(chain.from_iterable(swe_agent(path, attempt) or () for attempt in attempts)) or None
    entries = trajectory.get("trajectory")
    if not isinstance(entries, list) or not all(is_mapping(entry) and "action" in entry for entry in entries):
        return None
    steps, root = [], ""
    for number, entry in enumerate(entries):
        folder = str(_state(entry).get("working_dir") or "")
        root = root or folder
        arguments = {"command": text_of(entry["action"])}
        output = text_of(entry.get("observation"))
        steps.append(Step(f"trajectory[{number}]", tool="bash", arguments=arguments, output=output, folder=folder))
    return [
        AgentRun(
            name=names_in(path)[0],
            layout="SWE-agent",
            tasks=names_in(path),
            prompt="\n".join(_prompts(trajectory.get("history") or ())),
            steps=tuple(steps),
            submission=string_or_none((trajectory.get("info") or {}).get("submission")),
            root=root,
        )
    ]


def _prompts(history: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what was said before the model's first words."""
    for message in history:
        if message.get("role") == "assistant":
            return
        # a demonstration is a run on another task, shown before this one
        if not message.get("is_demo"):
            yield text_of(message.get("content"))


def _state(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the state of a step, which older versions write as JSON within JSON."""
    state = entry.get("state")
    if isinstance(state, str):
        with suppress(ValueError):
            state = parse_json(state)
    return mapping_or_empty(state)


def harbor(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401  JSON
    """Return the run of an ATIF trajectory; task and reward are in `result.json` of its trial, where there is one.

    Sub-agents and continuations are read where they are, within the trajectory or in a file beside it.
    """
    if not isinstance(content, Mapping) or not str(content.get("schema_version", "")).startswith("ATIF"):
        return None
    trial = _result(path)
    names, task = names_in(path), str(trial.get("task_name") or "")
    rewards = (trial.get("verifier_result") or {}).get("rewards") or {}
    entries = objects_of(content.get("steps"))
    prompt = "\n".join(text_of(entry.get("message")) for entry in entries if entry.get("source") != "agent")
    parts = _Parts(path)
    return [
        AgentRun(
            name=str(trial.get("trial_name") or content.get("session_id") or names[0]),
            layout="ATIF",
            # a trial's folder is the task's name, two underscores and a few letters
            tasks=(*filter(None, [task]), *names, *(name.rpartition("__")[0] for name in names if "__" in name)),
            prompt=prompt,
            steps=tuple(parts.steps(content)),
            solved=outcome_of(rewards.get("reward")),
            cut=parts.missing,
        )
    ]


@dataclass(slots=True)
class _Parts:
    """Parts of a trajectory: its own steps, and those of sub-agents and continuations.

    Attributes:
        path: of the file; further parts are beside it.
        missing: why a part is not read; "" where all are.
    """

    path: Path
    missing: str = ""
    _opened: set[str] = field(default_factory=set)

    def steps(self, content: Mapping[str, Any], suffix: str = "") -> Iterator[Step]:
        """Yield the steps of a trajectory, those of a sub-agent before the step that has its answer."""
        within = {str(_key(part)): part for part in objects_of(content.get("subagent_trajectories"))}
        keystrokes = ""
        for number, entry in enumerate(objects_of(content.get("steps")), 1):
            if entry.get("is_copied_context"):
                continue
            results = objects_of(mapping_or_empty(entry.get("observation")).get("results"))
            for reference in chain.from_iterable(map(_references, results)):
                key = str(_key(reference))
                part = within.pop(key, None) or self._beside(reference.get("trajectory_path"), ELSEWHERE)
                yield from self.steps(part, f" of {key}")
            for step in _steps_of(f"step_id {entry.get('step_id', number)}{suffix}", entry, results):
                # without keystrokes a terminal shows what is left of the last ones
                keystrokes = step.arguments.get("keystrokes", "").strip() or keystrokes
                if "keystrokes" in step.arguments:
                    step = replace(step, arguments={**step.arguments, "keystrokes": keystrokes})  # noqa: PLW2901
                yield step
        # sub-agents that no result refers to
        for key, part in within.items():
            yield from self.steps(part, f" of {key}")
        if following := content.get("continued_trajectory_ref"):
            part = self._beside(following, "the trajectory goes on in a file that is not beside it")
            yield from self.steps(part, f" of {following}")

    def _beside(self, name: object, otherwise: str) -> Mapping[str, Any]:
        """Return the trajectory in a file beside; an empty one, and a note, where it cannot be read."""
        # its last name alone: a path in a foreign file must not lead out of its folder
        file = posixpath.basename(str(name or ""))
        # each file once: references can form a circle
        if file not in self._opened:
            self._opened.add(file)
            with suppress(OSError, ValueError):
                return mapping_or_empty(parse_json((self.path.parent / file).read_text("utf-8")))
        self.missing = self.missing or otherwise
        return {}


def _references(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the references of a result to the trajectories of sub-agents: a list, or a single one."""
    references = result.get("subagent_trajectory_ref")
    return objects_of(references) or objects_of([references])


def _key(part: Mapping[str, Any]) -> object:
    """Return the name of a trajectory; before version 1.7 it is that of the session."""
    return part.get("trajectory_id") or part.get("session_id")


def _steps_of(place: str, entry: Mapping[str, Any], results: list[Mapping[str, Any]]) -> Iterator[Step]:
    """Yield the steps that the calls of an entry and their results make."""
    calls = objects_of(entry.get("tool_calls"))
    record, untitled = StepRecord(), []
    for call in calls:
        record.call(
            place,
            str(call.get("tool_call_id")),
            tool=str(call.get("function_name")),
            arguments=arguments_of(call.get("arguments")),
        )
    for result in results:
        if (key := result.get("source_call_id")) is None:
            untitled.append(text_of(result.get("content")))
        else:
            record.answer(place, str(key), result.get("content"))
    text = "\n".join(filter(None, untitled))
    waiting = list(filterfalse(attrgetter("is_recorded"), record.steps))
    if not text:
        yield from record.steps
    elif waiting or not calls:
        # terminus sends keystrokes to one terminal and reads its screen: no result names its call
        yield from filter(attrgetter("is_recorded"), record.steps)
        yield _of_screen(place, waiting, text) if waiting else _of_message(place, entry, text)
    else:
        record.text(place, text)
        yield from record.steps


def _of_screen(place: str, calls: list[Step], text: str) -> Step:
    """Return the step that several calls make, whose outputs are one text."""
    arguments: dict[str, str] = {}
    for name, text_of_call in chain.from_iterable(map(dict.items, map(attrgetter("arguments"), calls))):
        arguments[name] = f"{arguments.get(name, '')}\n{text_of_call}".strip("\n")
    return Step(place, tool=calls[0].tool, arguments=arguments, output=text)


def _of_message(place: str, entry: Mapping[str, Any], text: str) -> Step:
    """Return the step of an output without a call: keystrokes may stand in the text of the agent's answer."""
    typed = []
    for quoted, plain in _KEYSTROKES.findall(text_of(entry.get("message"))):
        typed.append(parse_json(quoted) if quoted else html.unescape(plain))
    arguments = {"keystrokes": "\n".join(typed)} if typed else {}
    return Step(place, tool="bash" * bool(typed), arguments=arguments, output=text)


def _result(path: Path) -> Mapping[str, Any]:
    for folder in list(path.parents)[:3]:
        try:
            result = parse_json((folder / "result.json").read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(result, Mapping):
            return result
    return {}
