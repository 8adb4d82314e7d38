"""The comments of a source file as words: of its head, block by block, and of what stands below the first code."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat, takewhile
from operator import itemgetter

_LINES_WITH_MARK = 5
_WORD = re.compile(r"\w")
_TO_SPACES = str.maketrans("*`_", "   ")
_NO_QUOTES = str.maketrans("]", " ", '["“”‘’')
_MARKS = re.compile(
    r"^[ \t>|]*(?:/\*+!?|\*+/?|//+[/!]?|#+!?|-+|;+|%+|<!--|\.\.|\(\*|\.?\\\"|dnl\b|c?rem\b|@rem\b|@c(?:omment)?\b"
    r"|\{\{?[!#]-*|<%#|'|!)?[ \t#]*",
    re.IGNORECASE,
)
_COMMENT_LINE = re.compile(
    r"^[ \t]*(?:#|//|/\*|\*|--|;|%|<!--|\.\.(?!\S)|\(\*|\.?\\\"|dnl\b|@?rem\b|@c(?:omment)?\b|\{\{?[!#]|<%#"
    r"|!|\||>|'(?!'')|$)",
    re.IGNORECASE,
)
_BLOCKS = {
    "--[[": "]]",
    "/*": "*/",
    '"""': '"""',
    "'''": "'''",
    "<!--": "-->",
    "{{!--": "--}}",
    "{#": "#}",
    "<%#": "%>",
    "(*": "*)",
    "{-": "-}",
    "=begin": "=end",
    "=head": "=cut",
    "=pod": "=cut",
    "import (": ")",
}
# A line of code that states the licence of its file or package.
_DECLARATION = re.compile(
    r"^[ \t]*[\"']?(?:@?_*licen[cs]e_*[\"']?[ \t]*(?:=[ \t]*[\"']|:)|(?:module|file)_licen[cs]e[ \t]*\()", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_BLOCK = re.compile(r"/\*.*?\*/|<!--.*?-->", re.DOTALL)
_PREAMBLE = re.compile(
    r"^[ \t]*(?:<\?|<!|<%|['\"]use strict['\"]|from __future__|package |@charset|@echo|\]>"
    r"|[rbuRBU]{0,2}(?=\"\"\"|'''))",
    re.IGNORECASE,
)
_IMPORT = re.compile(
    r"(?:import|from [\w.]+ import|using|use|require) ?[^{(]*$"
    r"|(?:const|let|var) [\w{},: ]+ = require\([^()]*\)[\w.]*;?$"
)
_POD = re.compile(r"\b[BCFILS]<([^<>]*)>")
# A line of a paragraph that began with prose.
_PROSE_WITHIN = re.compile(r"[ \t]*[\w(][^={}|\\]*[^={}|\\;]")
# A line of words and nothing else: notices stand without marks of comments in texts, and above macros.
_PROSE = re.compile(
    r"[ \t]*(?!(?:import|from|def|class|using|return|public|private|static|const|let|var|function|if|for|while)\b)"
    r"(?:[\w,.:'\"()<>@/&+©\u2013*-]+(?:[ \t]+|$)){3,}[.;:]?\s*",
)
_ENDS = re.compile(r"\*/|-->|\*\)|\"\"\"|'''")
_IGNORED = re.compile(r"REUSE-IgnoreStart.*?(?:REUSE-IgnoreEnd|\Z)", re.DOTALL)
# Lower case, or a word that goes on with what stands before.
_CONTINUES = re.compile(r"(?:or|and|alternatively|under|the|version|but|as|it|you)\b|[a-z(]")


def head_and_rest(text: str) -> tuple[list[str], list[str]]:
    """Return the lines of a text up to the first one with code, and the others; what REUSE ignores is left out."""
    lines = _IGNORED.sub("", text.lstrip("\ufeff")).splitlines()
    head = list(_head(lines))
    return head, lines[len(head) :]


def blocks_of(head: Iterable[str]) -> list[str]:
    """Return the words of each comment of a head: it ends with a mark, or where a line without a mark follows."""
    blocks: list[list[str]] = [[]]
    is_open = False
    for line in head:
        plain = _MARKS.sub("", line.lower(), count=1).strip()
        begins = line.lstrip().startswith(("/*", "<!--", "(*", '"""', "'''")) or (not is_open and not line.strip())
        # "or the GPL, version 2" below an empty line goes on with the choice that the line above began
        if begins and not (plain and _CONTINUES.match(_MARKS.sub("", line, count=1))):
            blocks.append([])
        blocks[-1].append(line)
        is_open = bool(line.strip()) and not _ENDS.search(line)
    return list(filter(None, map(words_of, blocks)))


def words_of(lines: Iterable[str]) -> str:
    """Return lines in lower case without marks of comments and emphasis, their words separated by single spaces."""
    lines = list(filter(_WORD.search, lines))
    if len(lines) >= _LINES_WITH_MARK:  # what begins each of them is the mark of a comment, whatever it looks like
        # the first and the last of sorted lines differ where any two of them do
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(min(lines), max(lines), strict=False))
        lines = list(map(str.removeprefix, lines, repeat("".join(map(itemgetter(0), alike)).rstrip())))
    plain = " ".join(_MARKS.sub("", _POD.sub(r"\1", line).lower()) for line in lines).translate(_TO_SPACES)
    return " ".join(plain.split()).translate(_NO_QUOTES)


def comments_of(lines: Sequence[str]) -> list[str]:
    """Return the comments of a text, lines with a mark and blocks, and its prose where this is most of the text."""
    # blocks first: their inner lines need no mark of a comment
    comments = list(chain.from_iterable(map(str.splitlines, _BLOCK.findall("\n".join(lines)))))
    filled = list(filter(str.strip, (_TAG.sub(" ", line) for line in lines)))
    prose = list(map(_PROSE.fullmatch, filled))
    is_document = 2 * sum(map(bool, prose)) > len(filled)
    for line, is_prose in zip(filled, prose, strict=True):
        if _COMMENT_LINE.match(line) or _DECLARATION.match(line) or (is_document and is_prose):
            comments.append(line)
    return comments


def _head(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a file up to the first one with code."""
    end = None
    is_prose = False
    for line in lines:
        if end is not None:
            yield line
            if end in line:
                end = None
            continue
        stripped = line.lstrip(" \t\ufeff")
        if _PREAMBLE.match(line):
            stripped = re.sub(r"^[rbuRBU]{1,2}(?=\"\"\"|''')", "", stripped)
        opened = next((marks for marks in _BLOCKS.items() if stripped.startswith(marks[0])), None)
        if opened is not None:
            yield line
            end = None if opened[1] in stripped[len(opened[0]) :] else opened[1]
        elif (is_prose and _PROSE_WITHIN.fullmatch(line)) or _PROSE.fullmatch(line):
            is_prose = True
            yield line
        elif _IMPORT.match(line):
            yield ""  # a notice may stand below them, and none within
        elif _COMMENT_LINE.match(line) or _PREAMBLE.match(line):
            is_prose = False
            yield line
        else:
            return
