"""C++: what C renames, and captures, structured bindings, loops over ranges; never members, templates' parameters."""

from collections.abc import Iterable, Mapping

from assay.code.parse.trees import WORD, Node, Tree
from assay.code.rename.bindings import Bindings, Bound, name_rules
from assay.code.rename.grammars import c

_CLASSES = frozenset({"class_specifier", "struct_specifier", "union_specifier"})


def _declaration(node: Node) -> Iterable[Bound]:
    """Bind as in C; within a function, `string s(a);` is a variable: the grammar cannot know that a is not a type."""
    for bound in c.declaration(node):
        if bound.role == "prototype" and _argument_types(bound.node):
            yield Bound(bound.node, "variable")
        else:
            yield bound


def _argument_types(name: Node) -> list[Node]:
    """Return types without names between the parentheses behind a name that is declared in a block."""
    declarator = name.parent
    listed = declarator.child("parameters") if declarator and declarator.kind == "function_declarator" else None
    declared = declarator.parent if declarator else None
    if listed is None or declared is None or declared.parent is None or declared.parent.kind not in _IN_BLOCK:
        return []
    listed_parameters = listed.of_kind("parameter_declaration")
    unnamed = [parameter for parameter in listed_parameters if parameter.child("declarator") is None]
    return [leaf for parameter in unnamed for leaf in parameter.fill("type")]


_IN_BLOCK = frozenset({"compound_statement", "for_statement", "case_statement", "labeled_statement"})


def _range(node: Node) -> Iterable[Bound]:
    body = node.child("body")
    # in `for (auto x : x)` the second x is that of outside: the new one begins with the body
    since = body.start if body else None
    return [
        Bound(name, "variable", since=since)
        for child in node.fill("declarator")
        for name, _f in c.declared_names(child)
    ]


def _template_parameter(node: Node) -> Iterable[Bound]:
    leaves = [*node.fill("name"), *node.of_kind("type_identifier", "identifier")]
    return [Bound(leaf, "template parameter") for leaf in leaves[:1]]


def _used(node: Node) -> Iterable[Bound]:
    """Bind the last name of `using std::cout`."""
    for path in node.of_kind("qualified_identifier"):
        leaves = [node for node in path.walk() if node.kind == "identifier"]
        yield from (Bound(leaf, "import") for leaf in leaves[-1:])


def _inherits(_tree: Tree, node: Node) -> bool:
    """Return whether a node is a class with bases, or a member that is defined outside of its class."""
    if node.kind in _CLASSES:
        return any(child.kind == "base_class_clause" for child in node.children)
    if node.kind == "function_definition":
        declared = node.child("declarator")
        while declared and declared.kind != "qualified_identifier":
            declared = declared.child("declarator") or next(
                (child for child in declared.children if child.kind.endswith("_declarator")), None
            )
        return declared is not None
    return False


_AROUND_NAMES = frozenset({"extern", "class", "struct", "union"})


def _kept_names(bindings: Bindings) -> Mapping[str, str]:
    kept = dict(c.kept_names(bindings))
    # `A::name` reaches a name of the file past every scope
    qualified = {
        bindings.tree.of(node)
        for node in bindings.nodes
        if node.kind == "identifier" and node.parent and node.parent.kind == "qualified_identifier"
    }
    hides_a_declaration = not _AROUND_NAMES.isdisjoint(WORD.findall(bindings.tree.hidden_text))
    values = {id(node) for node, symbol in bindings.leaves if symbol and "type" not in symbol.roles}
    for symbol in bindings.symbols:
        for bound in symbol.bound:
            types = _argument_types(bound.node)
            if types and not any(id(leaf) in values for leaf in types):
                kept[symbol.name] = "may be a function that is declared here"
        if symbol.scope.kind == "file" and symbol.name in qualified:
            kept[symbol.name] = "is used with a qualifier"
        elif symbol.scope.kind == "file" and hides_a_declaration:
            kept[symbol.name] = "may be a member, or defined for another language, where the text does not parse"
    return kept


CPP = name_rules(
    "cpp",
    {
        **c.BINDERS,
        "declaration": _declaration,
        "field_declaration": c.declarator_binder("field"),
        **dict.fromkeys(("optional_parameter_declaration", "variadic_parameter_declaration"), c.parameter),
        "for_range_loop": _range,
        "type_parameter_declaration": _template_parameter,
        "optional_type_parameter_declaration": _template_parameter,
        "variadic_type_parameter_declaration": _template_parameter,
        "using_declaration": _used,
    },
    opens=c.opens_scope,
    inherits=_inherits,
    refusal=c.refusal,
    kept=_kept_names,
)
