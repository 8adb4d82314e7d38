"""Measure the structure and the wording of `src/assay`, and check the limits that CI enforces.

python tools/structure.py             print the table of measurements
python tools/structure.py --check     print each violation, exit with 1 if there is one
python tools/structure.py --root DIR  measure another checkout
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path

import routes
import statements

GENERIC = frozenset(
    "one found told some said given wanted made known asked held taken todo here".split()  # noqa: SIM905  a word list
)
LONG_SCOPE = 3
MOST_PARAMETERS = 8
MOST_DEEP_IMPORTS = 40
QUESTION_WORDS = ("What", "Which", "Whether")
DETECTORS = ("mid_pit", "sr_gray")
PARAMETERS_FREE = ("cli/", "api/")
"""Folders whose functions may take more parameters: each is an option of a command."""

LANGUAGES = frozenset({"python", "java", "c", "cpp", "javascript", "typescript", "go", "rust"})
REPLACERS = ("os", "partial", "unfinished", "temporary")
"""Objects whose `replace` or `rename` puts a file in the place of another."""

FACES_OF_A_CALL = frozenset({"audit", "build_index", "calibrate", "load", "open_index", "score", "trace"})
"""Functions of the Python API named after the function of a package that they call."""

PROTOCOLS = ("leakage/detectors/", "code/rename/grammars/")
"""Folders whose modules all implement one protocol, so their functions share names."""

TABLE = 4
"""Languages from which on a literal is a table of languages."""


@dataclass(frozen=True, slots=True)
class Module:
    """One parsed source file."""

    path: str
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """The first folder below the root, or "" for a module at the root."""
        return self.path.split("/")[0] if "/" in self.path else ""


@dataclass(frozen=True, slots=True)
class Violation:
    """One place that breaks a limit."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"src/assay/{self.path}:{self.line}: {self.message}"


def modules(root: Path) -> list[Module]:
    """Parse every module below `root/src/assay`, sorted by path."""
    base = root / "src" / "assay"
    paths = sorted(base.rglob("*.py"))
    return [Module(p.relative_to(base).as_posix(), t := p.read_text("utf-8"), ast.parse(t)) for p in paths]


def faces(sources: list[Module]) -> frozenset[str]:
    """Modules that may be imported from elsewhere: each package, and each part of one that has a face of its own."""
    names = set(filter(None, map(attrgetter("package"), sources)))
    for module in sources:
        # a part that loads its names lazily has a stub, which says that others may import them
        if "attach_stub" in module.text:
            names.add(module.path.removesuffix("/__init__.py").replace("/", "."))
    return frozenset(map("assay.{}".format, names))


def imports_across_packages(module: Module, public: frozenset[str]) -> Iterator[tuple[int, str, bool]]:
    """Line, imported module and depth (True: past a face) of each import from another package."""
    packages = {name.split(".")[1] for name in public}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("assay."):
            package = node.module.split(".")[1]
            if package in packages and package != module.package:
                yield node.lineno, node.module, node.module not in public


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each name that is bound (variable, parameter, attribute, function, class) with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno


def generic_names(module: Module) -> Iterator[tuple[str, int]]:
    """Generic names bound in a scope of more than three lines (a short lambda or comprehension is exempt)."""
    # where the whole scope is seen at once, `one` says enough
    short: set[tuple[str, int]] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length <= LONG_SCOPE:
                short.update(bound_names(node))
    for name, line in bound_names(module.tree):
        if name in GENERIC and (name, line) not in short:
            yield name, line


def docstrings(module: Module) -> Iterator[str]:
    """Every docstring of the module, its classes and its functions."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def wide_functions(module: Module) -> Iterator[tuple[str, int, int]]:
    """Name, line and number of parameters of each function that takes more than the limit."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = len(set(map(attrgetter("arg"), arguments)) - {"self", "cls"})
            if count > MOST_PARAMETERS:
                yield node.name, node.lineno, count


def method_calls(module: Module, *names: str, on: str | None = None) -> list[int]:
    """Lines on which a method of one of these names is called, of the object `on` if it is given."""
    calls = statements.nodes_of(ast.walk(module.tree), ast.Call)
    lines = []
    for method in statements.nodes_of(map(attrgetter("func"), calls), ast.Attribute):
        is_on = on is None or (isinstance(method.value, ast.Name) and method.value.id == on)
        if method.attr in names and is_on:
            lines.append(method.lineno)
    return lines


def optimiser_loops(module: Module) -> list[int]:
    """Lines on which gradients are computed for an optimiser."""
    return method_calls(module, "backward")


def own_compilations(module: Module) -> list[int]:
    """Lines on which Python's `compile` is called, which ruff cannot ban as it bans `ast.parse`."""
    calls = statements.nodes_of(ast.walk(module.tree), ast.Call)
    names = statements.nodes_of(map(attrgetter("func"), calls), ast.Name)
    return [name.lineno for name in names if name.id == "compile"]


def own_replacements(module: Module) -> list[int]:
    """Lines on which a module replaces a file itself."""
    lines: list[int] = []
    for name in REPLACERS:
        lines += method_calls(module, "replace", "rename", on=name)
    return lines


def language_tables(module: Module) -> list[int]:
    """Lines on which a dictionary, set or list names four programming languages or more."""
    lines = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Dict):
            items = list(filter(None, node.keys))
        elif isinstance(node, ast.Set | ast.List | ast.Tuple):
            items = node.elts
        else:
            continue
        values = set(map(attrgetter("value"), statements.nodes_of(items, ast.Constant)))
        if len(values & LANGUAGES) >= TABLE:
            lines.append(node.lineno)
    return lines


def names_detector(module: Module, name: str) -> bool:
    """Return True if the source contains a detector's name as a word."""
    return re.search(rf"\b{name}\b", module.text) is not None


def deep_imports(sources: list[Module]) -> Iterator[Violation]:
    """Imports past the face of another package, if there are more than the limit."""
    public = faces(sources)
    deep = []
    for module in sources:
        for line, name, past_face in imports_across_packages(module, public):
            if past_face and module.path != "__init__.py":
                deep.append(Violation(module.path, line, f"imports {name}; expected the face of the package"))
    return iter(deep if len(deep) > MOST_DEEP_IMPORTS else [])


def wording(sources: list[Module]) -> Iterator[Violation]:
    """Generic names, and docstrings that begin with a question word."""
    for module in sources:
        for name, line in generic_names(module):
            yield Violation(module.path, line, f"{name!r} does not say what it holds")
        for text in docstrings(module):
            if text.split()[0].rstrip(",") in QUESTION_WORDS:
                yield Violation(module.path, 1, f"docstring {text.splitlines()[0]!r} begins with a question word")


def parameters(sources: list[Module]) -> Iterator[Violation]:
    """Functions with more parameters than the limit, outside the command line and the Python API."""
    for module in sources:
        if not module.path.startswith(PARAMETERS_FREE):
            for name, line, count in wide_functions(module):
                yield Violation(module.path, line, f"{name} takes {count} parameters, at most {MOST_PARAMETERS}")


def second_ways(sources: list[Module]) -> Iterator[Violation]:
    """A second optimiser loop, way to compile Python, way to replace a file, or table of languages."""
    for module in sources:
        if not module.path.startswith("training/"):
            for line in optimiser_loops(module):
                yield Violation(module.path, line, "computes gradients itself; expected assay.training")
        if module.path != "python_parser.py":
            for line in own_compilations(module):
                yield Violation(module.path, line, "compiles Python itself; expected assay.python_parser")
        if module.path != "files.py":
            for line in own_replacements(module):
                yield Violation(module.path, line, "replaces a file itself; expected assay.files")
        if not module.path.startswith("languages/"):
            for line in language_tables(module):
                yield Violation(module.path, line, "a table of languages; expected assay.languages")


def is_type_variable(value: ast.expr | None) -> bool:
    """Return True for a call of `TypeVar` or `ParamSpec`."""
    return (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in {"TypeVar", "ParamSpec"}
    )


def public_names(module: Module) -> Iterator[tuple[str, int]]:
    """Each public class, type alias and function at the top of a module, with its line.

    Left out are commands, functions of one protocol, functions of the Python API named after the function that they
    call, constants and type variables.
    """
    without_functions = module.path.startswith(("cli/", *PROTOCOLS))
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = "" if without_functions or node.name in FACES_OF_A_CALL else node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not is_type_variable(node.value):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            # by its spelling: CamelCase is a type, UPPER_CASE a constant
            is_alias = isinstance(target, ast.Name) and target.id[0].isupper() and not target.id.isupper()
            name = target.id if is_alias and isinstance(target, ast.Name) else ""
        else:
            continue
        if name and not name.startswith("_"):
            yield name, node.lineno


def one_meaning(sources: list[Module]) -> Iterator[Violation]:
    """Public names that two modules define."""
    first: dict[str, str] = {}
    for module in sources:
        for name, line in public_names(module):
            other = first.setdefault(name, module.path)
            if other != module.path:
                yield Violation(module.path, line, f"{name} is also defined in {other}, expected a name of its own")


CHECKS = (deep_imports, wording, parameters, second_ways, one_meaning)


def violations(sources: list[Module]) -> Iterator[Violation]:
    """Every place that breaks a limit which CI enforces."""
    for check in CHECKS:
        yield from check(sources)


COMMON_OPTIONS = frozenset({"--quiet", "--verbose", "--no-progress", "--json", "--format", "--force", "--help-all"})
"""Options of every command, which the counts leave out; `--help` is the eighth."""

SURFACE = """
import inspect, json
import assay
from assay.cli.app import command_line
def leaves(command, words=()):
    children = getattr(command, "commands", {})
    for name, child in children.items():
        yield from leaves(child, (*words, name))
    if not children:
        yield " ".join(words), command
options = {
    name: [[max(option.opts, key=len), bool(option.hidden)] for option in leaf.params if hasattr(option, "hidden")
           and option.param_type_name == "option"]
    for name, leaf in leaves(command_line())
}
print(json.dumps({"options": options, "audit": len(inspect.signature(assay.audit).parameters)}))
"""
"""Prints the options of every command, and the number of parameters of `assay.audit`."""

RESULTS = "results"
"""Folder of the pages of results, which are not counted as words of the manual."""


def stub_names(module: Path) -> dict[str, str]:
    """Name → module of what the face of a package offers."""
    stub = module / "__init__.pyi"
    if not stub.exists():
        return {}
    return routes.offered_names(ast.parse(stub.read_text("utf-8")))


def run_imports(tree: ast.AST) -> Iterator[ast.ImportFrom]:
    """Imports that are run, those inside functions too; imports for types alone are left out."""
    for node in ast.iter_child_nodes(tree):
        # an import for types alone never runs, so it cannot close a circle
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom):
            yield node
        else:
            yield from run_imports(node)


def import_graph(root: Path, package: str) -> dict[str, set[str]]:
    """Module → the modules of the same package that it imports, through faces too."""
    base = root / "src"
    paths = {
        ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (base / "assay" / package).rglob("*.py")
    }
    offered = {name: stub_names(path.parent) for name, path in paths.items() if path.name == "__init__.py"}
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        targets = graph.setdefault(name, set())
        for node in run_imports(ast.parse(path.read_text("utf-8"))):
            for alias in node.names:
                target = node.module or ""
                if f"{target}.{alias.name}" in paths:
                    target = f"{target}.{alias.name}"
                elif alias.name in offered.get(target, {}):
                    target = f"{target}.{offered[target][alias.name]}".rstrip(".")
                if target in paths and target != name:
                    targets.add(target)
    return graph


def circles(graph: Mapping[str, set[str]]) -> list[frozenset[str]]:
    """Groups of modules that import one another, straight or through others."""
    # modules that reach each other are one circle: the strongly connected components, by search from every module
    below: dict[str, set[str]] = {}
    for start in graph:
        reached: set[str] = set()
        waiting = list(graph[start])
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += graph.get(name, ())
        below[start] = reached
    groups = set()
    for name, reached in below.items():
        group = frozenset({name, *(other for other in reached if name in below[other])})
        if len(group) > 1:
            groups.add(group)
    return list(groups)


def widest_face(root: Path) -> tuple[str, int]:
    """The package that offers most names, and their number."""
    sizes = {path.parent.name: len(stub_names(path.parent)) for path in (root / "src" / "assay").rglob("__init__.pyi")}
    return max(sizes.items(), key=itemgetter(1))


def words_of_manual(root: Path) -> int:
    """Words of the pages of docs, those of results apart."""
    docs = root / "docs"
    pages = set(docs.rglob("*.md")) - set((docs / RESULTS).rglob("*.md"))
    return sum(len(path.read_text("utf-8").split()) for path in pages)


def surface(root: Path) -> dict[str, str]:
    """Rows of the command line and of `assay.audit`."""
    folders = [root / "src", root / "lab" / "src", *root.glob("plugins/*/src")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders)), "ASSAY_CONFIG": ""}
    # another process, because a checkout given by --root has another `assay` than the one that is running
    command = [sys.executable, "-c", SURFACE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603  our own
    read = json.loads(done.stdout)
    own: dict[str, list[bool]] = {}
    for name, options in read["options"].items():
        own[name] = [hidden for option, hidden in options if option not in COMMON_OPTIONS | {"--help"}]
    product = {name: options for name, options in own.items() if not name.startswith("lab ")}

    def visible(commands: Mapping[str, list[bool]]) -> int:
        return Counter(chain.from_iterable(commands.values()))[False]

    return {
        "commands / of the laboratory": f"{len(product)} / {len(own) - len(product)}",
        "visible options of audit --help / of all commands": f"{visible({'audit': own['audit']})} / {visible(product)}",
        "options of --help-all": f"{sum(map(len, product.values()))}",
        "options of the laboratory": f"{visible(own) - visible(product)}",
        "parameters of assay.audit": f"{read['audit']}",
    }


def measurements(root: Path, sources: list[Module]) -> dict[str, str]:
    """The table of measurements, row by row."""
    packages = set(filter(None, map(attrgetter("package"), sources)))
    inside: list[frozenset[str]] = []
    for package in sorted(packages):
        inside += circles(import_graph(root, package))
    face, names = widest_face(root)
    public = faces(sources)
    deep, exempt = 0, list[str]()
    for module in sources:
        deep += sum(map(itemgetter(2), imports_across_packages(module, public)))
        exempt += [module.path] * len(list(wide_functions(module)))
    return {
        **surface(root),
        **routes.measurements(root),
        "source files": f"{len(sources)}",
        "import circles inside packages": f"{len(inside)}",
        **{f"  circle {number}": ", ".join(sorted(circle)) for number, circle in enumerate(inside, 1)},
        "names in the widest face": f"{names} ({face})",
        "words of the manual, results apart": f"{words_of_manual(root):,}",
        "deep imports across packages": f"{deep}",
        f"functions with more than {MOST_PARAMETERS} parameters": (
            f"{sum(not path.startswith(PARAMETERS_FREE) for path in exempt)}"
            f" (in {' and '.join(PARAMETERS_FREE)}, where each is an option: {len(exempt)})"
        ),
        "public names that two modules define": (
            f"{len(list(one_meaning(sources)))} (left out: constants, commands, functions of a protocol, and "
            f"{len(FACES_OF_A_CALL)} functions of the Python API named after the one that they call)"
        ),
        **densities(root),
    }


def densities(root: Path) -> dict[str, str]:
    """Rows on the statements: for each distribution its lines, and counts in 1,000 of them."""
    counts = {name: statements.total(root / name) for name in statements.LIMITS}

    def row(text: Callable[[statements.Density], str]) -> str:
        return " / ".join(map(text, counts.values()))

    return {
        f"code lines of {' / '.join(counts)}": row(lambda each: f"{each.lines:,}"),
        "code lines of api": f"{statements.total(root / 'src/assay/api').lines:,}",
        "comprehensions in 1,000 lines; nested ones": row(
            lambda each: f"{each.rate(each.comprehensions):.0f}; {each.nested_comprehensions}"
        ),
        "conditional expressions in 1,000 lines; nested ones": row(
            lambda each: f"{each.rate(each.conditionals):.0f}; {each.nested_conditionals}"
        ),
        "calls with four or more positional arguments": row(lambda each: f"{each.positional_calls}"),
        "comment lines per code line": row(lambda each: f"{100 * each.comments / each.lines:.1f} %"),
        f"functions above {statements.MOST_BRANCHES} branches, as radon counts; the most": row(
            lambda each: f"{each.branching}; {each.most_branches}"
        ),
    }


def main() -> int:
    """Print the table, or the violations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    sources = modules(arguments.root)
    if not arguments.check:
        for title, value in measurements(arguments.root, sources).items():
            print(f"{title:<55} {value}")
        return 0
    broken = list(violations(sources))
    for violation in broken:
        print(violation)
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
