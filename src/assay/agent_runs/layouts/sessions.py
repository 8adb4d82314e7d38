"""Sessions of command-line agents, JSON lines: Claude Code (`projects/…/ID.jsonl`) and Codex (`rollout-….jsonl`).

The events that both print as JSON lines are read too.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.contents import arguments_of, mapping_or_empty, names_in, text_of
from assay.agent_runs.run_values import AgentRun, Step
from assay.files import parse_json

_CODEX_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "web_search_call"}
_CODEX_ITEMS = {"command_execution", "file_change", "mcp_tool_call", "web_search"}


@dataclass(slots=True)
class _Session:
    """A session while its lines are read."""

    layout: str
    root: str = ""
    steps: list[Step] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    calls: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)

    def prompt(self, text: str) -> None:
        """Note a text of the user, of which those before the first step are the task."""
        if text and not self.steps:
            self.prompts.append(text)

    def answer(self, number: int, key: str, *, output: str, folder: str) -> None:
        """Note the step that a call and its output make."""
        tool, arguments = self.calls.get(key, ("", {}))
        folder = arguments.get("workdir") or folder
        self.steps.append(Step(f"line {number}", tool=tool, arguments=arguments, output=output, folder=folder))

    def run(self, path: Path) -> AgentRun:
        """Return the session as a run."""
        names = names_in(path)
        return AgentRun(
            name=names[0],
            layout=self.layout,
            tasks=(*names, *filter(None, reversed(self.root.split("/")))),
            prompt="\n".join(self.prompts),
            steps=tuple(self.steps),
            root=self.root,
        )


def claude_code(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401  JSON
    """Return the run of a session of Claude Code."""
    if not _is_lines(content) or not any(map(_is_of_claude, content)):
        return None
    session = _Session("Claude Code")
    for number, row in enumerate(content, 1):
        parts = (row.get("message") or {}).get("content")
        folder = str(row.get("cwd") or "")
        session.root = session.root or folder
        for part in parts if isinstance(parts, list) else [{"content": parts}]:
            if part.get("type") == "tool_use":
                session.calls[str(part.get("id"))] = str(part.get("name")), arguments_of(part.get("input"))
            elif part.get("type") == "tool_result":
                key, output = str(part.get("tool_use_id")), text_of(part.get("content"))
                session.answer(number, key, output=output, folder=folder)
            elif row.get("type") == "user":
                session.prompt(text_of(part))
    return [session.run(path)]


def codex(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401  JSON
    """Return the run of a session of Codex; older versions write the items without the object around them."""
    if not _is_lines(content) or not any(map(_is_of_codex, content)):
        return None
    session, folder = _Session("Codex"), ""
    for number, row in enumerate(content, 1):
        item = _payload(row)
        folder = str(item.get("cwd") or folder)
        session.root = session.root or folder
        note = _note_event if row.get("type") == "item.completed" else _note_item
        note(session, number, item, folder=folder)
    return [session.run(path)]


def _note_item(session: _Session, number: int, item: Mapping[str, Any], *, folder: str) -> None:
    """Note an item of a session: a call, an output, or a message."""
    kind, key = item.get("type"), str(item.get("call_id") or item.get("id") or number)
    if _is_call(item):
        arguments = arguments_of(item.get("arguments") or item.get("input") or item.get("action"))
        session.calls[key] = str(item.get("name") or kind), arguments
    elif str(kind).endswith("_call_output"):
        session.answer(number, key, output=_printed(item.get("output")), folder=folder)
    elif item.get("role") in {"user", "developer"}:
        session.prompt(text_of(item.get("content")))


def _note_event(session: _Session, number: int, item: Mapping[str, Any], *, folder: str) -> None:
    """Note a printed event, which has a call and its output."""
    if item.get("type") not in _CODEX_ITEMS:
        return
    changed = " ".join(str(change.get("path")) for change in item.get("changes") or ())
    arguments = arguments_of(item.get("arguments") or item.get("command") or {"path": changed or None})
    session.calls[str(number)] = str(item.get("tool") or item["type"]), arguments
    output = text_of(item.get("aggregated_output") or item.get("result"))
    session.answer(number, str(number), output=output, folder=folder)


def _is_of_claude(row: Mapping[str, Any]) -> bool:
    return "message" in row and not row.keys().isdisjoint(("sessionId", "session_id"))


def _payload(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping_or_empty(row.get("payload") or row.get("item")) or row


def _is_of_codex(row: Mapping[str, Any]) -> bool:
    return row.get("type") in {"session_meta", "thread.started"} or _is_call(_payload(row))


def _is_lines(content: object) -> bool:
    return isinstance(content, list) and all(map(_is_mapping, content))


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_call(item: Mapping[str, Any]) -> bool:
    return item.get("type") in _CODEX_CALLS


def _printed(output: object) -> str:
    """Return the output of a call, which older versions wrap into JSON with its exit code."""
    if isinstance(output, str) and output.startswith("{"):
        with suppress(ValueError):
            return text_of(parse_json(output)) or output
    return text_of(output)
