"""The language of a text that comes without one: pasted code, standard input.

Two kinds of evidence are added. Phrases (`assay.languages.table`) are usual in one language; a grammar that reads the
text with few errors allows a language, and errors speak against it. A fragment is also read as a part of a class, of
an object or of a function.
"""

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import repeat

from assay.code.parse.trees import Unparsable, raw_tree
from assay.languages import BASES, LANGUAGES, OUTLINES, PYTHON_PARSER, SIGNS
from assay.python_parser import REFUSALS, python_tree

# A test whether a text follows the grammar of a language.


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
        try:
            return not raw_tree(text.encode("utf-8", "surrogatepass"), entry.grammar).root_node.has_error
        except Unparsable:
            return False
    try:
        python_tree(text)
    except REFUSALS:
        return False
    return True


ERROR_WEIGHT = 10.0
"""Phrases that outweigh a text of errors alone."""

LEAST_SCORE = -1.0
"""Score below which a text is in none of the languages, such as a paragraph of prose."""

MOST_READ = 20_000
"""Characters from the start that decide."""

MOST_COUNTED = 5
"""Errors of one reading that are counted; recovery after an error makes more of them."""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
_AT_MARGIN = re.compile(r"^[^\s})\]]", re.MULTILINE)


def languages_of_text(text: str) -> tuple[str, ...]:
    """Return the languages that a text may be in, the likeliest first.

    A second one is a relative of the first, C and C++ or JavaScript and TypeScript, whose grammar accepts the text too.

    Returns:
        An empty tuple for a text that shows no language.
    """
    text = _beginning(text)
    # words in comments and strings are of no language
    bare = _STRING.sub('""', _COMMENT.sub("", text))
    signs = {}
    for name, patterns in SIGNS.items():
        signs[name] = sum(pattern.search(bare) is not None for pattern in patterns)
    errors = cache(partial(error_share, text))
    # a grammar that reads any words, such as Kotlin's, is no evidence alone: a phrase of the language is needed
    most = {name: 1.3 * signs[name] + signs.get(BASES.get(name, ""), 0) for name in SIGNS}
    scores: dict[str, float] = {}
    for name in sorted(filter(most.__getitem__, SIGNS), key=most.__getitem__, reverse=True):
        # errors only lower a score: a language whose phrases alone cannot win is not parsed
        if most[name] >= max(scores.values(), default=LEAST_SCORE):
            scores[name] = _score(name, signs, errors)
    # of equal scores the first language of the table wins
    best = max(filter(scores.__contains__, SIGNS), key=scores.__getitem__, default="")
    if not best or scores[best] < LEAST_SCORE:
        return ()
    if errors(best):
        return (best,)
    relatives = (name for name in SIGNS if BASES.get(name) == best or BASES.get(best) == name)
    return (best, *(name for name in relatives if not errors(name)))


def _score(name: str, signs: Mapping[str, int], errors: Callable[[str], float]) -> float:
    """Return what speaks for a language: its phrases, less the share of the text that its grammar cannot read."""
    base = BASES.get(name)
    if base is None:
        return signs[name] - ERROR_WEIGHT * errors(name)
    # what only the larger language accepts is not in the smaller one, so phrases of both count fully; a text that both
    # accept has to show the larger one by phrases of its own
    is_needed = not errors(name) and errors(base)
    shared = signs[base] if is_needed else 0.8 * signs[base] - 0.4
    return 1.3 * signs[name] + shared - ERROR_WEIGHT * errors(name)


def error_share(text: str, language: str) -> float:
    """Return the share of a text that the grammar of a language cannot read, 0 to 1, in its best reading."""
    least = 1.0
    for grammar, reading in _readings(text, language):
        if grammar == PYTHON_PARSER:
            if parses(reading, language):
                return 0.0
            continue
        raw = reading.encode("utf-8", "surrogatepass")
        try:
            waiting = [raw_tree(raw, grammar).root_node]
        except Unparsable:
            continue
        size = count = 0
        while waiting:
            node = waiting.pop()
            if node.is_missing or node.is_error:
                count += 1
                size += node.end_byte - node.start_byte
            elif node.has_error:
                waiting += node.children
        if not count:
            return 0.0
        # half by the share of the text in errors, half by their number: one error over a whole function and many small
        # ones both count, and neither alone makes a text unreadable
        least = min(least, 0.5 * size / len(raw) + 0.5 * min(count, MOST_COUNTED) / MOST_COUNTED)
    return least


def _readings(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield the text, and the text within the code that a fragment of it may come from, with the grammar to read it."""
    flush = textwrap.dedent(text)
    indented = textwrap.indent(flush, " ")
    texts = [flush, *(outline.format(text=text, indented=indented) for outline in OUTLINES[language])]
    # a header may be C++, so C has its grammar too; here the two are to be told apart
    syntaxes = LANGUAGES[language].syntax[: 1 if language == "c" else None]
    # PHP's grammar of pages reads any text without a mark of PHP as one that is printed as it stands
    if language == "php" and "<?" not in text:
        syntaxes = syntaxes[:1]
    for syntax in syntaxes:
        yield from zip(repeat(syntax.grammar), texts)


def _beginning(text: str) -> str:
    """Return the first part of a long text, cut where something begins at the margin, so that it still parses."""
    if len(text) <= MOST_READ:
        return text
    last = max((match.start() for match in _AT_MARGIN.finditer(text, 0, MOST_READ)), default=0)
    return text[: last or MOST_READ]
