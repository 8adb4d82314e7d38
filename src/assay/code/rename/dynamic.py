"""Ways in which a Python program sees its own names, so that renaming would change its behaviour."""

# ruff: noqa: SIM905  a list of words reads best as words

import ast
from collections.abc import Collection
from operator import attrgetter

from assay.code.rename.python_scopes import Scopes

_NAMESPACES = frozenset({"eval", "exec", "locals", "globals", "execfile"})
_NAMESPACES_WITHOUT_ARGUMENT = frozenset({"vars", "dir"})
_LOOKING_AT_CODE = frozenset("inspect doctest timeit cProfile profile pdb dis trace numexpr symtable".split())
_FRAMES = frozenset(
    "_getframe f_locals f_globals f_code f_back gi_frame cr_frame tb_frame __code__ __globals__ __kwdefaults__ "
    "__annotations__ co_varnames co_names co_freevars get_type_hints getfullargspec getcallargs currentframe".split()
)


def dynamic_names(scopes: Scopes) -> str | None:
    """Return why no name of the text may change, or None."""
    # `vars(x)` and `dir(x)` look at x; without an argument they show the local names
    looking = {id(node.func) for node in scopes.nodes if isinstance(node, ast.Call) and node.args}
    for node in scopes.nodes:
        reason = None
        if isinstance(node, ast.Name):
            reason = _named(node, scopes.free, with_arguments=id(node) in looking)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            reason = _imported(node)
        elif isinstance(node, ast.Attribute) and node.attr in _FRAMES:
            reason = f"uses {node.attr}"
        elif isinstance(node, ast.Call):
            reason = _query(node)
        if reason:
            return f"sees its own names: {reason}"
    return None


def _named(node: ast.Name, free: Collection[str], *, with_arguments: bool) -> str | None:
    shows_names = node.id in _NAMESPACES or (node.id in _NAMESPACES_WITHOUT_ARGUMENT and not with_arguments)
    if node.id in free and shows_names:
        return f"uses {node.id}()"
    if node.id in _LOOKING_AT_CODE:
        return f"uses {node.id}, which looks at code"
    return None


def _imported(node: ast.Import | ast.ImportFrom) -> str | None:
    if isinstance(node, ast.Import):
        used, packages = [], {alias.name.split(".")[0] for alias in node.names}
    else:
        used, packages = list(map(attrgetter("name"), node.names)), {node.module or ""}
    # the first by the alphabet, so that the reason is the same in every run
    looking = sorted(_LOOKING_AT_CODE & packages)
    if looking:
        return f"imports {looking[0]}, which looks at code"
    return next(map("uses {}".format, filter(_FRAMES.__contains__, used)), None)


def _query(node: ast.Call) -> str | None:
    """Return why a call evaluates a string as code, or None.

    Table libraries evaluate strings with the variables of the caller: df.query("a > @limit"), pd.eval("a + b").
    """
    if isinstance(node.func, ast.Attribute) and node.func.attr in {"query", "eval"} and node.args:
        root = node.func.value
        quoted = any(isinstance(child, ast.Constant) and "@" in str(child.value) for child in ast.walk(node.args[0]))
        if quoted or (node.func.attr == "eval" and isinstance(root, ast.Name) and root.id in {"pd", "pandas", "ne"}):
            return f"evaluates a string with {node.func.attr}()"
    return None


def opaque_module(scopes: Scopes) -> str | None:
    """Return why the names of the module may be looked up in ways that cannot be seen, or None."""
    for node in scopes.nodes:
        # each of these gives the module, or code that is not here, names that no scope of the text shows
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            return "a star import may bind the same name"
        if isinstance(node, ast.Attribute) and node.attr in {"modules", "import_module"}:
            return f"{node.attr} may reach the module"
        if isinstance(node, ast.Import) and "__main__" in map(attrgetter("name"), node.names):
            return "__main__ reaches the module"
        if isinstance(node, ast.Name) and node.id == "__import__":
            return "__import__ may reach the module"
    return None


def opaque_names(scopes: Scopes) -> str | None:
    """Return why the names of functions may be read by the program, or None."""
    for node in scopes.nodes:
        if isinstance(node, ast.Attribute) and node.attr in {"__name__", "__qualname__"}:
            return f"{node.attr} is read"
    return None


def reads_docstrings(scopes: Scopes) -> bool:
    """Return whether the program may see its own docstrings."""
    return "__doc__" in scopes.free or any(
        isinstance(node, ast.Attribute) and node.attr == "__doc__" for node in scopes.nodes
    )
