r"""What the lexer has to know of each language, as tables.

A *region* is what is not plain code: a comment or a literal in quotes. One regular expression per language finds the
regions; the rest is cut into words and operators by byte classes. Every alternative begins with a literal character,
so that `re` looks for candidates with a character set, and repetitions are possessive or bounded, so that time is
linear in the text whatever is in it.

Reserved words are those of the language reference that no program may use as a name; contextual keywords (`match` in
Python, `record` in Java, `async` in JavaScript) are names, because a renaming may touch them.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache

from assay.datasets.sources.languages import language_named

ESCAPE = r"\\(?:\r\n|[\s\S])"
NESTING = 8
TEMPLATE_NESTING = 3
WHITE_SPACE_BEFORE_REGEX = 64


@dataclass(frozen=True, slots=True)
class Spanning:
    """A comment or literal that may run over lines.

    Attributes:
        body: regular expression from the opening mark to before the closing one.
        end: regular expression of the closing mark.
        mark: how many characters open it; they are plain code where it is never closed.
    """

    body: str
    end: str
    mark: int

    @property
    def closed(self) -> str:
        """Matches only where the closing mark is there."""
        return self.body + self.end

    @property
    def tolerant(self) -> str:
        """Matches up to the end of the text where it is not."""
        return rf"{self.body}(?:{self.end}|\Z)"


@dataclass(frozen=True, slots=True)
class Grammar:
    """The lexical rules of one language.

    Attributes:
        name: the language.
        spanning: comments and literals that may run over lines.
        within_line: regular expressions of those that end with their line at the latest, closed or not.
        reserved: words that keep their spelling in the token channel.
        directives: words that keep it after a `#`.
        comments: characters that begin a comment region.
        characters: `'` quotes a character, not a string.
        prefix: the longest word that belongs to a literal when it touches its quote: `rb"…"`, `u8R"…"`.
        word_marks: characters of words beside letters, digits and `_`.
        slash_literals: `/` may begin a regular expression.
    """

    name: str
    spanning: tuple[Spanning, ...]
    within_line: tuple[str, ...]
    reserved: frozenset[str]
    directives: frozenset[str] = frozenset()
    comments: str = "/"
    characters: bool = False
    prefix: int = 0
    word_marks: str = ""
    slash_literals: bool = False


def _words(spaced: str) -> frozenset[str]:
    return frozenset(spaced.split())


@cache
def region_pattern(grammar: Grammar, spanning: tuple[Spanning, ...]) -> re.Pattern[str]:
    """Any region of the language, as the first group; of the spanning ones, those given."""
    return re.compile("(" + "|".join([*(one.tolerant for one in spanning), *grammar.within_line]) + ")")


@cache
def spanning_pattern(spanning: Spanning, *, closed: bool) -> re.Pattern[str]:
    """One spanning region by itself."""
    return re.compile(spanning.closed if closed else spanning.tolerant)


def quoted(quote: str) -> str:
    """A literal in one line; where the closing quote is missing it ends with the line."""
    return rf"{quote}[^{quote}\\\r\n]*+(?:{ESCAPE}[^{quote}\\\r\n]*+)*+{quote}?"


def triple_quoted(quote: str) -> Spanning:
    """A literal in three quotes."""
    inner = rf"(?:{ESCAPE}|{quote}(?!{quote}{quote}))"
    return Spanning(rf"{quote * 3}[^{quote}\\]*+(?:{inner}[^{quote}\\]*+)*+", quote * 3, 3)


def interpolated(quote: str) -> str:
    """An f-string in one line, with quotes inside its fields (PEP 701), two levels deep."""
    field = r"""(?:[^{}\r\n"']++|"[^"\\\r\n]*+"|'[^'\\\r\n]*+')*+"""
    for _ in range(2):
        field = rf"""(?:[^{{}}\r\n"']++|"[^"\\\r\n]*+"|'[^'\\\r\n]*+'|\{{{field}\}})*+"""
    prefixed = rf"{quote}(?:(?<=[fFtT]{quote})|(?<=[fFtT][rR]{quote}))"
    return rf"{prefixed}(?:[^{quote}\\\r\n{{]++|{ESCAPE}|\{{\{{|\{{{field}\}}|\{{)*+{quote}?"


def nested_comment() -> Spanning:
    """A block comment that holds block comments, eight levels deep; a ninth opening mark is plain comment text."""
    body = r"/\*(?:[^*]++|\*(?!/))*+"
    for _ in range(NESTING - 1):
        body = rf"/\*(?:[^*/]++|\*(?!/)|/(?!\*)|{body}(?:\*/|\Z))*+"
    return Spanning(body, r"\*/", 2)


def template() -> Spanning:
    """A template literal, with templates inside its substitutions, three levels deep."""
    body = rf"`(?:[^`\\]++|{ESCAPE})*+"
    for _ in range(TEMPLATE_NESTING):
        code = rf"""[^{{}}`"'\\]++|{ESCAPE}|{quoted('"')}|{quoted("'")}|{body}(?:`|\Z)"""
        code = rf"(?:{code}|\{{(?:{code})*+(?:\}}|\Z))*+"
        body = rf"`(?:[^`\\$]++|{ESCAPE}|\$\{{{code}(?:\}}|\Z)|\$)*+"
    return Spanning(body, "`", 1)


def slash_literal() -> str:
    """A regular expression of JavaScript: `/` where an operand is expected, closed in its line.

    What stands before the slash decides: an opening bracket, a separator, an operator, a keyword. After `)`, `]`, `}`,
    a name or a number a slash divides. Lookbehinds have a fixed width, so there is one for every number of blanks.
    """
    before = r"(?:[(,=:\[!&|?{;]|(?<==)>)"
    words = ("in|do|of", "new", "case|void|else", "throw|yield|await", "return|typeof|delete", "instanceof")
    context = [r"(?<=\A/)", *(rf"(?<={before}\s{{{n}}}/)" for n in range(WHITE_SPACE_BEFORE_REGEX + 1))]
    context += [rf"(?<=(?<![\w$.])(?:{alike})\s{{{n}}}/)" for alike in words for n in range(3)]
    bracket = r"\[(?:[^\]\\\r\n]|\\[^\r\n]){0,1000}+\]"
    return rf"/(?![/*])(?:{'|'.join(context)})(?:[^/\\\[\r\n]|\\[^\r\n]|{bracket}){{1,1000}}+/[A-Za-z]*+"


def character_not_separator() -> str:
    """A C character literal; the quote in 1'000'000 or 0xFF'FF is none (C++14, C23)."""
    digits = "[0-9a-fA-F]"
    before = [rf"\b\d{{{n}}}" for n in range(1, 5)]
    before += [rf"'{digits}{{{n}}}" for n in range(1, 9)] + [rf"\b0[xXbB]{digits}{{{n}}}" for n in range(1, 9)]
    return "'" + "".join(f"(?<!{one}')" for one in before) + quoted("'").removeprefix("'")


BLOCK_COMMENT = Spanning(r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+", r"\*/", 2)
LINE_COMMENT = r"//[^\r\n]*+"
SPLICED_LINE_COMMENT = rf"//[^\\\r\n]*+(?:{ESCAPE}[^\\\r\n]*+)*+"
HASH_COMMENT = r"#[^\r\n]*+"

PYTHON = Grammar(
    "python",
    spanning=(triple_quoted('"'), triple_quoted("'")),
    within_line=(HASH_COMMENT, interpolated('"'), interpolated("'"), quoted('"'), quoted("'")),
    reserved=_words(
        """False None True and as assert async await break class continue def del elif else except finally for from
        global if import in is lambda nonlocal not or pass raise return try while with yield"""
    ),
    comments="#",
    prefix=2,
)

JAVA = Grammar(
    "java",
    spanning=(triple_quoted('"'), BLOCK_COMMENT),
    within_line=(LINE_COMMENT, quoted('"'), quoted("'")),
    reserved=_words(
        """abstract assert boolean break byte case catch char class const continue default do double else enum extends
        false final finally float for goto if implements import instanceof int interface long native new null package
        private protected public return short static strictfp super switch synchronized this throw throws transient
        true try void volatile while"""
    ),
    characters=True,
    word_marks="$",
)

C = Grammar(
    "c",
    spanning=(BLOCK_COMMENT,),
    within_line=(SPLICED_LINE_COMMENT, quoted('"'), character_not_separator()),
    reserved=_words(
        """alignas alignof auto bool break case char const constexpr continue default do double else enum extern false
        float for goto if inline int long nullptr register restrict return short signed sizeof static static_assert
        struct switch thread_local true typedef typeof typeof_unqual union unsigned void volatile while _Alignas
        _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic _Imaginary _Noreturn
        _Static_assert _Thread_local"""
    ),
    directives=_words(
        "define elif elifdef elifndef else embed endif error if ifdef ifndef include line pragma undef warning"
    ),
    characters=True,
    prefix=2,
    word_marks="'$",
)

CPP = replace(
    C,
    name="cpp",
    spanning=(
        BLOCK_COMMENT,
        Spanning(r'"(?<=R")(?P<raw>[^()\\\s]{0,16})\([\s\S]*?', r'\)(?P=raw)"', 1),
    ),
    reserved=_words(
        """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class
        co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype
        default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline
        int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
        reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template
        this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
        while xor xor_eq"""
    ),
    prefix=3,
)

JAVASCRIPT = Grammar(
    "javascript",
    spanning=(BLOCK_COMMENT, template()),
    within_line=(r"//[^\r\n\u2028\u2029]*+", slash_literal(), quoted('"'), quoted("'")),
    reserved=_words(
        """await break case catch class const continue debugger default delete do else enum export extends false finally
        for function if implements import in instanceof interface let new null package private protected public return
        static super switch this throw true try typeof var void while with yield"""
    ),
    word_marks="$",
    slash_literals=True,
)

TYPESCRIPT = replace(JAVASCRIPT, name="typescript")

GO = Grammar(
    "go",
    spanning=(BLOCK_COMMENT, Spanning("`[^`]*+", "`", 1)),
    within_line=(LINE_COMMENT, quoted('"'), quoted("'")),
    reserved=_words(
        """break case chan const continue default defer else fallthrough for func go goto if import interface map
        package range return select struct switch type var"""
    ),
    characters=True,
)

RUST = Grammar(
    "rust",
    spanning=(
        nested_comment(),
        Spanning(r'"(?:(?<=\br")|(?<=\b[bc]r"))[^"]*+', '"', 1),
        Spanning(r'#(?:(?<=\br#)|(?<=\b[bc]r#))(?P<hashes>#*+)"[\s\S]*?', '"#(?P=hashes)', 1),
        Spanning(rf'"[^"\\]*+(?:{ESCAPE}[^"\\]*+)*+', '"', 1),
    ),
    # 'a' is a character, 'a a lifetime: a character is closed after one character or escape
    within_line=(LINE_COMMENT, r"'(?:[^'\\\r\n]|\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F_]{1,8}\}|[^\r\n]))'"),
    reserved=_words(
        """Self abstract as async await become box break const continue crate do dyn else enum extern false final fn
        for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct super
        trait true try type typeof unsafe unsized use virtual where while yield"""
    ),
    characters=True,
    prefix=2,
    word_marks="'",
)

LANGUAGES = {one.name: one for one in (PYTHON, JAVA, C, CPP, JAVASCRIPT, TYPESCRIPT, GO, RUST)}
"""The languages with rules of their own, by name."""

COMMON_IN = 4

NEUTRAL = Grammar(
    "neutral",
    spanning=(BLOCK_COMMENT,),
    # `#`, `--` and `//` are operators somewhere: they open a comment only where they stand like one
    within_line=(
        r"//(?<![:\w]//)[^\r\n]*+",
        r"#(?:(?<=\A#)|(?<=\s#))(?=[\s#!]|\Z)[^\r\n]*+",
        r"--(?:(?<=\A--)|(?<=\s--))(?=[\s-]|\Z)[^\r\n]*+",
        quoted('"'),
        r"'(?<!\w')[^'\\\r\n]{0,200}+'",
    ),
    reserved=frozenset(
        word
        for word, languages in Counter(word for one in LANGUAGES.values() for word in one.reserved).items()
        if languages >= COMMON_IN
    ),
    comments="/#-",
    word_marks="$",
)
"""For every other language: comments and strings by the marks most languages share, and the words that are reserved in
at least four of the eight."""


def grammar_of(language: str | None) -> Grammar:
    """The rules for a language as `Sample.language` spells it; `NEUTRAL` for one without rules of its own, or None."""
    return NEUTRAL if language is None else LANGUAGES.get(language_named(language), NEUTRAL)
