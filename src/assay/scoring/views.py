"""Views: how a form of a sample's text is made."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from assay.scores.definition import Form

FORMS: Mapping[Form, Callable[[str], str]] = MappingProxyType({"original": str, "lowercase": str.lower})


def view_text(text: str, form: Form) -> str:
    """The text in that form."""
    return FORMS[form](text)
