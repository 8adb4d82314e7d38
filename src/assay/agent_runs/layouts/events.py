"""Events of OpenHands: a row of `output.jsonl` is a run, whose history holds actions and observations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, product
from operator import itemgetter
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.contents import (
    arguments_of,
    mapping_or_empty,
    objects_of,
    outcome_of,
    string_or_none,
    text_of,
)
from assay.agent_runs.layouts.sessions import ELSEWHERE
from assay.agent_runs.layouts.step_record import StepRecord
from assay.agent_runs.run_values import AgentRun

_NOT_OF_THE_CALL = {
    "thought",
    "kind",
    "security_risk",
    "summary",
    "confirmation_state",
    "is_input",
    "hidden",
    "blocking",
}
_DELEGATING = {"delegate", "task", "task_tool_set", "DelegateTool", "TaskTool"}
_ACP, _ENDED = "ACPToolCallEvent", {"completed", "failed"}
_NO_CALLS = {
    "None",
    "null",
    "think",
    "finish",
    "message",
    "system",
    "recall",
    "agent_state_changed",
    "change_agent_state",
}
_NO_CALLS |= {"condensation", "condensation_request", "loop_recovery"}
"""Actions and observations that are no calls of a tool."""


def openhands(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401, ARG001  JSON; the form of a reader
    """Return the run of a row of `output.jsonl`, of the versions before and after 1.0."""
    if not isinstance(content, Mapping) or "instance_id" not in content or not isinstance(content.get("history"), list):
        return None
    rows = content["history"]
    # the oldest version writes pairs of action and observation
    events = list(chain.from_iterable(rows)) if rows and isinstance(rows[0], list) else rows
    name = str(content["instance_id"])
    report = content.get("report") or {}
    patch = (content.get("test_result") or {}).get("git_patch", content.get("git_patch"))
    prompts = [text_of(content.get("instruction")), *map(_prompt, events)]
    history = _History()
    for number, event in enumerate(events):
        history.note(f"history[{number}]", event)
    history.note_open_calls()
    cut = f"the run ended with an error: {content.get('error')}"[:200] * bool(content.get("error"))
    return [
        AgentRun(
            name=name,
            layout="OpenHands",
            tasks=(name,),
            prompt="\n".join(filter(None, prompts)),
            steps=history.record.steps,
            submission=string_or_none(patch),
            solved=outcome_of(report.get("resolved")),
            cut=cut or ELSEWHERE * history.delegates,
        )
    ]


def _prompt(event: Mapping[str, Any]) -> str:
    """Return the text of an event of the user."""
    if event.get("source") != "user":
        return ""
    return text_of((event.get("llm_message") or {}).get("content")) or text_of((event.get("args") or {}).get("content"))


@dataclass(slots=True)
class _History:
    """A history while its events are read.

    Attributes:
        record: of the steps.
        delegates: True where a sub-agent worked whose events are elsewhere.
    """

    record: StepRecord = field(default_factory=StepRecord)
    delegates: bool = False
    _last: str = ""
    _command: str = ""
    _open: dict[str, dict[str, Any]] = field(default_factory=dict)

    def note(self, place: str, event: Mapping[str, Any]) -> None:
        """Note an event."""
        key = str(event.get("tool_call_id") or event.get("cause") or "")
        tool, observed = str(event.get("tool_name") or event.get("action")), event.get("observation")
        kind = observed if isinstance(observed, str) else tool
        if event.get("kind") == _ACP:
            # several events tell of one call: what is null in a later one stands in an earlier one
            self._open.setdefault(key, {}).update(filter(itemgetter(1), event.items()))
            if event.get("status") in _ENDED:
                _note_acp(self.record, place, self._open.pop(key))
        elif kind in _NO_CALLS:
            return
        elif _is_output(event):
            output = mapping_or_empty(observed) or event.get("content") or event.get("error")
            # an output without an id that is known belongs to the last call
            self.record.answer(place, key if self.record.waits_for(key) else self._last, output)
        elif event.get("source") != "user":
            self._note_call(place, tool, event)

    def _note_call(self, place: str, tool: str, event: Mapping[str, Any]) -> None:
        arguments = _arguments(event)
        # an empty command asks for the rest of the last output
        self._command = arguments.get("command") or self._command
        if "command" in arguments:
            arguments["command"] = self._command
        self._last = str(event.get("tool_call_id") or event.get("id"))
        self.record.call(place, self._last, tool=tool, arguments=arguments)
        self.delegates |= "tool_name" in event and tool in _DELEGATING

    def note_open_calls(self) -> None:
        """Note the calls that have not ended."""
        for key, state in self._open.items():
            _note_acp(self.record, f"call {key}", state)


def _is_output(event: Mapping[str, Any]) -> bool:
    """Return True for an observation; an error or a refusal of version 1 has its text beside it."""
    return "observation" in event or ("tool_call_id" in event and not {"error", "rejection_reason"}.isdisjoint(event))


def _arguments(event: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments of a call without thoughts and settings of the harness."""
    call = mapping_or_empty(event.get("tool_call"))
    function = mapping_or_empty(call.get("function"))
    stated = call.get("arguments") or function.get("arguments") or event.get("args") or event.get("action")
    arguments = arguments_of(stated)
    for name in _NOT_OF_THE_CALL & arguments.keys():
        del arguments[name]
    return arguments


def _note_acp(record: StepRecord, place: str, state: Mapping[str, Any]) -> None:
    """Note a call of another agent, as its last event tells it."""
    key, blocks = str(state.get("tool_call_id")), objects_of(state.get("content"))
    arguments = arguments_of(state.get("raw_input") or {"command": state.get("title")})
    for block, name in product(blocks, ("path", "new_text", "newText")):
        if isinstance(block.get(name), str):
            arguments.setdefault(name, block[name])
    record.call(place, key, tool=str(state.get("tool_kind") or state.get("title")), arguments=arguments)
    if state.get("status") in _ENDED:
        record.answer(place, key, text_of(state.get("raw_output")) or text_of(blocks))
