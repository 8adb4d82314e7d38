"""The engine of each language: what may change in a text, what a new name must not be, and whether only names changed.

Python answers through its own parser and symbol tables, the other languages through tree-sitter. The table of languages
names the engine, or the rules for names, of every language that has variants.
"""

import functools
import importlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from assay.code.rename import python_names, tree_names
from assay.code.rename.bindings import NameRules
from assay.code.rename.names import Analysis
from assay.code.rename.python_verification import PythonVerifier
from assay.code.rename.tree_verification import TreeVerifier
from assay.languages import LANGUAGES, languages_with


class Verifier(Protocol):
    """An original text that variants are compared with."""

    def difference(self, variant: str, renaming: frozenset[tuple[str, str]], /) -> str | None:
        """Return what else than the renamed names differs, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Engine:
    """The interface of a language with variants.

    Attributes:
        analysis: text and names to keep → what may change in the text.
        verifier: original → what compares variants with it; raises SyntaxError or ValueError for a text that is not in
            this language.
        with_old_names: tests that use old names, and the old names by the new → tests that run behind a variant.
    """

    analysis: Callable[[str, Collection[str]], Analysis]
    verifier: Callable[[str], Verifier]
    with_old_names: Callable[[str, Mapping[str, str]], str]


def _assigned(tests: str, aliases: Mapping[str, str], alias: str = "{old} = {new}") -> str:
    """Return tests behind lines that give each old name its meaning back."""
    return "".join(f"{alias.format(old=old, new=new)}\n" for new, old in aliases.items()) + f"\n{tests}"


def _tree_engine(rules: NameRules) -> Engine:
    """Return the engine of a language that tree-sitter reads, by the rules for its names."""

    def with_old_names(tests: str, aliases: Mapping[str, str]) -> str:
        if rules.alias:
            return _assigned(tests, aliases, rules.alias)
        # no line of the language can give an old name its meaning back, so the tests change
        return tree_names.respelled(tests, rules, {old: new for new, old in aliases.items()})

    return Engine(
        lambda text, keep: tree_names.tree_analysis(text, rules, keep=keep),
        lambda text: TreeVerifier.of(text, rules),
        with_old_names,
    )


PYTHON = Engine(lambda text, keep: python_names.python_analysis(text, keep=keep), PythonVerifier.of, _assigned)
"""Python, through its own parser and symbol tables."""


@functools.cache
def engine_of(language: str) -> Engine:
    """Return the engine of a language.

    Raises:
        ValueError: there are no variants in that language.
    """
    entry = LANGUAGES.get(language)
    if entry is None or entry.renaming is None:
        expected = ", ".join(languages_with("variants"))
        raise ValueError(f"received the language {language!r}, which has no variants; expected one of {expected}")
    # grammars are imported when a text of the language comes: no other one pays for them
    module, _, name = entry.renaming.partition(":")
    rules: NameRules | Engine = getattr(importlib.import_module(module), name)
    return _tree_engine(rules) if isinstance(rules, NameRules) else rules


def difference(original: str, variant: str, renaming: Mapping[str, str], *, language: str = "python") -> str | None:
    """Return what else than the names of `renaming` (new by old) differs between two texts; None where nothing does.

    Raises:
        SyntaxError, ValueError: the original does not parse; or there are no variants in that language.
    """
    return engine_of(language).verifier(original).difference(variant, frozenset(renaming.items()))


def analysis(text: str, *, keep: Collection[str] = (), language: str = "python") -> Analysis:
    """Find what can be renamed.

    Args:
        text: a file, a function or another fragment that parses on its own.
        keep: names to leave alone.
        language: of the text, one of `languages_with("variants")`.

    Raises:
        ValueError: there are no variants in that language.
    """
    return engine_of(language).analysis(text, keep)
