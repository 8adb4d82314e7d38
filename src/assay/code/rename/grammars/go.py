"""Go: variables, constants, parameters, results, receivers and functions; never methods, fields, types, packages."""

from collections.abc import Iterable, Iterator, Mapping

from assay.code.parse.trees import Node, Tree
from assay.code.rename.bindings import Bindings, Bound, bind_all, name_rules

_KEYED = frozenset({"map_type", "slice_type", "array_type", "implicit_length_array_type"})
_NAMES_SEEN = frozenset({"FuncForPC", "Caller", "Callers", "CallersFrames", "Stack", "PrintStack"})


def _assigned(node: Node) -> Iterable[Bound]:
    """Bind the left side of :=, of range and of a case of select, from its end on."""
    if node.kind != "short_var_declaration" and not node.of_kind(":="):
        return []
    return bind_all(_listed(node, "left"), "variable", since=node.end)


def _type_switch(node: Node) -> Iterable[Bound]:
    return bind_all(_listed(node, "alias"), "variable", since=(node.child("value") or node).end)


def _listed(node: Node, role: str) -> Iterator[Node]:
    for side in node.fill(role):
        yield from side.of_kind("identifier")


def _refusal(tree: Tree) -> str | None:
    for node in tree.root.walk():
        # cgo compiles the comment above this import
        if node.kind == "import_spec" and tree.part(node, "path") == '"C"':
            return "speaks to C: its comments are code"
    return None


def _kept_names(bindings: Bindings) -> Mapping[str, str]:
    kept: dict[str, str] = {}
    if bindings.words({"field_identifier"}) & _NAMES_SEEN:
        kept |= dict.fromkeys(bindings.names_of("function"), "the program may see the names of its functions")
    for node in bindings.nodes:
        # a key is a field or a variable by the type of its literal, which another file may declare
        if node.kind == "keyed_element" and not _of_elements(node):
            for key in node.fill("key"):
                kept[bindings.tree.of(key)] = "may name a field of a literal"
        elif node.kind == "import_spec" and node.child("name") is None:
            # without a name a package is called after the end of its path, as a rule
            path = bindings.tree.part(node, "path").strip('"`')
            kept.setdefault(path.rpartition("/")[2], "imported")
    return kept


def _of_elements(node: Node) -> bool:
    """Return whether the keys of a literal are certainly values: those of a map, a slice or an array."""
    composite = node.parent and node.parent.parent
    if composite is None or composite.kind != "composite_literal":
        return False
    return (composite.child("type") or composite).kind in _KEYED


GO = name_rules(
    "go",
    {
        **dict.fromkeys(("short_var_declaration", "range_clause", "receive_statement"), _assigned),
        "type_switch_statement": _type_switch,
    },
    refusal=_refusal,
    kept=_kept_names,
)
