"""How each language marks its comments and literals: closed choices, in the shape that the compiled scanner reads."""

from enum import IntEnum
from typing import NamedTuple


class Slashes(IntEnum):
    """What `//` opens."""

    NOTHING = 0
    LINE = 1
    SPLICED_LINE = 2  # a backslash joins the next line
    SEPARATED_LINE = 3  # U+2028 and U+2029 end it too
    STANDING_APART = 4  # only where it is no part of an address


class DoubleQuote(IntEnum):
    """What `"` opens."""

    LINE = 0  # ends with its line at the latest
    SPANNING = 1


class SingleQuote(IntEnum):
    """What `'` opens."""

    LINE = 0
    CHARACTER = 1  # as LINE, of another kind
    NOT_IN_NUMBER = 2  # as CHARACTER, but 1'000 has a separator (C++14, C23)
    ONE_CHARACTER = 3  # 'a' is a character, 'a a lifetime
    SHORT = 4  # closed within 200 characters, and no apostrophe of a word


class BackQuote(IntEnum):
    """What a back-quote opens."""

    NOTHING = 0
    RAW = 1
    TEMPLATE = 2


class Raw(IntEnum):
    """Strings that know no escape."""

    NONE = 0
    DELIMITED = 1  # R"x( … )x"
    HASHED = 2  # r"…", r#"…"#


class Rules(NamedTuple):
    """The marks of one language.

    Attributes:
        slashes: what `//` opens.
        nesting: levels of `/* */`; 0 where there are none. A mark beyond them is plain comment text.
        hashes: `#` opens a comment wherever it stands.
        apart: `#` and `--` open a comment where they stand like one.
        triple_double: `\"\"\"` opens a literal that may run over lines.
        triple_single: `'''` does.
        fields: f-strings and t-strings hold quotes inside their fields (PEP 701).
        double: what `"` opens.
        single: what `'` opens.
        back_quote: what a back-quote opens.
        raw: strings without escapes.
        expressions: `/` may begin a regular expression.
    """

    slashes: int = Slashes.NOTHING
    nesting: int = 0
    hashes: bool = False
    apart: bool = False
    triple_double: bool = False
    triple_single: bool = False
    fields: bool = False
    double: int = DoubleQuote.LINE
    single: int = SingleQuote.LINE
    back_quote: int = BackQuote.NOTHING
    raw: int = Raw.NONE
    expressions: bool = False
