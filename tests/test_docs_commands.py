"""Every command line in the docs names a command that there is, with options that it has."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assay.cli.app import command_line

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
FENCED = re.compile(r"^ *```(\w*).*?\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(assay [a-z][^`]*)`")
EVERYWHERE = {"-h", "--help", "-V", "--version", "--install-completion", "--show-completion"}


@cache
def commands() -> Any:
    """The command line, made once."""
    return command_line()


def typed(text: str) -> Iterator[list[str]]:
    """The words of every command of assay: lines of consoles, and code within sentences."""
    for language, block in FENCED.findall(text):
        if language in {"console", "bash", "yaml"}:
            for line in re.sub(r"\\\n\s*", " ", block).splitlines():
                for part in re.split(r" \| | && ", line):
                    found = re.search(r"(?:^|\$ |bin/|run: )assay (.*)", re.sub(r"\s+#.*$", "", part))
                    if found and line.lstrip().startswith(("$", "- run:")):
                        yield shlex.split(found[1])
    for command in INLINE.findall(FENCED.sub("", text)):
        yield command.removeprefix("assay ").replace("\\|", "|").split()


def mistakes(words: list[str]) -> list[str]:
    """What is wrong with a command: a name or an option that there is not."""
    command, named = commands(), 0
    while named < len(words) and hasattr(command, "commands") and not words[named].startswith("-"):
        choices = words[named].split("|")
        unknown = [name for name in choices if name not in command.commands and name != "…"]
        if unknown:
            return [f"no command {' '.join(words[: named + 1])!r}"]
        if len(choices) > 1 or choices == ["…"]:
            return []
        command, named = command.commands[words[named]], named + 1
    if command.context_settings.get("ignore_unknown_options"):
        return []  # they are those of an experiment
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | EVERYWHERE
    options = [word.split("=")[0] for word in words[named:] if re.match(r"--?[a-zA-Z]", word)]
    return [f"{' '.join(words)}: no option {name}" for name in options if name not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_line_of_a_page_can_be_typed(page):
    assert not [mistake for words in typed(page.read_text("utf-8")) for mistake in mistakes(words)]


def test_every_example_of_help_can_be_typed():
    waiting, faults = [commands()], []
    while waiting:
        command = waiting.pop()
        for words in typed(command.help or ""):
            faults += mistakes(words)
        waiting += getattr(command, "commands", {}).values()
    assert not faults
