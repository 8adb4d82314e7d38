"""The code inside files that are no source files: cells, fences, script blocks, server tags, quoted lines, patches.

A view is the text of a file as it is judged. Its lines are those of the file wherever each line of code has a line of
its own there, so that the lines of a diff and of a finding mean the same.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from textwrap import dedent

from assay.code import languages_of_text, parses
from assay.languages import LANGUAGES, language_named

_NOT_A_LINE_END = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A stretch of code inside another text.

    Attributes:
        text: of the block.
        language: as the text states it, or None.
        first_line: line of the view at which the block begins.
    """

    text: str
    language: str | None
    first_line: int


@dataclass(frozen=True, slots=True)
class TextView:
    """A text as it is judged.

    Attributes:
        text: of the whole.
        language: of the whole, or None.
        blocks: of code inside it.
        is_aligned: True if its lines are those of the file.
        behind: text whose lines are counted after those of the whole, with blocks of its own; of a view that is not
            aligned.
    """

    text: str
    language: str | None
    blocks: tuple[CodeBlock, ...] = ()
    is_aligned: bool = True
    behind: str = ""


def view_of(path: str, text: str, language: str | None) -> TextView:
    """Return the view of a text.

    Args:
        path: of its file.
        text: of the file.
        language: by name or first line, or None.
    """
    if language is not None and language not in _TEMPLATES:
        blocks = (*_misnamed(text, language), *_set_apart(text))
        return _with_hidden(TextView(text, language, blocks), _encoded(text))
    if _is_json(text) and (quoted := _quoted(text)):
        return _with_hidden(quoted, _encoded(text))
    hidden = [*_encoded(text), *_escaped(text)]
    if _HUNK.search(text):
        shown, removed = _of_patch(text, "+"), CodeBlock(_of_patch(text, "-"), None, 1)
        return _with_hidden(TextView(shown, language, (*_blocks(path, shown), removed)), hidden)
    shown = _unescaped(text)
    return _with_hidden(TextView(shown, language, (*_blocks(path, shown), *_set_apart(shown))), hidden)


def _with_hidden(view: TextView, hidden: Iterable[str]) -> TextView:
    """Return a view with further texts behind it, each a block: the file has no lines of their own for them."""
    for text in hidden:
        behind = view.text.count("\n") + 1
        if view.behind:
            behind += view.behind.count("\n") + 1
        view = replace(
            view,
            blocks=(*view.blocks, CodeBlock(text, None, behind + 1)),
            is_aligned=False,
            behind="\n".join(filter(None, (view.behind, text))),
        )
    return view


_BASE64 = re.compile(r"(?<![\w+/-])(?:[\w+/-]{60,}+(?:(?:\\n|\r?\n)[ \t]*+)?+)++(?:[\w+/-]*+={0,2})?+", re.ASCII)
_LEAST_LINES = 4
"""Line ends from which what a text encodes is code, and no key or name."""


def _encoded(text: str) -> Iterator[str]:
    """Yield the readable texts that are written in base64."""
    for stretch in _BASE64.finditer(text):
        digits = re.sub(r"\\n|\s|=", "", stretch[0]).translate(_OF_URLS)
        try:
            content = base64.b64decode(digits + "=" * (-len(digits) % 4)).decode()
        except ValueError:  # other digits, or other content than text
            continue
        if content.count("\n") >= _LEAST_LINES and "\0" not in content:
            yield content


def _escaped(text: str) -> Iterator[str]:
    """Yield the content of the quoted strings of a text where some hold line ends, such as those of YAML or gettext."""
    if "\\n" in text or "\\u000a" in text:
        values = [_value(token["string"]) for token in _JSON.finditer(text) if token["string"]]
        content = "".join(value if value.endswith("\n") else f"{value}\n" for value in values)
        if any("\n" in value for value in values) and content.count("\n") >= _LEAST_LINES:
            yield content


_STRING_ALONE = re.compile(
    r"""(?P<mark>[^"'\n]{0,40}?)[rbuf]?(?:"(?P<double>(?:[^"\\\n]|\\.)*+)"|'(?P<single>(?:[^'\\\n]|\\.)*+)')[^"'\n]{0,40}"""
)
_MARK = re.compile(
    r"[ \t]*(?P<mark>#(?!define|include|if|el|end|pragma|undef|region)|//[/!]?|--|;+|%"
    r"|[>|](?:[ \t]?>)*(?:[ \t]?[+-])?|(?:RUN[ \t]|&&[ \t])*@?echo[ \t.](?=[^\"'\n]*+$))[ \t]?(?P<code>.*)",
    re.IGNORECASE,
)
"""What stands before each line of code that is a comment, a quotation, or written by a script."""
_COMMENT = re.compile(r"^[ \t]*/\*(?P<code>.*?)(?P<end>\*/|\Z)", re.MULTILINE | re.DOTALL)
_STAR = re.compile(r"^[ \t]*\*[ \t]?", re.MULTILINE)
_CODE_LINE = re.compile(
    r"[={};\[\]]|\w\(|[:,)]$|^\s*(?:return|import|from|else|try|end|break|continue|pass|raise|throw)\b"
)


def _set_apart(text: str) -> Iterator[CodeBlock]:
    """Yield the code in comments, and in runs of lines that each stand behind a mark or in a string of their own."""
    for comment in _COMMENT.finditer(text):
        bare = _STAR.sub("", comment["code"])
        if comment["end"] and _is_mostly_code(bare.split("\n")):
            yield CodeBlock(dedent(bare), None, 1 + text.count("\n", 0, comment.start()))
    run: list[str] = []
    kind = ""
    for number, line in enumerate((*text.split("\n"), ""), 1):
        mark, content = _without_mark(line.rstrip())
        if mark == kind and mark:
            run.append(content)
            continue
        if len(run) >= _LEAST_LINES and _is_mostly_code(run):
            yield CodeBlock(dedent("\n".join(run)) + "\n", None, number - len(run))
        kind, run = mark, [content]


def _without_mark(line: str) -> tuple[str, str]:
    """Return the kind of mark around the code of a line, or "", and the code."""
    if marked := _MARK.fullmatch(line):
        return marked["mark"].replace(" ", ""), marked["code"]
    if not (string := _STRING_ALONE.fullmatch(line)):
        return "", line
    content = string["single"] if string["double"] is None else string["double"]
    return "string", _unquoted(content).removesuffix("\n")


def _is_mostly_code(lines: Sequence[str]) -> bool:
    written = [line for line in lines if line.strip()]
    return len(written) >= _LEAST_LINES and 2 * sum(bool(_CODE_LINE.search(line)) for line in written) >= len(written)


_FENCE = re.compile(
    r"^[ \t>]*(?P<mark>`{3,}|~{3,})[ \t]*\{?[ \t]*\.?(?P<tag>[\w+#-]*)[^\r\n`]*\r?\n"
    r"(?P<code>.*?)(?:^[ \t>]*(?P=mark)|\Z)",
    re.MULTILINE | re.DOTALL,
)
_ELEMENT = re.compile(
    r"<(?P<element>script|style)\b(?P<attributes>[^>]*)>(?P<code>.*?)(?:</(?P=element)\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)(?:\.\.[ \t]+(?:code-block|code|sourcecode|highlight)::[ \t]*(?P<tag>[\w+#-]*)[^\r\n]*"
    r"|[^\r\n]*::[ \t]*)\r?\n(?P<code>(?:[ \t]*\r?\n|(?P=indent)[ \t]+[^\r\n]*(?:\r?\n|\Z))+)",
    re.MULTILINE,
)
_DELIMITED = (
    re.compile(
        r"^[ \t]*#\+begin_src[ \t]*(?P<tag>[\w+#-]*)[^\r\n]*\r?\n(?P<code>.*?)^[ \t]*#\+end_src",
        re.IGNORECASE | re.MULTILINE | re.DOTALL,
    ),
    re.compile(
        r"^\[source,[ \t]*(?P<tag>[\w+#-]*)[^\r\n]*\r?\n-{4,}\r?\n(?P<code>.*?)^-{4,}", re.MULTILINE | re.DOTALL
    ),
    re.compile(r"\\begin\{(?P<tag>lstlisting|minted|[vV]erbatim|code)\}(?P<code>.*?)\\end\{(?P=tag)\}", re.DOTALL),
    re.compile(r"\A---[ \t]*\r?\n(?P<code>.*?)^---[ \t]*$", re.MULTILINE | re.DOTALL),
)
_SERVER = re.compile(
    r"<%[@=!#-]*(?P<template>.*?)(?:-?%>|\Z)|<\?(?!xml)(?:php|=)?(?P<code>.*?)(?:\?>|\Z)", re.DOTALL | re.IGNORECASE
)
_LANGUAGE = re.compile(r"\b(?:lang|type)\s*=\s*[\"']?(?:text/|application/)?(?:x-)?([\w+#-]+)", re.IGNORECASE)
_OF_URLS = str.maketrans("-_", "+/")
"""The two digits of base64 in addresses."""
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)

_TEMPLATES = frozenset({"php"})
"""Languages of pages that hold further ones."""
_SERVED = {".jsp": "java", ".jspx": "java", ".tag": "java", ".erb": "ruby", ".rhtml": "ruby", ".ejs": "javascript"}
"""Suffix of a page → language of its server tags."""


def _misnamed(text: str, language: str) -> Iterator[CodeBlock]:
    """Yield a whole text that is a program in another language than the name of its file says."""
    # a language with a grammar needs no second reading: its own grammar finds the errors
    if not LANGUAGES[language].syntax:
        for other in languages_of_text(text):
            if parses(text, other):
                yield CodeBlock(text, other, 1)


def _blocks(path: str, text: str) -> Iterator[CodeBlock]:
    for fence in _FENCE.finditer(text):
        yield _block(text, fence, _named(fence["tag"]))
    for element in _ELEMENT.finditer(text):
        stated = _LANGUAGE.search(element["attributes"])
        usual = "javascript" if element["element"].lower() == "script" else None
        # `module` and `babel` are kinds of JavaScript
        language = _named(stated[1]) if stated and stated[1].lower() not in {"module", "babel"} else usual
        yield _block(text, element, language)
    # a quick test: no directive is without it
    if "::" in text:
        for directive in _DIRECTIVE.finditer(text):
            yield _block(text, directive, _named(directive["tag"] or ""))
    for pattern in _DELIMITED:
        for delimited in pattern.finditer(text):
            yield _block(text, delimited, _named(delimited.groupdict().get("tag") or ""))
    yield from _server_code(path, text)


def _server_code(path: str, text: str) -> Iterator[CodeBlock]:
    """Yield the code of all server tags as one block: a page cuts a statement wherever its markup begins."""
    spans = {"template": list[tuple[int, int]](), "code": list[tuple[int, int]]()}
    for tag in _SERVER.finditer(text):
        name = "code" if tag["template"] is None else "template"
        spans[name].append(tag.span(name))
    served = _SERVED.get(PurePosixPath(path).suffix.lower())
    for name, language in (("template", served), ("code", "php")):
        if spans[name]:
            yield CodeBlock(_only(text, spans[name]), language, 1)


def _block(text: str, match: re.Match[str], language: str | None) -> CodeBlock:
    first = 1 + text.count("\n", 0, match.start("code"))
    return CodeBlock(dedent(match["code"]), language, first)


def _named(tag: str) -> str | None:
    language = language_named(tag)
    if language in LANGUAGES:
        return language
    return None


def _only(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text with everything blank but some stretches; lines stay where they are."""
    pieces, end = [], 0
    for start, stop in spans:
        pieces += [_NOT_A_LINE_END.sub(" ", text[end:start]), text[start:stop]]
        end = stop
    return "".join(pieces) + _NOT_A_LINE_END.sub(" ", text[end:])


def _of_patch(text: str, sign: str) -> str:
    """Return the lines of a patch as they are after it, for "+", or were before it, without the signs before them."""
    lines, before = [], ""
    for line in text.splitlines(keepends=True):
        # the name of a file stands below the old one; an added line may begin with "++ " itself
        is_name = line.startswith("--- ") or (line.startswith("+++ ") and before.startswith("--- "))
        is_code = line[0] in f"{sign} " and not is_name
        lines.append(line[1:] if is_code else _NOT_A_LINE_END.sub("", line))
        before = line
    return "".join(lines)


def _unescaped(text: str) -> str:
    if "&" not in text:
        return text
    shown = html.unescape(text)
    # an escaped line end would move all lines behind it
    if shown.count("\n") != text.count("\n"):
        return text
    return shown


# a string that is not closed ends with its line: it may be cut off, and no place in it is tried again
_JSON = re.compile(r'(?P<string>"(?:[^"\\\r\n]|\\.)*+(?:"|\\?(?=[\r\n]|\Z)))(?P<key>\s*:)?|[{}\[\]]')
_BETWEEN = re.compile(r"(?:[\s,:\ufeff]++|[-+]?(?:\d[\d.eE+-]*+|NaN|Infinity)|true|false|null)*+")
# notebooks of version 4, and of version 3
_CELL = (("cells",), ("worksheets", "cells"))
_OTHER_CELL = re.compile(
    r"[ \t]*%%(?:bash|sh|html|javascript|js|sql|R|perl|ruby|latex|svg|cython|script|markdown)\b", re.IGNORECASE
)
_MAGIC = re.compile(r"^([ \t]*)[%!?][^\r\n]*|^([ \t]*)[\w.]+\?{1,2}[ \t]*$", re.MULTILINE)


@dataclass(slots=True)
class _Cell:
    """The strings of one object, each with the place where it begins."""

    kind: str = "code"
    strings: list[tuple[int, str]] = field(default_factory=list)

    @property
    def is_code(self) -> bool:
        return self.kind == "code" and not (self.strings and _OTHER_CELL.match(self.strings[0][1]))


def _is_json(text: str) -> bool:
    """Return True if a text is JSON, lines of it, or cut off: a page, a table of TOML or a template begin alike."""
    return text.lstrip("\ufeff \t\r\n")[:1] in {"{", "["} and bool(_BETWEEN.fullmatch(_JSON.sub(" ", text)))


def _quoted(text: str) -> TextView | None:
    """Return the strings of a JSON text as lines, those of a notebook by the kind of their cell; None without any."""
    cells: dict[int, _Cell] = {}
    others: list[tuple[int, str]] = []
    language = ""
    for path, number, start, value in _json_strings(text):
        if path[:-1] in _CELL and path[-1] in {"source", "input"}:
            cells.setdefault(number, _Cell()).strings.append((start, value))
        elif path[:-1] in _CELL and path[-1] == "cell_type":
            cells.setdefault(number, _Cell()).kind = value
        elif path[:1] == ("metadata",) and path[1:] in {("language_info", "name"), ("kernelspec", "language")}:
            language = value
        else:
            others.append((start, value))
    if not cells:
        if not others:
            return None
        return _laid_out(text, others, None)
    code: list[tuple[int, str]] = []
    for cell in cells.values():
        (code if cell.is_code else others).extend(cell.strings)
    return _notebook(_laid_out(text, code, _named(language or "python")), _laid_out(text, others, None))


def _notebook(view: TextView, around: TextView) -> TextView:
    """Return the code of a notebook, with the prose around it as blocks beside or below it."""
    program = view.text
    if view.language == "python":
        # commands of IPython are no Python: a statement in their place keeps the rest readable
        program = _MAGIC.sub(r"\1\2pass", program)
    if not around.text.strip():
        return TextView(program, view.language, is_aligned=view.is_aligned)
    blocks = [CodeBlock(around.text, None, 1), *_blocks("", around.text)]
    if view.is_aligned and around.is_aligned:
        return TextView(program, view.language, tuple(blocks))
    below = program.count("\n") + 1
    moved = [replace(block, first_line=block.first_line + below) for block in blocks]
    return TextView(program, view.language, tuple(moved), is_aligned=False, behind=around.text)


def _laid_out(text: str, strings: Sequence[tuple[int, str]], language: str | None) -> TextView:
    """Return strings at the lines at which they begin; below one another where one of them holds several lines."""
    lines: list[list[str]] = [[] for _ in range(1 + text.count("\n"))]
    at, line = 0, 0
    for start, value in sorted(strings):
        line += text.count("\n", at, start)
        at = start
        content = value.removesuffix("\n").removesuffix("\r")
        if "\n" in content or (lines[line] and value.endswith("\n")):
            below = "".join(value if value.endswith("\n") else f"{value}\n" for _, value in sorted(strings))
            return TextView(below, language, is_aligned=False)
        if content or lines[line]:
            lines[line].append(content)
    return TextView("\n".join(map(" ".join, lines)), language)


def _json_strings(text: str) -> Iterator[tuple[tuple[str, ...], int, int, str]]:
    """Yield the keys above each string that is a value, the number of its object, its place and its content."""
    # a walk over tokens, not a parser: keys that occur twice and a text that is cut off hide nothing
    objects = 0
    stack = [(0, "")]
    for token in _JSON.finditer(text):
        if token[0] in "{[":
            objects += token[0] == "{"
            # strings of a list belong to the object around it
            number = objects if token[0] == "{" else stack[-1][0]
            stack.append((number, ""))
        elif token[0] in "}]":
            if len(stack) > 1:
                stack.pop()
        elif token["key"]:
            stack[-1] = (stack[-1][0], _value(token["string"]))
            # a key of several lines is no name
            if "\n" in stack[-1][1]:
                yield ("",), stack[-1][0], token.start(), stack[-1][1]
        else:
            keys = tuple(key for _, key in stack if key)
            # a string at the top has no key, and readers look at the last one
            yield keys or ("",), stack[-1][0], token.start(), _value(token["string"])


def _value(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted.strip('"')
    closed = quoted if len(quoted) > 1 and quoted.endswith('"') else f'{quoted}"'
    try:
        return str(json.loads(closed, strict=False))
    except ValueError:  # an escape of another language
        return _unquoted(closed[1:-1])


def _unquoted(content: str) -> str:
    return _ESCAPE.sub(lambda escape: _CONTROLS.get(escape[1], escape[1]), content)


_ESCAPE = re.compile(r"\\(.)")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
