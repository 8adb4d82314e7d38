"""Sessions of command-line agents, JSON lines: Claude Code (`projects/…/ID.jsonl`) and Codex (`rollout-….jsonl`).

The events that both print as JSON lines are read too, and the files of Claude Code's sub-agents beside its session.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from operator import attrgetter, itemgetter, methodcaller
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.contents import (
    arguments_of,
    is_mapping,
    mapping_or_empty,
    names_in,
    objects_of,
    text_of,
)
from assay.agent_runs.layouts.step_record import StepRecord
from assay.agent_runs.run_values import AgentRun
from assay.files import parse_json

_DELEGATING = {"Task", "Agent", "spawn_agent", "collab_tool_call"}
_PRINTED_ITEMS = {"command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call"}
_EVENTS = {"exec_command", "mcp_tool_call", "patch_apply", "web_search"}
_CHANGES = ("diff", "unified_diff", "content", "move_path")
ELSEWHERE = "the steps of a sub-agent are not in the file"

_PlacedRow = tuple[str, Mapping[str, Any]]


@dataclass(slots=True)
class _Session:
    """A session while its lines are read."""

    layout: str
    root: str = ""
    cut: str = ""
    prompts: list[str] = field(default_factory=list)
    record: StepRecord = field(default_factory=StepRecord)

    def prompt(self, text: str) -> None:
        """Note a text of the user, of which those before the first call are the task."""
        if text and not self.record.has_calls:
            self.prompts.append(text)

    def enter(self, folder: object) -> None:
        """Note the working folder, where a line names one."""
        self.record.folder = str(folder or self.record.folder)
        self.root = self.root or self.record.folder

    def run(self, path: Path, agents: int) -> list[AgentRun]:
        """Return the session as a run; `agents` is the number of sub-agents whose steps were read."""
        names, steps = names_in(path), self.record.steps
        if agents < sum(map(_DELEGATING.__contains__, map(attrgetter("tool"), steps))):
            self.cut = self.cut or ELSEWHERE
        return [
            AgentRun(
                name=names[0],
                layout=self.layout,
                tasks=(*names, *filter(None, reversed(self.root.split("/")))),
                prompt="\n".join(self.prompts),
                steps=steps,
                root=self.root,
                cut=self.cut,
            )
        ]


def claude_code(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401  JSON
    """Return the run of a session of Claude Code; none for the file of a sub-agent whose session is beside it."""
    if not _is_lines(content) or not any(map(_is_of_claude, content)):
        return None
    # the session lies beside its sub-agents, or beside the folder SESSION/subagents that holds them
    folders = path.parent, path.parent.parent.parent
    main = f"{content[0].get('sessionId')}.jsonl"
    if path.name.startswith("agent-") and any((folder / main).exists() for folder in folders):
        return []
    session = _Session("Claude Code")
    agents: set[object] = set()
    seen: set[tuple[object, object]] = set()
    for place, row in _with_subagents(path, content):
        agent = row.get("agentId") or row.get("parent_tool_use_id") or place * bool(row.get("isSidechain"))
        agents |= {agent} - {""}
        parts = mapping_or_empty(row.get("message")).get("content")
        keys = {(part.get("type"), part.get("id") or part.get("tool_use_id")) for part in objects_of(parts)}
        # the progress of a sub-agent repeats the lines of its own file
        if any(map(itemgetter(1), keys)) and keys <= seen:
            continue
        seen |= keys
        session.enter(row.get("cwd"))
        _note_row(session, place=place, row=row, parts=parts, is_of_user=not agent)
    return session.run(path, len(agents))


def _note_row(session: _Session, place: str, row: Mapping[str, Any], parts: object, *, is_of_user: bool) -> None:
    """Note a line of a session of Claude Code."""
    kind, result = row.get("type"), row.get("toolUseResult") or row.get("tool_use_result")
    if row.get("isCompactSummary") and not session.record.has_calls:
        session.cut = "the session goes on with an earlier one that is not in the file"
    if kind in {"attachment", "system"}:
        session.record.text(place, row.get("attachment") or row.get("content"))
    elif is_of_user and kind == "user" and not any("tool_use_id" in part for part in objects_of(parts)):
        session.prompt(text_of(parts))
    else:
        # an output that the message leaves out stands beside it
        if result and isinstance(parts, list) and len(parts) == 1 and not text_of(parts[0].get("content")):
            parts = [{**parts[0], "content": result}]
        session.record.parts(place, parts)


def _with_subagents(path: Path, content: Iterable[Mapping[str, Any]]) -> Iterator[_PlacedRow]:
    """Yield the lines of a session and those of its sub-agents in the order of their times."""
    session = path.name.removesuffix(".gz").removesuffix(".jsonl")
    rows = [*_timed(content, "")]
    files = {*path.parent.glob(f"{session}/subagents/agent-*.jsonl"), *path.parent.glob("agent-*.jsonl")}
    for file in sorted(files - {path}):
        beside = list(_rows_of(file))
        # a file that compacts the context repeats the session
        if beside and "compact" not in file.name and session in {file.parent.parent.name, beside[0].get("sessionId")}:
            rows += _timed(beside, f" of {file.name}")
    for _, place, row in sorted(rows, key=itemgetter(0)):
        yield _inner(place, row)


def _timed(rows: Iterable[Mapping[str, Any]], suffix: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield time, place and content of each line; a line without a time belongs to the one before it."""
    time = ""
    for number, row in enumerate(rows, 1):
        time = max(time, str(row.get("timestamp") or ""))
        yield time, f"line {number}{suffix}", row


def _inner(place: str, row: Mapping[str, Any]) -> _PlacedRow:
    """Return the message of a sub-agent that a line of progress holds, or else the line itself."""
    data = mapping_or_empty(row.get("data"))
    inner = mapping_or_empty(data.get("message"))
    return place, {"agentId": data.get("agentId"), **inner} if inner else row


def _rows_of(file: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of a further file, up to one that is damaged."""
    with file.open("rb") as stream, suppress(ValueError):
        yield from filter(is_mapping, map(parse_json, filter(bytes.strip, stream)))


def codex(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401  JSON
    """Return the run of a session of Codex; older versions write the items without the object around them."""
    if is_mapping(content) and "session" in content:
        content = content.get("items")
    if not _is_lines(content) or not any(map(_is_of_codex, content)):
        return None
    session = _Session("Codex")
    # a session tells its calls twice, as items and as events; what an agent prints may have events alone
    has_items = "response_item" in map(methodcaller("get", "type"), content)
    for number, row in enumerate(content, 1):
        item = _payload(row)
        session.enter(item.get("cwd"))
        if row.get("type") == "item.completed":
            _note_printed(session, f"line {number}", item)
        elif row.get("type") != "event_msg" and "msg" not in row:
            _note_item(session, f"line {number}", item)
        elif not has_items:
            _note_event(session, f"line {number}", item)
    return session.run(path, agents=0)


def _note_item(session: _Session, place: str, item: Mapping[str, Any]) -> None:
    """Note an item of a session: a call, an output, or a message."""
    kind, key = str(item.get("type")), str(item.get("call_id") or item.get("id") or place)
    if _is_call(item):
        stated = item.get("arguments") or item.get("input") or item.get("action")
        tool = str(item.get("name") or kind)
        # a tool of this name runs a program that calls the other tools
        arguments = {"code": stated} if tool == "exec" and isinstance(stated, str) else arguments_of(stated)
        session.record.call(place, key, tool=tool, arguments=arguments)
    elif kind.endswith("_output"):
        session.record.answer(place, key, _printed(item.get("output")))
    elif kind == "agent_message":
        session.record.text(place, item.get("content"))
    elif item.get("role") in {"user", "developer"}:
        session.prompt(text_of(item.get("content")))


def _note_printed(session: _Session, place: str, item: Mapping[str, Any]) -> None:
    """Note a printed item, which has a call and its output."""
    kind = str(item.get("type"))
    if kind not in _PRINTED_ITEMS:
        return
    changes = objects_of(item.get("changes"))
    texts = [change[name] for change, name in product(changes, _CHANGES) if isinstance(change.get(name), str)]
    if kind == "file_change" and not texts:
        session.cut = "the file names the files that the agent changed, not what it wrote"
    path = " ".join(map(str, map(methodcaller("get", "path"), changes)))
    stated = item.get("arguments") or item.get("command") or {"path": path or None, "query": item.get("query")}
    arguments = arguments_of(stated) | {"text": "\n".join(texts)}
    session.record.call(place, place, tool=str(item.get("tool") or kind), arguments=arguments)
    if kind != "web_search":
        session.record.answer(place, place, item.get("aggregated_output") or item.get("result") or item.get("error"))


def _note_event(session: _Session, place: str, event: Mapping[str, Any]) -> None:
    """Note an event of an older version, which has one for the beginning of a call and one for its end."""
    kind, _, phase = str(event.get("type")).rpartition("_")
    key = str(event.get("call_id"))
    if kind in _EVENTS and phase == "begin":
        changes = mapping_or_empty(event.get("changes"))
        stated = event.get("command") or event.get("invocation") or {"path": " ".join(changes), "changes": changes}
        session.record.call(place, key, tool=kind, arguments=arguments_of(stated))
    elif kind in _EVENTS and phase == "end":
        session.record.answer(place, key, mapping_or_empty(event.get("result")).get("Ok") or event)
    elif kind == "user":
        session.prompt(text_of(event))


def _is_of_claude(row: Mapping[str, Any]) -> bool:
    return "message" in row and not row.keys().isdisjoint(("sessionId", "session_id"))


def _payload(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping_or_empty(next(filter(None, map(row.get, ("payload", "item", "msg"))), None)) or row


def _is_of_codex(row: Mapping[str, Any]) -> bool:
    item = _payload(row)
    begins = str(item.get("type")).removesuffix("_begin") in _EVENTS
    return row.get("type") in {"session_meta", "thread.started"} or begins or _is_call(item)


def _is_lines(content: object) -> bool:
    return isinstance(content, list) and all(map(is_mapping, content))


def _is_call(item: Mapping[str, Any]) -> bool:
    return str(item.get("type")).endswith("_call")


def _printed(output: object) -> object:
    """Return the output of a call, which older versions wrap into JSON with its exit code."""
    if isinstance(output, str) and output.startswith("{"):
        with suppress(ValueError):
            return text_of(parse_json(output)) or output
    return output
