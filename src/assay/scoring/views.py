"""Views: how a form of a sample's text, and its rewritings, are made."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.code import KINDS, Extent, NameKind, NamePool, VariantSet, variants
from assay.languages import languages_with
from assay.scores import TextForm
from assay.scoring.solutions import sample_language
from assay.types import Sample

TEXT_FORMS: Mapping[TextForm, Callable[[str], str]] = MappingProxyType({"original": str, "lowercase": str.lower})


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The rewritings of a sample.

    Attributes:
        texts: the rewritings.
        reason: why there are fewer than were asked for; None where there are not.
    """

    texts: tuple[str, ...]
    reason: str | None


def rewritten(
    sample: Sample,
    n: int,
    kinds: Collection[NameKind] = KINDS,
    *,
    pool: NamePool | None = None,
    rename: Extent = "all",
) -> Rewritten:
    """Return at most n verified rewritings of a sample; the same for the same text, whatever else is rewritten.

    A sample without a language counts as Python.
    """
    language = sample_language(sample)
    if language not in languages_with("variants"):
        return Rewritten((), f"no rewriting of {sample.language}")
    return with_short_reason(variants(sample.text, n, language=language, kinds=kinds, pool=pool, rename=rename), n)


def with_short_reason(variant_set: VariantSet, n: int) -> Rewritten:
    """Return the texts of a set of variants, and in few words why there are fewer than n."""
    texts = tuple(variant.text for variant in variant_set.variants)
    if variant_set.reason is None:
        return Rewritten(texts, None)
    # scores that compare fewer can still be computed
    if texts:
        return Rewritten(texts, f"fewer than {n} distinct variants")
    # the first words give the kind; the rest is about this text alone, and would make every reason a different one
    return Rewritten((), f"no variants: {variant_set.reason.partition(':')[0]}")


def view_text(text: str, form: TextForm) -> str:
    """Return the text in that form."""
    return TEXT_FORMS[form](text)
