"""Other inputs of the same types and similar sizes, for new test cases.

Relations between the values of an input are kept where they can be recognised: a sorted list stays sorted, distinct
elements stay distinct, lists of the same length keep it, 0 and 1 stay 0 and 1, a number that counts or names something
in another argument continues to do so.
"""

import random
import re
import string
from collections.abc import Iterable, Iterator, Sequence

from assay.code.rename.pools import WORDS_BY_PART
from assay.code.test_cases.literals import sorted_values

_WORDS = re.compile(r"[A-Za-z]{3,}")
_LARGE = 10
_RESIZED = 0.4
_SHUFFLED = 0.3
_LEAST_ALPHABET = 3
_PLAIN = frozenset({bool, int, float, str})


def mutated(values: Sequence[object], draw: random.Random) -> list[object]:
    """Return values of the same types, drawn anew; some may stay as they were."""
    names: dict[str, str] = {}
    sizes = [len(value) for value in values if isinstance(value, list | tuple)]
    new_values: list[object] = []
    for value in values:
        if isinstance(value, list):
            new_values.append(_list(value, draw, names, resize=sizes.count(len(value)) == 1))
        else:
            new_values.append(_other(value, draw, names))
    _restore_relations(values, new_values, draw)
    return new_values


def _restore_relations(values: Sequence[object], new_values: list[object], draw: random.Random) -> None:
    # a number that was the length of another argument, or one of its elements, becomes that of the new one; without
    # this most new inputs would be invalid for the solution
    for place, old in enumerate(values):
        if type(old) not in (int, float, str):
            continue
        for other, new in zip(values, new_values, strict=True):
            if not isinstance(other, list | tuple | str) or other is old or not other:
                continue
            if type(old) is int and old == len(other):
                new_values[place] = len(new)  # type: ignore[arg-type]
            elif isinstance(new, list | tuple) and old in _same_type(other, old):
                new_values[place] = draw.choice(_same_type(new, old) or [new_values[place]])


def _same_type(items: Iterable[object], example: object) -> list[object]:
    """Return the items of exactly the type of an example: False equals 0, yet an index must not become a bool."""
    return [item for item in items if type(item) is type(example)]


def mutated_input(text: str, draw: random.Random) -> str:
    """Return another standard input of the same shape: as many lines and words, each word of its kind.

    A number stays where it may count something: the lines that follow, the words of a line, the letters of a word.
    """
    lines = text.split("\n")
    words = text.split()
    counts: set[int] = set()
    if len(words) > 1:
        counts = {*map(len, map(str.split, lines)), *map(len, words), *range(1, len(lines))}
    return "".join(_word(part, draw, counts) for part in re.split(r"(\s+)", text))


def _word(word: str, draw: random.Random, counts: set[int]) -> str:
    # five or more digits 0 and 1 are binary
    if re.fullmatch(r"0|-?[1-9]\d{0,8}", word) and not re.fullmatch(r"1[01]{4,}", word):
        return word if int(word) in counts else str(_integer(int(word), draw))
    if re.fullmatch(r"-?\d+\.\d+", word):
        return str(_float(float(word), draw))
    return _shuffled_alphabet(word, draw)


def _other(value: object, draw: random.Random, names: dict[str, str]) -> object:  # noqa: C901, PLR0911  a return a type
    if isinstance(value, bool):
        return draw.random() < 0.5  # noqa: PLR2004  a coin
    if isinstance(value, int):
        return _integer(value, draw)
    if isinstance(value, float):
        return _float(value, draw)
    if isinstance(value, complex):
        return complex(_float(value.real, draw), _float(value.imag, draw))
    if isinstance(value, str):
        return _string(value, draw, names)
    if isinstance(value, bytes):
        return bytes(draw.choice(value) for _ in value)
    if isinstance(value, tuple):
        return tuple(_others(value, draw, names))
    if isinstance(value, list):
        return _list(value, draw, names)
    if isinstance(value, set):
        return set(_list(sorted_values(value), draw, names))
    if isinstance(value, dict):
        keys, new = _others(value, draw, names), _others(value.values(), draw, names)
        return dict(zip(keys if len(set(keys)) == len(keys) else value, new, strict=True))
    return value


def _others(values: Iterable[object], draw: random.Random, names: dict[str, str]) -> list[object]:
    return [_other(value, draw, names) for value in values]


def _integer(value: int, draw: random.Random) -> int:
    """Return a number of the same sign and about the same size; zero stays possible for 0 and 1."""
    if value < 0:
        return -_integer(-value, draw)
    if value <= _LARGE:
        return draw.randint(min(value, 1), _LARGE + value)
    return draw.randint(max(1, value // 2), value * 2)


def _float(value: float, draw: random.Random) -> float:
    """Return a number of the same sign, about the same size and as many decimals."""
    text = repr(value)
    if not re.fullmatch(r"-?\d+\.\d+", text):
        return value
    decimals = len(text.partition(".")[2])
    least, most = (0.5 * abs(value), 2 * abs(value)) if value else (0, 1)
    size = draw.uniform(least, most)
    if text.endswith(".0"):
        size, decimals = float(_integer(int(abs(value)), draw)), 1
    return round(-size if value < 0 else size, decimals)


def _string(value: str, draw: random.Random, names: dict[str, str]) -> str:
    """Replace words by other words, digits by other digits; other characters stay, or change in number."""
    if value in names:
        return names[value]
    if len(set(value)) < _LEAST_ALPHABET or not re.search(r"\w", value):
        new = _few_letters(value, draw)
    elif re.fullmatch(r"[01]+", value):
        new = _shuffled_alphabet(value, draw)
    elif " " in value and draw.random() < _SHUFFLED:
        words = value.split(" ")
        new = " ".join(draw.sample(words, len(words)))
    elif draw.random() < 0.5:  # noqa: PLR2004  a coin
        new = _WORDS.sub(lambda match: _like(match[0], draw), value)
        new = re.sub(r"[0-9]", lambda _digit: draw.choice(string.digits), new)
    else:
        new = _shuffled_alphabet(value, draw)
    names[value] = new
    return new


def _like(word: str, draw: random.Random) -> str:
    new = draw.choice(WORDS_BY_PART["noun"])
    if word.isupper():
        return new.upper()
    if word[0].isupper():
        return new.capitalize()
    return new


def _few_letters(value: str, draw: random.Random) -> str:
    """Change a string of one or two characters, or without a letter: other letters, longer, or shuffled."""
    if not value:
        return value
    if re.search(r"\w", value) and draw.random() < 0.5:  # noqa: PLR2004  a coin
        return _shuffled_alphabet(value, draw)
    size = max(1, len(value) + draw.randint(-1, 2))
    return draw.choice([value * 2, "".join(draw.choice(value) for _ in range(size))])


def _shuffled_alphabet(value: str, draw: random.Random) -> str:
    """Replace every character by another of its kind, the same everywhere, so that repetitions stay."""
    if re.fullmatch(r"[01]+", value):
        return re.sub(r".", lambda _digit: draw.choice("01"), value)
    # a substitution cipher: equal characters stay equal, so palindromes and repetitions stay what they are
    table: dict[str, str | int | None] = {}
    for kind in (string.ascii_lowercase, string.ascii_uppercase, string.digits):
        used = sorted(set(value).intersection(kind))
        table |= dict(zip(used, draw.sample(kind, len(used)), strict=True))
    return value.translate(str.maketrans(table))


def _list(values: list[object], draw: random.Random, names: dict[str, str], *, resize: bool = False) -> list[object]:
    leaves = list(_leaves(values))
    # a list keeps what makes it valid: order, distinct elements, and its size where others share it
    # 0 and 1 alone are a grid or flags: another number would leave the problem's terms
    if len(leaves) > 1 and set(map(type, leaves)) == {int} and {0, 1}.issuperset(leaves):
        return _bits(values, draw)
    new = _others(values, draw, names)
    if not _PLAIN.issuperset(map(type, values)):
        return new  # rows and records
    if resize and len(values) > 1 and draw.random() < _RESIZED:
        new = new[:-1] if draw.random() < 0.5 else [*new, _other(draw.choice(values), draw, {})]  # noqa: PLR2004  a coin
    # distinct elements stay distinct: the problem may promise that
    if resize and len(set(values)) == len(values):
        new = list(dict.fromkeys(new))
    for reverse in (False, True):
        if len(values) > 1 and values == _sorted(values, reverse=reverse):
            return _sorted(new, reverse=reverse) or new
    return new


def _leaves(values: object) -> Iterator[object]:
    if isinstance(values, list):
        for value in values:
            yield from _leaves(value)
    else:
        yield values


def _bits(values: list[object], draw: random.Random) -> list[object]:
    return [_bits(value, draw) if isinstance(value, list) else draw.randint(0, 1) for value in values]


def _sorted(values: Sequence[object], *, reverse: bool) -> list[object] | None:
    try:
        return sorted(values, reverse=reverse)  # type: ignore[type-var]
    except TypeError:
        return None
