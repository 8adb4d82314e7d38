"""Sessions of command-line agents, JSON lines: Claude Code (`projects/…/ID.jsonl`) and Codex (`rollout-….jsonl`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.contents import arguments_of, names_in, text_of
from assay.agent_runs.run_values import AgentRun, Step
from assay.files import parse_json

_CODEX_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "web_search_call"}


def claude_code(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401  JSON
    """Return the run of a session of Claude Code."""
    if not _is_lines(content) or not any("sessionId" in row and "message" in row for row in content):
        return None
    steps: list[Step] = []
    calls: dict[str, tuple[str, dict[str, str]]] = {}
    prompts: list[str] = []
    for number, row in enumerate(content, 1):
        message = row.get("message") or {}
        parts = message.get("content")
        if row.get("type") == "user" and isinstance(parts, str) and not steps:
            prompts.append(parts)
        for part in parts if isinstance(parts, list) else ():
            if part.get("type") == "tool_use":
                calls[str(part.get("id"))] = (str(part.get("name")), arguments_of(part.get("input")))
            elif part.get("type") == "tool_result":
                tool, arguments = calls.get(str(part.get("tool_use_id")), ("", {}))
                output, folder = text_of(part.get("content")), str(row.get("cwd") or "")
                steps.append(Step(f"line {number}", tool=tool, arguments=arguments, output=output, folder=folder))
            elif row.get("type") == "user" and not steps:
                prompts.append(text_of(part))
    folder = next((str(row["cwd"]) for row in content if row.get("cwd")), "")
    return [_session(path, "Claude Code", folder, steps=steps, prompts=prompts)]


def codex(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401  JSON
    """Return the run of a session of Codex; older versions write the items without the object around them."""
    if not _is_lines(content):
        return None
    payloads = [row["payload"] if isinstance(row.get("payload"), Mapping) else row for row in content]
    if not any(row.get("type") == "session_meta" for row in content) and not any(map(_is_call, payloads)):
        return None
    steps: list[Step] = []
    prompts: list[str] = []
    calls: dict[str, tuple[str, dict[str, str]]] = {}
    root = folder = ""
    for number, item in enumerate(payloads, 1):
        folder = str(item.get("cwd") or folder)
        root = root or folder
        kind, key = item.get("type"), str(item.get("call_id") or item.get("id") or number)
        if _is_call(item):
            action = item.get("action") if isinstance(item.get("action"), Mapping) else None
            arguments = arguments_of(item.get("arguments") or item.get("input") or action)
            calls[key] = str(item.get("name") or kind), arguments
        elif str(kind).endswith("_call_output"):
            tool, arguments = calls.get(key, ("", {}))
            where = arguments.get("workdir") or folder
            output = _printed(item.get("output"))
            steps.append(Step(f"line {number}", tool=tool, arguments=arguments, output=output, folder=where))
        elif item.get("role") in {"user", "developer"} and not steps:
            prompts.append(text_of(item.get("content")))
    return [_session(path, "Codex", root, steps=steps, prompts=prompts)]


def _session(path: Path, layout: str, root: str, *, steps: Sequence[Step], prompts: Sequence[str]) -> AgentRun:
    names = names_in(path)
    return AgentRun(
        name=names[0],
        layout=layout,
        tasks=(*names, *(folder for folder in reversed(root.split("/")) if folder)),
        prompt="\n".join(prompts),
        steps=tuple(steps),
        root=root,
    )


def _is_lines(content: object) -> bool:
    return isinstance(content, list) and all(isinstance(row, Mapping) for row in content)


def _is_call(item: Mapping[str, Any]) -> bool:
    return item.get("type") in _CODEX_CALLS


def _printed(output: object) -> str:
    """Return the output of a call, which older versions wrap into JSON with its exit code."""
    if isinstance(output, str) and output.startswith("{"):
        try:
            return text_of(parse_json(output)) or output
        except ValueError:
            return output
    return text_of(output)
