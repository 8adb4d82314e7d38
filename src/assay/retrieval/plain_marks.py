"""Regions that the marks of most languages open, quotes and those of comments, for `retrieval.scanning`."""

import string
from collections.abc import Iterable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from assay.languages import (
    BackQuote,
    DoubleQuote,
    Marks,
    Raw,
    SingleQuote,
    Slashes,
)
from assay.retrieval.compiled import compiled
from assay.retrieval.source import LAYOUT, LINE_FEED, RETURN, SEPARATOR, WORD_CLASS
from assay.types import BooleanArray

Letters = NDArray[np.uint8]

COMMENT, STRING, CHARACTER, REGEX, CODE = range(5)
NO_REGION, UNCLOSED = -1, -2

HASH, SLASH, STAR, DASH, DOUBLE, SINGLE, BACK = (ord(mark) for mark in "#/*-\"'`")
BACKSLASH, OPEN, CLOSE = (ord(mark) for mark in "\\{}")
BRACKET, END_BRACKET, PARENTHESIS, END_PARENTHESIS = (ord(mark) for mark in "[]()")
DOLLAR, COLON, POINT, EQUALS, LESS, GREATER, BANG = (ord(mark) for mark in "$:.=<>!")

# Kinds of marks whose region may have no end. The first such mark of a kind costs a search to the end of the text, so
# marks of that kind are ignored after it: the time stays linear.
BLOCK_COMMENT, TRIPLE_DOUBLE, TRIPLE_SINGLE, BACK_QUOTE, PLAIN_RAW, HASHED_RAW, SPANNING, KINDS_OF_MARKS = range(8)

FIELD_LEVELS = 3
TEMPLATE_LEVELS = 32
LONGEST_DELIMITER = 16
LONGEST_SHORT = 200
LONGEST_EXPRESSION = 1000
BLANKS_BEFORE_EXPRESSION = 64
LONGEST_KEYWORD = 10


def letter_table(letters: Iterable[int]) -> BooleanArray:
    """Return a table of letters, bool [256]: one read tells whether a letter is among these."""
    table = np.zeros(256, np.bool_)
    table[[*letters]] = True
    return table


WORD_LETTERS = letter_table([*(string.ascii_letters + string.digits + "_").encode(), WORD_CLASS])
DIGITS = letter_table(b"0123456789")
MARKS = letter_table([DOUBLE, SINGLE, HASH, SLASH, BACK, DASH])
STOPS_TEXT = letter_table([BACKSLASH, LINE_FEED, RETURN])
BEFORE_EXPRESSION = letter_table(b"(,=:[!&|?{;~")


# compiled code has no sets of texts, so a keyword is compared as one number: its letters as digits of base 31
KEYWORDS_BEFORE_EXPRESSION = np.array(
    [
        reduce(lambda code, letter: (code * 31 + letter) & 0xFFFFFFFF, word)
        for word in (
            b"in do of new case void else throw yield await return typeof delete instanceof "
            b"if elsif unless when while until and or not split"
        ).split()
    ],
    np.int64,
)


@compiled
def line_end(letters: Letters, at: int) -> int:
    """Return the offset of the next line feed or carriage return."""
    while at < len(letters) and letters[at] != LINE_FEED and letters[at] != RETURN:
        at += 1
    return at


@compiled
def after_escape(letters: Letters, at: int) -> int:
    """Return the offset after a backslash and the letter that it escapes; that of the backslash if nothing follows."""
    if at + 1 >= len(letters):
        return at
    if letters[at + 1] == RETURN and at + 2 < len(letters) and letters[at + 2] == LINE_FEED:
        return at + 3
    return at + 2


@compiled
def literal(  # noqa: PLR0917  numba has no keyword-only parameters
    letters: Letters, at: int, width: int, spans: int, escapes: int, fields: int
) -> int:
    """Return the end of a literal between quotes.

    Args:
        letters: of the text.
        at: offset of its first quote.
        width: quotes that open and close it, 1 or 3.
        spans: it may run over lines; otherwise it ends with its line if the closing quote is missing.
        escapes: a backslash escapes the next letter.
        fields: it is an f-string; from the first field that does not close, fields are plain text.
    """
    quote, cursor = letters[at], at + width
    while cursor < len(letters):
        letter, after = letters[cursor], cursor + 1
        if letter == quote and (width == 1 or tripled(letters, cursor)):
            return cursor + width
        if not spans and letter in (LINE_FEED, RETURN):
            return cursor
        if letter == BACKSLASH and escapes:
            after = after_escape(letters, cursor)
            if after == cursor:
                break
        elif letter == OPEN and fields:
            if after < len(letters) and letters[after] == OPEN:  # {{ is a brace, not a field
                after += 1
            else:
                end = field(letters, cursor, OPEN, CLOSE)
                fields = end != NO_REGION
                after = max(after, end)
        cursor = after
    return UNCLOSED if spans else cursor


@compiled
def field(letters: Letters, at: int, opens: int, closes: int) -> int:
    """Return the end of a field of a literal between brackets, closed in its line, with at most two levels inside."""
    # quotes inside a field open strings of their own (PEP 701), whose braces and quotes do not count; a field that does
    # not close in its line is no field, so a lone brace never takes the rest of the text with it
    depth, cursor, bound = 0, at, min(len(letters), at + LONGEST_EXPRESSION)
    while cursor < bound:
        letter = letters[cursor]
        if letter == opens:
            depth += 1
            if depth > FIELD_LEVELS:
                return NO_REGION
        elif letter == closes:
            depth -= 1
            if depth == 0:
                return cursor + 1
        elif letter in (LINE_FEED, RETURN):
            return NO_REGION
        elif letter in (DOUBLE, SINGLE):
            cursor += 1
            while cursor < bound and letters[cursor] != letter and not STOPS_TEXT[letters[cursor]]:
                cursor += 1
            if cursor >= bound or letters[cursor] != letter:
                return NO_REGION
        cursor += 1
    return NO_REGION


@compiled
def tripled(letters: Letters, at: int) -> bool:
    """Return True if the quote is repeated three times."""
    return at + 2 < len(letters) and letters[at + 1] == letters[at] and letters[at + 2] == letters[at]


@compiled
def block_comment(letters: Letters, at: int, nesting: int) -> int:
    """Return the end of a comment between `/*` and `*/` with at most `nesting` levels."""
    # with `nesting` 1 an inner mark is text, as in C; with more each inner comment needs its own end, as in Rust
    depth, cursor = 1, at + 2
    while cursor + 1 < len(letters):
        if letters[cursor] == STAR and letters[cursor + 1] == SLASH:
            depth -= 1
            cursor += 2
            if depth == 0:
                return cursor
        elif letters[cursor] == SLASH and letters[cursor + 1] == STAR and depth < nesting:
            depth += 1
            cursor += 2
        else:
            cursor += 1
    return UNCLOSED


@compiled
def line_comment(letters: Letters, at: int, slashes: int) -> int:
    """Return the end of a comment from `//` to the end of its line."""
    if slashes == Slashes.STANDING_APART and at > 0 and (letters[at - 1] == COLON or WORD_LETTERS[letters[at - 1]]):
        return NO_REGION
    cursor = line_end(letters, at)
    if slashes == Slashes.SEPARATED_LINE:
        for separated in range(at, cursor):
            if letters[separated] == SEPARATOR:
                return separated
    while slashes == Slashes.SPLICED_LINE and cursor < len(letters) and letters[cursor - 1] == BACKSLASH:
        cursor = line_end(letters, after_escape(letters, cursor - 1))
    return cursor


@compiled
def comment_apart(letters: Letters, at: int, width: int) -> int:
    """Return the end of a comment of an unknown language: its mark of `width` letters has white space on both sides."""
    if at > 0 and letters[at - 1] > LAYOUT:
        return NO_REGION
    after = letters[at + width] if at + width < len(letters) else LAYOUT
    if after > LAYOUT and after != letters[at] and not (after == BANG and letters[at] == HASH):
        return NO_REGION
    return line_end(letters, at)


@compiled
def at_substitution(letters: Letters, at: int) -> bool:
    """Return True at the `${` that opens a substitution."""
    return bool(letters[at] == DOLLAR and at + 1 < len(letters) and letters[at + 1] == OPEN)


@compiled
def template(letters: Letters, at: int) -> int:
    """Return the end of a template literal. Its substitutions contain code, with braces, strings and templates."""
    # a stack without recursion: `braces` counts the open braces in the substitution of each level
    braces = np.zeros(TEMPLATE_LEVELS, np.int64)
    level, in_text, cursor = 0, True, at + 1
    while cursor < len(letters):
        letter, step = letters[cursor], 1
        if letter == BACKSLASH:
            step = after_escape(letters, cursor) - cursor
            if step == 0:
                return UNCLOSED
        elif letter == BACK:
            if in_text and level == 0:
                return cursor + 1
            # a back-quote in text closes its template, and one in code opens the next deeper one
            level += 1 - 2 * in_text
            in_text = not in_text
            if level == TEMPLATE_LEVELS:
                return UNCLOSED
        elif in_text and at_substitution(letters, cursor):
            braces[level], in_text, step = 0, False, 2
        elif not in_text and letter in (DOUBLE, SINGLE):
            step = literal(letters, cursor, 1, False, True, False) - cursor
        elif not in_text and letter in (OPEN, CLOSE):
            # the closing brace that no brace of the code opened ends the substitution
            in_text = letter == CLOSE and braces[level] == 0
            braces[level] += 2 * (letter == OPEN) - 1
        cursor += step
    return UNCLOSED


@compiled
def delimited(letters: Letters, at: int) -> int:
    """Return the end of `R"x(…)x"`, from the offset of its quote."""
    if at == 0 or letters[at - 1] != ord("R"):
        return NO_REGION
    stop = at + 1
    while stop < len(letters) and letters[stop] != PARENTHESIS:
        if letters[stop] in (END_PARENTHESIS, BACKSLASH) or letters[stop] <= LAYOUT or stop - at > LONGEST_DELIMITER:
            return NO_REGION
        stop += 1
    width = stop - at - 1
    # only a bracket with the same delimiter behind it ends the literal, so the delimiter is compared letter by letter
    for cursor in range(stop + 1, len(letters) - width - 1):
        if letters[cursor] == END_PARENTHESIS and letters[cursor + width + 1] == DOUBLE:
            same = True
            for offset in range(width):
                same &= letters[cursor + 1 + offset] == letters[at + 1 + offset]
            if same:
                return cursor + width + 2
    return UNCLOSED if stop < len(letters) else NO_REGION


@compiled
def raw_prefix(letters: Letters, at: int) -> bool:
    """Return True if an r, br or cr precedes the offset that is not the end of a longer name."""
    if at == 0 or letters[at - 1] != ord("r"):
        return False
    if at == 1 or not WORD_LETTERS[letters[at - 2]]:
        return True
    return letters[at - 2] in (ord("b"), ord("c")) and (at == 2 or not WORD_LETTERS[letters[at - 3]])  # noqa: PLR2004


@compiled
def hashed(letters: Letters, at: int) -> int:
    """Return the end of `r#"…"#`, from the offset of its first hash, or of `r"…"`, from that of its quote."""
    quote = at
    while quote < len(letters) and letters[quote] == HASH:
        quote += 1
    hashes = quote - at
    if quote >= len(letters) or letters[quote] != DOUBLE:
        return NO_REGION
    # the closing quote is followed by as many hashes as the opening one was preceded by: count those after each quote
    seen = -1  # hashes since the last quote
    for cursor in range(quote + 1, len(letters)):
        if letters[cursor] == DOUBLE:
            seen = 0
        elif seen >= 0:
            seen = seen + 1 if letters[cursor] == HASH else -1
        if seen == hashes:
            return cursor + 1
    return UNCLOSED


@compiled
def one_character(letters: Letters, at: int) -> int:
    r"""Return the end of `'a'`, `'\n'`, `'\x41'` or `'\u{1F600}'`."""
    cursor = at + 1
    if cursor >= len(letters) or letters[cursor] in (SINGLE, LINE_FEED, RETURN):
        return NO_REGION
    if letters[cursor] != BACKSLASH:
        stop = cursor + 1
    elif cursor + 1 < len(letters) and letters[cursor + 1] == ord("x"):
        stop = cursor + 4
    elif cursor + 2 < len(letters) and letters[cursor + 1] == ord("u") and letters[cursor + 2] == OPEN:
        stop = cursor + 3
        while stop < len(letters) and stop < cursor + 11 and WORD_LETTERS[letters[stop]]:
            stop += 1
        stop += 1
    else:
        stop = cursor + 2
    return stop + 1 if stop < len(letters) and letters[stop] == SINGLE else NO_REGION


@compiled
def short(letters: Letters, at: int) -> int:
    """Return the end of a literal in an unknown language: short, closed, and not an apostrophe in a word."""
    if at > 0 and WORD_LETTERS[letters[at - 1]]:
        return NO_REGION
    for cursor in range(at + 1, min(len(letters), at + LONGEST_SHORT + 2)):
        if letters[cursor] == SINGLE:
            return cursor + 1
        if letters[cursor] in (BACKSLASH, LINE_FEED, RETURN):
            break
    return NO_REGION


@compiled
def starts_number(letters: Letters, at: int, scanned: int) -> int:
    """Return the start of the number in which `'` separates digits; `NO_REGION` if it does not.

    Args:
        letters: of the text.
        at: offset of a `'`.
        scanned: offset after the last separator of a number, so that the digits before it are not read again.
    """
    # 1'000'000: each separator is reached from the left, so it is enough to go back to the last one
    cursor = at
    while cursor > 0 and cursor != scanned and WORD_LETTERS[letters[cursor - 1]]:
        cursor -= 1
    if cursor == at:
        return NO_REGION
    is_number = cursor == scanned or DIGITS[letters[cursor]]
    return cursor if is_number and at + 1 < len(letters) and WORD_LETTERS[letters[at + 1]] else NO_REGION


@compiled
def operand_expected(letters: Letters, at: int) -> bool:
    """Return True if a slash cannot be a division: an opening bracket, an operator or a keyword precedes it."""
    cursor = at
    while cursor > 0 and letters[cursor - 1] <= LAYOUT and at - cursor < BLANKS_BEFORE_EXPRESSION:
        cursor -= 1
    if cursor == 0:
        return True
    before = letters[cursor - 1]
    if BEFORE_EXPRESSION[before] or (before == GREATER and cursor > 1 and letters[cursor - 2] == EQUALS):
        return True
    return ends_keyword(letters, cursor)


@compiled
def ends_keyword(letters: Letters, cursor: int) -> bool:
    """Return True if a keyword before an expression ends at an offset: `return /x/`, but not `a.return / x`."""
    first = cursor
    while first > 0 and WORD_LETTERS[letters[first - 1]] and cursor - first <= LONGEST_KEYWORD:
        first -= 1
    if first == cursor or (first > 0 and (letters[first - 1] in (DOLLAR, POINT) or WORD_LETTERS[letters[first - 1]])):
        return False
    code = 0
    for offset in range(first, cursor):
        code = (code * 31 + letters[offset]) & 0xFFFFFFFF
    return bool(np.any(code == KEYWORDS_BEFORE_EXPRESSION))


@compiled
def expression(letters: Letters, at: int) -> int:
    """Return the end of a regular expression of JavaScript, closed in its line, with its flags."""
    if not operand_expected(letters, at):
        return NO_REGION
    in_brackets, cursor = False, at + 1
    while cursor < len(letters) and cursor - at <= LONGEST_EXPRESSION:
        letter = letters[cursor]
        if letter == BACKSLASH and cursor + 1 < len(letters):
            cursor += 1
        elif letter == SLASH and not in_brackets:
            cursor += 1
            while (
                cursor < len(letters)
                and WORD_LETTERS[letters[cursor]]
                and letters[cursor] > ord("9")
                and letters[cursor] != WORD_CLASS
            ):
                cursor += 1
            return cursor  # after the flags
        elif letter in (BRACKET, END_BRACKET):
            in_brackets = letter == BRACKET
        if letters[cursor] in (LINE_FEED, RETURN):
            return NO_REGION
        cursor += 1
    return NO_REGION


Opening = tuple[int, int, int, int]
"""The region that a mark opens: the offset after it, `NO_REGION` or `UNCLOSED`; its kind; the kind of its mark; the
number of letters of the mark."""

NO_OPENING: Opening = (NO_REGION, STRING, KINDS_OF_MARKS, 1)


@compiled
def at_double_quote(letters: Letters, at: int, marks: Marks, may_open: BooleanArray) -> Opening:
    """Return the region that `"` opens."""
    if marks.raw != Raw.NONE and may_open[PLAIN_RAW]:
        stop = NO_REGION
        if marks.raw == Raw.DELIMITED:
            stop = delimited(letters, at)
        elif raw_prefix(letters, at):
            stop = hashed(letters, at)
        if stop != NO_REGION:
            return stop, STRING, PLAIN_RAW, 1
    if marks.triple_double and may_open[TRIPLE_DOUBLE] and tripled(letters, at):
        return literal(letters, at, 3, True, True, False), STRING, TRIPLE_DOUBLE, 3
    if marks.double == DoubleQuote.SPANNING:
        end = literal(letters, at, 1, True, True, False) if may_open[SPANNING] else NO_REGION
        return end, STRING, SPANNING, 1
    return in_line(letters, at, marks.fields), STRING, KINDS_OF_MARKS, 1


@compiled
def at_single_quote(letters: Letters, at: int, marks: Marks, may_open: BooleanArray) -> Opening:
    """Return the region that `'` opens if it is not a separator in a number."""
    if marks.triple_single and may_open[TRIPLE_SINGLE] and tripled(letters, at):
        return literal(letters, at, 3, True, True, False), STRING, TRIPLE_SINGLE, 3
    if marks.single == SingleQuote.ONE_CHARACTER:
        return one_character(letters, at), CHARACTER, KINDS_OF_MARKS, 1
    if marks.single == SingleQuote.NOTHING:
        return NO_OPENING
    if marks.single == SingleQuote.SHORT:
        return short(letters, at), STRING, KINDS_OF_MARKS, 1
    kind = STRING if marks.single == SingleQuote.LINE else CHARACTER
    return in_line(letters, at, marks.fields), kind, KINDS_OF_MARKS, 1


@compiled
def in_line(letters: Letters, at: int, fields: int) -> int:
    """Return the end of a literal that ends with its line at the latest."""
    # the quote of an f-string follows an f or a t, or one of them and an r; a bit makes a letter lower case
    before = letters[at - 1] | LAYOUT if at > 0 else 0
    if before == ord("r"):
        before = letters[at - 2] | LAYOUT if at > 1 else 0
    return literal(letters, at, 1, False, True, fields and before in (ord("f"), ord("t")))


@compiled
def at_hash(letters: Letters, at: int, marks: Marks, may_open: BooleanArray) -> Opening:
    """Return the region that `#` opens."""
    if marks.hashes:
        return line_end(letters, at), COMMENT, KINDS_OF_MARKS, 1
    if marks.apart:
        return comment_apart(letters, at, 1), COMMENT, KINDS_OF_MARKS, 1
    if marks.raw == Raw.HASHED and may_open[HASHED_RAW] and raw_prefix(letters, at):
        return hashed(letters, at), STRING, HASHED_RAW, 1
    return NO_OPENING


@compiled
def at_slash(letters: Letters, at: int, marks: Marks, may_open: BooleanArray) -> Opening:
    """Return the region that `/` opens."""
    after = letters[at + 1] if at + 1 < len(letters) else LAYOUT
    if after == SLASH and marks.slashes != Slashes.NOTHING:
        return line_comment(letters, at, marks.slashes), COMMENT, KINDS_OF_MARKS, 1
    if after == STAR and marks.nesting > 0 and may_open[BLOCK_COMMENT]:
        return block_comment(letters, at, marks.nesting), COMMENT, BLOCK_COMMENT, 2
    if after not in (SLASH, STAR) and marks.expressions:
        return expression(letters, at), REGEX, KINDS_OF_MARKS, 1
    return NO_OPENING


@compiled
def at_back_quote(letters: Letters, at: int, marks: Marks, may_open: BooleanArray) -> Opening:
    """Return the region that a back-quote opens."""
    if marks.back_quote == BackQuote.NOTHING or not may_open[BACK_QUOTE]:
        return NO_OPENING
    is_template = marks.back_quote == BackQuote.TEMPLATE
    end = template(letters, at) if is_template else literal(letters, at, 1, True, False, False)
    return end, STRING, BACK_QUOTE, 1


@compiled
def at_dash(letters: Letters, at: int, marks: Marks) -> Opening:
    """Return the region that `-` opens."""
    if marks.apart and at + 1 < len(letters) and letters[at + 1] == DASH:
        return comment_apart(letters, at, 2), COMMENT, KINDS_OF_MARKS, 1
    return NO_OPENING


@compiled
def opening(letters: Letters, at: int, marks: Marks, may_open: BooleanArray) -> Opening:
    """Return the region that the letter at an offset opens."""
    letter = letters[at]
    if letter == DOUBLE:
        return at_double_quote(letters, at, marks, may_open)
    if letter == SINGLE:
        return at_single_quote(letters, at, marks, may_open)
    if letter == HASH:
        return at_hash(letters, at, marks, may_open)
    if letter == SLASH:
        return at_slash(letters, at, marks, may_open)
    if letter == BACK:
        return at_back_quote(letters, at, marks, may_open)
    return at_dash(letters, at, marks) if letter == DASH else NO_OPENING
