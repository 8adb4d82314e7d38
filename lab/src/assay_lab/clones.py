"""Altered copies of code: fragments, renamed (Type 2), edited (Type 3), or adapted, for demos and experiments.

The rules are those of every language: names and literals follow the lexical rules of the fingerprints, statements are
lines. For variants that must run as before, see `assay.code.rename.variant_engine`. `adapt` is Algorithm 1 of
HybridSourceTracker: changes like those of a language model that adapts code to a context (Gurioli, D'Ascenzo, Pennino,
Gabbrielli, Zacchiroli: Efficient and Scalable Provenance Tracking for LLM-Generated Code Snippets, 2026).
"""

import random
import re
import string
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.code import WORDS_BY_PART
from assay.languages import LANGUAGES, lexical_rules
from assay.retrieval import COMMENT, NAME_TOKEN, Canonical, Source, find_regions, mix, tokens

A_NAME = mix(np.array([NAME_TOKEN]))[0]
RESERVED = frozenset().union(*(language.lexical.reserved for language in LANGUAGES.values() if language.lexical))
"""Reserved words of all languages: no name is replaced by them."""


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text at whose token boundaries fragments can be cut.

    A token is a name, a reserved word, a number, a literal or one character of an operator; comments are not tokens.
    """

    text: str
    canonical: Canonical

    @classmethod
    def of(cls, text: str, language: str | None) -> "TokenizedText":
        """Read a text by the rules of its language; None: by neutral ones."""
        return cls(text, _tokens(text, language))

    def __len__(self) -> int:
        return len(self.canonical)

    def fragment(self, first: int, count: int) -> str:
        """The text from token `first` on, `count` tokens long, with everything between them.

        Raises:
            ValueError: the text does not have these tokens.
        """
        if not 0 <= first <= first + count - 1 < len(self):
            raise ValueError(f"received tokens {first} to {first + count - 1}, expected tokens 0 to {len(self) - 1}")
        stops = self.canonical.stops_of(np.array([first + count - 1]))
        return self.text[int(self.canonical.starts[first]) : int(stops[0])]


def strip_comments(text: str, language: str | None) -> str:
    """Return the text without comments, docstrings and empty lines, as a model often repeats code."""
    source, rules = Source.of(text), lexical_rules(language)
    regions = find_regions(source, rules)
    pieces, end = [], 0
    for start, stop, kind in zip(regions.starts.tolist(), regions.stops.tolist(), regions.kinds.tolist(), strict=True):
        if kind == COMMENT or (rules is LANGUAGES["python"].lexical and _is_docstring(text, start, stop)):
            pieces.append(text[end:start])
            end = stop
    pieces.append(text[end:])
    return "".join(line.rstrip() + "\n" for line in "".join(pieces).split("\n") if line.strip())


def rename_all(text: str, language: str | None, *, seed: int, spare: Collection[str] = ()) -> str:
    """Return the text with EVERY name replaced consistently: imported names, attributes and built-ins too.

    Reserved words, literals and comments stay. This changes more than a renaming that keeps a program running: only the
    structure remains.

    Args:
        text: source code.
        language: whose rules recognise names; None: neutral ones.
        seed: of the new names.
        spare: names that stay.
    """
    canonical = _tokens(text, language)
    draw = seeded_random(seed, text)
    new: dict[str, str] = {}
    used = {*RESERVED, *re.findall(r"\w+", text)}
    pieces, end = [], 0
    at = np.flatnonzero(canonical.units == A_NAME)
    for start, stop in zip(canonical.starts[at].tolist(), canonical.stops_of(at).tolist(), strict=True):
        name = text[start:stop]
        if name in spare:
            continue
        if name not in new:
            new[name] = _name(used, draw)
            used.add(new[name])
        pieces += [text[end:start], new[name]]
        end = stop
    return "".join([*pieces, text[end:]])


def edit_lines(text: str, donors: Sequence[str], *, seed: int, share: float = 0.25) -> str:
    """Return the text with statements added, removed and reordered (Type 3); a line counts as a statement.

    Each edit removes a line, adds a line of a donor, or swaps two neighbours, drawn at random. To a text of one line
    lines are only added.

    Args:
        text: source code.
        donors: texts whose lines may be added, at least one with a line that is not empty.
        seed: of the draws.
        share: of the lines that are edited, rounded up.

    Raises:
        ValueError: no donor has a line that is not empty.
    """
    lines = text.split("\n")
    foreign = list(filter(None, map(str.strip, "\n".join(donors).split("\n"))))
    if not foreign:
        raise ValueError("received no line to add, expected at least one donor that is not empty")
    draw = seeded_random(seed, text)
    for _ in range(max(1, round(share * len(lines) + 0.5))):
        at = draw.randrange(len(lines))
        edit = draw.choice(("add", "remove", "swap")) if len(lines) > 1 else "add"
        if edit == "add":
            indent = re.match(r"[ \t]*", lines[at])
            lines.insert(at + 1, (indent[0] if indent else "") + draw.choice(foreign))
        elif edit == "remove":
            # later edits choose among the lines that are left
            del lines[at]
        else:
            other = at - 1 if at else 1
            lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


def _tokens(text: str, language: str | None) -> Canonical:
    source, rules = Source.of(text), lexical_rules(language)
    return tokens(source, find_regions(source, rules), rules)


def _is_docstring(text: str, start: int, stop: int) -> bool:
    """Return True for a triple-quoted string alone on its line, after a line that ends with a colon."""
    if text[start : start + 3] not in ('"""', "'''"):
        return False
    # a prefix such as r belongs to the string
    before = text[:start].rstrip("rRuU")
    line = before.rpartition("\n")[2]
    return not line.strip() and before.rstrip().endswith(":") and not text[stop:].partition("\n")[0].strip()


def _name(used: Collection[str], draw: random.Random) -> str:
    while True:
        parts = [draw.choice(WORDS_BY_PART[part]) for part in ("adjective", "noun")][draw.randrange(2) :]
        name = "_".join(parts)
        if name not in used:
            return name
        # a word that is taken is drawn again; a pair of words gets a number
        if len(parts) == 1:
            continue
        name = f"{name}_{draw.randrange(1000)}"
        if name not in used:
            return name


WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LONGER_THAN = 3
MORE_THAN = 2


@dataclass(frozen=True, slots=True)
class Adapted:
    """A text in which some words were replaced.

    Attributes:
        text: after the replacement.
        replacements: new words by the old ones.
        seed: that gives this text again.
    """

    text: str
    replacements: Mapping[str, str]
    seed: int


def adapt(text: str, *, seed: int, probability: float = 0.2, spare: Collection[str] = ()) -> Adapted:
    """Replace frequent words, each everywhere by one random word.

    A word is a run of letters, digits and `_` that does not begin with a digit. Those longer than three characters that
    occur more than twice are replaced, each with the given probability, by as many random letters: a word that does not
    occur in the text and replaces no other. Words count everywhere: in names, strings, comments and keywords,
    unless they are spared.

    Args:
        text: a fragment of source code.
        seed: of the draws; the same text and seed give the same result, in any process.
        probability: that one of these words is replaced.
        spare: words that stay, for example the keywords of the language.

    Raises:
        ValueError: the probability is not from 0 to 1.
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"received probability = {probability}, expected 0 to 1")
    counts = Counter(WORD.findall(text))
    draw = seeded_random(seed, text)
    used = set(counts)
    replacements = {}
    for word, count in counts.items():
        if len(word) > LONGER_THAN and count > MORE_THAN and word not in spare and draw.random() < probability:
            # no new word is an old one or another new one: two names of the text never become one
            replacements[word] = new = _letters(len(word), used, draw)
            used.add(new)
    return Adapted(WORD.sub(lambda match: replacements.get(match[0], match[0]), text), replacements, seed)


def seeded_random(seed: int, text: str) -> random.Random:
    """Return a generator that depends on seed and text alone, in any process."""
    return random.Random(f"{seed}\n{text}".encode("utf-8", "surrogatepass"))  # noqa: S311  reproducible, not secret


def _letters(length: int, used: Collection[str], draw: random.Random) -> str:
    while True:
        word = "".join(draw.choices(string.ascii_letters, k=length))
        if word not in used:
            return word
