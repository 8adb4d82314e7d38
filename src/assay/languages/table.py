"""The languages that every package knows, read from `languages.toml`: the one table, which explains its keys itself."""

import builtins
import keyword
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from functools import partial
from itertools import chain, cycle
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

from assay.errors import DataError, did_you_mean
from assay.languages.language import Capability, FunctionSyntax, Language
from assay.languages.lexical import (
    BackQuote,
    DoubleQuote,
    Holds,
    LexicalRules,
    MarkedRegion,
    Marks,
    Raw,
    SingleQuote,
    Slashes,
    Until,
    Where,
)

_TABLE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))
_CHOICES: Mapping[str, type[IntEnum]] = {
    "slashes": Slashes,
    "double": DoubleQuote,
    "single": SingleQuote,
    "back_quote": BackQuote,
    "raw": Raw,
    "holds": Holds,
    "where": Where,
    "until": Until,
}
"""Field of `Marks` or `MarkedRegion` → the values that a name in the table stands for."""
_NOT_DESCRIBED = ("others", "neutral")
_INHERITED = ("predeclared", "library")
"""Lists of words that a language may take over from another one."""
_OF_TEXTS = frozenset({"signs", "contains", "outlines", "shared"})
"""Keys that describe texts, and not what the package does with them."""


def _words(spaced: str) -> frozenset[str]:
    return frozenset(spaced.split())


def _lexical(entry: Mapping[str, Any] | str) -> LexicalRules:
    """Return lexical rules; a name stands for those of another language."""
    if isinstance(entry, str):
        return _lexical(_TABLE[entry]["lexical"])
    regions = tuple(chain.from_iterable(map(_regions, entry.get("regions", ()))))
    # the table writes words in one text with spaces; an absent key leaves the default of the class
    rest = {key: _words(entry[key]) for key in ("reserved", "directives", "headers") if key in entry}
    return LexicalRules(**{**entry, **rest, "marks": Marks(**_chosen(entry["marks"])), "regions": regions})


def _chosen(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with numbers for the names of choices."""
    return {**entry, **{key: _CHOICES[key][entry[key].upper()] for key in _CHOICES.keys() & entry}}


def _regions(entry: Mapping[str, Any]) -> Iterator[MarkedRegion]:
    """Yield a region for each opening mark of an entry; closing marks are as many, or the same for all."""
    opens, closes = entry["opens"].split(" "), entry.get("closes", "").split(" ")
    until = "mark" if "closes" in entry else "line"
    rest = _chosen({"until": until} | {key: value for key, value in entry.items() if key not in {"opens", "closes"}})
    for opening, closing in zip(opens, cycle(closes)):
        yield MarkedRegion(opens=opening, closes=closing, **rest)


def _syntax(entry: Mapping[str, str]) -> Iterator[FunctionSyntax]:
    """Yield a value for each grammar of an entry."""
    kinds: dict[str, Any] = {key: _words(value) for key, value in entry.items() if key != "grammars"}
    if "names" in entry:
        kinds["names"] = tuple(entry["names"].split())  # in order: the first field that a node has counts
    for grammar in entry["grammars"].split():
        yield FunctionSyntax(grammar=grammar, **kinds)


def _language(name: str, entry: Mapping[str, Any]) -> Language:
    """Return one language; an unknown key in the table is an error."""
    values: dict[str, Any] = {"name": name}
    for key in entry.keys() - _OF_TEXTS - {"like"}:
        value = entry[key]
        if key == "lexical":
            values[key] = _lexical(value)
        elif key == "syntax":
            values[key] = tuple(chain.from_iterable(map(_syntax, value)))
        elif key in {"suffixes", "aliases"}:
            values[key] = tuple(value.split())
        elif key in {"predeclared", "library", "special_methods"}:
            values[key] = _words(value)
        else:
            values[key] = value
    if "like" in entry:
        for key in _INHERITED:
            values[key] |= _words(_TABLE[entry["like"]][key])
    # of Python the running interpreter knows the words: a later version has more of them
    if name == "python":
        values["predeclared"] |= {*keyword.kwlist, *keyword.softkwlist, *dir(builtins)}
    return Language(**values)


_DESCRIBED: Mapping[str, Mapping[str, Any]] = {name: _TABLE[name] for name in _TABLE if name not in _NOT_DESCRIBED}
"""Entries of the table with more than suffixes, by name."""
_ENTRIES: Mapping[str, Mapping[str, Any]] = {**_DESCRIBED, **_TABLE["others"]}

LANGUAGES: Mapping[str, Language] = MappingProxyType({name: _language(name, entry) for name, entry in _ENTRIES.items()})
"""All languages, by name."""

NEUTRAL = _lexical(_TABLE["neutral"]["lexical"])
"""Lexical rules for texts in every other language."""

_NAMES: dict[str, str] = {}
_SUFFIXES: dict[str, str] = {}
for _name, _entry in LANGUAGES.items():
    _NAMES |= dict.fromkeys(_entry.aliases, _name)
    _SUFFIXES |= dict.fromkeys(_entry.suffixes, _name)

_SHARED: dict[str, tuple[re.Pattern[str], str]] = {}
"""Suffix → how the text of a file shows that it is in a second language of that suffix, and that language."""


def language_of(path: str, head: str = "") -> str | None:
    """Return the name of the language that a file's suffix stands for, or None.

    Args:
        path: of the file.
        head: its first lines, which tell two languages with one suffix apart: `.m` is MATLAB or Objective-C.
    """
    suffix = PurePath(path).suffix.lower()
    # the second language of a suffix has to show itself; without its marks, and without a head, the first one counts
    if suffix in _SHARED and _SHARED[suffix][0].search(head):
        return _SHARED[suffix][1]
    return _SUFFIXES.get(suffix)


def language_named(name: str) -> str:
    """Return a language's name in its one spelling: "JS" and "JavaScript" are both "javascript"."""
    return _NAMES.get(name.casefold(), name.casefold())


def checked_language(name: str) -> str:
    """Return a language's name in its one spelling.

    Raises:
        DataError: there is no language of that name; similar names are suggested.
    """
    language = language_named(name)
    if language not in LANGUAGES:
        hint = did_you_mean(language, [*LANGUAGES, *_NAMES]) or f"; expected one of {', '.join(sorted(LANGUAGES))}"
        raise DataError(f"no language is called {name!r}{hint}")
    return language


def languages_with(capability: Capability) -> tuple[str, ...]:
    """Return the names of the languages that support something, in the order of the table."""
    return tuple(name for name, language in LANGUAGES.items() if language.supports(capability))


def lexical_rules(name: str | None) -> LexicalRules:
    """Return the lexical rules of a language under any of its names; `NEUTRAL` where it has none, and for None."""
    language = LANGUAGES.get(language_named(name or ""))
    return (language and language.lexical) or NEUTRAL


# Phrases by which a text shows its language, from the table of languages.
#
# They are looked for in the text without comments and without the content of its strings. A phrase counts once, however
# often it occurs, so a long text of one idiom weighs no more than a short one of several.

SIGNS: dict[str, Sequence[re.Pattern[str]]] = {}
"""Language → phrases by which a text shows it: each is usual in this language and rare in the others."""

BASES: dict[str, str] = {}
"""Languages that contain nearly all of another one, whose phrases count for them too."""

OUTLINES: dict[str, Sequence[str]] = {}
"""Code around a fragment that makes a text of it: a method stands in a class, statements in a function."""

for _name, _row in _DESCRIBED.items():
    for _suffix, _pattern in _row.get("shared", {}).items():
        _SHARED[_suffix] = re.compile(_pattern, re.MULTILINE), _name
    if "signs" not in _row:
        continue
    SIGNS[_name] = list(map(partial(re.compile, flags=re.MULTILINE), _row["signs"]))
    OUTLINES[_name] = _row["outlines"]
    if "contains" in _row:
        BASES[_name] = _row["contains"]
