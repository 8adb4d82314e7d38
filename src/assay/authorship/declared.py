"""Declared signals: what authors and tools themselves say about the use of a generator. They are facts, not style."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal

from assay.datasets import patched_files

SignalKind = Literal["commit trailer", "bot account", "agent configuration", "generator comment"]

_TOOLS = (
    r"(?:claude(?:[ -]code)?|chatgpt|gpt-?[345][\w.-]*|openai[ -]codex|codex|(?:github )?copilot|cursor(?: agent| ai)?"
    r"|gemini(?:[ -]code assist)?|devin(?: ai)?|aider|windsurf|codeium|tabnine|jules|sweep(?: ai)?|amazon q"
    r"|codewhisperer|deepseek(?:[ -]coder)?|cline|roo code|opencode|qwen(?:[ -]coder)?|grok)"
)
_TRAILER = re.compile(
    rf"^(?P<all>(?:co-authored-by|assisted-by|generated-by|generated-with|ai-assisted-by)\s*:\s*.*\b{_TOOLS}\b.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_PHRASE = re.compile(
    rf"^(?P<all>.*\bgenerated (?:with|by|using)\s+(?:the\s+)?\[?{_TOOLS}\b.*)$", re.IGNORECASE | re.MULTILINE
)
_COMMENT = re.compile(
    r"\b(?:(?:auto-?)?generated|written|created|produced|suggested)\s+(?:with the help of|by|with|using|via)\s+"
    rf"(?:the\s+)?{_TOOLS}\b",
    re.IGNORECASE,
)
_BOTS = re.compile(
    r"^(?:copilot(?:-swe-agent)?|claude|devin-ai-integration|cursor(?:agent)?|google-labs-jules|sweep-ai|codex"
    r"|chatgpt-codex-connector|openhands-agent|gemini-code-assist|amazon-q-developer)\[bot\]$",
    re.IGNORECASE,
)
_BOT_ADDRESSES = frozenset({"noreply@anthropic.com", "cursoragent@cursor.com", "aider@aider.chat"})
_FILES = frozenset(
    {
        "agents.md", "claude.md", "gemini.md", ".cursorrules", ".windsurfrules", ".clinerules", ".roorules",
        ".aider.conf.yml", ".aiderignore", "copilot-instructions.md", ".cursorignore",
    }
)  # fmt: skip
_FOLDERS = frozenset({".claude", ".cursor", ".windsurf", ".continue", ".roo", ".codex", ".gemini", ".aider"})
_MESSAGE = re.compile(r"^(?:From|commit) (?P<digest>[0-9a-f]{7,64})\b", re.MULTILINE)
_AUTHOR = re.compile(r"^(?:From|Author): (?P<name>.*?) ?<(?P<address>[^>\n]*)>", re.MULTILINE)
_DIFF = re.compile(r"^(?:diff --git |--- |---$)", re.MULTILINE)
_COMMENT_MARK = re.compile(r"#|//|/\*|^\s*\*|--|\"\"\"|'''|<!--")
SHOWN = 120


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a repository.

    Attributes:
        digest: hexadecimal.
        author: name of the author.
        address: of the author.
        message: with its trailers.
        files: that it changed, where they are known.
    """

    digest: str
    author: str
    address: str
    message: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Signal:
    """One declaration.

    Attributes:
        kind: of the declaration.
        text: its own words, cut at a line's length.
        path: file that it stands in; None for a commit.
        line: of the file, from 1; None for a file as a whole or a commit.
        commit: digest; None for a file.
        files: that the commit changed, relative to the root of the repository; empty for a file.
    """

    kind: SignalKind
    text: str
    path: str | None = None
    line: int | None = None
    commit: str | None = None
    files: tuple[str, ...] = ()


def in_text(text: str, path: str) -> Iterator[Signal]:
    """Yield comments of a file that name a generator as the author.

    A line counts if it has a comment mark: a string that speaks of generators is no declaration.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if _COMMENT.search(line) and _COMMENT_MARK.search(line):
            yield Signal("generator comment", line.strip()[:SHOWN], path, number)


def in_paths(paths: Iterable[str]) -> Iterator[Signal]:
    """Yield the configuration files of coding agents. They say that an agent is used here, not on what."""
    for path in paths:
        parts = PurePosixPath(path).parts
        if parts and (parts[-1].casefold() in _FILES or any(part.casefold() in _FOLDERS for part in parts[:-1])):
            yield Signal("agent configuration", parts[-1], path)


def in_commits(commits: Iterable[Commit]) -> Iterator[Signal]:
    """Yield trailers and phrases of commit messages that name a generator, and commits by accounts of agents."""
    for commit in commits:
        declared = _TRAILER.search(commit.message) or _PHRASE.search(commit.message)
        if declared:
            yield Signal("commit trailer", declared["all"].strip()[:SHOWN], commit=commit.digest, files=commit.files)
        elif _BOTS.match(commit.author) or commit.address.casefold() in _BOT_ADDRESSES:
            account = f"{commit.author} <{commit.address}>"
            yield Signal("bot account", account[:SHOWN], commit=commit.digest, files=commit.files)


def in_patch(patch: str) -> list[Signal] | None:
    """Return what the commit messages of a patch declare; None where it has none.

    Args:
        patch: as `git format-patch`, `git show` or `git log -p` writes it; `git diff` writes no message.
    """
    commits = []
    starts = [match.start() for match in _MESSAGE.finditer(patch)]
    for start, stop in pairwise([*starts, len(patch)]):
        part = patch[start:stop]
        diff, author = _DIFF.search(part), _AUTHOR.search(part)
        head = part[: diff.start()] if diff else part
        if not author or author.start() >= len(head):
            continue
        message = "\n".join(line.strip() for line in head[author.end() :].splitlines())
        digest = _MESSAGE.match(part)
        name, address, files = author["name"], author["address"], patched_files(part)
        commits.append(Commit(digest["digest"] if digest else "", name, address, message, files))
    return list(in_commits(commits)) if commits else None
