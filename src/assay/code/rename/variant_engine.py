"""Semantics-preserving variants: the same program with other names (τ_f functions, τ_v variables and parameters).

SrDetection calls for ten such rewritings of a sample: a model that has memorised it finds the original easier than all
of them. Only names change. Comments, formatting and line ends stay as they are, byte for byte, but for names in them.
"""

import functools
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from assay.code.parse.cycles import cycles_let_be
from assay.code.rename.engines import Holding, named
from assay.code.rename.names import Kind, Renamable
from assay.code.rename.pools import DictionaryPool, NamePool

KINDS: tuple[Kind, ...] = ("function", "variable")
_ATTEMPTS = 12  # draws for each variant wanted before the pool counts as exhausted


@dataclass(frozen=True, slots=True)
class Variant:
    """One rewriting.

    Attributes:
        text: the whole text.
        functions: new names of functions by their old ones.
        variables: new names of variables and parameters by their old ones. One name can be in both.
        aliases: names of the module, file or class, old by new: what code after the text may use.
        language: of the text.
    """

    text: str
    functions: Mapping[str, str]
    variables: Mapping[str, str]
    aliases: Mapping[str, str]
    language: str = "python"

    def followed_by(self, tests: str) -> str:
        """The variant as a program with tests that call it by its old names.

        Raises:
            ValueError: the tests have to be rewritten, as in Java, and do not parse.
        """
        return f"{self.text}\n\n{named(self.language).bridge(tests, self.aliases)}"


@dataclass(frozen=True, slots=True)
class VariantSet:
    """The variants of one text.

    Attributes:
        original: the text.
        variants: verified, distinct from each other and from the original.
        reason: why there are fewer than were asked for; None where there are not.
        kept: names of the text that were not renamed, and why.
        rejected: rewritings that failed verification. The engine builds none; they would show that it errs.
    """

    original: str
    variants: tuple[Variant, ...]
    reason: str | None
    kept: Mapping[str, str]
    rejected: int = 0


@cycles_let_be()
def variants(
    text: str,
    n: int = 10,
    *,
    language: str = "python",
    seed: int = 0,
    kinds: Collection[Kind] = KINDS,
    pool: NamePool | None = None,
    keep: Collection[str] = (),
) -> VariantSet:
    """At most n verified variants of a text, each with every name replaced that can be.

    The same text, seed and pool give the same variants, whatever else is rewritten before it.

    Args:
        text: a function, a script or a module that parses on its own.
        n: how many.
        language: "python", "java", "c", "cpp", "javascript" or "go".
        seed: of the draws from the pool.
        kinds: "function", "variable" or both.
        pool: where names come from; dictionary words by default.
        keep: names to leave alone, for example parameters that tests pass by keyword (`keywords_of`).

    Raises:
        ValueError: n is below 1, or there is no language or kind of that name.
    """
    spoken = named(language)
    if n < 1:
        raise ValueError(f"received n = {n}, expected at least 1 variant")
    if not kinds or not set(kinds) <= set(KINDS):
        raise ValueError(f"received the kinds {sorted(kinds)}, expected some of {list(KINDS)}")
    found = spoken.analysis(text, keep)
    if found.refused:
        return VariantSet(text, (), found.refused, found.kept)
    names = [one for one in found.names if one.kind in kinds]
    taken = found.words | spoken.reserved
    choices = [_choices(one, pool or DictionaryPool(), taken) for one in names]
    names, choices = [one for one, has in zip(names, choices, strict=True) if has], [one for one in choices if one]
    if not names:
        return VariantSet(text, (), "no identifiers to rename", found.kept)
    try:
        verifier = spoken.verifier(text)
    except SyntaxError as error:  # what only the compiler sees: a nonlocal that nothing binds, for example
        return VariantSet(text, (), f"does not compile as Python: {error.msg}", found.kept)
    except (RecursionError, MemoryError):
        return VariantSet(text, (), "nested too deeply to be read", found.kept)
    draw = random.Random(f"{seed}\n{text}")  # noqa: S311  reproducible, not secret
    made, rejected = _made(n, _Writer.of(text, names, language), choices, verifier, draw)
    reason = _shortfall(n, len(made), rejected, names, choices)
    return VariantSet(text, made, reason, found.kept, rejected)


def _made(
    wanted: int,
    writer: "_Writer",
    choices: Sequence[Sequence[str]],
    verifier: Holding,
    draw: random.Random,
) -> tuple[tuple[Variant, ...], int]:
    """Distinct verified variants, at most as many as wanted, and how many did not pass."""
    made: dict[str, Variant] = {}
    rejected = 0
    for _attempt in range(wanted * _ATTEMPTS):
        variant = writer.variant(_drawn(writer.names, choices, draw))
        if variant.text in made or not (variant.functions or variant.variables):
            continue
        renaming = frozenset((*variant.functions.items(), *variant.variables.items()))
        if verifier.difference(variant.text, renaming) is None:
            made[variant.text] = variant
        else:
            rejected += 1
        if len(made) == wanted:
            break
    return tuple(made.values()), rejected


def _shortfall(
    wanted: int, made: int, rejected: int, names: Sequence[Renamable], choices: Sequence[Sequence[str]]
) -> str | None:
    if made == wanted:
        return None
    if rejected:
        return f"{rejected} rewritings failed verification"
    few = ", ".join(f"{len(one)} for {name.name}" for name, one in zip(names, choices, strict=True))
    return f"only {made} distinct variants: the pool has names {few}"


def _choices(name: Renamable, pool: NamePool, taken: frozenset[str]) -> list[str]:
    """Candidates that stand nowhere in the text, mean nothing to the language, and are no private names of a class.

    The first letter keeps its case: in Go it decides who sees a name.
    """
    return [one for one in _fitting(name.name, tuple(pool.candidates(name.name, name.kind))) if one not in taken]


@functools.lru_cache(maxsize=4096)
def _fitting(name: str, candidates: tuple[str, ...]) -> tuple[str, ...]:
    """Those that may stand for the name in any text."""
    return tuple(
        one
        for one in candidates
        if one.isidentifier()
        and not one.startswith("__")
        and one.isascii() >= name.isascii()
        and one[0].isupper() == name[0].isupper()
    )


def _drawn(names: Sequence[Renamable], choices: Sequence[Sequence[str]], draw: random.Random) -> list[str]:
    """A new name for each, none twice; a name whose candidates are all in use stays."""
    used: set[str] = set()
    drawn = []
    for name, few in zip(names, choices, strict=True):
        chosen = few[int(draw.random() * len(few))]
        if chosen in used:
            chosen = next((one for one in draw.sample(few, len(few)) if one not in used), name.name)
        used.add(chosen)
        drawn.append(chosen)
    return drawn


@dataclass(frozen=True, slots=True)
class _Writer:
    """The text cut at its names."""

    names: Sequence[Renamable]
    pieces: tuple[str, ...]  # between, before and behind the names
    order: tuple[int, ...]  # which name stands behind each piece
    language: str

    @classmethod
    def of(cls, text: str, names: Sequence[Renamable], language: str) -> "_Writer":
        places = sorted((place, index) for index, one in enumerate(names) for place in one.places)
        pieces, end = [], 0
        for place, index in places:
            pieces.append(text[end:place])
            end = place + len(names[index].name)
        return cls(names, (*pieces, text[end:]), tuple(index for _place, index in places), language)

    def variant(self, drawn: Sequence[str]) -> Variant:
        """The text with these names."""
        parts = [""] * (2 * len(self.order) + 1)
        parts[::2] = self.pieces
        parts[1::2] = [drawn[index] for index in self.order]
        changed = [(one, new) for one, new in zip(self.names, drawn, strict=True) if one.name != new]
        return Variant(
            "".join(parts),
            {one.name: new for one, new in changed if one.kind == "function"},
            {one.name: new for one, new in changed if one.kind == "variable"},
            {new: one.name for one, new in changed if one.global_scope},
            self.language,
        )
