"""The language that a text without one is traced in."""

from assay.code import languages_of_text
from assay.languages import language_named, languages_with
from assay.provenance.index import Searchable
from assay.provenance.search.tracing import trace


def find_language(text: str, index: Searchable) -> str | None:
    """Return the language that a text shows; where it leaves a choice, the one in which the index has most of it.

    Some texts are valid in two languages, and `return x + 1;` is in five. The fingerprints of a text are those of a
    document only where both were read by the same rules, so the index decides among the languages that it contains.

    Returns:
        None where the text shows no language, and none finds anything that the neutral rules do not find as well.
    """
    shown = languages_of_text(text)
    indexed = {language_named(name) for name in index.languages() if name is not None}
    choice = [name for name in shown or languages_with("fingerprints") if name in indexed]
    if len(shown) == 1 or (shown and not choice):
        return shown[0]
    # each language is tried on the index; its rules are right if they find the most of the text there
    best, language = (0.0, 0.0), shown[0] if shown else None
    for candidate in choice if shown else (None, *choice):
        result = trace(text, index, language=candidate, method="winnowing", top=1)
        if result.matches and (evidence := (result.matches[0].containment, result.indexed_share)) > best:
            best, language = evidence, candidate
    return language
