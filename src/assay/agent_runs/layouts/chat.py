"""Messages of a chat, with tool calls or with a shell command in the text: mini-swe-agent."""

import re
from collections.abc import Iterable, Iterator, Mapping
from operator import methodcaller
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.contents import (
    arguments_of,
    is_mapping,
    mapping_or_empty,
    names_in,
    objects_of,
    string_or_none,
    text_of,
)
from assay.agent_runs.layouts.step_record import StepRecord
from assay.agent_runs.run_values import AgentRun, Step

_BLOCK = re.compile(
    r"```(?:mswea_bash_command|bash|sh|shell)\s*\n(.*?)\n?```|<(?P<tag>(?:mswea_)?bash\w*)>(.*?)</(?P=tag)>", re.DOTALL
)


def chat_steps(messages: Iterable[Mapping[str, Any]], folder: str = "", name: str = "messages") -> tuple[Step, ...]:
    """Return the steps of a chat: each output with the call that it answers."""
    record = StepRecord(folder)
    # commands in the text of a message have no ids: the next messages answer them in turn
    untitled: list[str] = []
    for number, message in enumerate(messages):
        place, role, content = f"{name}[{number}]", message.get("role"), message.get("content")
        key = str(message.get("tool_call_id") or message.get("call_id") or "")
        if role == "assistant" or message.get("object") == "response" or message.get("type") == "function_call":
            untitled = _note_calls(record, place, message)
        elif role in {"tool", "function"} or record.waits_for(key) or str(message.get("type")).endswith("_output"):
            record.answer(place, key, content or text_of(message))
        elif not record.parts(place, content) and untitled:
            record.answer(place, untitled.pop(0), content)
    return record.steps


def _note_calls(record: StepRecord, place: str, message: Mapping[str, Any]) -> list[str]:
    """Note the calls of a message, and return the keys of the commands in its text."""
    has_calls = record.parts(place, message.get("content"))
    for key, tool, arguments in _calls(message):
        record.call(place, key, tool=tool, arguments=arguments)
        has_calls = True
    keys: list[str] = []
    if has_calls:
        return keys
    for command in _commands(message):
        keys.append(f"{place} {len(keys)}")
        record.call(place, keys[-1], tool="bash", arguments={"command": command})
    return keys


def _commands(message: Mapping[str, Any]) -> list[str]:
    """Return the commands that the harness found in a message, or else the first one in its text."""
    actions = objects_of(mapping_or_empty(message.get("extra")).get("actions"))
    if actions:
        return list(map(text_of, map(methodcaller("get", "command"), actions)))
    block = _BLOCK.search(text_of(message.get("content")))
    return list(filter(None, block.group(1, 3)))[:1] if block else []


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield id, tool and arguments of the calls of a message, in the forms of the chat and the responses API."""
    own = [message] * (message.get("type") == "function_call")
    for call in [*own, *objects_of(message.get("tool_calls")), *objects_of(message.get("output"))]:
        function = call.get("function")
        # inspect has the name of the function where others have an object
        inner = function if isinstance(function, Mapping) else {"name": function, **call}
        if inner.get("name"):
            key = str(call.get("call_id") or call.get("id") or "")
            yield key, str(inner["name"]), arguments_of(inner.get("arguments"))


def first_prompt(messages: Iterable[Mapping[str, Any]]) -> str:
    """Return the messages before the first one of the agent."""
    texts = []
    for message in messages:
        if message.get("role") == "assistant":
            break
        texts.append(text_of(message.get("content")))
    return "\n".join(texts)


def mini_swe_agent(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401  JSON
    """Return the run of a trajectory of mini-swe-agent, or of any object with `messages` of a chat."""
    messages = mapping_or_empty(content).get("messages")
    if not isinstance(messages, list) or not all(map(is_mapping, messages)):
        return None
    info = mapping_or_empty(content.get("info"))
    environment = (info.get("config") or {}).get("environment") or {}
    root = str(environment.get("cwd") or "")
    names = (*filter(None, [str(content.get("instance_id") or "")]), *names_in(path))
    return [
        AgentRun(
            name=names[0],
            layout="mini-swe-agent",
            tasks=names,
            prompt=first_prompt(messages),
            steps=chat_steps(messages, root),
            submission=string_or_none(info.get("submission")),
            root=root,
            # saved after each step; what was stopped has no status
            cut="the run has no end" * (not info.get("exit_status", "none")),
        )
    ]
