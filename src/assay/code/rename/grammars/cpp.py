"""C++: what C renames, and captures, structured bindings, loops over ranges; never members, templates' parameters."""

from collections.abc import Iterable, Mapping

from assay.code.parse.trees import WORD, Node, Tree
from assay.code.rename.bindings import Bindings, Bound, bind_all, name_rules
from assay.code.rename.grammars import c

_CLASSES = frozenset({"class_specifier", "struct_specifier", "union_specifier"})


def _declaration(node: Node) -> Iterable[Bound]:
    """Bind as in C; within a function, `string s(a);` is a variable: the grammar cannot know that a is not a type."""
    for bound in c.bound_by_declaration(node):
        if bound.role == "prototype" and _argument_types(bound.node):
            yield Bound(bound.node, "variable")
        else:
            yield bound


def _argument_types(name: Node) -> list[Node]:
    """Return types without names between the parentheses behind a name that is declared in a block."""
    declarator = name.parent
    if declarator is None or declarator.kind != "function_declarator" or declarator.parent is None:
        return []
    listed = declarator.child("parameters")
    types: list[Node] = []
    if listed and declarator.parent.parent_kind in _IN_BLOCK:
        for parameter in listed.of_kind("parameter_declaration"):
            types += parameter.fill("type") * (not parameter.child("declarator"))
    return types


_IN_BLOCK = frozenset({"compound_statement", "for_statement", "case_statement", "labeled_statement"})


def _range(node: Node) -> Iterable[Bound]:
    # in `for (auto x : x)` the second x is that of outside: the new one begins with the body
    return bind_all(c.declared_names(node), "variable", since=(node.child("body") or node).start)


def _template_parameter(node: Node) -> Iterable[Bound]:
    leaves = [*node.fill("name"), *node.of_kind("type_identifier", "identifier")]
    return bind_all(leaves[:1], "template parameter")


def _used(node: Node) -> Iterable[Bound]:
    """Bind the last name of `using std::cout`."""
    for path in node.of_kind("qualified_identifier"):
        leaves = [leaf for leaf in path.walk() if leaf.kind == "identifier"]
        yield from bind_all(leaves[-1:], "import")


def _inherits(_tree: Tree, node: Node) -> bool:
    """Return whether a node is a class with bases, or a member that is defined outside of its class."""
    if node.kind in _CLASSES:
        return bool(node.of_kind("base_class_clause"))
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
    qualified = set()
    for node in bindings.nodes:
        if node.kind == "identifier" and node.parent_kind == "qualified_identifier":
            qualified.add(bindings.tree.of(node))
    hides_a_declaration = not _AROUND_NAMES.isdisjoint(WORD.findall(bindings.tree.hidden_text))
    values = {id(node) for node, symbol in bindings.leaves if symbol and "type" not in symbol.roles}
    for symbol in bindings.symbols:
        for bound in symbol.bound:
            types = _argument_types(bound.node)
            if types and values.isdisjoint(map(id, types)):
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
