"""Ten ways in which students disguise a copied program, for Python and the languages with braces.

The rules work on lines: programs of people have a statement on a line. They aim at programs that still run, and nothing
checks that: what is measured is who recognises the copy.
"""

import random
import re
from collections.abc import Callable, Mapping
from itertools import chain

from assay.languages import LANGUAGES
from assay_lab.clones import rename_all, seeded_random, strip_comments

Change = Callable[[str, str, random.Random], str]
"""From text, language and draws to text."""

_SIMPLE = re.compile(
    r"[ \t]*(?!(?:if|for|while|else|do|case|def|class|return|break|continue|elif|try|import|from|with)\b)"
)
_HEAD = re.compile(r"([ \t]*)for \(?(\w+) in range\((.*)\):[ \t]*$")


def is_simple(line: str, language: str) -> bool:
    """Return True for a line that is one whole statement, neither a head nor a jump."""
    code = line.strip()
    if not code or not _SIMPLE.match(line) or code[0] in "#@}{)]/*\"'" or line.count("(") != line.count(")"):
        return False
    return code[-1] not in ":,([{\\+" if language == "python" else code.endswith(";")


def indent_of(line: str) -> str:
    """Return the layout before the code of a line."""
    return line[: len(line) - len(line.lstrip())]


def layout(text: str, language: str, draw: random.Random) -> str:
    """Remove comments and empty lines, add others, and indent otherwise."""
    lines: list[str] = []
    for line in strip_comments(text, language).splitlines():
        indent = indent_of(line).expandtabs(4)
        if draw.random() < 0.2:
            lines.append(f"{indent * 2}{'#' if language == 'python' else '//'} step {len(lines)}")
        lines.append(indent * 2 + line.strip())
    return "\n".join(lines) + "\n"


def renaming(text: str, language: str, draw: random.Random) -> str:
    """Replace all names but those of the language, and those of libraries: used and not declared."""
    used = set(re.findall(r"(?:\.|->|::)\s*(\w+)|(\w+)\s*\(|\b([A-Z]\w*)", text))
    imported = re.findall(r"^\s*(?:import|from|#include|using|package)\b.*", text, re.MULTILINE)
    declared = re.findall(r"\b(?:def|class|struct|interface|enum|self\.|this\.)\s*(\w+)", text)
    declared += re.findall(r"[\w>\]]\s+[&*]*(\w+)\s*\([^;{}]*\)\s*(?:const\s*)?\{", text)
    libraries = set(chain.from_iterable(used)).difference(declared)
    spare = LANGUAGES[language].unavailable | libraries | set(re.findall(r"\w+", "\n".join(imported)))
    return rename_all(text, language, seed=draw.randrange(1000), spare=spare | {"cin", "cout", "endl", "std", "string"})


DEAD = ("{t}{n} = {k}{e}", "{t}{n} = {k} * {k} + 1{e}", "{t}{n} = ({k} - 3) % 7{e}")


def dead_statements(text: str, language: str, draw: random.Random) -> str:
    """Insert a statement without effect after each statement."""
    type_, end = ("", "") if language == "python" else ("int ", ";")
    lines: list[str] = []
    for line in text.splitlines():
        lines.append(line)
        if is_simple(line, language):
            dead = draw.choice(DEAD).format(t=type_, n=f"zz{len(lines)}", k=draw.randrange(9), e=end)
            lines.append(indent_of(line) + dead)
    return "\n".join(lines) + "\n"


def reordering(text: str, language: str, draw: random.Random) -> str:
    """Swap half of the neighbouring statements, and reverse the functions of a Python file."""
    lines = text.splitlines()
    at = 0
    while at + 1 < len(lines):
        both = lines[at], lines[at + 1]
        movable = all(is_simple(line, language) for line in both) and indent_of(both[0]) == indent_of(both[1])
        if movable and draw.random() < 0.5:
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
            # a line that was exchanged does not move again
            at += 1
        at += 1
    if language != "python":
        return "\n".join(lines) + "\n"
    # the lookahead leaves each head with its block
    blocks = re.split(r"^(?=(?:def|class) )", "\n".join(lines) + "\n", flags=re.MULTILINE)
    return "".join([blocks[0], *reversed(blocks[1:])])


def extraction(text: str, language: str, draw: random.Random) -> str:
    """Move every run of at least two statements into a function of its own."""
    functions, lines, run = list[str](), list[str](), list[str]()

    def close() -> None:
        if len(run) < 2:
            lines.extend(run)
        else:
            name, arguments = f"part{len(functions)}", ", ".join(sorted(set(re.findall(r"[A-Za-z_]\w*", run[0])))[:3])
            body = "\n".join(f"    {line.strip()}" for line in run)
            is_python = language == "python"
            functions.append(f"def {name}({arguments}):\n{body}\n" if is_python else f"void {name}() {{\n{body}\n}}\n")
            lines.append(f"{indent_of(run[0])}{name}({arguments}){'' if is_python else ';'}")
        run.clear()

    for line in text.splitlines():
        if run and (indent_of(line) != indent_of(run[0]) or not is_simple(line, language)):
            close()
        if is_simple(line, language) and indent_of(line):
            run.append(line)
        else:
            lines.append(line)
    close()
    draw.shuffle(functions)
    return "\n".join(lines) + "\n" + "\n".join(functions)


EDITS = (
    (re.compile(r"\b(\w+)\+\+(?=\s*[;)])"), r"\1 += 1"),
    (re.compile(r"\b(\w+)--(?=\s*[;)])"), r"\1 -= 1"),
    (re.compile(r"^([ \t]*)(\w+) ?([-+*])= ?([^;\n]+)(;?)$", re.MULTILINE), r"\1\2 = \2 \3 (\4)\5"),
    (re.compile(r"\b(\w+) ?< ?(\w+)\b(?![\[(.>])"), r"\2 > \1"),
    (re.compile(r"\b(\w+) ?== ?(\w+)\b(?![\[(.])"), r"\2 == \1"),
)


def small_edits(text: str, _: str, __: random.Random) -> str:
    """Write increments, updates and comparisons the other way."""
    for pattern, other in EDITS:
        text = pattern.sub(other, text)
    return text


def loops(text: str, language: str, _: random.Random) -> str:
    """Write loops over numbers with `while`."""
    return _python_loops(text) if language == "python" else _brace_loops(text)


def _python_loops(text: str) -> str:
    lines, steps = [], list[tuple[int, str]]()
    # a last line without indentation ends every loop; it is cut off again
    for line in [*text.splitlines(), "end"]:
        width = len(indent_of(line).expandtabs(4))
        # at a line that is no deeper than the head of a loop, the loop has ended: its step comes before
        while line.strip() and steps and width <= steps[-1][0]:
            lines.append(steps.pop()[1])
        head = _HEAD.fullmatch(line)
        # a range with a step stays
        if head is None or head[3].count(",") > 1:
            lines.append(line)
            continue
        indent, name, bounds = head.groups()
        first, _, last = bounds.rpartition(",") if "(" not in bounds else ("", "", bounds)
        lines += [f"{indent}{name} = {first or 0}", f"{indent}while {name} < {last.strip()}:"]
        steps.append((width, f"{indent}    {name} += 1"))
    return "\n".join(lines[:-1]) + "\n"


_FOR = re.compile(r"\bfor\s*\(([^;:(){}]*);([^;{}]*);((?:[^;(){}]|\(\))*)\)\s*\{")


def _brace_loops(text: str) -> str:
    at = 0
    while head := _FOR.search(text, at):
        depth, stop = 1, head.end()
        while stop < len(text) and depth:
            depth += (text[stop] == "{") - (text[stop] == "}")
            stop += 1
        body = text[head.end() : stop - 1]
        loop = f"{head[1].strip()};\nwhile ({head[2].strip() or 'true'}) {{{body}{head[3].strip()};\n}}"
        text = text[: head.start()] + loop + text[stop:]
        # a loop within the body comes next
        at = head.start() + len(head[1])
    return text


def conditions(text: str, language: str, _: random.Random) -> str:
    """Negate conditions."""
    if language == "python":
        return re.sub(r"^([ \t]*)(if|elif) (.+):[ \t]*$", r"\1\2 not (not (\3)):", text, flags=re.MULTILINE)
    # the old branch becomes that of the negated condition
    return re.sub(r"\bif\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", r"if (!(\1)) { } else", text)


def temporaries(text: str, language: str, _: random.Random) -> str:
    """Give a name to every value before it is assigned or returned."""
    lines: list[str] = []
    for line in text.splitlines():
        use = re.fullmatch(r"([ \t]*)(return |[\w.\[\]]+ = )([^=;]+)(;?)", line)
        if use is None or (language != "python" and not use[4]) or use[3].count("(") != use[3].count(")"):
            lines.append(line)
            continue
        kind = "" if language == "python" else "int "
        lines += [f"{use[1]}{kind}tt{len(lines)} = {use[3]}{use[4]}", f"{use[1]}{use[2]}tt{len(lines)}{use[4]}"]
    return "\n".join(lines) + "\n"


SINGLE: Mapping[str, Change] = {
    "layout and comments": layout,
    "names": renaming,
    "dead statements": dead_statements,
    "reordering": reordering,
    "extracted functions": extraction,
    "small edits": small_edits,
    "loops rewritten": loops,
    "conditions negated": conditions,
    "temporaries": temporaries,
}


def _together(text: str, language: str, draw: random.Random) -> str:
    for change in (layout, small_edits, loops, reordering, dead_statements):
        text = change(text, language, draw)
    return text


def disguised(text: str, kind: str, language: str, seed: int) -> str:
    """Return a copy of a program under other names and with one of `KINDS` of changes."""
    draw = seeded_random(seed, text)
    text = strip_comments(text, language)
    change = _together if kind == "all together" else SINGLE[kind]
    changed = change(text, language, draw)
    return changed if kind in {"layout and comments", "names"} else renaming(changed, language, draw)


KINDS = (*SINGLE, "all together")
