"""The language of a text that comes without one."""

import pytest

from assay.code import languages_of_text

FUNCTIONS = {
    "python": "def total(values):\n    result = 0\n    for value in values:\n        result += value\n"
    "    return result\n",
    "java": "public int total(int[] values) {\n    int result = 0;\n    for (int v : values) {\n        result += v;\n"
    "    }\n    return result;\n}\n",
    "c": "static int total(const int *values, size_t n) {\n    int result = 0;\n    for (size_t i = 0; i < n; i++)\n"
    "        result += values[i];\n    return result;\n}\n",
    "cpp": "int total(const std::vector<int>& values) {\n    int result = 0;\n    for (auto value : values) "
    "result += value;\n    return result;\n}\n",
    "javascript": "function total(values) {\n  let result = 0;\n  for (const value of values) result += value;\n"
    "  return result;\n}\n",
    "typescript": "function total(values: number[]): number {\n  let result = 0;\n  for (const value of values) "
    "result += value;\n  return result;\n}\n",
    "go": "func total(values []int) int {\n\tresult := 0\n\tfor _, value := range values {\n\t\tresult += value\n\t}\n"
    "\treturn result\n}\n",
    "rust": "fn total(values: &[i32]) -> i32 {\n    let mut result = 0;\n    for value in values {\n"
    "        result += value;\n    }\n    result\n}\n",
}


@pytest.mark.parametrize("language", FUNCTIONS)
def test_a_function_shows_its_language(language):
    assert languages_of_text(FUNCTIONS[language])[0] == language


@pytest.mark.parametrize("indent", ["    ", "\t"])
def test_a_method_that_was_cut_out_of_a_class_shows_its_language(indent):
    method = "def area(self):\n    return self.width * self.height\n"
    assert languages_of_text("".join(f"{indent}{line}\n" for line in method.splitlines())) == ("python",)


def test_a_text_that_a_related_language_accepts_too_has_both():
    assert languages_of_text(FUNCTIONS["javascript"]) == ("javascript", "typescript")
    assert "cpp" in languages_of_text(FUNCTIONS["c"])
    assert languages_of_text(FUNCTIONS["typescript"]) == ("typescript",)


@pytest.mark.parametrize("text", ["", " \n", "x", "We went to the market and bought apples and pears.\n" * 3])
def test_a_text_that_is_no_code_shows_no_language(text):
    assert languages_of_text(text) == ()


@pytest.mark.slow
def test_the_beginning_of_a_long_text_decides():
    text = "".join(FUNCTIONS["python"].replace("total", f"total_{number}") for number in range(400))
    assert languages_of_text(text) == ("python",)


@pytest.mark.parametrize(
    "text",
    [
        "Thank you for your help!\n\nPlease open an issue first, and say what you expect: we read all of them.\n",
        "- It is possible to *define* classes (see below).\n- Use of `echo` in a list, or of an array is no program.\n",
        "Changes\n=======\n\nThe default is new. Some values return nothing now; see the guide for the whole list.\n",
    ],
)
def test_prose_is_in_no_language_though_some_grammars_read_it(text):
    assert languages_of_text(text) == ()


def test_a_grammar_that_reads_any_words_needs_a_phrase_of_its_language():
    assert languages_of_text("first second third\n\nreturn values;\n")[:1] not in {("kotlin",), ("php",)}
    assert languages_of_text("val total = listOf(1, 2)\nprintln(total sumBy other)\n")[:1] == ("kotlin",)
    assert languages_of_text("<p>Sum</p>\n<?php echo $total; ?>\n")[:1] == ("php",)
