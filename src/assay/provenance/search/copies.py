"""Evidence of a copy: fingerprints in one stretch, each weighted by its rarity in the index.

The weight is that of an inverse document frequency: 1 for a fingerprint of a single document, falling with the
logarithm of the number of documents to 0 where a fingerprint is common, and 0 within a template. A fingerprint counts
once in a stretch, so neither the layout of the code nor a table of equal rows changes what a stretch shows. Imports,
lines of constants and the words of licences weigh nothing: a list of the elements of HTML is the same in every library.
Nor does a helper that a compiler wrote into both texts.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.corpora import lines_of, without_imports
from assay.provenance.index import Searchable
from assay.provenance.search.query import SearchQuery
from assay.retrieval import Fingerprints, Form
from assay.types import Float64Array, Match, Span

LEAST: Mapping[str, float] = {"characters": 16.0, "tokens": 6.5}
"""Evidence of one stretch that shows a copy: some 100 characters, or 50 tokens, that no other file has."""

OF_FUNCTION: Mapping[str, float] = {"characters": 6.5, "tokens": 1.7}
"""Evidence that is enough where the document has a whole short function."""

SHORTEST, LONG = 29, 170
"""Tokens of such a function: from the first length on two copies always share a fingerprint of tokens (k + w - 1); from
the second on a copy of all of it has the evidence of a stretch, unless it is a table or common code."""

MOST_OF_IT = 0.6
"""Share of a function from which all common stretches count together."""


WEIGHTLESS, WEIGHTLESS_AT_LEAST = 0.005, 100
"""Share of an index's documents, and documents at least, from which a fingerprint weighs nothing."""

_CONSTANTS = re.compile(
    r"""[\s()\[\]{},:;=>]*+(?:(?:[rbu]{0,2}(?:"(?:\\.|[^"\\\n])*+"|'(?:\\.|[^'\\\n])*+')"""
    r"""|[-+]?[\d.][\w.]*+|none|null|nil|true|false)(?![\w"'])[\s()\[\]{},:;=>]*+)++(?:(?:\#|//).*+\s*)?""",
    re.IGNORECASE,
)
"""A line of strings, numbers and what divides them."""

_NOTICE = re.compile(
    r"warrant|liab(?:le|ility)\b|\bas is\b|damages|redistribut|copyright|licen[cs]e|disclaim|merchantab|no event"
    r"|possibility of such|hereby granted|endorse or|permission|conditions are met",
    re.IGNORECASE,
)
"""Words of licences, in a comment, a string or a text."""

_HELPER = (
    r"(?:var|const|let) (?P<own>__\w+) = \(this && this\.(?P=own)\)|(?:var|const|let) __(?:create|defProp|defNormalProp"
    r"|getOwnProp\w*|getProtoOf|hasOwnProp|propIsEnum|export|copyProps|reExport|toESM|toCommonJS|toModule|commonJS|esm|require"
    r"|publicField|spread\w+|objRest|async|accessCheck|private\w+|decorate\w*|name) ?="
    r"|(?:async )?function PREFIX(?:_(?:interop\w+|classCall\w+|classPrivate\w+|defineProp\w+|createClass|inherits\w*"
    r"|typeof|objectWithoutProp\w+|objectSpread\w*|extends|asyncToGenerator|asyncIterator|slicedToArray|toConsumableArray"
    r"|arrayLike\w+|array(?:With|Without)\w+|iterableTo\w+|non(?:Iterable)\w+|unsupportedIterable\w+"
    r"|possibleConstructor\w+|assertThis\w+|getPrototypeOf|setPrototypeOf|isNative\w+|wrapNativeSuper|toPropertyKey"
    r"|toPrimitive|superPropBase|callSuper|createSuper|regenerator\w*|createForOf\w+|taggedTemplate\w+|construct"
    r"|export(?:_star)?|getRequireWildcardCache)|asyncGeneratorStep|ownKeys)\("
)
"""First line of a function that compilers of JavaScript write into files: TypeScript, Babel, esbuild."""
_IN_A_TEXT = re.compile(_HELPER.replace("PREFIX", ""))
_IN_A_DOCUMENT = re.compile(_HELPER.replace("PREFIX", r"(?:\w+_|\w+(?=_))?"))
"""Bundlers rename helpers, ownKeys to Tabs_ownKeys, so that of a document has any prefix."""

_ENDS = re.compile(r"[})](?!.*\{\s*$)")

MOSTLY_WORDS, FEWEST_WORDS = 0.8, 4
"""Share of the words of a line that are letters alone, and number of them, from which it is prose and no code."""


def rarities(query: SearchQuery, index: Searchable) -> Mapping[Form, Float64Array]:
    """Return the weight of each fingerprint of a query, from 0 to 1, [m] for each form."""
    common = max(WEIGHTLESS_AT_LEAST, int(WEIGHTLESS * len(index)))
    weights: dict[Form, Float64Array] = {}
    # a fingerprint begins in a line with code, so a line that is blank without imports is one of them
    lines = lines_of(without_imports(query.text))
    weighs = np.array(list(map(_weighs, lines)))
    for form, prints in query.fingerprints.items():
        if isinstance(prints, Fingerprints):
            # a function is in an index twice, by itself and in its file
            places = (index.frequencies(form, prints.hashes) / 2).clip(1)
            weight = (1 - np.log(places) / math.log(common / 2)).clip(0.0)
            counts = np.isin(prints.hashes, query.distinctive[form]) & weighs[prints.lines - 1]
            weights[form] = np.where(counts, weight, 0.0)
    return weights


def weights_beside(
    text: str, query: Fingerprints, weights: Float64Array, *, document_text: str, document: Fingerprints
) -> Float64Array:
    """Return the weights of a query's fingerprints beside one document: what a compiler wrote into both has none.

    Args:
        text: of the query.
        query: its fingerprints.
        weights: of them, [m]; see `rarities`.
        document_text: of the document.
        document: its fingerprints.
    """
    # on both sides: a copy that takes the name of a helper keeps its weight, as its source has another name
    ours = _in_helpers(text, _IN_A_TEXT)[query.lines - 1]
    if not ours.any():
        return weights
    theirs = document.hashes[_in_helpers(document_text, _IN_A_DOCUMENT)[document.lines - 1]]
    return np.where(ours & np.isin(query.hashes, theirs), 0.0, weights)


def _in_helpers(text: str, first: re.Pattern[str]) -> NDArray[np.bool_]:
    """Return True for each line of a function that compilers write, [lines], by the pattern of its first line."""
    lines = lines_of(text)
    inside = np.zeros(len(lines), np.bool_)
    for start, stop in _helpers(lines, first):
        inside[start:stop] = True
    return inside


def _helpers(lines: Sequence[str], first: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines of functions with the name of a helper, as ranges; each ends with a bracket at the margin."""
    stop = 0
    for start, line in enumerate(lines):
        if start >= stop and first.match(line):
            # a helper on a single line has no further ones
            is_open = line.count("{") + line.count("(") > line.count("}") + line.count(")")
            ends = (at for at in range(start + 1, len(lines)) if _ENDS.match(lines[at]))
            stop = next(ends, start) + 1 if is_open else start + 1
            yield start, stop


def _weighs(line: str) -> bool:
    return bool(line.strip()) and not _CONSTANTS.fullmatch(line) and not (_is_prose(line) and _NOTICE.search(line))


def _is_prose(line: str) -> bool:
    words = line.split()
    letters = sum(word.strip(".,;:\"'()").isalpha() for word in words)
    return letters >= max(FEWEST_WORDS, MOSTLY_WORDS * len(words))


def least_evidence(channel: str, share: float, tokens: int) -> float:
    """Return the evidence that shows a copy, where a document has this share of a function of so many tokens."""
    least = LEAST.get(channel, math.inf)
    # the share lowers what is needed; a long function that is copied has the evidence anyway
    return max(least - (least - OF_FUNCTION.get(channel, least)) * share, least * min(1.0, tokens / LONG))


def strength(match: Match) -> float:
    """Return the evidence of the longest stretch as a multiple of what shows a copy; 0 for a vector alone."""
    return max((span.evidence for span in match.spans), default=0.0) / LEAST.get(match.channel, math.inf)


def copied_spans(match: Match, tokens: int, *, is_function: bool) -> tuple[Span, ...]:
    """Return the stretches of a match that show a copy.

    Args:
        match: of a part.
        tokens: of the part. Below `SHORTEST` it does not matter how much the document has: short functions are alike in
            many libraries.
        is_function: the part is a function. Declarations are alike in many files, so of another part it only matters
            whether it is a whole function of the index.
    """
    share = match.containment if is_function else match.similarity * (match.name is not None)
    # a bool as 0 or 1
    share *= tokens >= SHORTEST
    least = least_evidence(match.channel, share, tokens)
    if share >= MOST_OF_IT:
        return match.spans if sum(span.evidence for span in match.spans) >= least else ()
    return tuple(span for span in match.spans if span.evidence >= least)
