"""Finds comments and literals in one pass over the letters of a text.

Every function takes letters, uint8 [n] (`Source.letters`), and the offset of an opening mark, and gives the offset
after the region; `NO_REGION` where none begins there, or `UNCLOSED` where its closing mark is missing. Each looks at a
letter a bounded number of times, so that the whole is linear in the text, whatever is in it.
"""

import numpy as np
from numpy.typing import NDArray

from assay.languages import BackQuote, DoubleQuote, Marks, Raw, SingleQuote, Slashes
from assay.retrieval.compiled import compiled
from assay.retrieval.source import LAYOUT, LINE_FEED, RETURN, SEPARATOR, WORD, Offsets

Letters = NDArray[np.uint8]
Booleans = NDArray[np.bool_]

COMMENT, STRING, CHARACTER, REGEX = range(4)
NO_REGION, UNCLOSED = -1, -2

HASH, SLASH, STAR, DASH, DOUBLE, SINGLE, BACK = (ord(one) for one in "#/*-\"'`")
BACKSLASH, OPEN, CLOSE = (ord(one) for one in "\\{}")
BRACKET, END_BRACKET, PARENTHESIS, END_PARENTHESIS = (ord(one) for one in "[]()")
DOLLAR, COLON, POINT, EQUALS, GREATER, BANG = (ord(one) for one in "$:.=>!")

# kinds of marks that may run to the end of the text for want of a closing one; one that does opens nothing after it
BLOCK, TRIPLE_DOUBLE, TRIPLE_SINGLE, BACK_QUOTE, PLAIN_RAW, HASHED_RAW, SPANNING, KINDS_OF_MARKS = range(8)

FIELD_LEVELS = 3
TEMPLATE_LEVELS = 32
LONGEST_DELIMITER = 16
LONGEST_SHORT = 200
LONGEST_EXPRESSION = 1000
BLANKS_BEFORE_EXPRESSION = 64
LONGEST_KEYWORD = 10

WORD_LETTERS = np.zeros(256, np.bool_)
WORD_LETTERS[[*b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_", WORD]] = True
DIGITS = np.zeros(256, np.bool_)
DIGITS[[*b"0123456789"]] = True
MARKS = np.zeros(256, np.bool_)
MARKS[[DOUBLE, SINGLE, HASH, SLASH, BACK, DASH]] = True
STOPS_TEXT = np.zeros(256, np.bool_)
STOPS_TEXT[[BACKSLASH, LINE_FEED, RETURN]] = True
BEFORE_EXPRESSION = np.zeros(256, np.bool_)
BEFORE_EXPRESSION[[*b"(,=:[!&|?{;"]] = True


def _keyword_code(word: bytes) -> int:
    code = 0
    for letter in word:
        code = (code * 31 + letter) & 0xFFFFFFFF
    return code


KEYWORDS_BEFORE_EXPRESSION = np.array(
    sorted(
        _keyword_code(word)
        for word in b"in do of new case void else throw yield await return typeof delete instanceof".split()
    ),
    np.int64,
)


@compiled
def line_end(letters: Letters, at: int) -> int:
    """Offset of the next line feed or carriage return."""
    while at < len(letters) and letters[at] != LINE_FEED and letters[at] != RETURN:
        at += 1
    return at


@compiled
def after_escape(letters: Letters, at: int) -> int:
    """Offset after a backslash and what it escapes; the backslash itself where nothing follows."""
    if at + 1 >= len(letters):
        return at
    if letters[at + 1] == RETURN and at + 2 < len(letters) and letters[at + 2] == LINE_FEED:
        return at + 3
    return at + 2


@compiled
def quoted(letters: Letters, at: int) -> int:
    """A literal in one line; where the closing quote is missing it ends with the line."""
    quote, here = letters[at], at + 1
    while here < len(letters):
        letter = letters[here]
        if letter == quote:
            return here + 1
        if letter in (LINE_FEED, RETURN):
            return here
        if letter == BACKSLASH:
            after = after_escape(letters, here)
            if after == here:
                return here
            here = after
        else:
            here += 1
    return here


@compiled
def field(letters: Letters, at: int) -> int:
    """A replacement field of an f-string, closed in its line, with quotes and two levels of fields inside."""
    depth, here = 0, at
    while here < len(letters):
        letter = letters[here]
        if letter == OPEN:
            depth += 1
            if depth > FIELD_LEVELS:
                return NO_REGION
        elif letter == CLOSE:
            depth -= 1
            if depth == 0:
                return here + 1
        elif letter in (LINE_FEED, RETURN):
            return NO_REGION
        elif letter in (DOUBLE, SINGLE):
            here += 1
            while here < len(letters) and letters[here] != letter and not STOPS_TEXT[letters[here]]:
                here += 1
            if here >= len(letters) or letters[here] != letter:
                return NO_REGION
        here += 1
    return NO_REGION


@compiled
def interpolated(letters: Letters, at: int) -> int:
    """An f-string in one line; a field that does not close is plain text, and so is every further one."""
    quote, here, fields = letters[at], at + 1, True
    while here < len(letters):
        letter = letters[here]
        if letter == quote:
            return here + 1
        if letter in (LINE_FEED, RETURN):
            return here
        if letter == BACKSLASH:
            after = after_escape(letters, here)
            if after == here:
                return here
            here = after
        elif letter == OPEN and here + 1 < len(letters) and letters[here + 1] == OPEN:
            here += 2
        elif letter == OPEN and fields:
            after = field(letters, here)
            fields = after != NO_REGION
            here = after if fields else here + 1
        else:
            here += 1
    return here


@compiled
def is_interpolated(letters: Letters, at: int) -> bool:
    """Whether the quote follows an f or a t, or one of them and an r."""
    before = letters[at - 1] | LAYOUT if at > 0 else 0
    if before == ord("r"):
        before = letters[at - 2] | LAYOUT if at > 1 else 0
    return before in (ord("f"), ord("t"))


@compiled
def tripled(letters: Letters, at: int) -> bool:
    """Whether the quote stands three times."""
    return at + 2 < len(letters) and letters[at + 1] == letters[at] and letters[at + 2] == letters[at]


@compiled
def spanning(letters: Letters, at: int, mark: int) -> int:
    """A literal that ends with `mark` quotes in a row, whatever lines lie between."""
    quote, here = letters[at], at + mark
    while here < len(letters):
        letter = letters[here]
        if letter == BACKSLASH:
            after = after_escape(letters, here)
            if after == here:
                return UNCLOSED
            here = after
        elif letter == quote and (mark == 1 or tripled(letters, here)):
            return here + mark
        else:
            here += 1
    return UNCLOSED


@compiled
def block_comment(letters: Letters, at: int, nesting: int) -> int:
    """A comment between `/*` and `*/`, with `nesting` levels in all."""
    depth, here = 1, at + 2
    while here + 1 < len(letters):
        if letters[here] == STAR and letters[here + 1] == SLASH:
            depth -= 1
            here += 2
            if depth == 0:
                return here
        elif letters[here] == SLASH and letters[here + 1] == STAR and depth < nesting:
            depth += 1
            here += 2
        else:
            here += 1
    return UNCLOSED


@compiled
def line_comment(letters: Letters, at: int, slashes: int) -> int:
    """A comment from `//` to the end of its line."""
    if slashes == Slashes.STANDING_APART and at > 0 and (letters[at - 1] == COLON or WORD_LETTERS[letters[at - 1]]):
        return NO_REGION
    here = line_end(letters, at)
    if slashes == Slashes.SEPARATED_LINE:
        for separated in range(at, here):
            if letters[separated] == SEPARATOR:
                return separated
    while slashes == Slashes.SPLICED_LINE and here < len(letters) and letters[here - 1] == BACKSLASH:
        here = line_end(letters, after_escape(letters, here - 1))
    return here


@compiled
def comment_apart(letters: Letters, at: int, width: int) -> int:
    """A comment of an unknown language: its mark of `width` letters stands after white space and before some."""
    if at > 0 and letters[at - 1] > LAYOUT:
        return NO_REGION
    after = letters[at + width] if at + width < len(letters) else LAYOUT
    if after > LAYOUT and after != letters[at] and not (after == BANG and letters[at] == HASH):
        return NO_REGION
    return line_end(letters, at)


@compiled
def back_quoted(letters: Letters, at: int) -> int:
    """A raw string in back-quotes."""
    here = at + 1
    while here < len(letters):
        if letters[here] == BACK:
            return here + 1
        here += 1
    return UNCLOSED


@compiled
def template(letters: Letters, at: int) -> int:
    """A template literal: substitutions hold code, which holds braces, strings and templates."""
    braces = np.zeros(TEMPLATE_LEVELS, np.int64)
    level, in_text, here = 0, True, at + 1
    while here < len(letters):
        letter, step = letters[here], 1
        if letter == BACKSLASH:
            step = after_escape(letters, here) - here
            if step == 0:
                return UNCLOSED
        elif letter == BACK:
            if in_text and level == 0:
                return here + 1
            level += -1 if in_text else 1
            in_text = not in_text
            if level == TEMPLATE_LEVELS:
                return UNCLOSED
        elif in_text and letter == DOLLAR and here + 1 < len(letters) and letters[here + 1] == OPEN:
            braces[level], in_text, step = 0, False, 2
        elif not in_text and letter in (DOUBLE, SINGLE):
            step = quoted(letters, here) - here
        elif not in_text and letter in (OPEN, CLOSE):
            in_text = letter == CLOSE and braces[level] == 0
            braces[level] += 1 if letter == OPEN else -1
        here += step
    return UNCLOSED


@compiled
def delimited(letters: Letters, at: int) -> int:
    """`R"x(…)x"`, from its quote on."""
    if at == 0 or letters[at - 1] != ord("R"):
        return NO_REGION
    stop = at + 1
    while stop < len(letters) and letters[stop] != PARENTHESIS:
        if letters[stop] in (END_PARENTHESIS, BACKSLASH) or letters[stop] <= LAYOUT or stop - at > LONGEST_DELIMITER:
            return NO_REGION
        stop += 1
    width = stop - at - 1
    for here in range(stop + 1, len(letters) - width - 1):
        if letters[here] == END_PARENTHESIS and letters[here + width + 1] == DOUBLE:
            same = True
            for one in range(width):
                same &= letters[here + 1 + one] == letters[at + 1 + one]
            if same:
                return here + width + 2
    return UNCLOSED if stop < len(letters) else NO_REGION


@compiled
def raw_prefix(letters: Letters, at: int) -> bool:
    """Whether an r, br or cr that is no end of a longer name stands before this offset."""
    if at == 0 or letters[at - 1] != ord("r"):
        return False
    if at == 1 or not WORD_LETTERS[letters[at - 2]]:
        return True
    return letters[at - 2] in (ord("b"), ord("c")) and (at == 2 or not WORD_LETTERS[letters[at - 3]])  # noqa: PLR2004


@compiled
def hashed(letters: Letters, at: int) -> int:
    """`r#"…"#`, from its first hash on; `r"…"`, from its quote on."""
    quote = at
    while quote < len(letters) and letters[quote] == HASH:
        quote += 1
    hashes = quote - at
    if quote >= len(letters) or letters[quote] != DOUBLE:
        return NO_REGION
    seen = -1  # hashes since the last quote
    for here in range(quote + 1, len(letters)):
        if letters[here] == DOUBLE:
            seen = 0
        elif seen >= 0:
            seen = seen + 1 if letters[here] == HASH else -1
        if seen == hashes:
            return here + 1
    return UNCLOSED


@compiled
def one_character(letters: Letters, at: int) -> int:
    r"""`'a'`, `'\n'`, `'\x41'` or `'\u{1F600}'`."""
    here = at + 1
    if here >= len(letters) or letters[here] in (SINGLE, LINE_FEED, RETURN):
        return NO_REGION
    if letters[here] != BACKSLASH:
        stop = here + 1
    elif here + 1 < len(letters) and letters[here + 1] == ord("x"):
        stop = here + 4
    elif here + 2 < len(letters) and letters[here + 1] == ord("u") and letters[here + 2] == OPEN:
        stop = here + 3
        while stop < len(letters) and stop < here + 11 and WORD_LETTERS[letters[stop]]:
            stop += 1
        stop += 1
    else:
        stop = here + 2
    return stop + 1 if stop < len(letters) and letters[stop] == SINGLE else NO_REGION


@compiled
def short(letters: Letters, at: int) -> int:
    """A literal in an unknown language: short, closed, and no apostrophe of a word."""
    if at > 0 and WORD_LETTERS[letters[at - 1]]:
        return NO_REGION
    for here in range(at + 1, min(len(letters), at + LONGEST_SHORT + 2)):
        if letters[here] == SINGLE:
            return here + 1
        if letters[here] in (BACKSLASH, LINE_FEED, RETURN):
            break
    return NO_REGION


@compiled
def starts_number(letters: Letters, at: int, known: int) -> int:
    """Where the number begins that `'` separates here; `NO_REGION` where it separates none.

    Args:
        letters: of the text.
        at: offset of a `'`.
        known: offset up to which everything belongs to one number, so that it is not looked at again.
    """
    here = at
    while here > 0 and here != known and WORD_LETTERS[letters[here - 1]]:
        here -= 1
    if here == at:
        return NO_REGION
    is_number = here == known or DIGITS[letters[here]]
    return here if is_number and at + 1 < len(letters) and WORD_LETTERS[letters[at + 1]] else NO_REGION


@compiled
def operand_expected(letters: Letters, at: int) -> bool:
    """Whether a slash at this offset cannot divide: an opening bracket, an operator or a keyword stands before it."""
    here = at
    while here > 0 and letters[here - 1] <= LAYOUT and at - here < BLANKS_BEFORE_EXPRESSION:
        here -= 1
    if here == 0:
        return True
    before = letters[here - 1]
    if BEFORE_EXPRESSION[before] or (before == GREATER and here > 1 and letters[here - 2] == EQUALS):
        return True
    first = here
    while first > 0 and WORD_LETTERS[letters[first - 1]] and here - first <= LONGEST_KEYWORD:
        first -= 1
    if first == here or (first > 0 and (letters[first - 1] in (DOLLAR, POINT) or WORD_LETTERS[letters[first - 1]])):
        return False
    code = 0
    for one in range(first, here):
        code = (code * 31 + letters[one]) & 0xFFFFFFFF
    return bool(np.any(code == KEYWORDS_BEFORE_EXPRESSION))


@compiled
def expression(letters: Letters, at: int) -> int:
    """A regular expression of JavaScript, closed in its line, with its flags."""
    if not operand_expected(letters, at):
        return NO_REGION
    in_brackets, here = False, at + 1
    while here < len(letters) and here - at <= LONGEST_EXPRESSION:
        letter = letters[here]
        if letter == BACKSLASH and here + 1 < len(letters):
            here += 1
        elif letter == SLASH and not in_brackets:
            return flags_end(letters, here + 1)
        elif letter in (BRACKET, END_BRACKET):
            in_brackets = letter == BRACKET
        if letters[here] in (LINE_FEED, RETURN):
            return NO_REGION
        here += 1
    return NO_REGION


@compiled
def flags_end(letters: Letters, at: int) -> int:
    """Offset after the letters that follow a regular expression."""
    while at < len(letters) and WORD_LETTERS[letters[at]] and letters[at] > ord("9") and letters[at] != WORD:
        at += 1
    return at


Opening = tuple[int, int, int, int]
"""Of the region that a mark opens: the offset after it, `NO_REGION` or `UNCLOSED`; its kind; what sort of mark opens it
and how many letters that mark has."""

NOTHING: Opening = (NO_REGION, STRING, KINDS_OF_MARKS, 1)


@compiled
def at_double_quote(letters: Letters, at: int, marks: Marks, may_open: Booleans) -> Opening:
    """What `"` opens."""
    if marks.raw != Raw.NONE and may_open[PLAIN_RAW]:
        stop = NO_REGION
        if marks.raw == Raw.DELIMITED:
            stop = delimited(letters, at)
        elif raw_prefix(letters, at):
            stop = hashed(letters, at)
        if stop != NO_REGION:
            return stop, STRING, PLAIN_RAW, 1
    if marks.triple_double and may_open[TRIPLE_DOUBLE] and tripled(letters, at):
        return spanning(letters, at, 3), STRING, TRIPLE_DOUBLE, 3
    if marks.double == DoubleQuote.SPANNING:
        return (spanning(letters, at, 1) if may_open[SPANNING] else NO_REGION), STRING, SPANNING, 1
    return in_line(letters, at, marks.fields), STRING, KINDS_OF_MARKS, 1


@compiled
def at_single_quote(letters: Letters, at: int, marks: Marks, may_open: Booleans) -> Opening:
    """What `'` opens, where it is no separator in a number."""
    if marks.triple_single and may_open[TRIPLE_SINGLE] and tripled(letters, at):
        return spanning(letters, at, 3), STRING, TRIPLE_SINGLE, 3
    if marks.single == SingleQuote.ONE_CHARACTER:
        return one_character(letters, at), CHARACTER, KINDS_OF_MARKS, 1
    if marks.single == SingleQuote.SHORT:
        return short(letters, at), STRING, KINDS_OF_MARKS, 1
    kind = STRING if marks.single == SingleQuote.LINE else CHARACTER
    return in_line(letters, at, marks.fields), kind, KINDS_OF_MARKS, 1


@compiled
def in_line(letters: Letters, at: int, fields: int) -> int:
    """A literal that ends with its line at the latest."""
    return interpolated(letters, at) if fields and is_interpolated(letters, at) else quoted(letters, at)


@compiled
def at_hash(letters: Letters, at: int, marks: Marks, may_open: Booleans) -> Opening:
    """What `#` opens."""
    if marks.hashes:
        return line_end(letters, at), COMMENT, KINDS_OF_MARKS, 1
    if marks.apart:
        return comment_apart(letters, at, 1), COMMENT, KINDS_OF_MARKS, 1
    if marks.raw == Raw.HASHED and may_open[HASHED_RAW] and raw_prefix(letters, at):
        return hashed(letters, at), STRING, HASHED_RAW, 1
    return NOTHING


@compiled
def at_slash(letters: Letters, at: int, marks: Marks, may_open: Booleans) -> Opening:
    """What `/` opens."""
    after = letters[at + 1] if at + 1 < len(letters) else LAYOUT
    if after == SLASH and marks.slashes != Slashes.NOTHING:
        return line_comment(letters, at, marks.slashes), COMMENT, KINDS_OF_MARKS, 1
    if after == STAR and marks.nesting > 0 and may_open[BLOCK]:
        return block_comment(letters, at, marks.nesting), COMMENT, BLOCK, 2
    if after not in (SLASH, STAR) and marks.expressions:
        return expression(letters, at), REGEX, KINDS_OF_MARKS, 1
    return NOTHING


@compiled
def at_back_quote(letters: Letters, at: int, marks: Marks, may_open: Booleans) -> Opening:
    """What a back-quote opens."""
    if marks.back_quote == BackQuote.NOTHING or not may_open[BACK_QUOTE]:
        return NOTHING
    is_template = marks.back_quote == BackQuote.TEMPLATE
    return (template(letters, at) if is_template else back_quoted(letters, at)), STRING, BACK_QUOTE, 1


@compiled
def at_dash(letters: Letters, at: int, marks: Marks) -> Opening:
    """What `-` opens."""
    if marks.apart and at + 1 < len(letters) and letters[at + 1] == DASH:
        return comment_apart(letters, at, 2), COMMENT, KINDS_OF_MARKS, 1
    return NOTHING


@compiled
def opening(letters: Letters, at: int, marks: Marks, may_open: Booleans) -> Opening:
    """What the letter at this offset opens."""
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
    return at_dash(letters, at, marks) if letter == DASH else NOTHING


@compiled
def shebang_end(letters: Letters) -> int:
    """Offset after `#!…` at the top of the text; 0 where there is none. `#![` is an attribute in Rust."""
    is_shebang = len(letters) > 1 and letters[0] == HASH and letters[1] == BANG
    is_attribute = len(letters) > 2 and letters[2] == BRACKET  # noqa: PLR2004  the third letter
    return line_end(letters, 0) if is_shebang and not is_attribute else 0


@compiled
def scan(letters: Letters, marks: Marks) -> tuple[Offsets, Offsets, Letters, Offsets]:
    """Starts, stops and kinds of the regions, and the offsets of marks that are never closed."""
    starts = np.empty(len(letters) + 1, np.int64)
    stops = np.empty(len(letters) + 1, np.int64)
    kinds = np.empty(len(letters) + 1, np.uint8)
    unclosed = np.empty(KINDS_OF_MARKS, np.int64)
    may_open = np.ones(KINDS_OF_MARKS + 1, np.bool_)
    missing, number, here = 0, -1, shebang_end(letters)
    found = 1 if here else 0
    if found:
        starts[0], stops[0], kinds[0] = 0, here, COMMENT
    while here < len(letters):
        letter = letters[here]
        if not MARKS[letter]:
            here += 1
            continue
        separates = letter == SINGLE and marks.single == SingleQuote.NOT_IN_NUMBER
        if separates and starts_number(letters, here, number) != NO_REGION:
            here += 1
            number = here
            continue
        stop, kind, mark, width = opening(letters, here, marks, may_open)
        if stop == NO_REGION:
            here += 1
        elif stop == UNCLOSED:
            unclosed[missing], may_open[mark] = here, False
            missing += 1
            here += width
        else:
            starts[found], stops[found], kinds[found] = here, stop, kind
            found += 1
            here = stop
    return starts[:found].copy(), stops[:found].copy(), kinds[:found].copy(), unclosed[:missing].copy()
