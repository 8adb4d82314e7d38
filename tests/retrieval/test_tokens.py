"""What is one unit of the identifier-blind form."""

import pytest

from assay.languages import languages_with, lexical_rules
from assay.retrieval.scanning import find_regions
from assay.retrieval.source import Source
from assay.retrieval.token_channel import tokens


def canonical(text, language):
    source, grammar = Source.of(text), lexical_rules(language)
    return tokens(source, find_regions(source, grammar), grammar)


def spelled(text, language):
    found = canonical(text, language)
    return [text[start:stop] for start, stop in zip(found.starts, found.stops, strict=True)]


def units(text, language):
    return canonical(text, language).units.tolist()


CASES = [
    ("python", "x1.y + 1.5e-3 + .5 + 0xE+1", ["x1", ".", "y", "+", "1.5e-3", "+", ".5", "+", "0xE", "+", "1"]),
    ("python", 'rb"a" + f"{x}" + b\'\'', ['rb"a"', "+", 'f"{x}"', "+", "b''"]),
    ("python", 'x if"a"in"b" else c', ["x", "if", '"a"', "in", '"b"', "else", "c"]),
    ("python", "a = \\\n  b", ["a", "=", "b"]),
    ("python", "@cache\ndef f(*a): ...", ["@", "cache", "def", "f", "(", "*", "a", ")", ":", ".", ".", "."]),
    ("python", "größe = 'x' × 2", ["größe", "=", "'x'", "×", "2"]),
    ("c", "1'000 + 0x1.8p-3 + 1.f; u8\"a\" L'b'", ["1'000", "+", "0x1.8p-3", "+", "1.f", ";", 'u8"a"', "L'b'"]),
    ("cpp", 'u8R"(a)" x', ['u8R"(a)"', "x"]),
    ("java", "x$1 = 1_000L;", ["x$1", "=", "1_000L", ";"]),
    ("javascript", "tag`a`, /b/g", ["tag", "`a`", ",", "/b/g"]),
    ("rust", "0..9 1.max(2) t.0", ["0", ".", ".", "9", "1", ".", "max", "(", "2", ")", "t", ".", "0"]),
    ("rust", "&'a r#\"b\"#", ["&", "'a", 'r#"b"#']),
    ("go", "x := <-c // d", ["x", ":", "=", "<", "-", "c"]),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "expected"), CASES)
def test_the_text_is_cut_into(language, text, expected):
    assert spelled(text, language) == expected


@pytest.mark.parametrize("language", languages_with("fingerprints"))
def test_every_reserved_word_is_a_unit_of_its_own(language):
    reserved = sorted(lexical_rules(language).reserved)
    codes = units(" ".join([*reserved, "name"]), language)
    assert len(set(codes)) == len(reserved) + 1


@pytest.mark.parametrize("language", [*languages_with("fingerprints"), None])
def test_names_are_one_unit_whatever_their_length_and_script(language):
    names = "a bb iff ifs Iff returned a_name_that_is_longer_than_sixteen_letters 変数 größe"
    assert len(set(units(names, language))) == 1


def test_literals_are_told_apart_by_kind_alone():
    codes = units("'a' '\\n' \"a\" \"\" 1 0x1F 2.5", "c")
    assert len(set(codes)) == 3
    assert codes[:2] == [codes[0]] * 2
    assert codes[2:4] == [codes[2]] * 2
    assert codes[4:] == [codes[4]] * 3


def test_a_regular_expression_is_a_literal_of_its_own_kind():
    expression, text = (units(value, "javascript")[1] for value in ("(/a/)", "('a')"))
    assert expression != text


def test_a_directive_keeps_its_spelling_after_its_mark_only():
    assert units("#define a", "c") != units("#undef a", "c")
    assert units("define + a", "c") == units("other + a", "c")


def test_operators_are_one_unit_a_character():
    assert units("a >>= b", "java") == units("a > > = b", "java")


def test_a_reserved_word_is_the_same_unit_in_every_language():
    assert units("return", "python") == units("return", "rust") == units("return", None)
