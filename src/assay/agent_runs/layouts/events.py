"""Events of OpenHands: a row of `output.jsonl` is a run, whose history holds actions and observations."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.contents import arguments_of, outcome_of, string_or_none, text_of
from assay.agent_runs.run_values import AgentRun, Step


def openhands(path: Path, content: Any) -> list[AgentRun] | None:  # noqa: ANN401, ARG001  JSON; the form of a reader
    """Return the run of a row of `output.jsonl`, of the versions before and after 1.0."""
    if not isinstance(content, Mapping) or "instance_id" not in content or not isinstance(content.get("history"), list):
        return None
    history = content["history"]
    # the oldest version writes pairs of action and observation
    events = list(chain.from_iterable(history)) if history and isinstance(history[0], list) else history
    name = str(content["instance_id"])
    report = content.get("report") or {}
    patch = (content.get("test_result") or {}).get("git_patch", content.get("git_patch"))
    prompts = [text_of(content.get("instruction"))]
    prompts += [_said(event) for event in events if event.get("source") == "user"]
    return [
        AgentRun(
            name=name,
            layout="OpenHands",
            tasks=(name,),
            prompt="\n".join(prompts),
            steps=tuple(_steps(events)),
            submission=string_or_none(patch),
            solved=outcome_of(report.get("resolved")),
            cut=f"the run ended with an error: {content['error']}"[:200] if content.get("error") else "",
        )
    ]


def _said(event: Mapping[str, Any]) -> str:
    return text_of((event.get("llm_message") or {}).get("content")) or text_of((event.get("args") or {}).get("content"))


def _steps(events: list[Mapping[str, Any]]) -> Iterator[Step]:
    calls: dict[object, tuple[str, dict[str, str]]] = {}
    last: object = None
    for number, event in enumerate(events):
        if "observation" not in event:
            call = event.get("tool_call") or {}
            name = event.get("tool_name") or event.get("action")
            if isinstance(name, str):
                arguments = arguments_of(call.get("arguments") or event.get("args") or event.get("action"))
                last = event.get("tool_call_id") or event.get("id")
                calls[last] = (name, _own(arguments))
            continue
        key = event.get("tool_call_id") or event.get("cause")
        tool, arguments = calls.get(key if key in calls else last, ("", {}))
        observed = event["observation"]
        content = observed if isinstance(observed, Mapping) else event.get("content")
        yield Step(f"history[{number}]", tool=tool, arguments=arguments, output=text_of(content))


def _own(arguments: dict[str, str]) -> dict[str, str]:
    """Return the arguments that are part of the call: not the thoughts, nor settings of the harness."""
    skipped = {"thought", "kind", "security_risk", "summary", "confirmation_state", "is_input", "hidden", "blocking"}
    return {key: text for key, text in arguments.items() if key not in skipped}
