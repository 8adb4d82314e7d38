"""Go: variables, constants, parameters, results, receivers and functions; never methods, fields, types, packages."""

from collections.abc import Iterable, Mapping

from assay.code.parse.trees import Node, Tree
from assay.code.rename.bindings import Bindings, Bound, name_rules

_KEYED = frozenset({"map_type", "slice_type", "array_type", "implicit_length_array_type"})
_NAMES_SEEN = frozenset({"FuncForPC", "Caller", "Callers", "CallersFrames", "Stack", "PrintStack"})


def _assigned(node: Node) -> Iterable[Bound]:
    """Bind the left side of :=, of range and of a case of select, from its end on."""
    if node.kind != "short_var_declaration" and not node.of_kind(":="):
        return []
    left = node.fill("left")
    return [Bound(child, "variable", since=node.end) for side in left for child in side.of_kind("identifier")]


def _type_switch(node: Node) -> Iterable[Bound]:
    value = node.child("value")
    since = value.end if value else None
    return [
        Bound(child, "variable", since=since) for side in node.fill("alias") for child in side.of_kind("identifier")
    ]


def _refusal(tree: Tree) -> str | None:
    for node in tree.root.walk():
        if node.kind == "import_spec" and tree.of(node.child("path") or node) == '"C"':
            return "speaks to C: its comments are code"
    return None


def _kept_names(bindings: Bindings) -> Mapping[str, str]:
    kept = {}
    if {bindings.tree.of(node) for node in bindings.nodes if node.kind == "field_identifier"} & _NAMES_SEEN:
        reason = "the program may see the names of its functions"
        kept.update({symbol.name: reason for symbol in bindings.symbols if "function" in symbol.roles})
    for node in bindings.nodes:
        if node.kind == "keyed_element" and not _of_elements(node):
            for key in node.fill("key"):
                kept[bindings.tree.of(key)] = "may name a field of a literal"
        elif node.kind == "import_spec" and node.child("name") is None:
            path = bindings.tree.of(node.child("path") or node).strip('"`')
            kept.setdefault(path.rpartition("/")[2], "imported")
    return kept


def _of_elements(node: Node) -> bool:
    """Return whether the keys of a literal are certainly values: those of a map, a slice or an array."""
    literal = node.parent
    composite = literal.parent if literal else None
    if composite is None or composite.kind != "composite_literal":
        return False
    written = composite.child("type")
    return written is not None and written.kind in _KEYED


GO = name_rules(
    "go",
    {
        **dict.fromkeys(("short_var_declaration", "range_clause", "receive_statement"), _assigned),
        "type_switch_statement": _type_switch,
    },
    refusal=_refusal,
    kept=_kept_names,
)
