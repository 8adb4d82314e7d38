"""A run of an agent before anything is concluded: its steps, each a call of a tool with the text that came back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

SHELL_ARGUMENTS = ("command", "cmd", "keystrokes", "commands", "input", "bash_command")
"""Names of the argument that is a command of a shell, over all tools."""


@dataclass(frozen=True)
class Step:
    """One call of a tool, and its output.

    Attributes:
        place: where a person finds it in the file: "messages[23]", "line 35".
        tool: name of the tool: "bash", "Read".
        arguments: texts that the agent wrote, by the name of the argument.
        output: what the agent read.
        folder: the working folder of the call; "" where the file does not say.
        is_recorded: False where the file has the call and not its output.
    """

    place: str
    tool: str
    arguments: Mapping[str, str]
    output: str
    folder: str = ""
    is_recorded: bool = True

    @cached_property
    def typed(self) -> str:
        """All that the agent wrote in this step."""
        return "\n".join(self.arguments.values())

    def first_of(self, names: Iterable[str]) -> str:
        """Return the first of these arguments that is not empty; "" without one."""
        return next(filter(None, map(self.arguments.get, names)), "")

    @property
    def command(self) -> str:
        """The call on one line: the command of a shell, else the tool with its arguments."""
        shell = self.first_of(SHELL_ARGUMENTS)
        # an editor has the name of its operation where a shell has a command
        text = shell if " " in shell.strip() else " ".join([self.tool, *map("=".join, self.arguments.items())])
        return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class AgentRun:
    """A run of an agent, as its harness recorded it.

    Attributes:
        name: of the run.
        layout: of the file.
        tasks: names that may be the id of the task, the most certain first.
        prompt: what the agent was given.
        steps: in order.
        submission: the patch that the agent handed in; None where the file has none.
        solved: outcome between 0 and 1; None where the file has none.
        root: folder of the repository; "" where the file does not say.
        cut: why a part of the run is missing; "" where it is whole.
    """

    name: str
    layout: str
    tasks: tuple[str, ...]
    prompt: str
    steps: Sequence[Step] = field(repr=False)
    submission: str | None = None
    solved: float | None = None
    root: str = ""
    cut: str = ""
