"""The table of languages is consistent, and what it says of a language holds."""

import importlib
import keyword
from collections import Counter

import pytest

from assay.code import analysis, functions_in
from assay.code.sandbox.testing import TOOLCHAINS
from assay.languages import (
    LANGUAGES,
    NEUTRAL,
    PYTHON_PARSER,
    language_named,
    language_of,
    languages_with,
    lexical_rules,
)

SIX = ("csharp", "kotlin", "php", "ruby", "swift", "scala")
LEXICAL = (
    *("lua", "matlab", "objective-c", "r", "perl", "shell", "powershell", "sql", "dart", "visual-basic", "fortran"),
    *("erlang", "haskell", "scheme", "pascal", "ada", "vhdl"),
)
EIGHT = ("python", "java", "c", "cpp", "javascript", "typescript", "go", "rust")


def test_no_suffix_or_name_stands_for_two_languages():
    suffixes = Counter(suffix for language in LANGUAGES.values() for suffix in language.suffixes)
    names = Counter(name for language in LANGUAGES.values() for name in (language.name, *language.aliases))
    assert {*suffixes.values(), *names.values()} == {1}


def test_names_and_suffixes_are_in_their_one_spelling():
    for language in LANGUAGES.values():
        assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in language.suffixes)
        assert all(name == name.casefold() for name in (language.name, *language.aliases))


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/b.PY", "python"), ("x.h", "c"), ("x.hpp", "cpp"), ("x.tsx", "typescript"), ("x.rs", "rust"), ("x.txt", None)],
)
def test_a_suffix_names_a_language(path, name):
    assert language_of(path) == name


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("function y = f(x)\n% doubles\n", "matlab"),
        ("", "matlab"),
        ("//  A.m\n\n#import <UIKit/UIKit.h>\n", "objective-c"),
        ("@implementation A\n", "objective-c"),
    ],
)
def test_two_languages_with_one_suffix_are_told_apart_by_the_first_lines(head, name):
    assert language_of("a.m", head) == name


def test_aliases():
    assert [language_named(name) for name in ("JS", "C++", "Golang", "C#", "Brainfuck")] == [
        "javascript",
        "cpp",
        "go",
        "csharp",
        "brainfuck",
    ]


def test_what_each_language_supports():
    assert languages_with("fingerprints") == (*EIGHT, *SIX, *LEXICAL)
    assert languages_with("functions") == (*EIGHT, *SIX)
    assert languages_with("variants") == ("python", "java", "c", "cpp", "javascript", "go")
    assert set(languages_with("tests")) == {"python", *TOOLCHAINS}
    assert not any(LANGUAGES["zig"].supports(what) for what in ("fingerprints", "functions", "variants", "tests"))


@pytest.mark.parametrize("name", [*EIGHT, *SIX])
def test_a_language_that_claims_a_capability_has_it(name):
    assert functions_in("", name) == ()
    if LANGUAGES[name].supports("variants"):
        assert analysis("", language=name).refused is None
    for syntax in LANGUAGES[name].syntax:
        module, _, function = syntax.grammar.partition(":")
        assert syntax.grammar == PYTHON_PARSER or callable(getattr(importlib.import_module(module), function))


def test_a_language_without_a_grammar_says_so():
    with pytest.raises(ValueError, match="there is no grammar for Lua"):
        _ = LANGUAGES["lua"].grammar


def test_the_words_of_python_are_those_of_this_interpreter():
    assert LANGUAGES["python"].lexical.reserved == set(keyword.kwlist)
    assert {"match", "print", "self"} <= LANGUAGES["python"].unavailable


def test_reserved_words_are_unavailable_for_new_names():
    for name in languages_with("variants"):
        language = LANGUAGES[name]
        assert language.lexical.reserved | language.library | language.special_methods <= language.unavailable


def test_other_languages_are_read_by_neutral_rules():
    assert lexical_rules(None) is lexical_rules("cobol") is lexical_rules("zig") is NEUTRAL
    assert lexical_rules("TS") is LANGUAGES["typescript"].lexical


def test_the_neutral_rules_reserve_what_four_of_the_eight_languages_reserve():
    """The list is written out, so that a further language changes no fingerprint; this is where it comes from."""
    counts = Counter(word for name in EIGHT for word in LANGUAGES[name].lexical.reserved)
    assert NEUTRAL.reserved == {word for word, languages in counts.items() if languages >= 4}
