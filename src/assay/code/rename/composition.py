"""Several transformations in one variant: x_i = (τ_t ∘ τ_v ∘ τ_f)(x_0)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from assay.code.rename.names import Kind
from assay.code.rename.variant_engine import Variant, VariantSet, variants


@dataclass(frozen=True, slots=True)
class _Given:
    """A pool that knows one new name for each old one."""

    functions: Mapping[str, str]
    variables: Mapping[str, str]

    def candidates(self, name: str, kind: Kind) -> Sequence[str]:
        """That name, or none."""
        known = (self.functions if kind == "function" else self.variables).get(name)
        return () if known is None else (known,)


def composed(tests: VariantSet, names: VariantSet, n: int, *, kinds: Collection[Kind]) -> VariantSet:
    """At most n variants of a text that show other test cases and have other names.

    Each rewriting of `tests` is renamed as a variant of `names` is, and verified anew; where there are fewer of one
    than of the other, they come again. Names that cannot change beside the new tests stay.

    Args:
        tests: of `replaced_tests` or `written_tests`.
        names: of `variants` or `written_variants`, of the same text.
        n: how many.
        kinds: of names that change.
    """
    if not tests.variants or not names.variants:
        return tests if tests.variants else names
    made: dict[str, Variant] = {}
    for index in range(max(n, len(tests.variants) * len(names.variants))):
        if len(made) == n:
            break
        shown = tests.variants[index % len(tests.variants)]
        # one step further in each round, so that every pair comes once
        named = names.variants[(index + index // len(tests.variants)) % len(names.variants)]
        found = variants(shown.text, 1, kinds=kinds, pool=_Given(named.functions, named.variables)).variants
        made.setdefault(found[0].text if found else shown.text, found[0] if found else shown)
    few = None if len(made) == n else f"only {len(made)} distinct variants"
    return VariantSet(
        names.original, tuple(made.values()), few, {**names.kept, **tests.kept}, names.rejected + tests.rejected
    )
