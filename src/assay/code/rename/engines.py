"""The languages whose names can be followed, each behind the same three questions.

What may change? What must a new name not be? Is this text that one, but for names? Python answers through its own
parser and symbol tables, the others through tree-sitter.
"""

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from assay.code.rename import python_names, python_verification, tree_names
from assay.code.rename.grammar import Grammar
from assay.code.rename.grammars.c import C
from assay.code.rename.grammars.cpp import CPP
from assay.code.rename.grammars.go import GO
from assay.code.rename.grammars.java import JAVA
from assay.code.rename.grammars.javascript import JAVASCRIPT
from assay.code.rename.names import Analysis
from assay.code.rename.tree_verification import TreeVerifier


class Holding(Protocol):
    """An original, against which variants are held."""

    def difference(self, variant: str, renaming: frozenset[tuple[str, str]], /) -> str | None:
        """What else than names differs, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Language:
    """One language.

    Attributes:
        name: as people write it.
        analysis: what may change in a text; the names in the second argument stay.
        verifier: of an original; raises SyntaxError or ValueError where it is not of this language.
        reserved: words that no new name may be.
        bridge: tests that speak of old names (old by new), in the new ones or below lines that explain them.
    """

    name: str
    analysis: Callable[[str, Collection[str]], Analysis]
    verifier: Callable[[str], Holding]
    reserved: frozenset[str]
    bridge: Callable[[str, Mapping[str, str]], str]


def _python_bridge(tests: str, aliases: Mapping[str, str]) -> str:
    return "".join(f"{old} = {new}\n" for new, old in aliases.items()) + f"\n{tests}"


def _bridge(grammar: Grammar, tests: str, aliases: Mapping[str, str]) -> str:
    if grammar.alias:
        return "".join(f"{grammar.alias(new, old)}\n" for new, old in aliases.items()) + f"\n{tests}"
    return tree_names.respelled(tests, grammar, {old: new for new, old in aliases.items()})


def _of_grammar(grammar: Grammar) -> Language:
    return Language(
        grammar.language,
        lambda text, keep: tree_names.analysis(text, grammar, keep=keep),
        lambda text: TreeVerifier.of(text, grammar),
        grammar.reserved,
        functools.partial(_bridge, grammar),
    )


LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {
        "python": Language(
            "Python",
            lambda text, keep: python_names.analysis(text, keep=keep),
            python_verification.Verifier.of,
            python_names.RESERVED,
            _python_bridge,
        ),
        "java": _of_grammar(JAVA),
        "c": _of_grammar(C),
        "cpp": _of_grammar(CPP),
        "javascript": _of_grammar(JAVASCRIPT),
        "go": _of_grammar(GO),
    }
)
"""By the name that `Sample.language` has."""


def named(name: str) -> Language:
    """The language of a name.

    Raises:
        ValueError: its names cannot be followed.
    """
    if name not in LANGUAGES:
        raise ValueError(f"received the language {name!r}, expected one of {list(LANGUAGES)}")
    return LANGUAGES[name]


def difference(original: str, variant: str, renaming: Mapping[str, str], *, language: str = "python") -> str | None:
    """What else than the names of `renaming` (old to new) differs between two texts; None where nothing does.

    Raises:
        SyntaxError, ValueError: the original does not parse; or there is no such language.
    """
    return named(language).verifier(original).difference(variant, frozenset(renaming.items()))


def analysis(text: str, *, keep: Collection[str] = (), language: str = "python") -> Analysis:
    """Finds what can be renamed.

    Args:
        text: a file, a function or another fragment that parses on its own.
        keep: names to leave alone.
        language: "python", "java", "c", "cpp", "javascript" or "go".

    Raises:
        ValueError: there is no such language.
    """
    return named(language).analysis(text, keep)
