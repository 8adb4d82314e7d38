"""A test whether a text follows the grammar of a language."""

from assay.code.parse.python_source import python_tree
from assay.code.parse.trees import raw_tree
from assay.languages import LANGUAGES, PYTHON_PARSER


def parses(text: str, language: str) -> bool:
    """Return True if a text follows the grammar of a language without an error.

    Args:
        text: any text.
        language: by its name in the table of languages.

    Raises:
        ValueError: the language has no grammar.
        AssayError: the grammar's package is not installed.
    """
    entry = LANGUAGES.get(language)
    if entry is None or not entry.syntax:
        raise ValueError(f"received the language {language!r}, expected one with a grammar")
    if entry.grammar != PYTHON_PARSER:
        return not raw_tree(text.encode("utf-8", "surrogatepass"), entry.grammar).root_node.has_error
    try:
        python_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # all four are the parser's refusals
        return False
    return True
