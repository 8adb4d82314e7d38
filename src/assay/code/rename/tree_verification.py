"""Verification that a text differs from another in names alone, from the two texts and nothing else.

1. Text: between the words the two are identical byte for byte; where words differ, a name became its new name, and it
   stands as a name or in a comment, never in a string.
2. Syntax: it parses, and the trees have the same shape, node for node and field for field. What differs is only ever a
   leaf that stands for something which the original binds: no member, import, type, macro or free name.
   Of a text that parses only without some stretches (`hiding`), the variant is read without the same ones.
3. Bindings: in the variant, every name means the binding that it meant before; no two became one, none became two.
   In a text with hidden stretches, a name also changes at every place of its word or at none.
"""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from operator import add

from assay.code.parse.trees import WORD, Unparsable, syntax_tree
from assay.code.rename.bindings import KEPT, METHOD, Bindings, NameRules
from assay.code.rename.hiding import readable
from assay.code.rename.names import Pairs
from assay.code.rename.tree_names import code_words, within


@dataclass(frozen=True, slots=True)
class TreeVerifier:
    """An original, read once, with which many variants are compared.

    Attributes:
        rules: for names in the language.
        words: of the text, in order.
        between: the text before, between and behind them.
        free: numbers of the words that may change.
        shape: of the tree.
        structure: the meaning of every name.
        hidden: stretches that are left out of the tree.
        ends: where the words end.
        code: numbers of the words outside of comments and strings, where the text is not read in full; else none.
    """

    rules: NameRules
    words: tuple[str, ...]
    between: tuple[str, ...]
    free: frozenset[int]
    shape: str
    structure: tuple[str | int, ...]
    hidden: tuple[tuple[int, int], ...] = ()
    ends: tuple[int, ...] = ()
    code: frozenset[int] = frozenset()

    @classmethod
    def of(cls, original: str, rules: NameRules) -> "TreeVerifier":
        """Read the original.

        Raises:
            Unparsable: it does not parse.
        """
        tree = readable(original, rules)
        bindings = Bindings(tree, rules)
        words, between, starts = _cut(original)
        places = {}
        for node, symbol in bindings.leaves:
            if symbol and not symbol.roles & KEPT.keys() - {"method" if symbol.space == METHOD else "", "prototype"}:
                places[node.start] = node.end
        comments = bindings.spans(rules.comments)
        ends = tuple(map(add, starts, map(len, words)))
        # what may differ: leaves that stand for a symbol that is not kept, and words of comments
        loose = set()
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if places.get(start) == end or within(start, comments):
                loose.add(number)
        # only a text with hidden stretches needs the last check: elsewhere the tree knows the meaning of every word
        code = code_words(bindings) if bindings.misread else []
        numbers = frozenset(bisect.bisect_left(starts, start) for start, _end in code)
        return cls(
            rules=rules,
            words=words,
            between=between,
            free=frozenset(loose),
            shape=tree.shape,
            structure=tuple(bindings.structure()),
            hidden=tree.hidden,
            ends=ends,
            code=numbers,
        )

    def difference(self, variant: str, renaming: Pairs) -> str | None:
        """Return what differs in a variant besides the renaming, or None.

        Args:
            variant: its text.
            renaming: pairs of an old and a new name.
        """
        words, between, starts = _cut(variant)
        if between != self.between:
            return "more than names changed in the text"
        return self._words_differ(words, renaming) or self._trees_differ(variant, words, starts)

    def _words_differ(self, words: Sequence[str], renaming: Pairs) -> str | None:
        changed: set[str] = set()
        for number, (old, new) in enumerate(zip(self.words, words, strict=True)):
            if old != new and (old, new) not in renaming:
                return f"{old} became {new}"
            if old != new and number not in self.free:
                return f"{old} became {new} where it is not a name of the text's own"
            if old != new:
                changed |= {old, new}
        for number in self.code:
            if self.words[number] == words[number] and words[number] in changed:
                return f"{words[number]} also stands where it did not change"
        return None

    def _trees_differ(self, variant: str, words: Sequence[str], starts: Sequence[int]) -> str | None:
        try:
            tree = syntax_tree(variant, self.rules.language.grammar, self._hidden_in(words, starts))
        except Unparsable as error:
            return f"does not parse: {error}"
        if tree.shape != self.shape:
            return "the syntax tree has another shape"
        # the proof: the variant's bindings are computed anew, from its own text
        if tuple(Bindings(tree, self.rules).structure()) != self.structure:
            return "a name means another binding than before"
        return None

    def _hidden_in(self, words: Sequence[str], starts: Sequence[int]) -> list[tuple[int, int]]:
        """Return the hidden stretches of a variant: moved by as much as the words before them grew."""

        def moved(place: int) -> int:
            before = bisect.bisect_right(self.ends, place) - 1
            return place if before < 0 else place + starts[before] + len(words[before]) - self.ends[before]

        return [(moved(start), moved(end)) for start, end in self.hidden]


def _cut(text: str) -> tuple[tuple[str, ...], tuple[str, ...], list[int]]:
    words, between, starts, end = [], [], [], 0
    for match in WORD.finditer(text):
        words.append(match[0])
        starts.append(match.start())
        between.append(text[end : match.start()])
        end = match.end()
    return tuple(words), (*between, text[end:]), starts
