"""JavaScript: variables, parameters and functions; never properties, classes, imports, exports, keys taken by name."""

from collections.abc import Iterable, Iterator, Mapping

from assay.code.parse.trees import Node, Tree
from assay.code.rename.bindings import Bindings, BindingTarget, Bound, Role, name_rules

_VALUES_WITH_NAMES = frozenset({"arrow_function", "function_expression", "generator_function"})
_PATTERNS = frozenset({"object_pattern", "array_pattern", "rest_pattern", "assignment_pattern", "pair_pattern"})
_GLOBAL_OBJECTS = frozenset({"globalThis", "window", "global", "self"})
_SEEN = frozenset({"name", "toString", "displayName", "toSource"})
_STACK = frozenset({"callee", "caller", "captureStackTrace", "prepareStackTrace", "stack"})


def names_of(pattern: Node) -> Iterator[Node]:
    """Yield the names that a pattern binds, in order; without recursion, since patterns can be deeply nested."""
    waiting = [pattern]
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
    declaration = node.parent
    # `var` belongs to the function around it, `let` and `const` to the block
    target: BindingTarget = "function" if declaration and declaration.kind == "variable_declaration" else "here"
    value = node.child("value")
    role: Role = "function" if value and value.kind in _VALUES_WITH_NAMES else "variable"
    if _exported(declaration):
        role = "export"
    elif value and value.kind == "class":
        role = "type"
    return [Bound(name, role, target) for child in node.fill("name") for name in names_of(child)]


def _declaration(node: Node) -> Iterable[Bound]:
    """Bind a function's name in the whole function around it: outside of strict mode, blocks do not limit it."""
    role: Role = "export" if _exported(node) else "function"
    return [Bound(child, role, "function") for child in node.fill("name")]


def _exported(node: Node | None) -> bool:
    return node is not None and node.parent is not None and node.parent.kind == "export_statement"


def _parameters(node: Node) -> Iterable[Bound]:
    return [Bound(name, "parameter") for child in node.children for name in names_of(child)]


def _catch(node: Node) -> Iterable[Bound]:
    return [Bound(name, "variable") for child in node.fill("parameter") for name in names_of(child)]


def _for_in(node: Node) -> Iterable[Bound]:
    kind = node.child("kind")
    if kind is None:  # for (x in a): an assignment
        return []
    target: BindingTarget = "function" if kind.kind == "var" else "here"
    return [Bound(name, "variable", target) for child in node.fill("left") for name in names_of(child)]


def _imported(node: Node) -> Iterable[Bound]:
    if node.kind == "import_specifier":
        return [Bound(node.child("alias") or node.children[0], "import", "file")]
    return [Bound(child, "import", "file") for child in node.of_kind("identifier")]


def _refusal(tree: Tree) -> str | None:
    for node in tree.root.walk():
        if node.kind == "with_statement":
            return "sees its own names: uses with"
        if node.kind == "call_expression":
            called = tree.of(node.child("function") or node)
            if called == "eval":
                return "sees its own names: uses eval()"
            if called == "Function":
                return "sees its own names: uses Function()"
        if node.kind == "new_expression" and tree.of(node.child("constructor") or node) == "Function":
            return "sees its own names: uses Function()"
    return None


def _kept_names(bindings: Bindings) -> Mapping[str, str]:
    properties = [node for node in bindings.nodes if node.kind == "property_identifier"]
    spelled = {bindings.tree.of(name) for name in properties}
    of_file = {symbol.name for symbol in bindings.symbols if symbol.scope.kind == "file"}
    kept = {}
    if spelled & _STACK:
        reason = "the program may see the names of its functions"
        kept.update({symbol.name: reason for symbol in bindings.symbols if "function" in symbol.roles})
    # names of a script are properties of the global object, which these words reach
    if bindings.free() & _GLOBAL_OBJECTS:
        reason = "the global object shows the names of the script"
        kept.update({symbol.name: reason for symbol in bindings.symbols if symbol.scope.kind == "file"})
    for name in properties:
        place = name.parent
        on = place.child("object") if place and place.kind == "member_expression" else None
        if on is None:
            continue
        if on.kind == "identifier" and bindings.tree.of(name) in _SEEN:
            symbol = bindings.lookup(bindings.tree.of(on), bindings.root.at(on.start), on.start)
            if symbol and "function" in symbol.roles:
                kept[symbol.name] = "the program looks at the name of the function"
        elif on.kind == "this" and bindings.tree.of(name) in of_file:
            kept[bindings.tree.of(name)] = "may be read as a property of the global object"
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
