"""One language: its names, its files, its words, its grammar, and what the package can do with it."""

from dataclasses import dataclass
from typing import Literal

from assay.languages.lexical import LexicalRules

Capability = Literal["fingerprints", "functions", "variants", "tests"]
"""Fingerprints by the language's own lexical rules; splitting into functions; verified variants; running tests."""

PYTHON_PARSER = "ast"
"""Stands for a grammar where Python's own parser reads the language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSyntax:
    """The places of functions in a text, in the node types of a grammar.

    Attributes:
        grammar: module and function of a tree-sitter grammar, for example "tree_sitter_java:language"; or
            `PYTHON_PARSER`, which needs none of the others.
        functions: node types of functions with a name of their own.
        holders: node types whose name is part of the names inside, as classes.
        assigned: node types that give a name to a function expression on their right.
        expressions: node types of function expressions.
        wrappers: node types that belong to the function that they hold, as `template <…>` does.
        attached: node types directly before a function that belong to it, as attributes and decorators.
        bodies: node types of the body of a function where the grammar has no field for it.
        names: fields of a node that may hold its name, the first that it has counts.
    """

    grammar: str
    functions: frozenset[str] = frozenset()
    holders: frozenset[str] = frozenset()
    assigned: frozenset[str] = frozenset()
    expressions: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    attached: frozenset[str] = frozenset()
    bodies: frozenset[str] = frozenset()
    names: tuple[str, ...] = ("name", "key", "left", "property")


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language. A field that is empty is a capability that it does not have, see `supports`.

    Attributes:
        name: as `Sample.language` spells it.
        title: as people write it.
        suffixes: of its files, with the point, in lower case.
        aliases: other names that are understood, in lower case.
        lexical: comments, literals and reserved words.
        syntax: where its functions stand. A text is read by the first; where that finds errors, by the others in turn.
        renaming: module and name of the rules for its names, for example "assay.code.rename.grammars.go:GO".
        predeclared: words that can be names and that a new name must not be: contextual keywords, built-in types and
            functions, customary imports.
        library: functions that the standard library declares without a qualifier. As `predeclared`; and a definition
            in a text that shares such a name keeps it.
        special_methods: methods that every object has or that the runtime looks for. As `predeclared`.
        runner: the program that compiles or runs its tests in the sandbox; "python" for this interpreter.
    """

    name: str
    title: str
    suffixes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    lexical: LexicalRules | None = None
    syntax: tuple[FunctionSyntax, ...] = ()
    renaming: str | None = None
    predeclared: frozenset[str] = frozenset()
    library: frozenset[str] = frozenset()
    special_methods: frozenset[str] = frozenset()
    runner: str | None = None

    def supports(self, capability: Capability) -> bool:
        """Return whether the package can do this with texts in the language."""
        # a capability follows from what the table says, so that no second list can contradict it
        fields = {
            "fingerprints": self.lexical,
            "functions": self.syntax,
            "variants": self.renaming,
            "tests": self.runner,
        }
        return bool(fields[capability])

    @property
    def grammar(self) -> str:
        """The grammar that reads a whole text of the language.

        Raises:
            ValueError: there is none.
        """
        if not self.syntax:
            raise ValueError(f"there is no grammar for {self.title}")
        # the first grammar reads the language itself; further ones read what its files hold beside it
        return self.syntax[0].grammar

    @property
    def reserved(self) -> frozenset[str]:
        """Words that no program may use as a name."""
        return self.lexical.reserved if self.lexical else frozenset()

    @property
    def unavailable(self) -> frozenset[str]:
        """Words that a new name in a text must not be."""
        return self.reserved | self.predeclared | self.library | self.special_methods
