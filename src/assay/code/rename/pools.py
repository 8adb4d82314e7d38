"""Pools of new names, in the style of the old ones."""

import builtins
import functools
import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, count, filterfalse, islice, permutations, product, repeat
from operator import ne
from pathlib import Path
from typing import Protocol

from assay.code.rename.engines import engine_of
from assay.code.rename.names import NameKind, Renamable
from assay.types import Generator, Rejected

# Words that programmers name things with, from `words.toml`: by the part they play in a name, and synonyms.

_LISTS: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))

WORDS_BY_PART: Mapping[str, tuple[str, ...]] = {
    part: tuple(_LISTS[part].split()) for part in ("verb", "noun", "adjective", "participle", "abbreviation")
}
"""Part of a name → its words, in an order that draws depend on."""
LETTERS = tuple("ijkmnabcdefghpqrstuvwxyz")
"""Without l and o, which look like digits."""
STRUCTURAL = frozenset(_LISTS["structural"].split())
"""Words that hold a name together; they stay."""


def _synonyms() -> dict[str, tuple[str, ...]]:
    alike: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for group in _LISTS["synonyms"].splitlines():
        words = group.split()
        for word in words:
            alike[word] |= dict.fromkeys(words)
    return {word: _others(words, word) for word, words in alike.items()}


def _others(words: Iterable[str], own: str) -> tuple[str, ...]:
    return tuple(filter(own.__ne__, words))


SYNONYMS = _synonyms()
"""Word → words that may replace it."""


def _close_synonyms(lines: str) -> dict[str, tuple[str, ...]]:
    close: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for line in filter(None, lines.splitlines()):
        first, *words = line.split()
        pairs = permutations(words, 2) if first == "=" else zip(repeat(first), words, strict=False)
        for word, other in pairs:
            close[word][other] = None
    return {word: tuple(others) for word, others in close.items()}


CLOSE = _close_synonyms(_LISTS["close"] + _LISTS["signature"])
"""Word → words that say the same, so that prose around a name stays true."""
LOCAL = _close_synonyms(_LISTS["close"] + _LISTS["local"])
"""The same for names of which prose says nothing."""
LIKE_LETTERS = _close_synonyms(_LISTS["letters"])
"""Letter → letters that a reader takes for the same kind of thing, where prose says nothing of it."""
SHORT_FORMS = frozenset(chain.from_iterable((word, f"{word}s") for word in (*WORDS_BY_PART["abbreviation"], "substr")))

_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|_+|.")


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name as words: `_maxCount2` is max, Count, 2 in camel case behind an underscore. "".join(pieces) is the name.

    Attributes:
        pieces: words, digits and underscores.
        words: indexes of the pieces that are words of letters.
    """

    pieces: tuple[str, ...]
    words: tuple[int, ...]

    @property
    def lowered(self) -> list[str]:
        """The words in lower case."""
        return list(map(str.lower, map(self.pieces.__getitem__, self.words)))

    # only the words are exchanged, so underscores, digits and case stay where they were
    def with_words(self, words: tuple[str, ...]) -> str:
        """Return the name with other words, each in the case of the word that it replaces."""
        pieces = list(self.pieces)
        for index, word in zip(self.words, words, strict=True):
            pieces[index] = _in_case_of(pieces[index], word)
        return "".join(pieces)


def identifier(name: str) -> Identifier:
    """Split a name into words, in snake, camel, Pascal or upper case."""
    pieces = tuple(_PIECES.findall(name))
    return Identifier(pieces, words=tuple(compress(count(), map(str.isalpha, pieces))))


def _in_case_of(old: str, new: str) -> str:
    if old.isupper() and (len(old) > 1 or len(new) == 1):
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new.lower()


_SETS = dict(zip(WORDS_BY_PART, map(frozenset, WORDS_BY_PART.values()), strict=True))
_SHORT = 3
_IRREGULAR = dict(line.split() for line in _LISTS["irregular"].splitlines())
"""Singular → plural, where an s does not make it."""
CANDIDATES = 64
LEAST = 16
"""Candidates of a name to which a pool is filled up."""
COMBINATIONS = 4096
"""Combinations of synonyms of one name that are looked at."""
REPLACED = 0.6
"""Chance that a word with synonyms is replaced in a draw."""


class NamePool(Protocol):
    """Proposes names. A pool is data: the same name always gets the same candidates."""

    def candidates(self, name: str, kind: NameKind) -> Sequence[str]:
        """Return names that may replace this name, in the same casing style; the name itself is not among them."""
        ...


@dataclass(frozen=True, slots=True)
class DictionaryPool:
    """Dictionary words of the same part: a verb for a verb, a plural for a plural, a letter for a letter.

    Attributes:
        size: number of candidates of a name at most.
    """

    size: int = CANDIDATES

    def candidates(self, name: str, kind: NameKind) -> tuple[str, ...]:
        """See `NamePool`."""
        return _dictionary_candidates(name, kind, self.size)


@dataclass(frozen=True, slots=True)
class SynonymPool:
    """Names in which some words give way to synonyms and the others stay: `max_count` may become `max_total`.

    Attributes:
        size: number of candidates of a name at most.
        fallback: for names without a word that has synonyms.
    """

    size: int = CANDIDATES
    fallback: NamePool | None = field(default_factory=DictionaryPool)

    def candidates(self, name: str, kind: NameKind) -> tuple[str, ...]:
        """See `NamePool`; names with fewer changed words first."""
        split_name = identifier(name)
        own = split_name.lowered
        choices = [(word, *SYNONYMS.get(word, ())) for word in own]
        if SYNONYMS.keys().isdisjoint(own):
            return tuple(self.fallback.candidates(name, kind)) if self.fallback else ()
        draw = random.Random(f"{kind} {name}")  # noqa: S311  see `_dictionary_candidates`

        def replaced(choice: tuple[str, ...]) -> str:
            return draw.choice(choice) if draw.random() < REPLACED else choice[0]

        drawn = [tuple(map(replaced, choices)) for _ in range(4 * self.size)]
        # `sorted` is stable: among names with as many changed words, the order of the draws stays
        ordered = sorted(dict.fromkeys(drawn), key=lambda words: sum(map(ne, words, own)))
        return _others(dict.fromkeys(map(split_name.with_words, ordered)), name)[: self.size]


@dataclass(frozen=True, slots=True)
class ClosePool:
    """Names that say the same: each word stays or gives way to a close synonym, an index or a variable to another one.

    Attributes:
        public: names that prose, examples or callers use; the synonyms of others are less close.
        prose: names that prose uses as words, which are not abbreviated.
        words: of the text, in lower case: a short form stands for one of them that begins with it.
        size: number of candidates of a name at most.
    """

    public: frozenset[str] = frozenset()
    prose: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    size: int = CANDIDATES

    def candidates(self, name: str, kind: NameKind) -> tuple[str, ...]:
        """See `NamePool`; names with fewer changed words first, none where no word has a close synonym."""
        split_name = identifier(name)
        own, close = split_name.lowered, CLOSE if name in self.public else LOCAL
        if len(name) == 1 and name not in self.public:
            # X is a matrix and Y its target; of capital letters, N alone is a number
            close = LIKE_LETTERS if name.islower() or name == "N" else {}
        short = SHORT_FORMS if kind == "function" or name in self.prose else frozenset()
        choices = []
        for word in own:
            # a letter among words, as in `nCr`, is part of a formula
            like = () if len(word) == 1 < len(own) else self._meant(word, close.get(word, ()))
            if name in self.prose and word in SHORT_FORMS:
                # in prose `integers nums` shows a name, and `integers numbers` none
                choices.append((word, *filter(SHORT_FORMS.__contains__, like)))
            else:
                choices.append((word, *filterfalse(short.__contains__, like)))
        # a word twice, as in `pattern_pattern`, says less than the name did
        combined = islice(product(*choices), COMBINATIONS)
        drawn = [words for words in combined if len(set(words)) >= len(set(own))]
        random.Random(f"{kind} {name}").shuffle(drawn)  # noqa: S311  see `_dictionary_candidates`
        drawn.sort(key=lambda words: sum(map(ne, words, own)))
        names = dict.fromkeys(map(split_name.with_words, drawn))
        return tuple(filterfalse(vars(builtins).__contains__, _others(names, name)))[: self.size]

    def _meant(self, word: str, like: tuple[str, ...]) -> tuple[str, ...]:
        """Return the synonyms of a word; of a short form none where the text has another long form: col is a color."""
        others = self.words.difference((word, f"{word}s"))
        if word not in SHORT_FORMS or not any(each.startswith(word) for each in others):
            return like
        return tuple(other for other in like if not other.startswith(word) or other in self.words)


@dataclass(frozen=True, slots=True)
class ProposedPool:
    """Names that a model proposed for one text, see `SampledNames`.

    Attributes:
        proposals: by name, in the model's order.
        fallback: fills up the names with fewer than `LEAST` proposals; None for the proposals alone.
    """

    proposals: Mapping[str, tuple[str, ...]]
    fallback: NamePool | None = None

    def candidates(self, name: str, kind: NameKind) -> tuple[str, ...]:
        """See `NamePool`."""
        proposals = self.proposals.get(name, ())
        # a model repeats itself: few proposals would make all variants alike
        if len(proposals) >= LEAST or self.fallback is None:
            return proposals
        return tuple(dict.fromkeys((*proposals, *self.fallback.candidates(name, kind))))[:LEAST]


@functools.lru_cache(maxsize=65536)
def _dictionary_candidates(name: str, kind: NameKind, size: int) -> tuple[str, ...]:
    split_name = identifier(name)
    lowered = split_name.lowered
    if not lowered:
        lowered, split_name = ["value"], identifier("value")  # a name without a word of ASCII letters
    choices: list[tuple[str, ...]] = []
    for index, word in enumerate(lowered):
        first, last = index == 0, index == len(lowered) - 1
        choices.append(_words_like(word, first=first, last=last, kind=kind))
    if set(map(len, choices)) == {1}:  # nothing but structural words: the last of them is replaced
        choices[-1] = WORDS_BY_PART["noun"]
    draw = random.Random(f"{kind} {name}")  # noqa: S311  the candidates of a name are the same in every process
    if len(choices) == 1:
        drawn: Iterable[tuple[str, ...]] = zip(draw.sample(choices[0], min(len(choices[0]), size)), strict=True)
    else:
        drawn = (tuple(map(draw.choice, choices)) for _ in range(size))
    return _others(dict.fromkeys(map(split_name.with_words, drawn)), name)


def _words_like(word: str, *, first: bool, last: bool, kind: NameKind) -> tuple[str, ...]:
    if len(word) == 1:
        return _others(LETTERS, word)
    if word in STRUCTURAL and not (first and last):
        return (word,)
    return _others(_same_part(word, first=first, last=last, kind=kind), word)


@functools.lru_cache(maxsize=4096)
def _same_part(word: str, *, first: bool, last: bool, kind: NameKind) -> tuple[str, ...]:
    return _WORDS_OF[_part(word, first=first, last=last, kind=kind)]


def _part(word: str, *, first: bool, last: bool, kind: NameKind) -> str:  # noqa: PLR0911  a rule a line
    """Return the part that a word plays in a name: by the lists of words, else by its place and ending."""
    verb_first = kind == "function" and first
    if verb_first and word in _SETS["verb"]:
        return "verb"
    # a word of several parts stands last as a noun (`max_count`) and before the last as an adjective (`last_seen`)
    parts = ("noun", "abbreviation", "participle", "adjective")
    for part in parts if last else reversed(parts):
        if word in _SETS[part]:
            return part
    if word.endswith("s") and not word.endswith("ss") and len(word) > _SHORT:
        return "plural"
    if word in _SETS["verb"]:
        return "verb"
    if word.endswith("ed"):
        return "participle"
    if len(word) <= _SHORT:
        return "abbreviation"
    return "verb" if verb_first and not last else "noun"


def plural(noun: str) -> str:
    """Return the plural of an English noun: regular, or irregular from our list."""
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


_WORDS_OF = {**WORDS_BY_PART, "plural": tuple(map(plural, WORDS_BY_PART["noun"]))}


# Sources of new names: a pool for each text.
#
# A source makes pools for many texts together, so that a model can be asked for all of their names at a time.


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
    "dictionary": WordList("dictionary", DictionaryPool()),
    "synonyms": WordList("synonyms", SynonymPool()),
}
"""Sources that need no model."""


# Names proposed in place: a causal model continues the text before the first use of each name.
#
# A name from a word list is less natural than the one that an author chose for this place, so a model may prefer the
# original without having seen it. A name that a model itself writes at this place is a fair rival.

SAMPLES = 8
"""Continuations of each place."""
TOKENS = 6
"""Tokens of a continuation: enough for a name and the character that ends it."""
_NAME = re.compile(r"[^\W\d]\w*(?=\W)")


@dataclass(frozen=True, slots=True)
class SampledNames:
    """Names that a model writes at the first place of every name that may change; see `NameSource`.

    Attributes:
        generator: a model that continues text, at temperature 1.
        samples: continuations of each place; the most frequent names come first.
        seed: of the samples.
        fallback: fills up the names that get few proposals; None for the proposals alone.
    """

    generator: Generator
    samples: int = SAMPLES
    seed: int = 0
    fallback: NamePool | None = field(default_factory=SynonymPool)

    @property
    def name(self) -> str:
        """The model's name."""
        return f"names of {self.generator.name}"

    def pools(self, texts: Sequence[str], language: str, kinds: Collection[NameKind]) -> Sequence[NamePool]:
        """See `NameSource`.

        Raises:
            ModelError: the model cannot be run.
        """
        engine = engine_of(language)
        proposals: list[dict[str, tuple[str, ...]]] = []
        places = []
        for text in texts:
            of_text: dict[str, tuple[str, ...]] = {}
            proposals.append(of_text)
            names = [name for name in engine.analysis(text, ()).names if name.kind in kinds]
            places += [(of_text, name.name, *_before(text, name)) for name in names]
        prompts: list[str] = []
        for *_, prompt, _space in places:
            prompts += [prompt] * self.samples
        if not prompts:
            return [ProposedPool({}, self.fallback)] * len(texts)
        replies = iter(self.generator.generate(prompts, max_new_tokens=TOKENS, temperature=1.0, seed=self.seed))
        for of_text, old, _prompt, space in places:
            written = Counter(map(_written, islice(replies, self.samples), repeat(space)))
            frequent = sorted(written, key=written.__getitem__, reverse=True)
            of_text[old] = _others(filter(None, frequent), old)
        return list(map(ProposedPool, proposals, repeat(self.fallback)))


def _written(reply: str | Rejected, space: str) -> str | None:
    """Return the name with which a continuation begins; None where it begins with something else or breaks off."""
    if isinstance(reply, Rejected):
        return None
    match = _NAME.match(reply.removeprefix(space))
    return match and match[0]


def _before(text: str, name: Renamable) -> tuple[str, str]:
    """Return the text before the first place of a name without its last space, and that space.

    Tokenizers join a space with the word behind it: a prompt that ends with it would have a token that the model has
    hardly seen before a word.
    """
    before = text[: name.places[0]]
    shown = before.removesuffix(" ")
    return shown, before[len(shown) :]
