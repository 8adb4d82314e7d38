"""Semantics-preserving variants: the same program with other names (τ_f functions, τ_v variables and parameters).

SrDetection asks for ten such rewritings of a sample: a model that has memorised the sample finds the original easier
than all of them. Only names change. Comments, formatting and line ends stay as they are, byte for byte, except for
names in them.
"""

import functools
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import filterfalse, repeat, zip_longest
from operator import attrgetter, itemgetter
from typing import Literal

from assay.code.rename.engines import Verifier, engine_of
from assay.code.rename.names import NameKind, Renamable
from assay.code.rename.pools import DictionaryPool, NamePool, SynonymPool
from assay.garbage import garbage_collection_paused
from assay.languages import LANGUAGES

Extent = Literal["all", "one"]
"""Names that a variant changes: all at once, or one."""
KINDS: tuple[NameKind, ...] = ("function", "variable")
NO_IDENTIFIERS = "no identifiers to rename"
_ATTEMPTS = 12  # draws for each requested variant before the pool counts as exhausted


@dataclass(frozen=True, slots=True)
class Variant:
    """One rewriting.

    Attributes:
        text: the whole text.
        functions: new names of functions by their old ones.
        variables: new names of variables and parameters by their old ones. A name can be in both.
        aliases: names of the module, file or class, old by new: what code after the text may use.
        language: of the text.
    """

    text: str
    functions: Mapping[str, str]
    variables: Mapping[str, str]
    aliases: Mapping[str, str]
    language: str = "python"

    def followed_by(self, tests: str) -> str:
        """Return the variant as a program with tests that call it by its old names.

        Raises:
            ValueError: the tests have to be rewritten, as in Java, and do not parse.
        """
        return f"{self.text}\n\n{engine_of(self.language).with_old_names(tests, self.aliases)}"


@dataclass(frozen=True, slots=True)
class VariantSet:
    """The variants of one text.

    Attributes:
        original: the text.
        variants: verified, distinct from each other and from the original.
        reason: why there are fewer than requested; None where there are not.
        kept: names of the text that were not renamed, and why.
        rejected: rewritings that failed verification. The engine builds none; a number above 0 shows an error in it.
    """

    original: str
    variants: tuple[Variant, ...]
    reason: str | None
    kept: Mapping[str, str]
    rejected: int = 0


@garbage_collection_paused()
def variants(
    text: str,
    n: int = 10,
    *,
    language: str = "python",
    seed: int = 0,
    kinds: Collection[NameKind] = KINDS,
    pool: NamePool | None = None,
    keep: Collection[str] = (),
    rename: Extent = "all",
) -> VariantSet:
    """Return at most n verified variants of a text, each with every name replaced that can be, or with one of them.

    The same text, seed and pool give the same variants, whatever else is rewritten before it.

    Args:
        text: a function, a script or a module that parses on its own.
        n: number of variants.
        language: of the text, one of `languages_with("variants")`.
        seed: of the draws from the pool.
        kinds: "function", "variable" or both.
        pool: source of new names; None for dictionary words where all names change, for synonyms where one does.
        keep: names to leave alone, for example parameters that tests pass by keyword (`keywords_of`).
        rename: "all" names in each variant, as SrDetection does, or "one" name in each, all names in turn and the
            first candidates of the pool first.

    Raises:
        ValueError: n is below 1, or there are no variants in that language, or no kind of that name.
    """
    engine = engine_of(language)
    if n < 1:
        raise ValueError(f"received n = {n}, expected at least 1 variant")
    if not kinds or not set(kinds) <= set(KINDS):
        raise ValueError(f"received the kinds {sorted(kinds)}, expected some of {list(KINDS)}")
    analysis = engine.analysis(text, keep)
    if analysis.refused:
        return VariantSet(text, variants=(), reason=analysis.refused, kept=analysis.kept)
    # a new name is no word of the text, not even of its comments and strings: so it can neither capture a name nor be
    # captured, and a reader of the text cannot confuse the two
    unavailable = analysis.words | LANGUAGES[language].unavailable
    pool = pool or default_pool(rename)
    names, choices = [], []
    for name in analysis.names:
        if name.kind in kinds and (candidates := _choices(name, pool, unavailable)):
            names.append(name)
            choices.append(candidates)
    if not names:
        return VariantSet(text, variants=(), reason=NO_IDENTIFIERS, kept=analysis.kept)
    try:
        verifier = engine.verifier(text)
    except SyntaxError as error:  # what only the compiler sees: a nonlocal that nothing binds, for example
        return VariantSet(text, variants=(), reason=f"does not compile as Python: {error.msg}", kept=analysis.kept)
    except (RecursionError, MemoryError):
        return VariantSet(text, variants=(), reason="nested too deeply to be read", kept=analysis.kept)
    # the text is part of the seed, so a sample gets the same variants alone and among others
    draw = random.Random(f"{seed}\n{text}")  # noqa: S311  reproducible, not secret
    all_names = _all_name_draws(n, names=names, choices=choices, draw=draw)
    draws = _one_name_draws(names, choices) if rename == "one" else all_names
    writer = _Writer.of(text, names, language)
    verified, rejected = _verified(n, map(writer.variant, draws), verifier)
    reason = None
    if len(verified) < n:
        sizes = map("{} for {}".format, map(len, choices), map(attrgetter("name"), names))
        shortfall = f"only {len(verified)} distinct variants: the pool has names {', '.join(sizes)}"
        reason = f"{rejected} rewritings failed verification" if rejected else shortfall
    return VariantSet(text, variants=verified, reason=reason, kept=analysis.kept, rejected=rejected)


def default_pool(rename: Extent) -> NamePool:
    """Return the pool of new names that is used where none is named."""
    return DictionaryPool() if rename == "all" else SynonymPool()


def _verified(n: int, proposed: Iterable[Variant], verifier: Verifier) -> tuple[tuple[Variant, ...], int]:
    """Return at most n distinct verified variants, and how many rewritings failed verification."""
    verified: dict[str, Variant] = {}
    rejected = 0
    for variant in proposed:
        if variant.text in verified or not (variant.functions or variant.variables):
            continue
        renaming = frozenset((*variant.functions.items(), *variant.variables.items()))
        if verifier.difference(variant.text, renaming) is None:
            verified[variant.text] = variant
        else:
            rejected += 1
        if len(verified) == n:
            break
    return tuple(verified.values()), rejected


def _choices(name: Renamable, pool: NamePool, unavailable: frozenset[str]) -> list[str]:
    """Return candidates that do not occur in the text, mean nothing to the language, and are no private names.

    The first letter keeps its case: in Go it decides whether other packages see a name.
    """
    # what any text forbids is cached by name; only the words of this text are looked up anew
    candidates = tuple(pool.candidates(name.name, name.kind))
    return list(filterfalse(unavailable.__contains__, _fitting(name.name, candidates)))


@functools.lru_cache(maxsize=4096)
def _fitting(name: str, candidates: tuple[str, ...]) -> tuple[str, ...]:
    """Return the candidates that may stand for the name in any text."""
    return tuple(
        new
        for new in filter(str.isidentifier, candidates)
        if not new.startswith("__") and new.isascii() >= name.isascii() and new[0].isupper() == name[0].isupper()
    )


def _all_name_draws(
    n: int, names: Sequence[Renamable], choices: Sequence[Sequence[str]], draw: random.Random
) -> Iterator[list[str]]:
    """Yield new names for all names, more than enough for n distinct variants of a pool that has as many."""
    for _ in range(n * _ATTEMPTS):
        yield _drawn(names, choices, draw)


def _one_name_draws(names: Sequence[Renamable], choices: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Yield a new name for one name at a time: the first candidate of each, then the second of each, and so on."""
    old = list(map(attrgetter("name"), names))
    for candidates in zip_longest(*choices):
        for index, candidate in enumerate(candidates):
            if candidate is not None:
                yield [*old[:index], candidate, *old[index + 1 :]]


def _drawn(names: Sequence[Renamable], choices: Sequence[Sequence[str]], draw: random.Random) -> list[str]:
    """Draw a new name for each, none twice; a name whose candidates are all in use stays."""
    used: set[str] = set()
    drawn = []
    for name, candidates in zip(names, choices, strict=True):
        # one draw a name in the usual case; the shuffle is for the rare candidate that another name has taken
        chosen = candidates[int(draw.random() * len(candidates))]
        if chosen in used:
            shuffled = draw.sample(candidates, len(candidates))
            chosen = next(filterfalse(used.__contains__, shuffled), name.name)
        used.add(chosen)
        drawn.append(chosen)
    return drawn


@dataclass(frozen=True, slots=True)
class _Writer:
    """The text cut at its names.

    Attributes:
        names: that may change.
        pieces: between, before and behind the places of the names.
        order: index of the name that stands behind each piece but the last.
        language: of the text.
    """

    names: Sequence[Renamable]
    pieces: tuple[str, ...]
    order: tuple[int, ...]
    language: str

    @classmethod
    def of(cls, text: str, names: Sequence[Renamable], language: str) -> "_Writer":
        places: list[tuple[int, int]] = []
        for index, name in enumerate(names):
            places += zip(name.places, repeat(index))
        places.sort()
        pieces, end = [], 0
        for place, index in places:
            pieces.append(text[end:place])
            end = place + len(names[index].name)
        order = tuple(map(itemgetter(1), places))
        return cls(names, pieces=(*pieces, text[end:]), order=order, language=language)

    def variant(self, drawn: Sequence[str]) -> Variant:
        """Return the text with these names."""
        # pieces and names in turn: the text was cut once, so that a variant costs two slices and one join
        parts = [""] * (2 * len(self.order) + 1)
        parts[::2] = self.pieces
        parts[1::2] = map(drawn.__getitem__, self.order)
        return variant_of("".join(parts), zip(self.names, drawn, strict=True), self.language)


def variant_of(text: str, renamed: Iterable[tuple[Renamable, str]], language: str) -> Variant:
    """Return the variant with this text, in which names have become new ones, or stayed."""
    changed: dict[NameKind, dict[str, str]] = {"function": {}, "variable": {}}
    aliases = {}
    for name, new in renamed:
        if new != name.name:
            changed[name.kind][name.name] = new
            if name.global_scope:
                aliases[new] = name.name
    return Variant(text, changed["function"], changed["variable"], aliases=aliases, language=language)


@dataclass(frozen=True, slots=True)
class _FixedPool:
    """A pool that has one new name for each old one."""

    functions: Mapping[str, str]
    variables: Mapping[str, str]

    def candidates(self, name: str, kind: NameKind) -> Sequence[str]:
        """Return that name, or none."""
        names = {"function": self.functions, "variable": self.variables}[kind]
        return tuple(filter(None, [names.get(name)]))


def composed(tests: VariantSet, names: VariantSet, n: int, *, kinds: Collection[NameKind]) -> VariantSet:
    """Return at most n variants of a text that show other test cases and have other names: τ_t ∘ τ_v ∘ τ_f.

    Each rewriting of `tests` is renamed as a variant of `names` is, and verified anew; where there are fewer of one
    kind than of the other, they are used again. Names that cannot change beside the new tests stay.

    Args:
        tests: of `replaced_tests` or `written_tests`.
        names: of `variants` or `written_variants`, of the same text.
        n: number of variants.
        kinds: of names that change.
    """
    # with nothing of one kind there is nothing to compose
    if not tests.variants:
        return names
    if not names.variants:
        return tests
    distinct: dict[str, Variant] = {}
    for index in range(max(n, len(tests.variants) * len(names.variants))):
        if len(distinct) == n:
            break
        shown = tests.variants[index % len(tests.variants)]
        # one step further in each round, so that every pair comes once
        renamed = names.variants[(index + index // len(tests.variants)) % len(names.variants)]
        pool = _FixedPool(renamed.functions, renamed.variables)
        variant = next(iter(variants(shown.text, 1, kinds=kinds, pool=pool).variants), shown)
        distinct.setdefault(variant.text, variant)
    reason = None if len(distinct) == n else f"only {len(distinct)} distinct variants"
    return VariantSet(
        original=names.original,
        variants=tuple(distinct.values()),
        reason=reason,
        kept={**names.kept, **tests.kept},
        rejected=names.rejected + tests.rejected,
    )
