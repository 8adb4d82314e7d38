"""JavaScript: variables, parameters and functions; never properties, classes, imports, exports, keys taken by name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from assay.code.parse.trees import Node, Tree
from assay.code.rename.bindings import Bindings, BindingTarget, Bound, Role, bind_all, name_rules

_VALUES_WITH_NAMES = frozenset({"arrow_function", "function_expression", "generator_function"})
_PATTERNS = frozenset({"object_pattern", "array_pattern", "rest_pattern", "assignment_pattern", "pair_pattern"})
_GLOBAL_OBJECTS = frozenset({"globalThis", "window", "global", "self"})
_SEEN = frozenset({"name", "toString", "displayName", "toSource"})
_STACK = frozenset({"callee", "caller", "captureStackTrace", "prepareStackTrace", "stack"})


def names_in(patterns: Sequence[Node]) -> Iterator[Node]:
    """Yield the names that patterns bind, in order; without recursion, since patterns can be deeply nested."""
    waiting = [*reversed(patterns)]
    while waiting:
        node = waiting.pop()
        if node.kind in {"identifier", "shorthand_property_identifier_pattern"}:
            yield node
        elif node.kind in {"assignment_pattern", "object_assignment_pattern"}:
            waiting += reversed(node.fill("left"))
        elif node.kind == "pair_pattern":
            waiting += reversed(node.fill("value"))
        elif node.kind in _PATTERNS:
            waiting += reversed(node.children)


def _declarator(node: Node) -> Iterable[Bound]:
    # `var` belongs to the function around it, `let` and `const` to the block
    target: BindingTarget = "function" if node.parent_kind == "variable_declaration" else "here"
    value = (node.child("value") or node).kind
    role: Role = "function" if value in _VALUES_WITH_NAMES else "variable"
    if node.parent and _exported(node.parent):
        role = "export"
    elif value == "class":
        role = "type"
    return bind_all(names_in(node.fill("name")), role, target)


def _declaration(node: Node) -> Iterable[Bound]:
    """Bind a function's name in the whole function around it: outside of strict mode, blocks do not limit it."""
    role: Role = "export" if _exported(node) else "function"
    return bind_all(node.fill("name"), role, "function")


def _exported(node: Node) -> bool:
    return node.parent_kind == "export_statement"


def _parameters(node: Node) -> Iterable[Bound]:
    return bind_all(names_in(node.children), "parameter")


def _catch(node: Node) -> Iterable[Bound]:
    return bind_all(names_in(node.fill("parameter")), "variable")


def _for_in(node: Node) -> Iterable[Bound]:
    kind = node.child("kind")
    if kind is None:  # for (x in a): an assignment
        return []
    target: BindingTarget = "function" if kind.kind == "var" else "here"
    return bind_all(names_in(node.fill("left")), "variable", target)


def _imported(node: Node) -> Iterable[Bound]:
    if node.kind == "import_specifier":
        return [Bound(node.child("alias") or node.children[0], "import", "file")]
    return bind_all(node.of_kind("identifier"), "import", "file")


def _refusal(tree: Tree) -> str | None:
    for node in tree.root.walk():
        if node.kind == "with_statement":
            return "sees its own names: uses with"
        if node.kind in _CALLED:
            called = tree.part(node, _CALLED[node.kind])
            if called == "Function" or (called == "eval" and node.kind == "call_expression"):
                return f"sees its own names: uses {called}()"
    return None


_CALLED = {"call_expression": "function", "new_expression": "constructor"}
"""Kind of a node → its field that says what is called."""


def _kept_names(bindings: Bindings) -> Mapping[str, str]:
    properties = [node for node in bindings.nodes if node.kind == "property_identifier"]
    # in the order of the text, which the reasons keep
    of_file = dict.fromkeys(map(itemgetter(1), bindings.root.symbols))
    kept: dict[str, str] = {}
    if not _STACK.isdisjoint(map(bindings.tree.of, properties)):
        kept |= dict.fromkeys(bindings.names_of("function"), "the program may see the names of its functions")
    # names of a script are properties of the global object, which these words reach
    if bindings.free() & _GLOBAL_OBJECTS:
        kept |= dict.fromkeys(of_file, "the global object shows the names of the script")
    for leaf in properties:
        on = leaf.parent and leaf.parent.child("object")
        if on is None or leaf.parent_kind != "member_expression":
            continue
        name = bindings.tree.of(leaf)
        if on.kind == "identifier" and name in _SEEN:
            symbol = bindings.lookup(bindings.tree.of(on), bindings.root.at(on.start), on.start)
            if symbol and "function" in symbol.roles:
                kept[symbol.name] = "the program looks at the name of the function"
        elif on.kind == "this" and name in of_file:
            kept[name] = "may be read as a property of the global object"
    return kept


JAVASCRIPT = name_rules(
    "javascript",
    {
        "variable_declarator": _declarator,
        **dict.fromkeys(("function_declaration", "generator_function_declaration"), _declaration),
        "formal_parameters": _parameters,
        "catch_clause": _catch,
        "for_in_statement": _for_in,
        **dict.fromkeys(("import_clause", "namespace_import", "import_specifier"), _imported),
    },
    refusal=_refusal,
    kept=_kept_names,
)
