"""Is this text that one, but for names? Asked of the texts alone, whatever made them.

1. Text: between the words the two are identical byte for byte; where words differ, a name became its new name, and it
   stands as a name or in a comment, never in a string.
2. Syntax: it parses, and the trees have the same shape, node for node and field for field. What differs is only ever a
   leaf that stands for something which the original binds: no member, import, type, macro or free name.
3. Bindings: in the variant, every name means the binding that it meant before; no two became one, none became two.
"""

from collections.abc import Collection
from dataclasses import dataclass

from assay.code.parse.trees import Unparsable, parsed
from assay.code.rename.bindings import METHOD, Bindings
from assay.code.rename.grammar import KEPT, Grammar
from assay.code.rename.tree_names import WORD

Pairs = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class TreeVerifier:
    """Holds what is needed of the original, so that many variants can be held against it.

    Attributes:
        grammar: of the language.
        words: of the text, in order.
        between: what stands before, between and behind them.
        free: numbers of the words that may change.
        shape: of the tree.
        structure: what every name means.
    """

    grammar: Grammar
    words: tuple[str, ...]
    between: tuple[str, ...]
    free: frozenset[int]
    shape: str
    structure: tuple[str | int, ...]

    @classmethod
    def of(cls, original: str, grammar: Grammar) -> "TreeVerifier":
        """Reads the original.

        Raises:
            Unparsable: it does not parse.
        """
        found = Bindings(parsed(original, grammar.language.grammar), grammar)
        words, between, starts = _cut(original)
        places = {
            node.start: node.end
            for node, symbol in found.leaves
            if symbol and not (symbol.roles & KEPT.keys() - {"method" if symbol.space == METHOD else "", "prototype"})
        }
        comments = [(one.start, one.end) for one in found.nodes if one.kind in grammar.comments]
        loose = {
            number
            for number, (word, start) in enumerate(zip(words, starts, strict=True))
            if places.get(start) == start + len(word) or _within(start, comments)
        }
        return cls(grammar, words, between, frozenset(loose), found.tree.shape, tuple(found.structure()))

    def difference(self, variant: str, renaming: Pairs) -> str | None:
        """What is wrong with a variant, or None.

        Args:
            variant: its text.
            renaming: pairs of an old and a new name.
        """
        return self._words_differ(variant, renaming) or self._trees_differ(variant)

    def _words_differ(self, variant: str, renaming: Pairs) -> str | None:
        words, between, _starts = _cut(variant)
        if between != self.between:
            return "more than names changed in the text"
        for number, (old, new) in enumerate(zip(self.words, words, strict=True)):
            if old != new and (old, new) not in renaming:
                return f"{old} became {new}"
            if old != new and number not in self.free:
                return f"{old} became {new} where it is no name of the text's own"
        return None

    def _trees_differ(self, variant: str) -> str | None:
        try:
            tree = parsed(variant, self.grammar.language.grammar)
        except Unparsable as error:
            return f"does not parse: {error}"
        if tree.shape != self.shape:
            return "the syntax tree has another shape"
        if tuple(Bindings(tree, self.grammar).structure()) != self.structure:
            return "a name means another binding than before"
        return None


def _cut(text: str) -> tuple[tuple[str, ...], tuple[str, ...], list[int]]:
    words, between, starts, end = [], [], [], 0
    for one in WORD.finditer(text):
        words.append(one[0])
        starts.append(one.start())
        between.append(text[end : one.start()])
        end = one.end()
    return tuple(words), (*between, text[end:]), starts


def _within(place: int, stretches: Collection[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in stretches)
