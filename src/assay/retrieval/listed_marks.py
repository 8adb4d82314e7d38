"""Regions between marks that a language lists (`MarkedRegion`), a row of numbers each, for `retrieval.scanning`."""

from functools import cache

import numpy as np

from assay.languages import (
    LONGEST_MARK,
    Holds,
    MarkedRegion,
    Until,
    Where,
)
from assay.retrieval.compiled import compiled
from assay.retrieval.plain_marks import (
    BACKSLASH,
    BRACKET,
    DIGITS,
    DOUBLE,
    END_PARENTHESIS,
    KINDS_OF_MARKS,
    LESS,
    NO_OPENING,
    NO_REGION,
    OPEN,
    PARENTHESIS,
    SINGLE,
    UNCLOSED,
    WORD_LETTERS,
    Letters,
    Opening,
    after_escape,
    field,
    letter_table,
    line_end,
)
from assay.retrieval.source import LAYOUT, LINE_FEED, RETURN
from assay.types import BooleanArray

HOLDS, WHERE, UNTIL, SPANS, ESCAPE, NESTING, FIELD_MARK, FIELD_OPENS, FIELD_CLOSES, OPENS, CLOSES = range(11)
OPENING_MARK = 11
CLOSING_MARK = OPENING_MARK + LONGEST_MARK
"""Columns of a row: numbers, then the letters of both marks."""

ENDS_EXPRESSION = letter_table(b";()|&},")
ENDS_OPERAND = WORD_LETTERS | letter_table(b")]}'.\"$@%&>-")
DELIMITERS = letter_table(b"([{</|!#~^\"'")
AFTER_END_WORD = letter_table(b"\r\n;,)]")


@cache
def region_rows(regions: tuple[MarkedRegion, ...]) -> Letters:
    """Return the rows of regions, uint8 [r, 35]."""
    rows = np.frombuffer(b"".join(region.row for region in regions), np.uint8)
    return rows.reshape(-1, CLOSING_MARK + LONGEST_MARK).copy()


@compiled
def stands(letters: Letters, at: int, row: Letters, first: int, width: int) -> bool:
    """Return True if the letters at an offset are the `width` letters from column `first` of a row."""
    if at + width > len(letters):
        return False
    offset = 0
    while offset < width and letters[at + offset] == row[first + offset]:
        offset += 1
    return offset == width


@compiled
def may_stand(letters: Letters, at: int, row: Letters) -> bool:
    """Return True if the opening mark of a row counts at this place."""
    where = row[WHERE]
    before = letters[at - 1] if at > 0 else LINE_FEED
    if where == Where.FIRST:
        after = at + row[OPENS]
        return before in (LINE_FEED, RETURN) and not (after < len(letters) and WORD_LETTERS[letters[after]])
    if where == Where.APART:
        return bool(before <= LAYOUT or ENDS_EXPRESSION[before])
    if where == Where.OPERAND:
        return not ENDS_OPERAND[before]
    return where == Where.ANYWHERE or at == 0


@compiled
def after_content(letters: Letters, at: int, row: Letters) -> int:
    """Return the offset after a field or an escaped letter of a literal; `at` itself where neither stands there."""
    bracket = at + (row[FIELD_MARK] > 0)
    is_mark = row[FIELD_MARK] == 0 or letters[at] == row[FIELD_MARK]
    if row[FIELD_OPENS] and is_mark and bracket < len(letters) and letters[bracket] == row[FIELD_OPENS]:
        end = field(letters, bracket, row[FIELD_OPENS], row[FIELD_CLOSES])
        if end != NO_REGION:
            return end
    if row[ESCAPE] == 0 or letters[at] != row[ESCAPE]:
        return at
    if row[ESCAPE] != row[CLOSING_MARK]:
        return after_escape(letters, at)
    # two quotes stand for one; a single one closes
    return at + 2 * (at + 1 < len(letters) and letters[at + 1] == letters[at])


@compiled
def marked(letters: Letters, at: int, row: Letters) -> int:
    """Return the end of a region that a mark closes, from the offset after its opening mark."""
    # escapes and fields come first: a closing mark inside of one is content
    depth, cursor = 1, at
    while cursor < len(letters):
        after = after_content(letters, cursor, row)
        if after == cursor:
            if not row[SPANS] and letters[cursor] in (LINE_FEED, RETURN):
                return cursor
            after += 1
            if stands(letters, cursor, row, CLOSING_MARK, row[CLOSES]):
                depth -= 1
                after = cursor + row[CLOSES]
            elif depth < row[NESTING] and stands(letters, cursor, row, OPENING_MARK, row[OPENS]):
                depth += 1
                after = cursor + row[OPENS]
            if depth == 0:
                return after
        cursor = after
    return UNCLOSED if row[SPANS] else cursor


@compiled
def before_word(letters: Letters, at: int) -> int:
    """Return the end of a text whose end is a word on its own line, from the offset of that word: `<<"END"`."""
    start = at
    if start < len(letters) and letters[start] in (DOUBLE, SINGLE, BACKSLASH):
        start += 1
    stop = start
    while stop < len(letters) and WORD_LETTERS[letters[stop]]:
        stop += 1
    if stop == start or DIGITS[letters[start]]:
        return NO_REGION
    # the text begins on the next line; its end may be indented (`<<~END`, `<<-END`)
    cursor = line_end(letters, stop)
    while cursor < len(letters):
        while cursor < len(letters) and letters[cursor] <= LAYOUT:
            cursor += 1
        end = cursor + stop - start
        if repeats(letters, start, stop, cursor) and (end == len(letters) or AFTER_END_WORD[letters[end]]):
            return end
        cursor = line_end(letters, cursor)
    return UNCLOSED


@compiled
def repeats(letters: Letters, start: int, stop: int, at: int) -> bool:
    """Return True if the letters between two offsets stand at another one too."""
    end = at + stop - start
    return end <= len(letters) and bool(np.all(letters[at:end] == letters[start:stop]))


@compiled
def mirrored(letter: int) -> int:
    """Return the bracket that closes this one; any other letter closes itself."""
    if letter == PARENTHESIS:
        return END_PARENTHESIS
    return letter + 2 if letter in (BRACKET, OPEN, LESS) else letter


@compiled
def part_end(letters: Letters, at: int) -> int:
    """Return the offset after the mirror image of the delimiter at an offset; `UNCLOSED` where there is none."""
    opens, closes, depth, cursor = letters[at], mirrored(letters[at]), 1, at + 1
    while cursor < len(letters):
        letter = letters[cursor]
        # where a delimiter closes itself, as in s/a/b/, nothing nests
        depth += (letter == opens and opens != closes) - (letter == closes)
        if depth == 0:
            return cursor + 1
        cursor += 1 + (letter == BACKSLASH)
    return UNCLOSED


@compiled
def between_delimiters(letters: Letters, at: int, parts: int) -> int:
    """Return the end of one or two parts whose delimiter is the letter at an offset, with the flags behind them."""
    if at >= len(letters) or not DELIMITERS[letters[at]]:
        return NO_REGION
    end = part_end(letters, at)
    if parts > 1 and end != UNCLOSED:
        if mirrored(letters[at]) == letters[at]:
            end -= 1  # one delimiter ends the first part and begins the second
        else:  # the second part has brackets of its own
            while end < len(letters) and letters[end] <= LAYOUT:
                end += 1
        end = part_end(letters, end) if end < len(letters) else UNCLOSED
    while end != UNCLOSED and end < len(letters) and WORD_LETTERS[letters[end]]:
        end += 1
    return end


@compiled
def listed_end(letters: Letters, at: int, row: Letters) -> int:
    """Return the end of the region that the mark of a row opens."""
    inside: int = at + row[OPENS]
    until = row[UNTIL]
    if row[HOLDS] == Holds.CODE:
        return inside
    if until in (Until.MARK, Until.MARK_OR_END):
        end = marked(letters, inside, row)
        return len(letters) if until == Until.MARK_OR_END and end == UNCLOSED else end
    if until == Until.WORD:
        return before_word(letters, inside)
    if until == Until.LINE:
        return line_end(letters, at)
    return len(letters) if until == Until.END else between_delimiters(letters, inside, until - Until.DELIMITER + 1)


@compiled
def at_listed_mark(letters: Letters, at: int, rows: Letters, may_open: BooleanArray) -> Opening:
    """Return the region that the first fitting row opens; each row is a kind of mark of its own."""
    for number in range(len(rows)):
        row = rows[number]
        width, mark = row[OPENS], KINDS_OF_MARKS + 1 + number
        if not (may_open[mark] and stands(letters, at, row, OPENING_MARK, width) and may_stand(letters, at, row)):
            continue
        end = listed_end(letters, at, row)
        if end != NO_REGION:
            return end, row[HOLDS], mark, width
    return NO_OPENING
