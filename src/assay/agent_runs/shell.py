"""Text of a shell → its simple commands, by the shell's own rules for words, quotes, documents and redirections."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, filterfalse

# `<<<` is a string on the same line, not a document below it; the body begins with its line break, or is empty
_HEREDOC = re.compile(r"(?<!<)<<(?!<)-?\s*(['\"\\]?)(\w+)['\"]?([^\n]*)(?=\n)(.*?)(?:\n[ \t]*\2(?![\w])|\Z)", re.DOTALL)
_TOKEN = re.compile(
    # redirections first, or the number of `2>` would be an argument
    r"""(?P<duplicate>\d?>&[\d-])|(?P<redirect>\d?>>?&?|&>>?)"""
    r"""|(?P<word>(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\|&;()<>`]|(?<=[^\s])[<>](?=\())+)"""
    r"""|(?P<end>\|\||&&|[|&;()\n`])|(?P<other><<<|<|['"\\])""",
    re.DOTALL,
)
_END = re.compile(r"(?P<end>\n)")
_QUOTES = re.compile(r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A simple command of a shell.

    Attributes:
        words: program and arguments.
        targets: files that its output goes to.
        piped: True where it reads from a pipe.
        documents: texts that stand below it (`<<`).
    """

    words: list[str]
    targets: list[str]
    piped: bool
    documents: list[str]


def shell_commands(text: str) -> Iterator[ShellCommand]:
    """Yield the simple commands of a shell; a document below one stands in its words as a number after NUL."""
    bodies: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        # no command line holds a NUL, so no other word is taken for a document
        bodies[name := f"\x00{len(bodies)}"] = match[4].removeprefix("\n")
        return f" {name} {match[3]}\n"

    if "<<" in text:
        text = _HEREDOC.sub(numbered, text)
    words: list[str] = []
    targets: list[str] = []
    sink, piped = words, False
    # a further end closes the last command, whatever the text ends with
    for match in chain(_TOKEN.finditer(text), _END.finditer("\n")):
        kind, word = match.lastgroup, match[0]
        if kind == "word":
            sink.append(_QUOTES.sub(_unquoted, word))
            sink = words
        elif kind == "redirect":
            # the standard error is no copy of what is read, so its file is dropped
            sink = [] if word.startswith("2") else targets
        elif kind == "end":
            if words or targets:
                documents = list(filter(None, map(bodies.get, words)))
                words = list(filterfalse(bodies.__contains__, words))
                yield ShellCommand(words, targets, piped=piped, documents=documents)
            words, targets, piped = [], [], word == "|"
            sink = words


def _unquoted(match: re.Match[str]) -> str:
    if match[1] is not None:
        return match[1]
    # within double quotes a backslash escapes these alone
    return re.sub(r"\\([\"\\$`])", r"\1", match[2]) if match[2] is not None else match[3]
