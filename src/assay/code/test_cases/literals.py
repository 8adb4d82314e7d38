"""Literals in prose: recognised, read, and written in the style of their neighbours."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from assay.code.parse.lexing import end_of
from assay.python_parser import REFUSALS, python_literal

LONGEST = 2_000
"""Characters of a literal at most: longer ones are data, not examples."""

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ATOM = re.compile(
    r"[-+]?(?:\d[\d_]*+\.?\d*+|\.\d++)(?:[eE][-+]?\d+)?j?(?![\w.]*\w)"
    r"|(?:True|False|None|true|false|null)\b|set\(\)"
)
_STRING = re.compile(r"[bBrRuU]{0,2}(['\"])(?:(?!\1)[^\\\n]|\\.)*\1")
_FOREIGN = {"true": True, "false": False, "null": None}
_SPELLED = {True: "true", False: "false", None: "null"}


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is written at text[start:end]."""

    value: object
    source: str
    start: int

    @property
    def end(self) -> int:
        """Offset behind its last character."""
        return self.start + len(self.source)


def literal_at(text: str, start: int) -> Literal | None:
    """Return the literal that begins at `start`, or None; `true`, `false` and `null` stand for Python's words."""
    end = literal_end(text, start)
    if end is None or end - start > LONGEST:
        return None
    source = text[start:end]
    if source in _FOREIGN:
        return Literal(_FOREIGN[source], source, start)
    try:
        return Literal(python_literal(source), source, start)
    except REFUSALS:
        return None


def literal_end(text: str, start: int) -> int | None:
    """Return the end of a text that looks like a literal, or None."""
    if text[start : start + 1] in _CLOSING:
        return closing(text, start)
    return end_of(_STRING, text, start) or end_of(_ATOM, text, start)


def closing(text: str, start: int) -> int | None:
    """Return the offset behind the bracket that closes the bracket at `start`, or None; strings are skipped."""
    # a stack of the brackets that are still open; strings are skipped whole, so a bracket in one does not count
    waiting = [_CLOSING[text[start]]]
    place = start + 1
    while place < min(len(text), start + LONGEST):
        if string := _STRING.match(text, place):
            place = string.end()
            continue
        if text[place] in _CLOSING:
            waiting.append(_CLOSING[text[place]])
        elif text[place] in _CLOSING.values():
            if text[place] != waiting.pop():
                return None
            if not waiting:
                return place + 1
        place += 1
    return None


@dataclass(frozen=True, slots=True)
class Style:
    """A style of writing literals: quote, text of a comma and of a colon, and whether `true` and `null` are used."""

    quote: str = "'"
    comma: str = ", "
    colon: str = ": "
    foreign: bool = False

    @classmethod
    def of(cls, sources: Collection[str]) -> "Style":
        """Return the style of neighbouring literals, as far as they show it."""
        joined = " ".join(sources)
        bare = re.sub(_STRING, "_", joined)
        string = _STRING.search(joined)
        return cls(
            quote=string[1] if string else "'",
            comma=_spaced(",", bare),
            colon=_spaced(":", bare),
            foreign=not _FOREIGN.keys().isdisjoint(sources),
        )

    def written(self, value: object) -> str:  # noqa: PLR0911  a return a type
        """Return the literal of a value; elements of a set are sorted, so that hashes do not show."""
        if self.foreign and (value is None or isinstance(value, bool)):
            return _SPELLED[value]
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, list | tuple):
            inner = self.comma.join(map(self.written, value))
            if isinstance(value, list):
                return f"[{inner}]"
            # brackets around one value only group it: the comma makes the tuple
            return f"({inner}{',' * (len(value) == 1)})"
        if isinstance(value, dict):
            pairs = [f"{self.written(key)}{self.colon}{self.written(item)}" for key, item in value.items()]
            return f"{{{self.comma.join(pairs)}}}"
        if isinstance(value, set) and value:
            return f"{{{self.comma.join(map(self.written, sorted_values(value)))}}}"
        return repr(value)

    def _string(self, value: str) -> str:
        usual = repr(value)
        # a quote inside would need other escapes: then Python's own choice stands
        if usual[0] == self.quote or self.quote in value or usual[0] in value:
            return usual
        return f"{self.quote}{usual[1:-1]}{self.quote}"


def _spaced(mark: str, text: str) -> str:
    """Return a mark as a text writes it: with a space behind it unless all in the text are without."""
    return mark if re.search(rf"{mark}\S", text) and f"{mark} " not in text else f"{mark} "


def sorted_values(values: Collection[object]) -> list[object]:
    """Return the values sorted; by their written form where they cannot be compared."""
    try:
        return sorted(values)  # type: ignore[type-var]
    except TypeError:
        return sorted(values, key=repr)
