"""The tables of `phrases.toml`, read and compiled once: names of licences, patterns of the words around them, titles.

The words of a text, in lower case and without marks of comments, are searched for them.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Phrases = tuple[tuple[re.Pattern[str], str], ...]
"""Words, and the licence that they state."""

_TABLES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class LicenceName:
    """An entry of the table of names.

    Attributes:
        identifier: of SPDX; without the version where `versions` are given.
        versions: that exist, the lowest first; None: the identifier is whole.
        without_version: identifier of a name without version; None: it is unknown.
        is_text: the words are those of a grant.
        is_weak: the words state a licence only behind a grant, or in a list of names.
        is_alone: the other names of its block are licences that it turns to later.
        is_gnu: SPDX has `-only` and `-or-later` of it.
    """

    identifier: str
    versions: tuple[str, ...] | None = None
    without_version: str | None = None
    is_text: bool = False
    is_weak: bool = False
    is_alone: bool = False
    is_gnu: bool = False


def _with_parts(words: str) -> str:
    for name, part in _TABLES["parts"].items():
        words = words.replace(f"<{name}>", part)
    return words


def _phrases(pairs: Iterable[tuple[str, str]]) -> Phrases:
    return tuple((re.compile(_with_parts(words)), licence) for words, licence in pairs)


def _name(entry: Mapping[str, Any]) -> LicenceName:
    versions = entry.get("versions")
    return LicenceName(
        entry["identifier"],
        None if versions is None else tuple(versions),
        without_version=entry.get("any"),
        is_text=entry.get("text", False),
        is_weak=entry.get("weak", False),
        is_alone=entry.get("alone", False),
    )


def _gnu(entry: Mapping[str, Any]) -> tuple[re.Pattern[str], LicenceName]:
    lowest = f"{entry['identifier']}-{entry['versions'][0]}-or-later"
    name = LicenceName(entry["identifier"], tuple(entry["versions"]), without_version=lowest, is_gnu=True)
    return re.compile(entry["words"]), name


def _versions(words: str | list[str]) -> re.Pattern[str]:
    joined = words if isinstance(words, str) else "|".join(words)
    table = _TABLES["versions"]
    return re.compile(joined.replace("<WORD>", table["word"]).replace("<NUMBER>", table["number"]))


def _needed(words: str) -> tuple[str, ...]:
    """Return literals of which one occurs wherever a pattern matches; none where that cannot be seen easily.

    A text is searched for literals many times faster than for a pattern.
    """
    while (flat := _GROUP.sub("\0", words)) != words:
        words = flat
    literals = []
    for alternative in words.split("|"):
        runs = _LITERAL.findall(_OPTIONAL.sub("\0", alternative).replace("\\.", "."))
        if not runs:
            return ()
        literals.append(max(runs, key=len))
    return tuple(literals)


_GROUP = re.compile(r"\((?:[^()\\]|\\.)*\)[?*]?|\[[^\]]*\][?*]?")
_OPTIONAL = re.compile(r"(?:\\[a-z]|.)(?:[?*]|\{0,\d+\})|\\[bdwWs]\+?|\.(?=\{)")
_LITERAL = re.compile(r"[^\W\d_][\w ./-]{2,}|[^\W\d_]{3,}")

NAMES = tuple(
    (re.compile(_with_parts(entry["words"])), _needed(_with_parts(entry["words"])), _name(entry))
    for entry in _TABLES["names"]
)
"""Pattern, literals of which one occurs wherever it matches, and what it names; of two at a place the first counts."""

GNU = re.compile(
    f"(?:{'|'.join(_TABLES['gnu']['names'])}){_TABLES['gnu']['again']}".replace("<KIND>", _TABLES["gnu"]["kind"])
)
GNU_KINDS = tuple(map(_gnu, _TABLES["gnu"]["kinds"]))
PATTERNS: Mapping[str, re.Pattern[str]] = {
    name: re.compile("|".join(words)) for name, words in _TABLES["patterns"].items()
}
VERSIONS = {name: _versions(words) for name, words in _TABLES["versions"].items() if name not in {"word", "number"}}
TITLES = _phrases((words, licence) for licence, words in _TABLES["titles"].items())
VARIANTS: Mapping[str, Phrases] = {licence: _phrases(pairs) for licence, pairs in _TABLES["variants"].items()}
CLASSIFIERS: Mapping[str, str] = _TABLES["classifiers"]
CLASSIFIERS_ALONE: Mapping[str, str] = CLASSIFIERS | _TABLES["any_version"]
"""With those that name no version, which count beside a field that says nothing."""

SPELLINGS: Mapping[str, str] = _TABLES["spellings"]
EXCEPTIONS: Mapping[str, str] = _TABLES["exceptions"]


def licence_variant(licence: str, words: str) -> str:
    """Return the licence that words make of a text that begins as that of `licence`; mostly it stays that."""
    return next((other for pattern, other in VARIANTS.get(licence, ()) if pattern.search(words)), licence)
