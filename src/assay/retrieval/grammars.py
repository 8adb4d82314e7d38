r"""What the lexer has to know of each language, as tables.

A *region* is what is not plain code: a comment or a literal in quotes. `Rules` say which marks open one; the compiled
scanner reads them. The rest is cut into words and operators by classes of letters.

Reserved words are those of the language reference that no program may use as a name; contextual keywords (`match` in
Python, `record` in Java, `async` in JavaScript) are names, because a renaming may touch them.
"""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

from assay.datasets import language_named
from assay.retrieval.rules import BackQuote, DoubleQuote, Raw, Rules, SingleQuote, Slashes

NESTING = 8


@dataclass(frozen=True)
class Grammar:
    """The lexical rules of one language.

    Attributes:
        name: the language.
        rules: marks of comments and literals.
        reserved: words that keep their spelling in the token channel.
        directives: words that keep it after a `#`.
        prefix: the longest word that belongs to a literal when it touches its quote: `rb"…"`, `u8R"…"`.
        word_marks: characters of words beside letters, digits and `_`.
    """

    name: str
    rules: Rules
    reserved: frozenset[str]
    directives: frozenset[str] = frozenset()
    prefix: int = 0
    word_marks: str = ""

    @cached_property
    def marks(self) -> Rules:
        """The rules as plain integers: compiled loops know one type."""
        return Rules._make(int(one) for one in self.rules)


def _words(spaced: str) -> frozenset[str]:
    return frozenset(spaced.split())


PYTHON = Grammar(
    "python",
    Rules(hashes=True, triple_double=True, triple_single=True, fields=True),
    reserved=_words(
        """False None True and as assert async await break class continue def del elif else except finally for from
        global if import in is lambda nonlocal not or pass raise return try while with yield"""
    ),
    prefix=2,
)

JAVA = Grammar(
    "java",
    Rules(slashes=Slashes.LINE, nesting=1, triple_double=True, single=SingleQuote.CHARACTER),
    reserved=_words(
        """abstract assert boolean break byte case catch char class const continue default do double else enum extends
        false final finally float for goto if implements import instanceof int interface long native new null package
        private protected public return short static strictfp super switch synchronized this throw throws transient
        true try void volatile while"""
    ),
    word_marks="$",
)

C = Grammar(
    "c",
    Rules(slashes=Slashes.SPLICED_LINE, nesting=1, single=SingleQuote.NOT_IN_NUMBER),
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
    prefix=2,
    word_marks="'$",
)

CPP = replace(
    C,
    name="cpp",
    rules=C.rules._replace(raw=Raw.DELIMITED),
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
    Rules(slashes=Slashes.SEPARATED_LINE, nesting=1, back_quote=BackQuote.TEMPLATE, expressions=True),
    reserved=_words(
        """await break case catch class const continue debugger default delete do else enum export extends false finally
        for function if implements import in instanceof interface let new null package private protected public return
        static super switch this throw true try typeof var void while with yield"""
    ),
    word_marks="$",
)

TYPESCRIPT = replace(JAVASCRIPT, name="typescript")

GO = Grammar(
    "go",
    Rules(slashes=Slashes.LINE, nesting=1, back_quote=BackQuote.RAW, single=SingleQuote.CHARACTER),
    reserved=_words(
        """break case chan const continue default defer else fallthrough for func go goto if import interface map
        package range return select struct switch type var"""
    ),
)

RUST = Grammar(
    "rust",
    Rules(
        slashes=Slashes.LINE,
        nesting=NESTING,
        double=DoubleQuote.SPANNING,
        single=SingleQuote.ONE_CHARACTER,
        raw=Raw.HASHED,
    ),
    reserved=_words(
        """Self abstract as async await become box break const continue crate do dyn else enum extern false final fn
        for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct super
        trait true try type typeof unsafe unsized use virtual where while yield"""
    ),
    prefix=2,
    word_marks="'",
)

LANGUAGES = {one.name: one for one in (PYTHON, JAVA, C, CPP, JAVASCRIPT, TYPESCRIPT, GO, RUST)}
"""The languages with rules of their own, by name."""

COMMON_IN = 4

NEUTRAL = Grammar(
    "neutral",
    # `#`, `--` and `//` are operators somewhere: they open a comment only where they stand like one
    Rules(slashes=Slashes.STANDING_APART, nesting=1, apart=True, single=SingleQuote.SHORT),
    reserved=frozenset(
        word
        for word, languages in Counter(word for one in LANGUAGES.values() for word in one.reserved).items()
        if languages >= COMMON_IN
    ),
    word_marks="$",
)
"""For every other language: comments and strings by the marks most languages share, and the words that are reserved in
at least four of the eight."""


def grammar_of(language: str | None) -> Grammar:
    """The rules for a language as `Sample.language` spells it; `NEUTRAL` for one without rules of its own, or None."""
    return NEUTRAL if language is None else LANGUAGES.get(language_named(language), NEUTRAL)
