"""C: variables, parameters and functions; never members, tags, types, macros, enumerators, or what a macro names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from operator import attrgetter, methodcaller

from assay.code.parse.trees import Node, Tree
from assay.code.rename.bindings import Binder, Bindings, Bound, Role, bind_all, name_rules

_DEFINITIONS = frozenset({"function_definition", "lambda_expression", "catch_clause", "field_declaration"})
_WRAPPED = frozenset(
    {"parenthesized_declarator", "reference_declarator", "variadic_declarator", "structured_binding_declarator"}
    | {"attributed_declarator"}
)
_SEES_NAMES = frozenset({"__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"})
_HIDDEN_MACRO = re.compile(r"#[ \t]*define[ \t]+(\w+)\(")


def declared(node: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the names that the declarators of a node declare, and whether each is that of a function."""
    # a declarator of C is read from the inside out: of `int *(*f)(int)` the name stands innermost
    waiting = [(node, False)]
    while waiting:
        node, function = waiting.pop()
        if node.kind in {"identifier", "field_identifier", "type_identifier"}:
            yield node, function
            continue
        if node.kind in _WRAPPED:
            inner = [child for child in node.children if child.role in {"", "declarator"}]
            function &= node.kind == "parenthesized_declarator"
        else:
            inner, function = node.fill("declarator"), node.kind == "function_declarator"
        waiting += zip(reversed(inner), repeat(function))


def declared_names(node: Node) -> Iterator[Node]:
    """Yield the names that the declarators of a node declare."""
    for name, _function in declared(node):
        yield name


def owner(node: Node) -> Node | None:
    """Return the node that the parameters of a declarator belong to."""
    # the list of parameters hangs below the declarators, and belongs to what they declare
    return next((around for around in node.around() if not around.kind.endswith("_declarator")), None)


def opens_scope(node: Node) -> bool:
    """Return whether a list of parameters has a scope of its own: in a declaration; a definition shares its own."""
    belongs = owner(node)
    return belongs is None or node.kind != "parameter_list" or belongs.kind not in _DEFINITIONS - {"field_declaration"}


def bound_by_definition(node: Node) -> Iterable[Bound]:
    """Bind a function's name, outside of its scope."""
    role: Role = "method" if _in_class(node) else "function"
    return bind_all(declared_names(node), role, "outer")


def bound_by_declaration(node: Node) -> Iterable[Bound]:
    """Bind variables, and functions that are only declared."""
    outside = any(map(methodcaller("of_kind", "extern"), node.of_kind("storage_class_specifier")))
    for name, function in declared(node):
        role: Role = "prototype" if function else "variable"
        if _in_class(node):
            role = "method"
        elif outside:
            role = "extern"
        yield Bound(name, role)


def _in_class(node: Node) -> bool:
    around = next((outer for outer in node.around() if outer.kind != "template_declaration"), None)
    return around is not None and around.kind == "field_declaration_list"


def parameters(node: Node) -> Iterable[Bound]:
    """Bind parameters without types, as before 1989."""
    return bind_all(node.of_kind("identifier"), "parameter")


def parameter(node: Node) -> Iterable[Bound]:
    """Bind a parameter with its type."""
    role: Role = "template parameter" if node.parent_kind == "template_parameter_list" else "parameter"
    for name, function in declared(node):
        yield Bound(name, "macro" if function else role)  # UNUSED(name), not a function


def declarator_binder(role: Role) -> Binder:
    """Return a binder of all names in the declarators of a node."""
    return lambda node: bind_all(declared_names(node), role)


def kept_names(bindings: Bindings) -> Mapping[str, str]:
    """Return functions whose names the program sees, arguments that a macro spells out, ambiguous declarations."""
    kept: dict[str, str] = {}
    text = bindings.tree
    if bindings.free() & _SEES_NAMES:
        kept |= dict.fromkeys(bindings.names_of("function"), "the program sees the names of its functions")
    spelling = _spelling_macros(bindings)
    for node in bindings.nodes:
        if node.kind == "call_expression" and text.part(node, "function") in spelling:
            for argument in (node.child("arguments") or node).walk():
                if not argument.children:
                    kept[text.of(argument)] = "a macro may spell it out"
    for symbol in bindings.symbols:
        declaration = min(map(attrgetter("node.start"), symbol.bound))
        if symbol.scope.kind == "file" and min(symbol.places, default=declaration) < declaration:
            kept[symbol.name] = "is used before it is declared here: a header declares it"
    return kept


def _spelling_macros(bindings: Bindings) -> set[str]:
    """Return the macros that make text of an argument by `#x` or `a##b`, so that its name reaches the program."""
    text = bindings.tree
    macros = set(_HIDDEN_MACRO.findall(text.hidden_text))
    for node in bindings.nodes:
        if node.kind == "preproc_function_def" and "#" in text.of(node.child("value") or node.children[-1]):
            macros.add(text.part(node, "name"))
    return macros


def refusal(tree: Tree) -> str | None:
    """Return why nothing may be renamed: names in strings that are code."""
    if "_Pragma" in tree.text:
        return "holds code in strings: uses _Pragma"
    return None


BINDERS: Mapping[str, Binder] = {
    "function_definition": bound_by_definition,
    "declaration": bound_by_declaration,
    "parameter_list": parameters,
    "parameter_declaration": parameter,
    "type_definition": declarator_binder("type"),
}
C = name_rules("c", BINDERS, opens=opens_scope, refusal=refusal, kept=kept_names)
