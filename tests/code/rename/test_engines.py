"""Every language with variants is served in the same way."""

import pytest

from assay.code import DictionaryPool, ProposedPool, analysis, difference, variants
from assay.languages import languages_with

TEXTS = {
    "python": "def mean_of(values):\n    total = sum(values)\n    return total / len(values)\n",
    "java": "class S {\n    int meanOf(int[] values) { int total = 0; return total / values.length; }\n}\n",
    "c": "int mean_of(int *values) { int total = *values; return total; }\n",
    "cpp": "int mean_of(vector<int> values) { int total = values[0]; return total; }\n",
    "javascript": "const meanOf = (values) => { let total = values[0]; return total; };\n",
    "go": "func MeanOf(values []int) int { total := values[0]; return total }\n",
}


def test_every_language_with_variants_is_tested_here():
    assert set(TEXTS) == set(languages_with("variants"))


@pytest.mark.parametrize("language", TEXTS)
def test_ten_verified_variants(language):
    result = variants(TEXTS[language], language=language)
    assert result.reason is None
    assert len({variant.text for variant in result.variants}) == 10
    for variant in result.variants:
        assert set(variant.variables) == {"values", "total"}
        assert len(variant.functions) == 1
        renaming = {**variant.functions, **variant.variables}
        assert difference(result.original, variant.text, renaming, language=language) is None


@pytest.mark.parametrize("language", TEXTS)
def test_one_kind_alone_and_names_to_keep(language):
    for variant in variants(TEXTS[language], 3, language=language, kinds=["function"]).variants:
        assert variant.functions
        assert not variant.variables
    for variant in variants(TEXTS[language], 3, language=language, keep=["total"]).variants:
        assert set(variant.variables) == {"values"}


@pytest.mark.parametrize("language", TEXTS)
def test_the_seed_decides(language):
    first = variants(TEXTS[language], 3, language=language, seed=4)
    assert first == variants(TEXTS[language], 3, language=language, seed=4)
    assert first.variants != variants(TEXTS[language], 3, language=language, seed=5).variants


@pytest.mark.parametrize("language", ["cobol", "rust", "typescript", "ruby"])
@pytest.mark.parametrize("request_of", [variants, analysis])
def test_a_language_without_variants_says_so(language, request_of):
    with pytest.raises(ValueError, match=rf"received the language '{language}', which has no variants.*python, java"):
        request_of("x", language=language)


def test_the_same_text_means_another_thing_in_another_language():
    text = "a = 1\nb = a\n"
    assert variants(text, 1).variants
    assert variants(text, 1, language="javascript").reason == "no identifiers to rename"


def test_a_pool_serves_every_language():
    pool = ProposedPool({"total": ("count", "range", "Sum")})
    result = variants(TEXTS["go"], 5, language="go", pool=pool, kinds=["variable"])
    assert [variant.variables for variant in result.variants] == [{"total": "count"}]
    assert result.reason.startswith("only 1 distinct variants")
    assert (
        len(variants("int xs(void) { int x = 1; return x; }", 30, language="c", pool=DictionaryPool(8)).variants) == 30
    )


TESTS = {
    "c": ("int twice(int a) { return a * 2; }\n", "int main(void) { return twice(2) - 4; }\n", "#define twice "),
    "javascript": ("const twice = (a) => a * 2;\n", "console.assert(twice(2) === 4);\n", "var twice = "),
    "go": ("func twice(a int) int { return a * 2 }\n", "func TestTwice(t *testing.T) { twice(2) }\n", "var twice = "),
}


@pytest.mark.parametrize("language", TESTS)
def test_tests_reach_what_has_another_name(language):
    text, tests, line = TESTS[language]
    variant = variants(text, 1, language=language).variants[0]
    program = variant.followed_by(tests)
    assert program.startswith(variant.text)
    assert program.endswith(tests)
    assert f"\n{line}{variant.functions['twice']}" in program


def test_tests_in_java_are_respelled():
    text = "class S { int twice(int a) { return a * 2; } }\n"
    tests = 'class Main { void f() { new S().twice(2); /* twice */ print("twice"); } }\n'
    variant = variants(text, 1, language="java").variants[0]
    spelled = tests.replace(".twice(", f".{variant.functions['twice']}(")
    assert variant.followed_by(tests) == f"{variant.text}\n\n{spelled}"


def test_a_long_comment_before_a_name_comes_to_an_end():
    # a comment that may be split at each of its marks would never end
    text = f"try:\n    f()\nexcept (\n    E  {'#' * 5000} as\n) as error:\n    print(error)\n"
    assert [name.name for name in analysis(text).names] == ["error"]
