"""C: variables, parameters and functions; never members, tags, types, macros, enumerators, or what a macro names."""

import re
from collections.abc import Iterable, Iterator, Mapping

from assay.code.parse.trees import Node, Tree
from assay.code.rename.bindings import Binder, Bindings, Bound, Role, name_rules

_DEFINITIONS = frozenset({"function_definition", "lambda_expression", "catch_clause", "field_declaration"})
_WRAPPED = frozenset(
    {"parenthesized_declarator", "reference_declarator", "variadic_declarator", "structured_binding_declarator"}
    | {"attributed_declarator"}
)
_SEES_NAMES = frozenset({"__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"})
_HIDDEN_MACRO = re.compile(r"#[ \t]*define[ \t]+(\w+)\(")


def declared_names(declarator: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the names that a declarator declares, and whether each is that of a function."""
    # a declarator of C is read from the inside out: of `int *(*f)(int)` the name stands innermost
    waiting = [(declarator, False)]
    while waiting:
        node, function = waiting.pop()
        if node.kind in {"identifier", "field_identifier", "type_identifier"}:
            yield node, function
            continue
        if node.kind in _WRAPPED:
            inner = [child for child in node.children if child.role in {"", "declarator"}]
            waiting += [(child, function and node.kind == "parenthesized_declarator") for child in reversed(inner)]
        else:
            waiting += [(child, node.kind == "function_declarator") for child in node.fill("declarator")]


def owner(node: Node) -> Node | None:
    """Return the node that the parameters of a declarator belong to."""
    # the list of parameters hangs below the declarators, and belongs to what they declare
    around: Node | None = node.parent
    while around and (around.kind.endswith("_declarator") or around.kind == "abstract_function_declarator"):
        around = around.parent
    return around


def opens_scope(node: Node) -> bool:
    """Return whether a list of parameters has a scope of its own: in a declaration; a definition shares its own."""
    belongs = owner(node) if node.kind == "parameter_list" else None
    return belongs is None or belongs.kind not in _DEFINITIONS - {"field_declaration"}


def definition(node: Node) -> Iterable[Bound]:
    """Bind a function's name, outside of its scope."""
    role: Role = "method" if _in_class(node) else "function"
    return [
        Bound(name, role, "outer") for child in node.fill("declarator") for name, _function in declared_names(child)
    ]


def declaration(node: Node) -> Iterable[Bound]:
    """Bind variables, and functions that are only declared."""
    outside = any(word.kind == "extern" for child in node.of_kind("storage_class_specifier") for word in child.children)
    for declarator in node.fill("declarator"):
        for name, function in declared_names(declarator):
            role: Role = "prototype" if function else "variable"
            if _in_class(node):
                role = "method"
            elif outside:
                role = "extern"
            yield Bound(name, role)


def _in_class(node: Node) -> bool:
    around = node.parent
    while around and around.kind == "template_declaration":
        around = around.parent
    return around is not None and around.kind == "field_declaration_list"


def parameters(node: Node) -> Iterable[Bound]:
    """Bind parameters without types, as before 1989."""
    return [Bound(child, "parameter") for child in node.of_kind("identifier")]


def parameter(node: Node) -> Iterable[Bound]:
    """Bind a parameter with its type."""
    of_template = node.parent is not None and node.parent.kind == "template_parameter_list"
    role: Role = "template parameter" if of_template else "parameter"
    names = [pair for child in node.fill("declarator") for pair in declared_names(child)]
    return [Bound(name, "macro" if function else role) for name, function in names]  # UNUSED(name), not a function


def declarator_binder(role: Role) -> Binder:
    """Return a binder of all names in the declarators of a node."""

    def binder(node: Node) -> Iterable[Bound]:
        return [Bound(name, role) for child in node.fill("declarator") for name, _function in declared_names(child)]

    return binder


def kept_names(bindings: Bindings) -> Mapping[str, str]:
    """Return functions whose names the program sees, arguments that a macro spells out, ambiguous declarations."""
    kept = {}
    text = bindings.tree
    if bindings.free() & _SEES_NAMES:
        reason = "the program sees the names of its functions"
        kept.update({symbol.name: reason for symbol in bindings.symbols if "function" in symbol.roles})
    # `#x` and `a##b` make text of an argument, so its name reaches the program
    spelling = {
        text.of(node.child("name") or node)
        for node in bindings.nodes
        if node.kind == "preproc_function_def" and "#" in text.of(node.child("value") or node.children[-1])
    }
    spelling |= set(_HIDDEN_MACRO.findall(text.hidden_text))
    if spelling:
        for node in bindings.nodes:
            if node.kind == "call_expression" and text.of(node.child("function") or node) in spelling:
                arguments = node.child("arguments")
                for argument in arguments.walk() if arguments else ():
                    if not argument.children:
                        kept[text.of(argument)] = "a macro may spell it out"
    for symbol in bindings.symbols:
        declared = min(bound.node.start for bound in symbol.bound)
        if symbol.scope.kind == "file" and min(symbol.places, default=declared) < declared:
            kept[symbol.name] = "is used before it is declared here: a header declares it"
    return kept


def refusal(tree: Tree) -> str | None:
    """Return why nothing may be renamed: names in strings that are code."""
    return "holds code in strings: uses _Pragma" if "_Pragma" in tree.text else None


BINDERS: Mapping[str, Binder] = {
    "function_definition": definition,
    "declaration": declaration,
    "parameter_list": parameters,
    "parameter_declaration": parameter,
    "type_definition": declarator_binder("type"),
}
C = name_rules("c", BINDERS, opens=opens_scope, refusal=refusal, kept=kept_names)
