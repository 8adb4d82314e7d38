"""The engine of each language: what may change in a text, what a new name must not be, and whether only names changed.

Python answers through its own parser and symbol tables, the other languages through tree-sitter. The table of languages
names the engine, or the rules for names, of every language that has variants.
"""

import functools
import importlib
from collections.abc import Collection, Mapping
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


class Engine(Protocol):
    """The interface of a language with variants."""

    def analysis(self, text: str, keep: Collection[str], /) -> Analysis:
        """Return what may change in a text; the names in `keep` do not."""
        ...

    def verifier(self, text: str, /) -> Verifier:
        """Return the verifier of an original.

        Raises:
            SyntaxError, ValueError: the text is not in this language.
        """
        ...

    def with_old_names(self, tests: str, aliases: Mapping[str, str], /) -> str:
        """Return tests that use old names so that they run behind a variant; `aliases` has the old names by the new."""
        ...


class PythonEngine:
    """Python, through its own parser and symbol tables."""

    def analysis(self, text: str, keep: Collection[str]) -> Analysis:
        """See `Engine`."""
        return python_names.python_analysis(text, keep=keep)

    def verifier(self, text: str) -> Verifier:
        """See `Engine`."""
        return PythonVerifier.of(text)

    def with_old_names(self, tests: str, aliases: Mapping[str, str]) -> str:
        """See `Engine`; an assignment gives each old name its meaning back."""
        return "".join(f"{old} = {new}\n" for new, old in aliases.items()) + f"\n{tests}"


class TreeEngine:
    """A language that tree-sitter reads, by the rules for its names."""

    def __init__(self, rules: NameRules) -> None:
        self.rules = rules

    def analysis(self, text: str, keep: Collection[str]) -> Analysis:
        """See `Engine`."""
        return tree_names.tree_analysis(text, self.rules, keep=keep)

    def verifier(self, text: str) -> Verifier:
        """See `Engine`."""
        return TreeVerifier.of(text, self.rules)

    def with_old_names(self, tests: str, aliases: Mapping[str, str]) -> str:
        """See `Engine`; where a line of the language cannot give an old name its meaning back, the tests change."""
        if self.rules.alias:
            lines = [self.rules.alias.format(old=old, new=new) for new, old in aliases.items()]
            return "".join(f"{line}\n" for line in lines) + f"\n{tests}"
        return tree_names.respelled(tests, self.rules, {old: new for new, old in aliases.items()})


PYTHON = PythonEngine()


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
    module, _, name = entry.renaming.partition(":")
    rules: NameRules | PythonEngine = getattr(importlib.import_module(module), name)
    return TreeEngine(rules) if isinstance(rules, NameRules) else rules


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
