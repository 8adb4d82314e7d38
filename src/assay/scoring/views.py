"""Views: how a form of a sample's text, and its rewritings, are made."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.code import KINDS, Kind, VariantSet, variants
from assay.languages import languages_with
from assay.scores import Form
from assay.scoring.solutions import sample_language
from assay.types import Sample

FORMS: Mapping[Form, Callable[[str], str]] = MappingProxyType({"original": str, "lowercase": str.lower})


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The rewritings of a sample, and why there are fewer than were asked for; None where there are not."""

    texts: tuple[str, ...]
    reason: str | None


def rewritten(sample: Sample, n: int, kinds: Collection[Kind] = KINDS) -> Rewritten:
    """At most n verified rewritings of a sample; the same for the same text, whatever else is rewritten.

    A sample without a language is taken for Python.
    """
    language = sample_language(sample)
    if language not in languages_with("variants"):
        return Rewritten((), f"no rewriting of {sample.language}")
    return in_words(variants(sample.text, n, language=language, kinds=kinds), n)


def in_words(found: VariantSet, n: int) -> Rewritten:
    """The texts of a set of variants, and in few words why there are fewer than n."""
    texts = tuple(one.text for one in found.variants)
    if found.reason is None:
        return Rewritten(texts, None)
    if texts:
        return Rewritten(texts, f"fewer than {n} distinct variants")
    # the first words tell the kind; what follows is of this text alone and would make every reason another one
    return Rewritten((), f"no variants: {found.reason.partition(':')[0]}")


def view_text(text: str, form: Form) -> str:
    """The text in that form."""
    return FORMS[form](text)
