"""Check that what pages and comments name in backticks exists: paths, modules and their names, options.

python tools/named_things.py      print each name that is not there, exit with 1 if there is one
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import chain, pairwise
from operator import methodcaller
from pathlib import Path

from assay.cli.app import command_line

ROOT = Path(__file__).resolve().parents[1]
CODE = ("src", "lab/src", "plugins/qdrant/src", "plugins/ray/src", "tools")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md", "plugins/*/README.md")

WITH_SAMPLES = ("CONTRIBUTING.md", "add-a-benchmark.md")
"""Pages whose samples are parts of the code, word for word."""

FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*\w")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
NAME = re.compile(r"[A-Za-z]\w*_\w+|[A-Z][a-z]+[A-Z]\w+")
FILE = re.compile(r"[\w./-]*/[\w./-]*|[\w.-]+\.(?:pyi?|md|toml|ya?ml|jsonl?|parquet|html|txt|ipynb|svg|csv|gz|npz)")

OF_OTHERS = frozenset(
    """
    --address --all --build-arg --disable-userns --download-only --durations --editable --enable-prefix-caching
    --fail-under --head --isolation
    --log_samples --no-deps --no-walk --privileged --scorer --seccomp
    datasets.load_dataset datasets.save_to_disk run_ref.py AF_INET AF_INET6 CUDA_VISIBLE_DEVICES io_uring max_sim
    """.split()  # noqa: SIM905  a word list
)
"""What belongs to other programs and libraries, though it looks like ours."""

MADE_UP = frozenset(
    """
    assay.py docs/methods/median_l.md docs/schemas/trace-VERSION.json full_major_stroke last_parcel new_last_node
    """.split()  # noqa: SIM905  a word list
)
"""Names of examples."""

OUR_FOLDERS = frozenset({"src", "docs", "tests", "tools", "lab", "plugins", ".github", ".ci"})


def files(*suffixes: str) -> list[Path]:
    """Tracked files and new ones that git does not ignore, with one of these suffixes; all without one."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603  our own
    paths = map(ROOT.joinpath, filter(None, listed.stdout.split("\0")))
    return [path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes)]


def prose_of_page(text: str) -> Iterator[tuple[int, str]]:
    """Line and content of each span of code within sentences and tables."""
    # lines of a block stay, empty, so that numbers of lines are those of the page
    plain = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    for number, line in enumerate(plain.splitlines(), 1):
        for span in SPAN.findall(line):
            yield number, span


def prose_of_module(text: str) -> Iterator[tuple[int, str]]:
    """Line and content of each span of code within comments and docstrings."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            for span in SPAN.findall(token.string):
                yield token.start[0], span
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for span in SPAN.findall(FENCE.sub("", node.value.value)):
                yield node.lineno, span


@cache
def options() -> frozenset[str]:
    """Every option of every command."""
    names = {"--help", "--version", "--install-completion", "--show-completion"}
    waiting = [command_line()]
    while waiting:
        command = waiting.pop()
        for option in command.params:
            names.update(option.opts, option.secondary_opts)
        waiting += getattr(command, "commands", {}).values()
    return frozenset(names)


def defined_in(tree: ast.AST) -> Iterator[str]:
    """Names that a module or class defines: classes, functions, variables, attributes, imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.rpartition(".")[2]


@cache
def modules() -> dict[str, set[str]]:
    """Name of a package or module, without the packages around it → what stands in those of that name."""
    contents: dict[str, set[str]] = defaultdict(set)
    for folder in CODE:
        for path in sorted((ROOT / folder).rglob("*.py*")):
            if path.suffix not in {".py", ".pyi"}:
                continue
            name = path.parent.name if path.stem == "__init__" else path.stem
            contents[name].update(defined_in(ast.parse(path.read_text("utf-8"))))
            contents[path.parent.name].add(path.parent.name if path.stem == "__init__" else path.stem)
            contents[path.parent.parent.name].add(path.parent.name)
    return contents


@cache
def words() -> frozenset[str]:
    """Every word of code, settings and data: what a name in backticks may refer to."""
    names: set[str] = set()
    for path in files(".py", ".pyi", ".toml", ".json", ".yml", ".txt", ".html", ".js"):
        names.update(re.findall(r"\w+", path.read_text("utf-8", "replace")))
    return frozenset(names)


@cache
def code() -> str:
    """The text of every module."""
    return "\n".join(map(methodcaller("read_text", "utf-8"), module_paths()))


def module_paths() -> Iterator[Path]:
    """Every module of the project."""
    for folder in CODE:
        yield from (ROOT / folder).rglob("*.py")


@cache
def quoted() -> frozenset[str]:
    """Names in quotes, such as groups of entry points."""
    return frozenset(re.findall(r'"([\w.]+)"', code()))


@cache
def places() -> frozenset[str]:
    """Every file and folder, by each end of its path."""
    names: set[str] = set()
    for path in files():
        # every end of every beginning: pages name a file by as much of its path as they need
        parts = path.relative_to(ROOT).parts
        for end in range(1, len(parts) + 1):
            names.update("/".join(parts[start:end]) for start in range(end))
    return frozenset(names)


def is_ours(path: str) -> bool:
    """Return True if a path claims to be one of this repository and not one of a user."""
    first = path.partition("/")[0]
    if first in OUR_FOLDERS:
        return path != first
    stem = first.removesuffix(".py")
    is_of_others = stem.isidentifier() and stem != "assay" and find_spec(stem) is not None
    return path.endswith((".py", ".pyi")) and not is_of_others


def missing_name(name: str) -> Iterator[str]:
    """What a module, or a name with dots or with the form of a name of Python, says that is not there."""
    if DOTTED.fullmatch(name) and name not in quoted():
        # from the left: behind the first name that is no module of ours follow attributes of anything
        for outer, inner in pairwise(name.split(".")):
            if outer not in modules():
                break
            if inner not in modules()[outer]:
                yield f"nothing named {inner} in {outer}"
    elif NAME.fullmatch(name) and name not in words():
        yield f"nothing named {name}"


def missing(span: str) -> Iterator[str]:
    """What a span names and nothing here is called."""
    if span in OF_OTHERS | MADE_UP:
        return
    for option in OPTION.findall(span):
        if option not in options() | OF_OTHERS:
            yield f"no option {option}"
    if FILE.fullmatch(span):
        if is_ours(span) and span.strip("/") not in places():
            yield f"no path {span}"
    else:
        yield from missing_name(span.removesuffix("()"))


def faults_of_page(path: Path) -> Iterator[str]:
    """Definitions with two colons, and samples that are not the code."""
    text = path.read_text("utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"::\s", line):
            yield f"{number}: a definition begins with one colon"
    if path.name in WITH_SAMPLES:
        for sample in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            if sample not in code():
                yield f"1: the sample {sample.splitlines()[0]} is not in the code"


def complaints() -> Iterator[str]:
    """Each place that names what is not there."""
    pages = sorted(chain.from_iterable(map(ROOT.glob, PAGES)))
    for path in (*pages, *sorted(module_paths())):
        spans = prose_of_module if path.suffix == ".py" else prose_of_page
        for number, span in spans(path.read_text("utf-8")):
            for complaint in missing(span):
                yield f"{path.relative_to(ROOT)}:{number}: `{span}`: {complaint}"
    for path in pages:
        for fault in faults_of_page(path):
            yield f"{path.relative_to(ROOT)}:{fault}"


def main() -> int:
    """Print the complaints."""
    lines = list(complaints())
    for line in lines:
        print(line)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
