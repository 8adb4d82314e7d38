"""Lexical rules: how a language marks its comments and literals, and which words are no names.

A *region* is what is not plain code: a comment or a literal in quotes. `Marks` say what opens one, as closed choices in
the shape that the compiled scanner of `assay.retrieval` reads. The rest of a text is cut into words and operators.
"""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple


class Slashes(IntEnum):
    """The meaning of `//`."""

    NOTHING = 0
    LINE = 1
    SPLICED_LINE = 2  # a backslash joins the next line
    SEPARATED_LINE = 3  # U+2028 and U+2029 end it too
    STANDING_APART = 4  # only where it is no part of an address


class DoubleQuote(IntEnum):
    """The meaning of `"`."""

    LINE = 0  # ends with its line at the latest
    SPANNING = 1


class SingleQuote(IntEnum):
    """The meaning of `'`."""

    LINE = 0
    CHARACTER = 1  # as LINE, of another kind
    NOT_IN_NUMBER = 2  # as CHARACTER, but 1'000 has a separator (C++14, C23)
    ONE_CHARACTER = 3  # 'a' is a character, 'a a lifetime
    SHORT = 4  # closed within 200 characters, and no apostrophe of a word
    NOTHING = 5


class BackQuote(IntEnum):
    """The meaning of a back-quote."""

    NOTHING = 0
    RAW = 1
    TEMPLATE = 2


class Raw(IntEnum):
    """Strings without escapes."""

    NONE = 0
    DELIMITED = 1  # R"x( … )x"
    HASHED = 2  # r"…", r#"…"#


class Marks(NamedTuple):
    r"""The marks that open comments and literals.

    Attributes:
        slashes: what `//` opens.
        nesting: levels of `/* */`; 0 where there are none. A mark beyond them is plain comment text.
        hashes: `#` opens a comment wherever it stands.
        apart: `#` and `--` open a comment where white space stands around them.
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


class Holds(IntEnum):
    """Kinds of region."""

    COMMENT = 0
    STRING = 1
    CHARACTER = 2
    CODE = 4  # the mark itself, which opens nothing: `$#`


class Where(IntEnum):
    """The places at which a mark opens a region."""

    ANYWHERE = 0
    FIRST = 1  # at the beginning of a line, as a word of its own
    APART = 2  # behind white space or the end of an expression
    OPERAND = 3  # where no operand precedes
    START = 4  # at the beginning of the text


class Until(IntEnum):
    """The ends of a region."""

    LINE = 0
    MARK = 1  # `closes`
    WORD = 2  # the word behind the opening mark, on a line of its own: <<END
    DELIMITER = 3  # the mirror image of the letter behind the mark: q(…), %w[…]
    TWO_DELIMITERS = 4  # with a second part: s/…/…/
    END = 5  # of the text
    MARK_OR_END = 6


LONGEST_MARK = 12
"""Letters of an opening or closing mark."""


class MarkedRegion(NamedTuple):
    """A comment or literal between marks that a language has beside those of `Marks`; the first that fits counts.

    Attributes:
        opens: its opening mark.
        closes: its closing mark, if `until` is `MARK` or `MARK_OR_END`.
        holds: what it is.
        where: where the mark opens it.
        until: what ends it.
        spans: it may run over lines; otherwise it ends with its line if the closing mark is missing.
        escape: the letter that escapes the next one; the quote itself where two of them stand for one.
        nesting: levels of regions inside.
        field: marks that open and close code inside: `#{}`, without the first letter where one bracket opens it.
    """

    opens: str
    closes: str = ""
    holds: int = Holds.COMMENT
    where: int = Where.ANYWHERE
    until: int = Until.LINE
    spans: bool = False
    escape: str = ""
    nesting: int = 1
    field: str = ""

    @property
    def row(self) -> bytes:
        """The region as numbers of a byte, in the order that the compiled scanner of `assay.retrieval` reads."""
        numbers = (self.holds, self.where, self.until, self.spans, ord(self.escape or "\0"), self.nesting)
        field = self.field.rjust(3, "\0").encode()
        marks = self.opens.ljust(LONGEST_MARK, "\0") + self.closes.ljust(LONGEST_MARK, "\0")
        # of a fixed width, so that the compiled loop finds every part by its place
        return bytes(numbers) + field + bytes((len(self.opens), len(self.closes))) + marks.encode()


@dataclass(frozen=True)
class LexicalRules:
    """The lexical rules of a language.

    Attributes:
        marks: of comments and literals.
        regions: comments and literals with other marks, which are tried before.
        reserved: words that the language reference lets no program use as a name. Contextual keywords (`match` in
            Python, `record` in Java, `async` in JavaScript) are names, because a renaming may change them.
        directives: words that are reserved after a `#`.
        prefix: letters of the longest word that belongs to a literal when it touches its quote: `rb"…"`, `u8R"…"`.
        word_marks: characters of words beside letters, digits and `_`.
        headers: words with a header of parts between semicolons. With them any other semicolon is layout, because the
            end of a line does the same.
        folds_case: capital letters are equal to small ones in reserved words.
    """

    marks: Marks
    reserved: frozenset[str]
    regions: tuple[MarkedRegion, ...] = ()
    directives: frozenset[str] = frozenset()
    prefix: int = 0
    word_marks: str = ""
    headers: frozenset[str] = frozenset()
    folds_case: bool = False

    @cached_property
    def plain_marks(self) -> Marks:
        """The marks as plain integers: compiled loops are compiled once for each type of number."""
        return Marks._make(map(int, self.marks))
