r"""From a model's reply to code: fences and the language's name are taken off.

The expressions that the paper prints in Figure 9 remove letters everywhere (`c|C` removes every c). They are an option;
without it only what stands at the beginning and the end is removed.
"""

import re
from dataclasses import dataclass
from typing import Literal

from assay.languages import LANGUAGES, language_named
from assay_lab.rewrites.rules import RemovalRule

Regexes = Literal["repaired", "paper"]

_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})[ \t]*(?P<tag>[\w+#.-]*)[^\n`]*$", re.MULTILINE)
_TAG_IN_FENCES = re.compile(r"\A\s*`{3,}[ \t]*(?P<tag>[\w+#.-]+)[ \t]*`{3,}[ \t]*\n")
"""The form that the words of the prompt show: ``` python ```."""
_FIRST_LINE = re.compile(r"\A\s*(?P<tag>[A-Za-z][\w+#]*)[ \t]*:?[ \t]*\n")
_MARKS_AT_EDGES = re.compile(r"\A\s*`{3,}|`{3,}\s*\Z")

PAPER_PREFIXES: dict[str, tuple[str, ...]] = {
    "c": (r"c\\n|C\\n", r"c\\n(.*)|C\\n(.*)", r"c|C", r"c\\n|C\\n"),
    "cpp": (
        r"cpp\\n|CPP\\n|Cpp\\n|c\\+\\+\\n|C\\+\\+\\n",
        r"cpp\\n(.?)|CPP\\n(.?)|Cpp\\n(.?)|c\\+\\+\\n(.?)|C\\+\\+\\n(.?)",
        r"cpp|CPP|Cpp|c\\+\\+|C\\+\\+",
        r"cpp\\n|CPP\\n|Cpp\\n|c\\+\\+\\n|C\\+\\+\\n",
    ),
    "java": (
        r"java\\n|JAVA\\n|Java\\n",
        r"java\\n(.*)|JAVA\\n(.*)|Java\\n(.*)",
        r"java|JAVA|Java",
        r"java\\n|JAVA\\n|Java\\n",
    ),
    "py": (
        r"python\\n|Python\\n|PYTHON\\n",
        r"python\\n(.?)|Python\\n(.?)|PYTHON\\n(.?)",
        r"python|Python|PYTHON",
        r"python\\n|Python\\n|PYTHON\\n",
    ),
}
"""Figure 9 as printed: language, in its spelling → expressions whose matches are removed, one after the other."""


@dataclass(frozen=True, slots=True)
class CleanReply:
    """The code of a reply, or the rule that removes it.

    Attributes:
        text: with LF line ends and one of them at the end; "" where a rule removes the reply.
        fault: that rule, or None.
    """

    text: str
    fault: RemovalRule | None = None


def clean_reply(reply: str, language: str, regexes: Regexes = "repaired") -> CleanReply:
    """Return the code of a reply.

    A single fenced block is the code, whatever stands around it. Without a block, a fence at the very beginning or end
    is taken off, and a first line that holds nothing but the name of a language.

    Args:
        reply: of a model.
        language: that the prompt names, by its name in the table of languages.
        regexes: "paper" takes the marks of fences off both ends and applies the expressions of Figure 9 as printed.
    """
    if regexes == "paper":
        return _checked(by_printed_expressions(reply, language))
    text = reply.replace("\r\n", "\n")
    tag = ""
    if inline := _TAG_IN_FENCES.match(text):
        tag, text = inline["tag"], text[inline.end() :]
    fences = list(_FENCE.finditer(text))
    if len(fences) > 2:  # noqa: PLR2004  a block has two
        return CleanReply("", RemovalRule.SEVERAL_BLOCKS)
    if len(fences) == 2:  # noqa: PLR2004
        tag, text = tag or fences[0]["tag"], text[fences[0].end() : fences[1].start()]
    elif fences:
        code, of_fence = _beside(text, fences[0])
        if code is None:
            return CleanReply("", RemovalRule.BROKEN_FENCE)
        tag, text = tag or of_fence, code
    if not tag and (line := _FIRST_LINE.match(text)) and language_named(line["tag"]) in LANGUAGES:
        tag, text = line["tag"], text[line.end() :]
    named = language_named(tag)
    if named in LANGUAGES and named != language:
        return CleanReply("", RemovalRule.ANOTHER_LANGUAGE)
    return _checked(text)


def _beside(text: str, fence: re.Match[str]) -> tuple[str | None, str]:
    """Return the code before or after a single fence, and its tag; None for code on both sides."""
    before, after = text[: fence.start()], text[fence.end() :]
    if not before.strip():
        return after, fence["tag"]
    return None if after.strip() else before, ""


def by_printed_expressions(reply: str, language: str) -> str:
    """Return a reply without the marks of fences at both ends, and without the matches of Figure 9."""
    text = _MARKS_AT_EDGES.sub("", reply)
    for name, expressions in PAPER_PREFIXES.items():
        # the figure says "py", the table of languages "python"
        if language_named(name) == language:
            for expression in expressions:
                text = re.sub(expression, "", text)
    return text


def normalised(text: str) -> str:
    """Return a text with LF line ends, without empty lines at its ends, and with one line end behind it.

    People's texts get the same form, so that line ends and the end of a text tell nobody apart.
    """
    # only line ends are stripped at the beginning: the first line keeps its indentation
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").rstrip()
    return f"{lines}\n" if lines else ""


def _checked(text: str) -> CleanReply:
    code = normalised(text)
    return CleanReply(code) if code.strip() else CleanReply("", RemovalRule.EMPTY)
