"""What a person does to a copied function, in every language: other layout, no comments, other names, another order.

Python's statements come from its own parser; in the other languages a statement is a line that ends with a semicolon
or, in Go, any line without a brace at its end. Locals are renamed by the project's own renamer where it reads the text,
else all names that are neither called nor attributes. A change that does not apply gives "".
"""

import ast
import random
import re
import textwrap
from collections.abc import Callable
from itertools import chain, pairwise
from operator import methodcaller

from assay.code import NameKind, parses, variants
from assay.corpora import code_lines
from assay.languages import languages_with, lexical_rules
from assay.retrieval import Source, find_regions
from assay_lab.clones import rename_all, seeded_random, strip_comments

JOINED = 5
"""Lines that become one."""
EXCHANGED = 0.5
"""Share of the pairs of neighbouring statements that change places."""
_LOCALS: tuple[NameKind, ...] = ("variable",)
_LEAVES = re.compile(r"(?:return|break|continue|raise|throw|goto|yield)\b")
_CALLED_OR_ATTRIBUTE = re.compile(r"(?:\.|->|::)\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*[(!:]")
_ENDED = re.compile(r"[\w)\]}\"'`]$")


def verbatim(text: str, _: str, __: int) -> str:
    """Return the text as it is."""
    return text


def reformatted(text: str, language: str, _: int) -> str:
    """Return the text as another formatter sets it: braces on lines of their own, one argument a line."""
    if language == "python":
        return _unparsed(text)
    # a line of Go ends before a brace, so a brace on a line of its own is no Go
    brace = " {" if language == "go" else "\n{"
    pieces = []
    for piece, is_fixed in _pieces(text, language):
        if is_fixed:
            pieces.append(piece)
        else:
            opened = re.sub(r"[ \t]*\{[ \t]*(?=\n)", brace, piece)
            pieces.append(re.sub(r",[ \t]*(?=\S)", ",\n        ", opened))
    return "".join(pieces)


def joined(text: str, language: str, _: int) -> str:
    """Return the text with every few lines in one, without its comments."""
    if language == "python":
        return _in_blocks(text, _joined_row)
    lines = list(filter(None, map(str.strip, strip_comments(text, language).splitlines())))
    if any(map(methodcaller("startswith", "#"), lines)):
        # a directive ends with its line
        return ""
    if language == "go":
        # where Go ends a statement with a line, a semicolon keeps it apart from the next one
        for at, (line, after) in enumerate(pairwise([*lines, "}"])):
            if _ENDED.search(line) and not after.startswith((")", "}")):
                lines[at] = f"{line};"
    return "".join(" ".join(lines[at : at + JOINED]) + "\n" for at in range(0, len(lines), JOINED))


def without_comments(text: str, language: str, _: int) -> str:
    """Return the text without comments and docstrings; "" where it has none."""
    bare = strip_comments(text, language)
    # a text that lost white space alone had no comment
    return bare if len("".join(bare.split())) < len("".join(text.split())) else ""


def locals_renamed(text: str, language: str, seed: int) -> str:
    """Return the text with its variables and parameters renamed."""
    if language in languages_with("variants"):
        found = variants(text, 1, language=language, seed=seed, kinds=_LOCALS).variants
        if found:
            return found[0].text
    # without variants of this language, what is called or belongs to an object is taken for no local
    spare = set(chain.from_iterable(_CALLED_OR_ATTRIBUTE.findall(text)))
    changed = rename_all(text, language, seed=seed, spare=spare)
    return changed if changed != text else ""


def locals_renamed_and_reformatted(text: str, language: str, seed: int) -> str:
    """Return the text with other locals and another layout."""
    changed = locals_renamed(text, language, seed)
    return changed and reformatted(changed, language, seed)


def all_renamed(text: str, language: str, seed: int) -> str:
    """Return the text with every name replaced."""
    return rename_all(text, language, seed=seed)


def reordered_and_renamed(text: str, language: str, seed: int) -> str:
    """Return the text with every name replaced and half of its neighbouring simple statements exchanged."""
    draw = seeded_random(seed, text)
    if language == "python":
        changed = _in_blocks(text, lambda pieces: _exchanged(pieces, draw))
    else:
        changed = _exchanged_lines(text, language, draw)
    return changed and rename_all(changed, language, seed=seed)


Alteration = Callable[[str, str, int], str]
"""Text, language and seed → the altered text; "" where it does not apply."""

ALTERATIONS: dict[str, Alteration] = {
    "verbatim": verbatim,
    "reformatted": reformatted,
    "lines joined": joined,
    "comments removed": without_comments,
    "locals renamed": locals_renamed,
    "locals renamed, reformatted": locals_renamed_and_reformatted,
    "all names renamed": all_renamed,
    "reordered and renamed": reordered_and_renamed,
}


def pasted(text: str, language: str, host: str, count: int, seed: int) -> tuple[str, range] | None:
    """Return a function with `count` lines of another one in its middle, and their numbers; None where none fit.

    The lines are consecutive ones with code from within the function; whole blocks, so that the result parses.
    """
    lines = textwrap.dedent(text).splitlines()
    coded = sorted(code_lines("\n".join(lines), language))
    draw = random.Random(f"{seed} {count}")  # noqa: S311  no secret
    starts = list(range(1, len(coded) - count))
    draw.shuffle(starts)
    for start in starts:
        first, last = coded[start], coded[start + count - 1]
        fragment = textwrap.dedent("\n".join(lines[first - 1 : last]))
        if _is_whole(fragment, language):
            at, indent = _middle(host, language)
            around = host.splitlines()
            inserted = textwrap.indent(fragment, indent).splitlines()
            return "\n".join([*around[:at], *inserted, *around[at:], ""]), range(at + 1, at + 1 + len(inserted))
    return None


def _is_whole(fragment: str, language: str) -> bool:
    """Return True for lines that are whole statements."""
    if language == "python":
        # within a function, where a return may stand
        return parses("def f():\n" + textwrap.indent(fragment, "    ") + "\n", "python")
    depth = 0
    for piece, is_fixed in _pieces(fragment, language):
        if is_fixed:
            continue
        for letter in piece:
            depth += _step(letter)
            # this bracket closes one that stands before the lines
            if depth < 0:
                return False
    return depth == 0


def _step(letter: str) -> int:
    """Return by how much a letter of code changes the depth of brackets."""
    return (letter in "{([") - (letter in "})]")


def _middle(host: str, language: str) -> tuple[int, str]:
    """Return the line of a function behind which statements fit, nearest to its middle, and their indentation."""
    half = host.count("\n") / 2
    if language == "python":
        (function,) = ast.parse(host).body
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        # not behind the last statement, which may return
        ends = [(each.end_lineno or 0, " " * each.col_offset) for each in function.body[:-1]]
        return min(ends or [(1, "    ")], key=lambda end: abs(end[0] - half))
    ends, depth, number = [], 0, 1
    for piece, is_fixed in _pieces(host, language):
        for letter in piece:
            depth += 0 if is_fixed else _step(letter)
            if letter == "\n":
                line = host.splitlines()[number - 1]
                if depth == 1 and not is_fixed and line.rstrip().endswith((";", "}")):
                    ends.append((number, _indent(line)))
                number += 1
    return min(ends, key=lambda end: abs(end[0] - half), default=(1, "    "))


def _unparsed(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text)) + "\n"
    except (SyntaxError, ValueError, RecursionError):
        return ""


def _in_blocks(text: str, change: Callable[[list[str]], list[str]]) -> str:
    """Return Python's text with the simple statements in a row changed, docstrings aside; "" where nothing changes."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    rows = []
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                rows += _simple_rows(block)
    lines = text.splitlines()
    # from the end, so that line numbers before stay right
    for row in sorted(rows, key=lambda row: row[0].lineno, reverse=True):
        first, indent = row[0].lineno, " " * row[0].col_offset
        pieces = [ast.get_source_segment(text, statement) or "" for statement in row]
        lines[first - 1 : row[-1].end_lineno] = [indent + piece for piece in change(pieces)]
    changed = "\n".join([*lines, ""])
    return changed if changed != text and parses(changed, "python") else ""


def _simple_rows(block: list[ast.stmt]) -> list[list[ast.stmt]]:
    rows: list[list[ast.stmt]] = [[]]
    for statement in block:
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if hasattr(statement, "body") or isinstance(statement, ast.Match) or is_docstring:
            rows.append([])
        # two statements in one line cannot be exchanged line by line
        elif not rows[-1] or statement.lineno > (rows[-1][-1].end_lineno or 0):
            rows[-1].append(statement)
    return [row for row in rows if len(row) > 1]


def _joined_row(pieces: list[str]) -> list[str]:
    return ["; ".join(pieces[at : at + JOINED]) for at in range(0, len(pieces), JOINED)]


def _exchanged(pieces: list[str], draw: random.Random) -> list[str]:
    """Return the pieces with half of the pairs of neighbours exchanged; one that leaves the block stays last."""
    count = len(pieces) - bool(_LEAVES.match(pieces[-1].strip()))
    moved = list(pieces)
    for at in range(0, count - 1, 2):
        if draw.random() < EXCHANGED:
            moved[at : at + 2] = moved[at + 1], moved[at]
    return moved


def _exchanged_lines(text: str, language: str, draw: random.Random) -> str:
    """Return the text with neighbouring lines exchanged that are statements; "" where none are."""
    lines, at = text.splitlines(), 0
    while at < len(lines):
        stop = at
        while stop < len(lines) and _is_statement(lines[stop], language) and _indent(lines[stop]) == _indent(lines[at]):
            stop += 1
        if stop - at > 1:
            lines[at:stop] = _exchanged(lines[at:stop], draw)
        # a line that is no statement is passed over
        at = max(stop, at + 1)
    changed = "\n".join([*lines, ""])
    return changed if changed != text else ""


def _is_statement(line: str, language: str) -> bool:
    """Return True for a line that is one whole statement, as far as a line shows it."""
    bare = line.strip()
    is_balanced = all(bare.count(left) == bare.count(right) for left, right in ("()", "[]", "{}"))
    ends = bare.endswith(";") or (language in {"go", "javascript", "typescript"} and _ENDED.search(bare) is not None)
    return is_balanced and ends and bare[:1] not in {"}", ".", "*", "/", "#"}


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _pieces(text: str, language: str) -> list[tuple[str, bool]]:
    """Return the text in pieces: code, and what may not change: comments and literals."""
    regions = find_regions(Source.of(text), lexical_rules(language))
    pieces, end = [], 0
    for start, stop in zip(regions.starts.tolist(), regions.stops.tolist(), strict=True):
        pieces += [(text[end:start], False), (text[start:stop], True)]
        end = stop
    return [*pieces, (text[end:], False)]
