"""Steps of a run while its file is read: calls wait for their outputs, and none of either is dropped."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from assay.agent_runs.layouts.contents import arguments_of, objects_of, text_of
from assay.agent_runs.run_values import SHELL_ARGUMENTS, Step

_GOES_ON = re.compile(r"(?:session ID|with ID:) ?(\w+)")
"""What a tool prints of a command that goes on; a later call asks for the rest of its output."""
_ASKS_FOR = ("session_id", "bash_id", "task_id", "shell_id")
_FOLDERS = ("workdir", "working_directory")
_NOTICE = 300
"""Characters at both ends of an output in which such a notice stands."""


@dataclass(slots=True)
class StepRecord:
    """Steps in the order of their outputs; a call without an output stands where it was made.

    Attributes:
        folder: working folder of the calls that name none.
    """

    folder: str = ""
    _steps: dict[int, Step] = field(default_factory=dict)
    _waiting: dict[str, int] = field(default_factory=dict)
    _going_on: dict[str, Step] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps so far."""
        return tuple(self._steps.values())

    @property
    def has_calls(self) -> bool:
        """True once the agent has called a tool."""
        return any(step.tool for step in self._steps.values())

    def call(self, place: str, key: str, *, tool: str, arguments: Mapping[str, str]) -> None:
        """Note a call; one that asks for the rest of an output repeats the command that goes on."""
        asked_for = next(filter(None, map(arguments.get, _ASKS_FOR)), "")
        if earlier := self._going_on.get(asked_for):
            command = "\n".join(filter(None, [earlier.first_of(SHELL_ARGUMENTS), arguments.get("chars")]))
            arguments = {**arguments, "command": command}
        folder = next(filter(None, map(arguments.get, _FOLDERS)), self.folder)
        self._waiting[key] = number = next(self._numbers)
        self._steps[number] = Step(place, tool, arguments=arguments, output="", folder=folder, is_recorded=False)

    def answer(self, place: str, key: str, content: object) -> None:
        """Note an output with the call that it answers; parts without text, such as images, are not recorded."""
        call = self._steps.pop(self._waiting.pop(key, -1), Step(place, "", arguments={}, output=""))
        text = text_of(content)
        # content without any text, such as an image, was seen by the agent and cannot be judged
        step = replace(call, place=place, output=text, is_recorded=bool(text) or not content)
        self._steps[next(self._numbers)] = step
        if notice := _GOES_ON.search(f"{text[:_NOTICE]}\n{text[-_NOTICE:]}"):
            self._going_on[notice[1]] = step

    def parts(self, place: str, content: object) -> bool:
        """Note the calls and outputs among the parts of a message in the form of Anthropic; return True for any."""
        present = False
        for part in objects_of(content):
            kind, key = str(part.get("type")), str(part.get("id"))
            if kind.endswith("tool_use"):
                arguments = arguments_of(part.get("input") or part.get("arguments"))
                self.call(place, key, tool=str(part.get("name")), arguments=arguments)
                # a tool of the provider, whose result inspect has in the same part
                if "result" in part:
                    self.answer(place, key, part["result"])
            elif kind.endswith("tool_result"):
                self.answer(place, str(part.get("tool_use_id")), part.get("content"))
            present |= "tool_" in kind
        return present

    def text(self, place: str, content: object) -> None:
        """Note a text that came to the agent without a call."""
        if text := text_of(content):
            self._steps[next(self._numbers)] = Step(place, "", arguments={}, output=text)

    def waits_for(self, key: str) -> bool:
        """Return True for a call that has no output yet."""
        return key in self._waiting
