"""Follow calls through `src/assay`: the way from `assay audit` to its report, and the places that name an option.

Both are read from the source alone, so that they are estimates: a method is followed where its class is named, and a
callable that is chosen at run time is not. An object is known to hold options where an annotation or its value says so.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

import statements

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Place = tuple[str, str]
"""Module, and the name of a function, a class or a method (`Class.method`) in it."""

START: Place = ("assay.cli.audit", "audit_command")
QUESTION = frozenset({"api", "cli", "datasets", "leakage", "reports", "scoring"})
"""Packages of the question that `assay audit` answers; foundations, as models and scores, serve every question."""
DEPTH = 4
"""Calls inside one another that are followed; deeper ones are the insides of the packages and not the way."""
OPTIONS = ("AuditSettings", "ScoreSelection")
"""Classes that declare the options of an audit."""


def offered_names(face: ast.Module) -> dict[str, str]:
    """Return name → part that the face of a package takes it from."""
    names: dict[str, str] = {}
    for node in face.body:
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: node.module or "" for alias in node.names}
    return names


@dataclass(frozen=True, slots=True)
class Sources:
    """All modules of the package.

    Attributes:
        trees: by name.
        offered: name of a package → name → part that its face takes it from.
        definitions: of functions, classes and methods.
    """

    trees: Mapping[str, ast.Module]
    offered: Mapping[str, Mapping[str, str]]
    definitions: Mapping[Place, Definition]

    @classmethod
    def below(cls, root: Path) -> "Sources":
        """Read `root/src/assay`."""
        base = root / "src"
        trees, offered, definitions = {}, {}, {}
        for path in sorted((base / "assay").rglob("*.py*")):
            name = ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
            if path.suffix == ".pyi":
                offered[name] = offered_names(ast.parse(path.read_text("utf-8")))
            elif path.suffix == ".py":
                trees[name] = ast.parse(path.read_text("utf-8"))
        for name, tree in trees.items():
            for node in tree.body:
                if isinstance(node, Definition):
                    definitions[name, node.name] = node
                if isinstance(node, ast.ClassDef):
                    methods = statements.nodes_of(node.body, ast.FunctionDef)
                    definitions |= {(name, f"{node.name}.{method.name}"): method for method in methods}
        return cls(trees, offered, definitions)

    def home(self, module: str, name: str) -> Place:
        """Return where a name that a module offers is defined."""
        # a face may take a name from another face
        while name in self.offered.get(module, {}):
            module = f"{module}.{self.offered[module][name]}"
        return module, name

    def imported(self, node: ast.AST) -> dict[str, Place]:
        """Return name → place of what stands in the imports below a node."""
        found = {}
        for statement in ast.walk(node):
            if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("assay"):
                for alias in statement.names:
                    found[alias.asname or alias.name] = self.home(str(statement.module), alias.name)
        return found

    def called(self, place: Place) -> Iterator[Place]:
        """Yield what a function calls, in the order of the text; of a class, what its `__post_init__` calls."""
        module, name = place
        node = self.definitions[place]
        if isinstance(node, ast.ClassDef):
            place = module, f"{name}.__post_init__"
            if place in self.definitions:
                yield from self.called(place)
            return
        names = self.imported(self.trees[module]) | self.imported(node)
        calls = statements.nodes_of(ast.walk(node), ast.Call)
        calls.sort(key=lambda call: (call.end_lineno or 0, call.end_col_offset or 0))  # of `f(g())` g runs first
        # `partial(f, …)` calls f, too
        for part in chain.from_iterable((*call.args[:1], call.func) for call in calls):
            if isinstance(part, ast.Name):
                target = names.get(part.id, (module, part.id))
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                owner = name.split(".")[0] if part.value.id in {"self", "cls"} else part.value.id
                home, owner = names.get(owner, (module, owner))
                target = home, f"{owner}.{part.attr}"
            else:
                continue
            if target in self.definitions:
                yield target


def way(sources: Sources) -> list[str]:
    """Return the folders of the functions that an audit runs through, in order, each stay in a folder once.

    Every function is entered once, where it is called first; the calls inside it follow before those behind it.
    """
    # a dict in place of a set: the order of entering is the way
    entered: dict[Place, None] = {}

    def enter(place: Place, depth: int) -> None:
        if place not in entered and place[0].split(".")[1] in QUESTION:
            entered[place] = None
            for target in sources.called(place) if depth < DEPTH else ():
                enter(target, depth + 1)

    enter(START, 0)
    folders = [module.split(".")[1] for module, _ in entered]
    return list(map(itemgetter(0), groupby(folders)))


def readers_of_options(sources: Sources) -> dict[str, set[str]]:
    """Return option of an audit → modules that read it, beside the one that declares it."""
    homes = {cls: module for module, cls in sources.definitions if cls in OPTIONS}
    fields = set()
    for cls, module in homes.items():
        for field in sources.definitions[module, cls].body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.target.id != "PANEL":
                fields.add((cls, field.target.id))
    readers: defaultdict[str, set[str]] = defaultdict(set)
    for (module, _), node in sources.definitions.items():
        kinds = _kinds(node)
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                cls = kinds.get(part.value.id, "")
                if (cls, part.attr) in fields and module != homes[cls]:
                    readers[part.attr].add(module)
    return {field: readers[field] for _, field in fields}


def _kinds(node: Definition) -> dict[str, str]:
    """Return name → class of options, of parameters and of variables that hold one."""
    texts = {}
    for part in ast.walk(node):
        if isinstance(part, ast.arg) and part.annotation:
            texts[part.arg] = ast.unparse(part.annotation)
        elif isinstance(part, ast.Assign):
            target, value = part.targets[0], part.value
            texts[ast.unparse(target)] = ast.unparse(value)
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                texts.update(zip(map(ast.unparse, target.elts), map(ast.unparse, value.elts), strict=False))
    kinds: dict[str, str] = {}
    for cls in OPTIONS:
        kinds |= {name: cls for name, text in texts.items() if cls in text}
    return kinds


def measurements(root: Path) -> dict[str, str]:
    """Return the rows of the table of measurements."""
    sources = Sources.below(root)
    stays = way(sources)
    readers = list(map(len, readers_of_options(sources).values()))
    # and the module that declares the option
    mean, most = 1 + sum(readers) / len(readers), 1 + max(readers)
    return {
        "way of an audit: stays in a folder / returns": f"{len(stays)} / {len(stays) - len(set(stays))}",
        "modules that an option of audit touches, mean / most": f"{mean:.1f} / {most}",
    }
