"""What has to be known of a language to follow its names: one table a language, in this folder."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.code.parse.trees import Node, Tree
from assay.languages import Language

if TYPE_CHECKING:
    from assay.code.rename.bindings import Bindings

Role = Literal[
    "function", "variable", "parameter", "method",
    "field", "type", "template parameter", "constant", "import", "macro", "prototype", "extern", "export",
]  # fmt: skip
ScopeKind = Literal["file", "function", "block", "class", "template"]
Target = Literal["here", "outer", "function", "file"]

KEPT: Mapping[Role, str] = {
    "method": "a method",
    "field": "a field",
    "type": "a type",
    "template parameter": "a template parameter",
    "constant": "a constant of an enumeration",
    "import": "imported",
    "macro": "a macro",
    "prototype": "defined elsewhere",
    "extern": "defined elsewhere",
    "export": "exported",
}
"""Roles whose names stay, and why. A grammar may free some of its methods."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A name that a node binds.

    Attributes:
        node: the leaf where it stands; for an import whose name is part of a path, the node of the path.
        role: what it names.
        target: the scope that it belongs to: the innermost, the one around a definition, the function's, the file's.
        since: offset from which on it can be used in a block; by default from its own end on.
        name: where it is not what the node covers.
    """

    node: Node
    role: Role
    target: Target = "here"
    since: int | None = None
    name: str | None = None


Binder = Callable[[Node], Iterable[Bound]]


@dataclass(frozen=True, slots=True)
class Grammar:
    """The names of one language. Places are written "kind" or "kind.field" after tree-sitter's node types.

    Attributes:
        language: its entry in the table of languages.
        leaves: kinds of leaves that can stand for a value.
        scope: the scope that a node opens, if any.
        binders: by the kind of a node, the names that it binds.
        elsewhere: "parent.field" of leaves that stand for no value: members, labels, keys.
        methods: whether a leaf names a method, where methods have a name space of their own: that of the whole text.
        frozen: places whose words keep their meaning everywhere, and why: preprocessor lines, keys of objects.
        comments: kinds of comments.
        strings: kinds of the contents of strings.
        ordered: in a block, a name can be used from its declaration on.
        conventional: names that something outside of the text looks for, and why.
        directive: how comments begin that a tool reads.
        inherits: whether a class may have members that are not in the text.
        refusal: why nothing of a text may be renamed, or None.
        rules: names or symbols that stay for reasons of this language alone.
        lists: kinds of nodes that hold statements or declarations, for languages whose texts may hide some of them from
            the grammar; see `hiding`.
        alias: a line that gives a new name's meaning to the old one, as "new", "old" → text; None where there is none.
    """

    language: Language
    leaves: frozenset[str]
    scope: Callable[[Node], ScopeKind | None]
    binders: Mapping[str, Binder]
    elsewhere: frozenset[str]
    frozen: Mapping[str, str]
    comments: frozenset[str]
    strings: frozenset[str]
    directive: str
    methods: Callable[[Node], bool] | None = None
    ordered: bool = True
    conventional: Callable[[str], str | None] = lambda _name: None
    inherits: Callable[[Tree, Node], bool] = lambda _tree, _node: False
    refusal: Callable[[Tree], str | None] = lambda _tree: None
    rules: "Callable[[Bindings], Mapping[str, str]]" = lambda _bindings: {}
    lists: frozenset[str] = frozenset()
    alias: Callable[[str, str], str] | None = None

    @property
    def keywords(self) -> frozenset[str]:
        """Words that are never names; where the tree takes one for a name, it has misread the text."""
        return self.language.lexical.reserved if self.language.lexical else frozenset()


def named(role: Role, field: str = "name", target: Target = "here") -> Binder:
    """Binds what stands in a field."""

    def bound(node: Node) -> Iterable[Bound]:
        return [Bound(one, role, target) for one in node.fill(field)]

    return bound
