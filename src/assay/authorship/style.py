"""Hand-made features of code, in families that can be left out one by one.

Every feature is a share, a mean or a rate, so that it does not grow with the length of the text. A feature without a
meaning for a text (the spacing of commas where there is no comma) is NaN.
"""

import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median, pstdev
from types import MappingProxyType

import numpy as np

from assay.authorship.normalising import PYTHON, Code, Kind, Token
from assay.types import Float64Array

StyleFeatures = dict[str, float]

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_HUMP = re.compile(r"[a-z][A-Z]")
_VOWELS = frozenset("aeiouAEIOU")
_OPENING, _CLOSING = "([{", ")]}"
_JOINED = frozenset("=+-*/%<>&|^!")
"""Operators that form longer ones, such as `+=`."""

_NO_TYPE = frozenset(
    """and assert case del delete else global goto import in is new nonlocal not or print raise return throw
    yield""".split()  # noqa: SIM905  a word list
)
"""Words before a name that declare nothing."""

_SPACED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "assignment": frozenset("="),
        "comparison": frozenset("<>"),
        "sum": frozenset("+-"),
        "product": frozenset("*/%"),
        "comma": frozenset(","),
        "colon": frozenset(":"),
        "semicolon": frozenset(";"),
        "brace": frozenset("{"),
        "opening": frozenset("("),
        "closing": frozenset(")"),
    }
)
_REGULAR = 0.8
"""Share of spaced operators from which on a text follows the usual style."""

_COUNTED_WORDS = tuple(
    """if else for while return break continue and or not in is def class lambda try except catch finally raise throw
    elif True False true false None null nullptr import from with as pass yield print len range self this int str list
    map input auto const static public private void bool boolean string String vector long new final define typedef
    using include std enumerate isinstance append max min sum sorted set dict size main global assert exit
    template struct switch case zip any all join format abs""".split()  # noqa: SIM905  a word list
)
_COUNTED_MARKS = "()[]{}.,:;=+-*/%<>!&|^?@#~"
_COUNTED_PHRASES: Mapping[str, str] = MappingProxyType(
    {
        "==": "= =", "!=": "! =", "+=": "+ =", "++": "+ +", "->": "- >", "<<": "< <", ">>": "> >", "**": "* *",
        "//": "/ /", "&&": "& &", "||": "| |", "::": ": :", ":=": ": =", "if not": "if not", "[-1": "[ - 1",
        "[::": "[ : :", "for i in": "for i in", "for _ in": "for _ in", "else if": "else if", "+= 1": "+ = 1",
        "typed result": ") - >",
    }
)  # fmt: skip
_WINDOW = 50
_PER = 100


def local_names(code: Code) -> Counter[str]:
    """Count the names that the text itself gives to its variables.

    A task fixes the names of functions, parameters and attributes; the names of local variables are the author's own.
    They are recognised by the tokens around them, so the text need not parse: what is assigned, what a loop runs over,
    and what follows a type in a declaration.
    """
    names: Counter[str] = Counter()
    # three patterns find local names without a parser: `x =`, a loop over x, and a type before x
    heading = False  # between `for` and its `in` or colon
    tokens = code.tokens
    for place, token in enumerate(tokens):
        if token.text == "for":
            heading = True
        elif heading and token.text in {"in", ":", ";", ")"}:
            heading = False
        if token.kind is not Kind.NAME:
            continue
        before = tokens[place - 1] if place else None
        if before is not None and before.text == ".":
            continue
        after, beyond = (tokens[at].text if at < len(tokens) else "" for at in (place + 1, place + 2))
        assigned = after == "=" and beyond != "="
        looped = heading and after in {"in", ",", ":"} and (before is None or before.text != "(")
        declared = (
            after in {";", ","}
            and before is not None
            and before.kind in {Kind.NAME, Kind.RESERVED}
            and before.text not in _NO_TYPE
        )
        if assigned or looped or declared:
            names[token.text] += 1
    return names


def names(code: Code) -> StyleFeatures:
    """Return how local variables are named: length, words, case."""
    distinct = list(local_names(code))
    if not distinct:
        return {}
    lengths = [len(name) for name in distinct]
    words = [_WORD.findall(name) for name in distinct]
    return {
        "length": fmean(lengths),
        "median length": median(lengths),
        "longest": max(lengths),
        "one letter": _share(length == 1 for length in lengths),
        "two or three letters": _share(length in {2, 3} for length in lengths),
        "at most four letters": _share(length <= 4 for length in lengths),  # noqa: PLR2004  as the name says
        "eight letters or more": _share(length >= 8 for length in lengths),  # noqa: PLR2004  as the name says
        "words": fmean(map(len, words)),
        "several words": _share(len(parts) > 1 for parts in words),
        "a digit": _share(any(letter.isdigit() for letter in name) for name in distinct),
        "underscore": _share("_" in name.strip("_") for name in distinct),
        "hump": _share(bool(_HUMP.search(name)) for name in distinct),
        "capital": _share(name[0].isupper() for name in distinct),
        "vowels": sum(letter in _VOWELS for name in distinct for letter in name) / sum(lengths),
    }


def layout(code: Code) -> StyleFeatures:
    """Return how regular the spacing within lines is; indentation and line ends are not seen.

    The features are thresholds, not shares: a formatter makes every text regular, so regular spacing says little, while
    irregular spacing was typed.
    """
    shares = {name: _spacing(code, marks) for name, marks in _SPACED.items()}
    operators = [share for name in ("assignment", "comparison", "sum", "comma") for share in shares[name]]
    valid = [share for share in operators if not math.isnan(share)]
    keyword = _keyword_spacing(code)
    return {
        "irregular": 1 - fmean(valid) if valid else math.nan,
        "any irregular": float(min(valid) < _REGULAR) if valid else math.nan,
        "tight assignment": _below(shares["assignment"][0]),
        "tight comma": _below(shares["comma"][1]),
        "tight comparison": _below(shares["comparison"][0]),
        "tight semicolon": _below(shares["semicolon"][1]),
        "tight brace": _below(shares["brace"][0]),
        "tight keyword": _below(keyword),
        "space before bracket": min(shares["opening"][0], 0.4),
    }


def structure(code: Code) -> StyleFeatures:
    """Return rates of words, operators and kinds of tokens, nesting, repetition and the shape of all names."""
    texts = [token.text for token in code.tokens]
    n = len(texts)
    if not n:
        return {}
    counts = Counter(texts)
    # with a space on both sides of every token, a phrase is found at the borders of tokens alone
    joined = f" {' '.join(texts)} "
    features = {f"word {word}": math.log1p(_PER * counts[word] / n) for word in _COUNTED_WORDS}
    features |= {f"mark {mark}": math.log1p(_PER * counts[mark] / n) for mark in _COUNTED_MARKS}
    features |= {
        f"phrase {name}": math.log1p(_PER * joined.count(f" {phrase} ") / n)
        for name, phrase in _COUNTED_PHRASES.items()
    }
    depths = _depths(code.tokens)
    features |= {
        "reserved words": _share(token.kind is Kind.RESERVED for token in code.tokens),
        "names": _share(token.kind is Kind.NAME for token in code.tokens),
        "numbers": _share(token.kind is Kind.NUMBER for token in code.tokens),
        "literals": _share(token.kind is Kind.LITERAL for token in code.tokens),
        "bracket depth": fmean(depths),
        "deepest bracket": math.log1p(max(depths)),
        # without the bytes that zlib adds to any text, which would count most in a short one
        "compressed size": max(0.0, len(zlib.compress(joined.encode("utf-8", "replace"))) - 12) / len(joined),
        "entropy": -sum(k / n * math.log(k / n) for k in counts.values()) / math.log(max(2, n)),
        "distinct tokens": _distinct(texts),
        "comprehensions": _comprehensions(code, depths),
    }
    return features | _literals(code) | _lines(code) | _all_names(code)


def documentation(code: Code) -> StyleFeatures:
    """Return 1 for a text with docstrings; other languages than Python document in comments, which are not seen."""
    return {"docstring": float(code.docstrings > 0)}


Family = Callable[[Code], StyleFeatures]
FAMILIES: Mapping[str, Family] = MappingProxyType(
    {"names": names, "layout": layout, "structure": structure, "documentation": documentation}
)
"""Families of hand-made features by name."""


def columns_of(family: str) -> tuple[str, ...]:
    """Return the names of the features of a family, in their order."""
    # a text of one assignment has every feature of a family: its keys are the columns
    sample = Code((Token("x", Kind.NAME, 1, spaced=True), Token("=", Kind.OPERATOR, 1, spaced=True)), PYTHON)
    return tuple(FAMILIES[family](sample))


def feature_table(codes: Sequence[Code], family: str) -> Float64Array:
    """Return the features of texts, float64 [n, columns], NaN where a feature has no meaning."""
    columns = columns_of(family)
    table = np.full((len(codes), len(columns)), np.nan)
    for row, code in enumerate(codes):
        features = FAMILIES[family](code)
        table[row] = [features.get(column, np.nan) for column in columns]
    return table


def _share(hits: Iterable[bool]) -> float:
    hits = list(hits)
    return sum(hits) / len(hits) if hits else math.nan


def _below(share: float) -> float:
    return math.nan if math.isnan(share) else float(share < _REGULAR)


def _spacing(code: Code, marks: frozenset[str]) -> tuple[float, float]:
    """Return the shares of these marks with white space before and after them, among those inside a line."""
    before, after = [], []
    tokens = code.tokens
    for place in range(1, len(tokens) - 1):
        token, last, following = tokens[place], tokens[place - 1], tokens[place + 1]
        if token.kind is not Kind.OPERATOR or token.text not in marks or not last.line == token.line == following.line:
            continue
        # tokens are single marks: of `+=` neither half says how `+` is spaced
        if last.text in _JOINED or following.text in _JOINED:
            continue
        before.append(token.spaced)
        after.append(following.spaced)
    return _share(before), _share(after)


def _keyword_spacing(code: Code) -> float:
    """Return the share of brackets behind reserved words with white space before them."""
    pairs = zip(code.tokens, code.tokens[1:], strict=False)
    return _share(
        bracket.spaced
        for word, bracket in pairs
        if word.kind is Kind.RESERVED and bracket.text == "(" and word.line == bracket.line
    )


def _depths(tokens: Sequence[Token]) -> list[int]:
    depth, depths = 0, []
    for token in tokens:
        if token.kind is Kind.OPERATOR:
            depth = max(0, depth + (token.text in _OPENING) - (token.text in _CLOSING))
        depths.append(depth)
    return depths


def _comprehensions(code: Code, depths: Sequence[int]) -> float:
    if code.language != PYTHON:
        return math.nan
    inside = sum(token.text == "for" and depth > 0 for token, depth in zip(code.tokens, depths, strict=True))
    return math.log1p(_PER * inside / len(depths))


def _distinct(texts: Sequence[str]) -> float:
    """Return the mean share of distinct tokens in windows of a fixed size."""
    if len(texts) <= _WINDOW:
        return len(set(texts)) / len(texts)
    # the share of distinct tokens falls with length: windows of one size make texts comparable
    starts = range(0, len(texts) - _WINDOW + 1, 5)
    return fmean(len(set(texts[start : start + _WINDOW])) / _WINDOW for start in starts)


def _literals(code: Code) -> StyleFeatures:
    literals = [token.text for token in code.tokens if token.kind is Kind.LITERAL]
    numbers = [token.text for token in code.tokens if token.kind is Kind.NUMBER]
    return {
        "literal length": math.log1p(fmean(map(len, literals))) if literals else math.nan,
        "double quotes": _share(text[-1] == '"' for text in literals),
        "formatted literals": _share(text[0] in "fF" for text in literals),
        "literals with spaces": _share(" " in text for text in literals),
        "zero or one": _share(text in {"0", "1"} for text in numbers),
        "long numbers": _share(len(text) > 3 for text in numbers),  # noqa: PLR2004  1000 and above
    }


def _lines(code: Code) -> StyleFeatures:
    texts = [" ".join(token.text for token in line) for line in code.lines]
    long = [text for text in texts if len(text) > 4]  # noqa: PLR2004  a lone brace repeats in any text
    return {
        "repeated lines": 1 - len(set(long)) / len(long) if long else math.nan,
        "several statements": _share(
            any(token.text == ";" for token in line[:-1]) and all(token.text != "for" for token in line)
            for line in code.lines
        ),
    }


def _all_names(code: Code) -> StyleFeatures:
    # all names here; those that the author chose alone are in `names`
    names = [token.text for token in code.tokens if token.kind is Kind.NAME]
    if not names:
        return {}
    counts = Counter(names)
    distinct = list(counts)
    lengths = [len(name) for name in distinct]
    return {
        "name length": fmean(lengths),
        "name length, weighted": fmean(map(len, names)),
        "name length, spread": pstdev(lengths),
        "names of one letter": _share(length == 1 for length in lengths),
        "names of eight letters": _share(length >= 8 for length in lengths),  # noqa: PLR2004  as the name says
        "names with underscore": _share("_" in name.strip("_") for name in distinct),
        "names with hump": _share(bool(_HUMP.search(name)) for name in distinct),
        "names in capitals": _share(len(name) > 1 and name.isupper() for name in distinct),
        "names used once": _share(count == 1 for count in counts.values()),
        "words per name": fmean(len(_WORD.findall(name)) for name in distinct),
        "letters per word": _mean_length([word for name in distinct for word in _WORD.findall(name)]),
    }


def _mean_length(words: Sequence[str]) -> float:
    return fmean(map(len, words)) if words else math.nan
