"""The one table of languages. To add a language, add its entry here; every package reads this table.

An entry says what is supported by what it holds, see `Language`. Order matters in two places: languages with lexical
rules are tried in this order where a text comes without a language, and listed in this order in messages.
"""

import builtins
import keyword
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from types import MappingProxyType

from assay.errors import DataError, did_you_mean
from assay.languages.language import PYTHON_PARSER, Capability, FunctionSyntax, Language
from assay.languages.lexical import BackQuote, DoubleQuote, LexicalRules, Marks, Raw, SingleQuote, Slashes
from assay.languages.library import C_LIBRARY, CPP_LIBRARY


def _words(spaced: str) -> frozenset[str]:
    return frozenset(spaced.split())


PYTHON = Language(
    name="python",
    title="Python",
    suffixes=(".py", ".pyi"),
    aliases=("py", "python3"),
    lexical=LexicalRules(
        Marks(hashes=True, triple_double=True, triple_single=True, fields=True),
        reserved=_words(
            """False None True and as assert async await break class continue def del elif else except finally for from
            global if import in is lambda nonlocal not or pass raise return try while with yield"""
        ),
        prefix=2,
    ),
    syntax=(FunctionSyntax(grammar=PYTHON_PARSER),),
    renaming="assay.code.rename.engines:PYTHON",
    predeclared=frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "cls"}),
    runner="python",
)

JAVA = Language(
    name="java",
    title="Java",
    suffixes=(".java",),
    lexical=LexicalRules(
        Marks(slashes=Slashes.LINE, nesting=1, triple_double=True, single=SingleQuote.CHARACTER),
        reserved=_words(
            """abstract assert boolean break byte case catch char class const continue default do double else enum
            extends false final finally float for goto if implements import instanceof int interface long native new
            null package private protected public return short static strictfp super switch synchronized this throw
            throws transient true try void volatile while"""
        ),
        word_marks="$",
    ),
    syntax=(
        FunctionSyntax(
            grammar="tree_sitter_java:language",
            functions=_words("method_declaration constructor_declaration compact_constructor_declaration"),
            holders=_words(
                """class_declaration interface_declaration enum_declaration record_declaration
                annotation_type_declaration"""
            ),
        ),
    ),
    renaming="assay.code.rename.grammars.java:JAVA",
    predeclared=_words(
        """var record sealed permits yield non when exports module open opens provides requires to transitive uses with
        java javax String Object System Math Integer List Map"""
    ),
    special_methods=_words(
        """main toString equals hashCode clone finalize getClass notify notifyAll wait values valueOf name ordinal
        readObject writeObject readObjectNoData readResolve writeReplace premain agentmain"""
    ),
    runner="javac",
)

_CPP_SYNTAX = FunctionSyntax(
    grammar="tree_sitter_cpp:language",
    functions=_words("function_definition"),
    holders=_words("namespace_definition class_specifier struct_specifier union_specifier"),
    wrappers=_words("template_declaration"),
)

_C_LEXICAL = LexicalRules(
    Marks(slashes=Slashes.SPLICED_LINE, nesting=1, single=SingleQuote.NOT_IN_NUMBER),
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

_C_PREDECLARED = _words(
    """EOF FALSE FILE I IN INFINITY NAN NULL OUT TRUE asm assert atomic clock_t complex environ errno far i386 imaginary
    int16_t int32_t int64_t int8_t interface intptr_t linux main max min near noreturn off_t offsetof pid_t ptrdiff_t
    quad signgam size_t small ssize_t stderr stdin stdout sun time_t u_char u_int u_long u_short uint uint16_t uint32_t
    uint64_t uint8_t uintptr_t ulong unix ushort va_list vax wchar_t"""
)

C = Language(
    name="c",
    title="C",
    suffixes=(".c", ".h"),  # a header may be C++: its name cannot tell, so C++ is the second syntax
    lexical=_C_LEXICAL,
    syntax=(FunctionSyntax(grammar="tree_sitter_c:language", functions=_words("function_definition")), _CPP_SYNTAX),
    renaming="assay.code.rename.grammars.c:C",
    predeclared=_C_PREDECLARED,
    library=C_LIBRARY,
    runner="gcc",
)

CPP = Language(
    name="cpp",
    title="C++",
    suffixes=(".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
    aliases=("c++",),
    lexical=replace(
        _C_LEXICAL,
        marks=_C_LEXICAL.marks._replace(raw=Raw.DELIMITED),
        reserved=_words(
            """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t
            class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
            decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto
            if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
            public register reinterpret_cast requires return short signed sizeof static static_assert static_cast
            struct switch template this thread_local throw true try typedef typeid typename union unsigned using
            virtual void volatile wchar_t while xor xor_eq"""
        ),
        prefix=3,
    ),
    syntax=(_CPP_SYNTAX,),
    renaming="assay.code.rename.grammars.cpp:CPP",
    predeclared=_C_PREDECLARED | _words("boost final import module override restrict std typeof typeof_unqual"),
    library=C_LIBRARY | CPP_LIBRARY,
    runner="g++",
)

_JAVASCRIPT_SYNTAX = FunctionSyntax(
    grammar="tree_sitter_javascript:language",
    functions=_words("function_declaration generator_function_declaration method_definition"),
    holders=_words("class_declaration class"),
    assigned=_words("variable_declarator assignment_expression pair field_definition"),
    expressions=_words("arrow_function function_expression generator_function"),
    wrappers=_words("lexical_declaration variable_declaration expression_statement export_statement"),
)

JAVASCRIPT = Language(
    name="javascript",
    title="JavaScript",
    suffixes=(".js", ".mjs", ".cjs", ".jsx"),
    aliases=("js",),
    lexical=LexicalRules(
        Marks(slashes=Slashes.SEPARATED_LINE, nesting=1, back_quote=BackQuote.TEMPLATE, expressions=True),
        reserved=_words(
            """await break case catch class const continue debugger default delete do else enum export extends false
            finally for function if implements import in instanceof interface let new null package private protected
            public return static super switch this throw true try typeof var void while with yield"""
        ),
        word_marks="$",
    ),
    syntax=(_JAVASCRIPT_SYNTAX,),
    renaming="assay.code.rename.grammars.javascript:JAVASCRIPT",
    predeclared=_words(
        """arguments as async constructor eval from get of set target undefined meta NaN Infinity Array Boolean Buffer
        Date Error Function JSON Map Math Number Object Promise Proxy Reflect RegExp Set String Symbol WeakMap WeakSet
        Intl Iterator alert blur clear close closed confirm console crypto document escape event exports external fetch
        find focus frames global history length location locations module moveBy moveTo name navigator open opener
        origin parent performance postMessage print process prompt prototype queueMicrotask require resizeBy resizeTo
        screen scroll self status stop structuredClone top toolbar unescape window menubar caches test describe it
        expect"""
    ),
    runner="node",
)

_TYPESCRIPT_SYNTAX = replace(
    _JAVASCRIPT_SYNTAX,
    grammar="tree_sitter_typescript:language_typescript",
    holders=_words("class_declaration class abstract_class_declaration internal_module module"),
    assigned=_words("variable_declarator assignment_expression pair public_field_definition"),
    attached=_words("decorator"),
)

TYPESCRIPT = Language(
    name="typescript",
    title="TypeScript",
    suffixes=(".ts", ".tsx"),
    aliases=("ts",),
    lexical=JAVASCRIPT.lexical,
    syntax=(_TYPESCRIPT_SYNTAX, replace(_TYPESCRIPT_SYNTAX, grammar="tree_sitter_typescript:language_tsx")),
)

GO = Language(
    name="go",
    title="Go",
    suffixes=(".go",),
    aliases=("golang",),
    lexical=LexicalRules(
        Marks(slashes=Slashes.LINE, nesting=1, back_quote=BackQuote.RAW, single=SingleQuote.CHARACTER),
        reserved=_words(
            """break case chan const continue default defer else fallthrough for func go goto if import interface map
            package range return select struct switch type var"""
        ),
    ),
    syntax=(
        FunctionSyntax(grammar="tree_sitter_go:language", functions=_words("function_declaration method_declaration")),
    ),
    renaming="assay.code.rename.grammars.go:GO",
    predeclared=_words(
        """init main assert bufio bytes cmp context errors fmt heap io list log maps math os path rand reflect regexp
        ring slices sort strconv strings sync testing time unicode unsafe utf8 any append bool byte cap clear close
        comparable complex complex128 complex64 copy delete error false float32 float64 imag int int16 int32 int64 int8
        iota len make max min new nil panic print println real recover rune string true uint uint16 uint32 uint64 uint8
        uintptr"""
    ),
)

RUST = Language(
    name="rust",
    title="Rust",
    suffixes=(".rs",),
    lexical=LexicalRules(
        Marks(
            slashes=Slashes.LINE,
            nesting=8,
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
    ),
    syntax=(
        FunctionSyntax(
            grammar="tree_sitter_rust:language",
            functions=_words("function_item"),
            holders=_words("impl_item trait_item mod_item"),
            attached=_words("attribute_item"),
            names=("name", "type"),
        ),
    ),
)

_OTHERS = (
    Language(name="cython", title="Cython", suffixes=(".pyx",)),
    Language(name="kotlin", title="Kotlin", suffixes=(".kt", ".kts")),
    Language(name="scala", title="Scala", suffixes=(".scala",)),
    Language(name="groovy", title="Groovy", suffixes=(".groovy",)),
    Language(name="csharp", title="C#", suffixes=(".cs",), aliases=("c#",)),
    Language(name="fsharp", title="F#", suffixes=(".fs",)),
    Language(name="visual-basic", title="Visual Basic", suffixes=(".vb",)),
    Language(name="zig", title="Zig", suffixes=(".zig",)),
    Language(name="swift", title="Swift", suffixes=(".swift",)),
    Language(name="objective-c", title="Objective-C", suffixes=(".m", ".mm")),
    Language(name="ruby", title="Ruby", suffixes=(".rb",)),
    Language(name="php", title="PHP", suffixes=(".php",)),
    Language(name="perl", title="Perl", suffixes=(".pl", ".pm")),
    Language(name="lua", title="Lua", suffixes=(".lua",)),
    Language(name="r", title="R", suffixes=(".r",)),
    Language(name="julia", title="Julia", suffixes=(".jl",)),
    Language(name="haskell", title="Haskell", suffixes=(".hs",)),
    Language(name="ocaml", title="OCaml", suffixes=(".ml", ".mli")),
    Language(name="elixir", title="Elixir", suffixes=(".ex", ".exs")),
    Language(name="erlang", title="Erlang", suffixes=(".erl",)),
    Language(name="clojure", title="Clojure", suffixes=(".clj",)),
    Language(name="dart", title="Dart", suffixes=(".dart",)),
    Language(name="shell", title="Shell", suffixes=(".sh", ".bash")),
    Language(name="powershell", title="PowerShell", suffixes=(".ps1",)),
    Language(name="sql", title="SQL", suffixes=(".sql",)),
    Language(name="fortran", title="Fortran", suffixes=(".f", ".f90", ".f95")),
    Language(name="solidity", title="Solidity", suffixes=(".sol",)),
    Language(name="verilog", title="Verilog", suffixes=(".v",)),
)
"""Languages that are recognised by their suffixes; their texts are read by the neutral rules."""

LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {language.name: language for language in (PYTHON, JAVA, C, CPP, JAVASCRIPT, TYPESCRIPT, GO, RUST, *_OTHERS)}
)
"""All languages, by name."""

NEUTRAL = LexicalRules(
    # `#`, `--` and `//` are operators somewhere: they open a comment only where they stand like one
    Marks(slashes=Slashes.STANDING_APART, nesting=1, apart=True, single=SingleQuote.SHORT),
    # reserved in at least four of the eight languages above; written out, so that a further language in the table
    # changes no fingerprint of an index that exists
    reserved=_words(
        """await break case catch class const continue default do else enum false finally for goto if import in
        interface new package private protected public return static struct super switch this throw true try typeof
        void while yield"""
    ),
    word_marks="$",
)
"""Lexical rules for texts in every other language: comments and strings by the marks that most languages share."""

_NAMES = {alias: language.name for language in LANGUAGES.values() for alias in language.aliases}
_SUFFIXES = {suffix: language.name for language in LANGUAGES.values() for suffix in language.suffixes}


def language_of(path: str) -> str | None:
    """Return the name of the language that a file's suffix stands for, or None."""
    return _SUFFIXES.get(PurePath(path).suffix.lower())


def language_named(name: str) -> str:
    """Return a language's name in its one spelling: "JS" and "JavaScript" are both "javascript"."""
    return _NAMES.get(name.casefold(), name.casefold())


def checked_language(name: str) -> str:
    """Return a language's name in its one spelling.

    Raises:
        DataError: there is no language of that name; similar names are suggested.
    """
    language = language_named(name)
    if language not in LANGUAGES:
        hint = did_you_mean(language, [*LANGUAGES, *_NAMES]) or f"; expected one of {', '.join(sorted(LANGUAGES))}"
        raise DataError(f"no language is called {name!r}{hint}")
    return language


def languages_with(capability: Capability) -> tuple[str, ...]:
    """Return the names of the languages that support something, in the order of the table."""
    return tuple(name for name, language in LANGUAGES.items() if language.supports(capability))


def lexical_rules(name: str | None) -> LexicalRules:
    """Return the lexical rules of a language under any of its names; `NEUTRAL` where it has none, and for None."""
    language = None if name is None else LANGUAGES.get(language_named(name))
    return NEUTRAL if language is None or language.lexical is None else language.lexical
