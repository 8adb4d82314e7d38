"""Java: locals and parameters; methods where every call can be followed; never fields, types, constants, components."""

# ruff: noqa: SIM905  a list of words reads best as words

from collections.abc import Iterable, Iterator, Mapping

from assay.code.parse.trees import Node, Tree
from assay.code.rename.bindings import METHOD, Bindings, Bound, Role, Symbol, bind_all, name_rules
from assay.languages import LANGUAGES

_CLASSES = frozenset(
    {"class_declaration", "interface_declaration", "enum_declaration", "record_declaration"}
    | {"annotation_type_declaration"}
)
_SUPERTYPES = ("superclass", "super_interfaces", "extends_interfaces")
_HARMLESS = frozenset(
    (
        "Object Comparator Runnable Callable Iterator Iterable Comparable Function BiFunction Supplier Consumer "
        "BiConsumer Predicate BiPredicate UnaryOperator BinaryOperator Cloneable Serializable AutoCloseable"
    ).split()
)
"""Supertypes without fields that could hide a local."""
_ANNOTATIONS = frozenset({"SuppressWarnings", "SafeVarargs", "Deprecated"})
_BY_ANNOTATION = {"Override": "overrides a method"}
_REFLECTION = frozenset(
    "getMethod getMethods getDeclaredMethod getDeclaredMethods getStackTrace getMethodName findVirtual findStatic "
    "findSpecial StackWalker getEnclosingMethod".split()
)


def _alone(node: Node) -> bool:
    """Return whether all methods of a class are in the text, except those that every object has."""
    return not node.of_kind(*_SUPERTYPES)


def _declarator(node: Node) -> Iterable[Bound]:
    return bind_all(node.fill("name"), _DECLARED.get(node.parent_kind, "variable"))


_DECLARED: Mapping[str, Role] = {
    "field_declaration": "field",
    "constant_declaration": "field",
    "spread_parameter": "parameter",
}
"""What a declarator declares, by the node around it; elsewhere a variable."""


def _parameter(node: Node) -> Iterable[Bound]:
    # a component of a record names its field, its accessor and a parameter at once (JLS 8.10)
    of_record = node.parent is not None and node.parent.parent_kind == "record_declaration"
    return bind_all(node.fill("name"), "field" if of_record else "parameter")


def _for_each(node: Node) -> Iterable[Bound]:
    # only the body has it in scope (JLS 14.14.2): in what is looped over, the name means something else
    return bind_all(node.fill("name"), "variable", since=(node.child("body") or node).start)


def _last(node: Node) -> Iterable[Bound]:
    """Bind the name behind a type in a pattern."""
    return bind_all([leaf for leaf in node.children[-1:] if leaf.kind == "identifier"], "variable")


def _import(node: Node) -> Iterable[Bound]:
    for path in node.of_kind("scoped_identifier"):
        yield from bind_all(path.fill("name"), "import", "file")


def _inherits(tree: Tree, node: Node) -> bool:
    """Return whether a class has a supertype that may have fields or methods of any name."""
    above = node.of_kind(*_SUPERTYPES) if node.kind in _CLASSES else _extended(node)
    return not _HARMLESS.issuperset(_type_names(tree, above))


def _extended(node: Node) -> list[Node]:
    """Return the type that an anonymous class extends; nothing for another node."""
    if node.kind != "class_body" or node.parent is None or node.parent.kind != "object_creation_expression":
        return []
    return node.parent.fill("type")


def _type_names(tree: Tree, clauses: Iterable[Node]) -> Iterator[str]:
    """Yield the types that clauses name, without their arguments."""
    waiting = [*clauses]
    while waiting:
        node = waiting.pop()
        if node.kind in {"type_identifier", "scoped_type_identifier", "generic_type"}:
            yield _type_name(tree, node)
        else:
            waiting += reversed(node.children)


def _type_name(tree: Tree, node: Node) -> str:
    return tree.of(node).split("<")[0].strip().rpartition(".")[2]


def _kept_names(bindings: Bindings) -> Mapping[str, str]:
    """Return methods that code outside of the text may call or override, and names that may also mean a field."""
    kept: dict[str, str] = {}
    reflects = not _REFLECTION.isdisjoint(bindings.words({"identifier", "type_identifier"}))
    classes = [node for node in bindings.nodes if node.kind in _CLASSES and _alone(node)]
    of_text = {bindings.tree.part(node, "name") for node in classes}
    fields = frozenset(bindings.names_of("field"))
    for symbol in bindings.symbols:
        name = symbol.name
        if symbol.space != METHOD:
            if name in fields and any(bound.node.parent_kind in _PATTERNS for bound in symbol.bound):
                kept[name] = "a field of that name shows where the pattern does not match"
        elif name in LANGUAGES["java"].special_methods:
            kept[f"{name}()"] = "a name that Java looks for"
        elif reflects:
            kept[f"{name}()"] = "the program sees the names of its methods"
        elif reason := _open(bindings, symbol) or _followed(bindings, symbol, of_text):
            kept[f"{name}()"] = reason
    return kept


_PATTERNS = frozenset({"instanceof_expression", "type_pattern", "record_pattern_component"})


_AROUND_METHODS = _CLASSES | {"class_body"}


def _open(bindings: Bindings, symbol: Symbol) -> str | None:
    """Return why code outside of the text may call a method, or None."""
    for bound in symbol.bound:
        method = bound.node.parent or bound.node
        owner = next((node for node in method.around() if node.kind in _AROUND_METHODS), None)
        modifiers = next(iter(method.of_kind("modifiers")), method)
        for note in modifiers.of_kind("annotation", "marker_annotation"):
            name = bindings.tree.part(note, "name")
            if name not in _ANNOTATIONS:
                return _BY_ANNOTATION.get(name, "an annotation may look at the name")
        if modifiers.of_kind("native", "abstract"):
            return "implemented elsewhere"
        if owner is None or modifiers.of_kind("private"):
            continue
        if owner.kind == "class_body":
            owner = owner.parent
        if owner is None or owner.kind != "class_declaration":
            return "others may implement or override it"
        if owner.child("superclass") or owner.child("interfaces"):
            return "may override a method of a supertype"
    return None


def _followed(bindings: Bindings, symbol: Symbol, of_text: set[str]) -> str | None:
    """Return why a call or reference may mean another method, or None."""
    for use in symbol.uses:
        place = use.parent
        if place is None:
            continue
        # a method has no type here: its calls are known only where nothing else can be meant
        on: Node | None = place.children[0]
        if place.kind == "method_invocation":
            on = place.child("object")
        if on is None:
            if any(_inherits(bindings.tree, node) or _extended(node) for node in use.around()):
                return "a class may inherit a method of that name"
        elif on.kind != "this" and not _ours(bindings, on, of_text):
            return "is called on what may be an object of another class"
    return None


def _ours(bindings: Bindings, node: Node, of_text: set[str]) -> bool:
    """Return whether an expression certainly is an object of a class of the text, or such a class itself."""
    # a call can be followed where its object is certainly of a class of the text
    while node.kind == "parenthesized_expression" and len(node.children) > 1:
        node = node.children[1]
    if node.kind == "object_creation_expression":
        created = node.child("type")
        return created is not None and _type_name(bindings.tree, created) in of_text
    if node.kind == "field_access":  # Outer.this
        return (node.child("field") or node).kind == "this"
    if node.kind != "identifier":
        return False
    symbol = bindings.lookup(bindings.tree.of(node), bindings.root.at(node.start), node.start)
    if symbol is None:
        return bindings.tree.of(node) in of_text
    types = {_declared_type(bindings.tree, bound.node) for bound in symbol.bound}
    return types <= of_text


def _declared_type(tree: Tree, name: Node) -> str:
    """Return the class that a variable is declared with; "" where it is not a plain class."""
    declaration = name.parent
    if declaration and declaration.child("dimensions"):
        return ""
    if declaration and declaration.kind == "variable_declarator":
        declaration = declaration.parent
    declared = declaration and declaration.kind in _DECLARATIONS and declaration.child("type")
    if not declared or declared.kind not in {"type_identifier", "generic_type"}:
        return ""
    return _type_name(tree, declared)


_DECLARATIONS = frozenset({"local_variable_declaration", "field_declaration", "formal_parameter"}) | {
    "enhanced_for_statement"
}


def _names_method(node: Node) -> bool:
    place = node.parent
    if place is None:
        return False
    if place.kind == "method_reference":
        return node is not place.children[0]
    return node.role == "name" and place.kind in {"method_invocation", "method_declaration"}


JAVA = name_rules(
    "java",
    {
        "variable_declarator": _declarator,
        "formal_parameter": _parameter,
        "enhanced_for_statement": _for_each,
        "inferred_parameters": lambda node: bind_all(node.of_kind("identifier"), "parameter"),
        "type_pattern": _last,
        "record_pattern_component": _last,
        "import_declaration": _import,
    },
    methods=_names_method,
    inherits=_inherits,
    kept=_kept_names,
)
