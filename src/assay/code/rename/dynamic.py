"""What lets a Python program see its own names, so that renaming would change what it does."""

import ast

from assay.code.rename.python_scopes import Scoped

_NAMESPACES = frozenset({"eval", "exec", "locals", "globals", "execfile"})
_NAMESPACES_WITHOUT_ARGUMENT = frozenset({"vars", "dir"})
_LOOKING_AT_CODE = frozenset(
    {"inspect", "doctest", "timeit", "cProfile", "profile", "pdb", "dis", "trace", "numexpr", "symtable"}
)
_FRAMES = frozenset(
    {
        *("_getframe", "f_locals", "f_globals", "f_code", "f_back", "gi_frame", "cr_frame", "tb_frame"),
        *("__code__", "__globals__", "__kwdefaults__", "__annotations__", "co_varnames", "co_names", "co_freevars"),
        *("get_type_hints", "getfullargspec", "getcallargs", "currentframe"),
    }
)


def dynamic_names(found: Scoped) -> str | None:
    """Why no name of the text may change, or None."""
    bare = {id(one.func) for one in found.nodes if isinstance(one, ast.Call) and one.args}
    for one in found.nodes:
        reason = None
        if isinstance(one, ast.Name) and one.id in found.free:
            reason = _free_name(one, with_arguments=id(one) in bare)
        elif isinstance(one, ast.Name) and one.id in _LOOKING_AT_CODE:
            reason = f"uses {one.id}, which looks at code"
        elif isinstance(one, ast.Import):
            looking = sorted(_LOOKING_AT_CODE & {alias.name.split(".")[0] for alias in one.names})
            reason = f"imports {looking[0]}, which looks at code" if looking else None
        elif isinstance(one, ast.ImportFrom) and one.module in _LOOKING_AT_CODE:
            reason = f"imports {one.module}, which looks at code"
        elif isinstance(one, ast.ImportFrom):
            reason = next((f"uses {alias.name}" for alias in one.names if alias.name in _FRAMES), None)
        elif isinstance(one, ast.Attribute) and one.attr in _FRAMES:
            reason = f"uses {one.attr}"
        elif isinstance(one, ast.Call):
            reason = _query(one)
        if reason:
            return f"sees its own names: {reason}"
    return None


def _free_name(node: ast.Name, *, with_arguments: bool) -> str | None:
    if node.id in _NAMESPACES or (node.id in _NAMESPACES_WITHOUT_ARGUMENT and not with_arguments):
        return f"uses {node.id}()"
    if node.id in _LOOKING_AT_CODE:
        return f"uses {node.id}, which looks at code"
    return None


def _query(node: ast.Call) -> str | None:
    """Table libraries evaluate strings with the variables of the caller: df.query("a > @limit"), pd.eval("a + b")."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in {"query", "eval"} and node.args:
        root = node.func.value
        quoted = any(isinstance(one, ast.Constant) and "@" in str(one.value) for one in ast.walk(node.args[0]))
        if quoted or (node.func.attr == "eval" and isinstance(root, ast.Name) and root.id in {"pd", "pandas", "ne"}):
            return f"evaluates a string with {node.func.attr}()"
    return None


def opaque_module(found: Scoped) -> str | None:
    """Why the names of the module may be looked up in ways that cannot be seen, or None."""
    for one in found.nodes:
        if isinstance(one, ast.ImportFrom) and any(alias.name == "*" for alias in one.names):
            return "a star import may bind the same name"
        if isinstance(one, ast.Attribute) and one.attr in {"modules", "import_module"}:
            return f"{one.attr} may reach the module"
        if isinstance(one, ast.Import) and any(alias.name == "__main__" for alias in one.names):
            return "__main__ reaches the module"
        if isinstance(one, ast.Name) and one.id == "__import__":
            return "__import__ may reach the module"
    return None


def opaque_names(found: Scoped) -> str | None:
    """Why the names of functions may be looked at, or None."""
    for one in found.nodes:
        if isinstance(one, ast.Attribute) and one.attr in {"__name__", "__qualname__"}:
            return f"{one.attr} is read"
    return None


def reads_docstrings(found: Scoped) -> bool:
    """Whether the program may see its own docstrings."""
    return "__doc__" in found.free or any(
        isinstance(one, ast.Attribute) and one.attr == "__doc__" for one in found.nodes
    )
