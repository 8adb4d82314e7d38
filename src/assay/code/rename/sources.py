"""Sources of new names: a pool for each text.

A source makes pools for many texts together, so that a model can be asked for all of their names at a time.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.code.rename.names import NameKind
from assay.code.rename.pools import DictionaryPool, NamePool, SynonymPool


class NameSource(Protocol):
    """Makes pools of new names."""

    @property
    def name(self) -> str:
        """Identifies the names in calibration files and results."""
        ...

    def pools(self, texts: Sequence[str], language: str, kinds: Collection[NameKind]) -> Sequence[NamePool]:
        """Return a pool for each text; the texts are all in one language that has variants."""
        ...


@dataclass(frozen=True, slots=True)
class WordList:
    """One pool for every text."""

    name: str
    pool: NamePool

    def pools(self, texts: Sequence[str], language: str, kinds: Collection[NameKind]) -> Sequence[NamePool]:  # noqa: ARG002  the interface passes all
        """See `NameSource`."""
        return [self.pool] * len(texts)


WORD_LISTS: Mapping[str, NameSource] = {
    source.name: source for source in (WordList("dictionary", DictionaryPool()), WordList("synonyms", SynonymPool()))
}
"""Sources that need no model."""
