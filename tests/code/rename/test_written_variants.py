"""Variants that a language model writes: what counts, what does not and why, and how often it is asked."""

import json

import pytest

from assay.code import written_variants
from assay.code.prompting import RENAMING, renaming_prompt, strings_in
from assay.code.rename.writing import word_changes
from assay.types import Generator, Rejected

TEXT = """def total(prices, start=0):  # sum of prices
    result = start
    for one in prices:
        result += one
    print("total: ", result)
    return result
"""


def renamed(**names):
    """TEXT with other names at all places where they may change."""
    text = TEXT.replace('"total: "', '"@"')
    for old, new in names.items():
        text = text.replace(old, new)
    return text.replace('"@"', '"total: "')


class Scripted:
    """A model that says what it was told to say, and remembers what it was asked."""

    name = "scripted"

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests = []
        self.room = []

    def generate(self, prompts, *, max_new_tokens=0, seed=0, **_):
        self.requests += [(prompt, seed) for prompt in prompts]
        self.room += [max_new_tokens] * len(prompts)
        for _ in prompts:
            yield self.replies.pop(0) if self.replies else "[]"


def of(*replies, n=2, **settings):
    model = Scripted(*replies)
    (outcome,) = written_variants([TEXT], model, n, **settings)
    return outcome, model


GOOD = [renamed(prices="costs", result="amount"), renamed(total="add_up", start="first")]


def test_a_scripted_model_is_a_generator():
    assert isinstance(Scripted(), Generator)


def test_the_prompt_is_the_papers_with_the_code_in_it():
    prompt = renaming_prompt("x = '{python}'", addition="")
    assert prompt == RENAMING.replace("{python_code_snippet}", "x = '{python}'")
    assert prompt.endswith(r"Return each version as a single string, using \n for newlines.")


def test_good_versions_become_variants_with_their_names():
    outcome, model = of(json.dumps(GOOD))
    assert [variant.text for variant in outcome.variants] == GOOD
    assert (outcome.reason, outcome.rejected, outcome.replies) == (None, 0, 1)
    first, second = outcome.variants
    assert (first.variables, first.functions) == ({"prices": "costs", "result": "amount"}, {})
    assert (second.functions, second.aliases) == ({"total": "add_up"}, {"add_up": "total"})
    assert len(model.requests) == 1


def test_a_text_that_the_model_does_not_take_is_put_to_it_once():
    outcome, model = of(Rejected("too long"))
    assert (outcome.variants, outcome.reason, outcome.rejections) == ((), "too long", {"too long": 1})
    assert len(model.requests) == 1


def test_a_long_text_makes_no_request_longer_than_its_own():
    long = TEXT + "\n".join(f"x{i} = {i}" for i in range(300))
    alone, both = Scripted(), Scripted()
    written_variants([TEXT], alone, 2, rounds=1)
    written_variants([long, TEXT], both, 2, rounds=1)
    assert both.room[0] == alone.room[0] < both.room[1]


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        (TEXT, "the version is the original"),
        (renamed(prices="costs").replace("+= one", "+= one + 0"), "more than names changed"),
        (renamed(prices="costs").replace("    result", "   result", 1), "more than names changed"),
        (renamed(prices="costs").replace('"total: "', '"sum: "'), "a name changed that may not"),
        (TEXT.replace("print", "show"), "a name changed that may not"),
        (TEXT.replace("prices", "costs", 1), "a name changed at some of its places only"),
        (renamed(prices="costs").replace("of costs", "of prices"), "a name changed at some of its places only"),
        (renamed(prices="result"), "a new name is in use, reserved, or not an identifier"),
        (renamed(prices="list"), "a new name is in use, reserved, or not an identifier"),
        (renamed(prices="lambda"), "a new name is in use, reserved, or not an identifier"),
        (renamed(prices="same", start="same"), "a new name is in use, reserved, or not an identifier"),
    ],
)
def test_a_version_that_is_no_renaming_is_counted_by_its_reason(version, reason):
    outcome, _ = of(json.dumps([version, *GOOD]))
    assert outcome.rejections == {reason: 1}
    assert [variant.text for variant in outcome.variants] == GOOD


def test_a_version_that_was_there_before_counts_once():
    outcome, _ = of(json.dumps([GOOD[0], GOOD[0], GOOD[1]]))
    assert outcome.rejections == {"the version repeats an earlier one": 1}


def test_a_missing_last_line_end_is_forgiven():
    outcome, _ = of(json.dumps([version.rstrip("\n") for version in GOOD]))
    assert [variant.text for variant in outcome.variants] == GOOD


def test_bad_replies_are_asked_for_again_with_other_seeds():
    outcome, model = of("Sure! Here they are.", json.dumps(GOOD[:1]), json.dumps(GOOD[1:]), seed=5)
    assert [variant.text for variant in outcome.variants] == GOOD
    assert outcome.rejections == {"the reply is not a list of strings": 1}
    assert [seed for _, seed in model.requests] == [5, 6, 7]


def test_the_budget_ends_the_asking_and_the_reason_says_so():
    outcome, model = of("no", "no", json.dumps(GOOD), rounds=2)
    assert len(model.requests) == outcome.replies == 2
    assert outcome.reason == "only 0 distinct variants in 2 replies: 2 × the reply is not a list of strings"


def test_what_cannot_be_renamed_is_not_asked_for():
    model = Scripted()
    outcome = written_variants(["print(1)", "def f(:"], model, 2)
    assert [variant_set.reason.partition(":")[0] for variant_set in outcome] == [
        "no identifiers to rename",
        "does not parse as Python",
    ]
    assert model.requests == []


def test_a_parameter_that_tests_pass_by_keyword_stays():
    outcome, _ = of(json.dumps(GOOD), keep={"prices"}, n=1)
    assert outcome.rejections == {"a name changed that may not": 1}


@pytest.mark.parametrize(
    "reply",
    [
        r'["a\nb", "c"]',
        '```json\n["a\\nb", "c"]\n```',
        '"a\\nb"\n"c"',
        "1. 'a\\nb'\n2. 'c'",
        '- "a\\nb",\n- "c"\n',
    ],
)
def test_lists_of_strings_are_read(reply):
    assert strings_in(reply) == ("a\nb", "c")


@pytest.mark.parametrize(
    "reply", ["", "[]", "Here: ['a']", '["a", 1]', '["a"', '1. "a"\n"b"', "a\nb", '"a" + "b"', '{"a": "b"}', "[" * 9999]
)
def test_anything_else_is_no_list_of_strings(reply):
    assert strings_in(reply) is None


def test_words_that_differ_are_told_by_their_place():
    assert word_changes("ab = cd(ab)", "ab = x(y)") == {5: "x", 8: "y"}
    assert word_changes("a + b", "a - b") is None
    assert word_changes("a b", "a b c") is None


OTHERS = {
    "java": ("Java", "static int total(int[] prices) {\n  int sum = 0;  // sum\n  return sum + prices.length;\n}\n"),
    "c": ("C", "int total(int *prices, int n) {\n  int sum = 0; /* sum */\n  return sum + prices[n];\n}\n"),
    "cpp": ("C++", "int total(std::vector<int> prices) {\n  int sum = 0; // sum\n  return sum + prices.size();\n}\n"),
    "javascript": ("JavaScript", "function total(prices) {\n  let sum = 0; // sum\n  return sum + prices.length;\n}\n"),
    "go": ("Go", "func total(prices []int) int {\n\tsum := 0 // sum\n\treturn sum + len(prices)\n}\n"),
}


@pytest.mark.parametrize("language", OTHERS)
def test_a_model_writes_variants_in_every_language_whose_names_can_be_followed(language):
    name, text = OTHERS[language]
    good = text.replace("sum", "amount").replace("prices", "costs").replace("total", "tally")
    wrong = {
        "a name changed at some of its places only": text.replace("sum", "amount", 1),
        "a new name is in use, reserved, or not an identifier": text.replace("sum", "return"),
        "more than names changed": text.replace("= 0", "= 1"),
    }
    model = Scripted(json.dumps([*wrong.values(), good]))
    (outcome,) = written_variants([text], model, 1, language=language)
    assert [variant.text for variant in outcome.variants] == [good]
    assert outcome.variants[0].language == language
    assert outcome.variants[0].variables == {"sum": "amount", "prices": "costs"}
    assert outcome.rejections == dict.fromkeys(wrong, 1)
    assert model.requests[0][0].startswith(f"You are given a {name} code snippet: {text}")


def test_what_does_not_parse_in_its_language_is_not_asked_for():
    model = Scripted()
    (outcome,) = written_variants(["int f( {"], model, 1, language="c")
    assert outcome.reason.startswith("does not parse as C")
    assert model.requests == []
    with pytest.raises(ValueError, match="received the language 'rust'"):
        written_variants(["fn f() {}"], model, 1, language="rust")
