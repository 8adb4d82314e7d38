"""Messages of a chat, with tool calls or with a shell command in a fenced block: mini-swe-agent."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.contents import arguments_of, mapping_or_empty, names_in, string_or_none, text_of
from assay.agent_runs.run_values import AgentRun, Step

_BLOCK = re.compile(r"```(?:mswea_bash_command|bash|sh|shell)\s*\n(.*?)\n?```", re.DOTALL)


def chat_steps(messages: Iterable[Mapping[str, Any]], folder: str = "", name: str = "messages") -> Iterator[Step]:
    """Yield the steps of a chat: each output with the call that it answers."""
    calls: dict[str, tuple[str, dict[str, str]]] = {}
    command = ""
    for number, message in enumerate(messages):
        role, text = message.get("role"), text_of(message.get("content"))
        if role == "assistant" or message.get("object") == "response":
            new = dict(_calls(message))
            calls |= new
            block = not new and _BLOCK.search(text)
            command = block[1] if block else ""
            continue
        key = str(message.get("tool_call_id") or message.get("call_id") or "")
        place = f"{name}[{number}]"
        if key in calls or role == "tool":
            tool, arguments = calls.pop(key, ("", {}))
            yield Step(place, tool=tool, arguments=arguments, output=text or text_of(message), folder=folder)
        elif command:
            yield Step(place, tool="bash", arguments={"command": command}, output=text, folder=folder)
            command = ""


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, dict[str, str]]]]:
    """Yield id, tool and arguments of the calls of a message, in the forms of the chat and the responses API."""
    for call in [*(message.get("tool_calls") or ()), *(message.get("output") or ())]:
        if not isinstance(call, Mapping):
            continue
        function = call.get("function")
        # inspect has the name of the function where others have an object
        inner = function if isinstance(function, Mapping) else {"name": function, **call}
        if inner.get("name"):
            key = str(call.get("call_id") or call.get("id") or "")
            yield key, (str(inner["name"]), arguments_of(inner.get("arguments")))


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
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
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
            steps=tuple(chat_steps(messages, root)),
            submission=string_or_none(info.get("submission")),
            root=root,
            cut="the run has no end" * (info.get("exit_status") == ""),
        )
    ]
