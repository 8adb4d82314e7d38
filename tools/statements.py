"""Measure how dense the statements of a folder are: comprehensions, conditional expressions, comments.

python tools/statements.py [FOLDER]      one row a file, densest last, and the sum; without FOLDER one a distribution
python tools/statements.py --check       print what is above the limits, and exit with 1
"""

import argparse
import ast
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)
MOST_BRANCHES = 15
"""Branches from which on a function is counted as hard to follow."""

POSITIONAL = 4
"""Positional arguments from which on a call needs keywords."""

VARIADIC = frozenset(
    {"map", "zip", "min", "max", "print", "einsum", "partial", "attrgetter", "product", "TypeVar", "add_row"}
    | {"reshape", "expand", "Sequential", "submit"}
)
"""Functions of any number of positional values, which have no names; calls of them do not count."""

COMPILED = frozenset({"compiled", "njit"})
"""Decorators of functions that numba compiles: their arguments are found by position as fast as nowhere else."""

PRODUCT = Path(__file__).resolve().parents[1] / "src"
"""Where every distribution imports functions from, beside its own folder."""

OF_C = frozenset({"pack", "seccomp_rule_add_array", "llama_token_to_piece"})
"""Functions of C that take no keywords: `struct`, and libraries that `ctypes` opens."""

PER = 1000
"""Rates are per 1,000 lines of code."""

LIMITS = {"src": (30, 20), "lab/src": (31, 18), "plugins": (30, 18), "tools": (30, 15)}
"""Distribution → most comprehensions and most conditional expressions in 1,000 lines of code; they only ever fall."""

MOST = {"src": (0, 0), "lab/src": (2, 0), "plugins": (0, 0), "tools": (0, 0)}
"""Distribution → most calls without keywords and most functions above `MOST_BRANCHES`; they only ever fall."""

NO_CODE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True, slots=True)
class Density:
    """Counts of one file or of several."""

    lines: int = 0
    comprehensions: int = 0
    nested_comprehensions: int = 0
    conditionals: int = 0
    nested_conditionals: int = 0
    positional_calls: int = 0
    comments: int = 0
    branching: int = 0
    most_branches: int = 0

    def __add__(self, other: "Density") -> "Density":
        """The counts of both."""
        return Density(
            lines=self.lines + other.lines,
            comprehensions=self.comprehensions + other.comprehensions,
            nested_comprehensions=self.nested_comprehensions + other.nested_comprehensions,
            conditionals=self.conditionals + other.conditionals,
            nested_conditionals=self.nested_conditionals + other.nested_conditionals,
            positional_calls=self.positional_calls + other.positional_calls,
            comments=self.comments + other.comments,
            branching=self.branching + other.branching,
            most_branches=max(self.most_branches, other.most_branches),
        )

    def rate(self, count: int) -> float:
        """A count per 1,000 lines of code."""
        return PER * count / max(self.lines, 1)


def code_lines(text: str, tree: ast.Module) -> int:
    """Lines with code: neither docstring, comment nor blank."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            # a string over several lines is one token, and each of its lines is code
            lines.update(range(token.start[0], token.end[0] + 1))
    # a string that is a statement is a docstring, of a constant too
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def comment_lines(text: str) -> int:
    """Lines that hold only a comment."""
    lines = text.splitlines()
    count = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and lines[token.start[0] - 1].lstrip().startswith("#"):
            count += 1
    return count


def holds_another(node: ast.AST, kinds: type | tuple[type, ...]) -> bool:
    """Return True if a node of one of these kinds stands inside the node."""
    return any(isinstance(inner, kinds) for inner in ast.walk(node) if inner is not node)


def is_nested(node: ast.AST) -> bool:
    """Return True for a comprehension with two loops, or with another one inside it."""
    loops = getattr(node, "generators", ())
    return len(loops) > 1 or holds_another(node, COMPREHENSIONS)


def called(call: ast.Call) -> str:
    """Return the last part of the name of what is called."""
    return ast.unparse(call.func).rpartition(".")[2]


@cache
def positional_functions(path: Path) -> frozenset[str]:
    """The functions of a module that numba compiles or that take any number of positional values."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = set(map(ast.unparse, node.decorator_list))
            if node.args.vararg or decorators & COMPILED:
                names.add(node.name)
        if isinstance(node, ast.ClassDef) and any(init.args.vararg for init in _initialisers(node)):
            names.add(node.name)
    return frozenset(names)


def _initialisers(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [method for method in nodes_of(node.body, ast.FunctionDef) if method.name == "__init__"]


def without_keywords(path: Path, tree: ast.Module) -> set[str]:
    """The names in a module whose calls need no keywords: such functions of its own, and imported from its package."""
    names = {*VARIADIC, *OF_C, *positional_functions(path)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported = set(map(attrgetter("name"), node.names))
            for parent in (PRODUCT, *path.parents):
                place = parent / node.module.replace(".", "/")
                # the face of a package names functions of its modules
                for file in filter(Path.is_file, (place.with_suffix(".py"), *place.glob("*.py"))):
                    names |= imported & positional_functions(file)
    return names


def branches(function: ast.AST) -> int:
    """Return the cyclomatic complexity of a function as radon counts it, those inside it among it.

    Beside statements that branch, each comprehension, condition in one, `and`, `or` and `a if b else c` counts.
    """
    count = 1
    for node in ast.walk(function):
        if isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            # one for the loop and one for each of its conditions
            count += 1 + len(node.ifs)
        elif isinstance(node, BRANCHES):
            count += 1
    return count


def nodes_of(nodes: Iterable[ast.AST], *kinds: type[Node]) -> list[Node]:
    """Return the nodes of these kinds."""
    return [node for node in nodes if isinstance(node, kinds)]


def density(path: Path) -> Density:
    """The counts of one file."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    comprehensions = nodes_of(nodes, *COMPREHENSIONS)
    conditionals = nodes_of(nodes, ast.IfExp)
    calls = nodes_of(nodes, ast.Call)
    exempt = without_keywords(path, tree)
    counts = list(map(branches, nodes_of(nodes, ast.FunctionDef, ast.AsyncFunctionDef)))
    return Density(
        lines=code_lines(text, tree),
        comprehensions=len(comprehensions),
        nested_comprehensions=sum(map(is_nested, comprehensions)),
        conditionals=len(conditionals),
        nested_conditionals=sum(map(partial(holds_another, kinds=ast.IfExp), conditionals)),
        positional_calls=sum(len(call.args) >= POSITIONAL and called(call) not in exempt for call in calls),
        comments=comment_lines(text),
        branching=sum(map(MOST_BRANCHES.__lt__, counts)),
        most_branches=max(counts, default=0),
    )


def sources(folder: Path) -> Iterator[Path]:
    """Every module below a folder, tests left out."""
    for path in sorted(folder.rglob("*.py")):
        if "tests" not in path.relative_to(folder).parts:
            yield path


def total(folder: Path) -> Density:
    """The counts of every module below a folder."""
    return sum(map(density, sources(folder)), Density())


def row(title: str, counts: Density) -> str:
    """One printed row."""
    return (
        f"{title:<60} {counts.lines:>6} lines | comprehensions {counts.comprehensions:>4}"
        f" ({counts.rate(counts.comprehensions):>3.0f} per 1,000), nested {counts.nested_comprehensions:>3}"
        f" | conditionals {counts.conditionals:>4} ({counts.rate(counts.conditionals):>3.0f}),"
        f" nested {counts.nested_conditionals:>2} | calls with {POSITIONAL} or more positional"
        f" {counts.positional_calls:>3} | comments {100 * counts.comments / max(counts.lines, 1):.1f} %"
        f" | functions above {MOST_BRANCHES} branches {counts.branching}, the most {counts.most_branches}"
    )


def violations(root: Path) -> Iterator[str]:
    """Yield each file that has a statement which the limits forbid, and each distribution above its rates."""
    for name, limits in LIMITS.items():
        for path in sources(root / name):
            counts = density(path)
            nested = counts.nested_comprehensions + counts.nested_conditionals
            if nested:
                yield f"{path.relative_to(root)}: {nested} nested comprehensions or conditional expressions"
        counts = total(root / name)
        for title, count, most in zip(("comprehensions", "conditionals"), counted(counts), limits, strict=True):
            if counts.rate(count) > most:
                yield f"{name}: {counts.rate(count):.1f} {title} in 1,000 lines of code, expected at most {most}"
        titles = f"calls with {POSITIONAL} or more positional arguments", f"functions above {MOST_BRANCHES} branches"
        for title, count, most in zip(titles, (counts.positional_calls, counts.branching), MOST[name], strict=True):
            if count > most:
                yield f"{name}: {count} {title}, expected at most {most}"


def counted(counts: Density) -> tuple[int, int]:
    """Return the counts that have a limit."""
    return counts.comprehensions, counts.conditionals


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--check", action="store_true", help="print what is above the limits, and exit with 1")
    arguments = parser.parse_args()
    folder = arguments.folder
    root = Path(__file__).resolve().parents[1]
    if arguments.check:
        broken = list(violations(root))
        print(*broken, sep="\n")
        sys.exit(bool(broken))
    if folder is None:
        for name in ("src", "lab/src", "plugins", "tools"):
            print(row(name, total(root / name)))
        return
    rows = list(zip(sources(folder), map(density, sources(folder)), strict=True))
    rows.sort(key=lambda entry: entry[1].comprehensions + entry[1].conditionals)
    for path, counts in rows:
        print(row(path.as_posix(), counts))
    print(row("sum", total(folder)))


if __name__ == "__main__":
    main()
