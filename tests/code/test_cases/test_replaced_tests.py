"""Other test cases: what they say is what the solution gives, and nothing else in the text changes."""

import ast
import gzip
import json
import random

import pytest

from assay.code import Problem, passed, replaced_tests, variants, written_tests
from assay.code.prompting import string_in
from assay.code.rename.variant_engine import composed
from assay.code.test_cases.observing import SolutionInputs, answers_to
from assay.code.test_cases.statements import examples_in
from assay.types import Generator

pytestmark = pytest.mark.usefixtures("sandbox")

HUMANEVAL = '''\
def total(prices, start=0):
    """Sum of prices.

    >>> total([1, 2, 3])
    6
    >>> total([4], 1)
    5
    total([]) == 0
    """
    result = start
    for one in prices:
        result += one
    return result
'''
CODE = "def total(prices):\n    return sum(prices)\n"
MBPP = f"Write a sum.\n\nassert total([1,2]) == 3\nassert total((4, 5)) == 9\n[BEGIN]\n{CODE}[DONE]"
APPS = "Double.\n\n-----Example-----\nInput\n40 2\n\nOutput\n42\n\n-----Note-----\nNone\n"


def replaced(text, code=None, **settings):
    (outcome,) = replaced_tests([Problem(text, code or text)], **settings)
    return outcome


def without_tests(text, shown):
    for test in shown:
        for part in test:
            text = text.replace(part, "@", 1)
    return text


def test_ten_variants_show_what_the_solution_gives():
    outcome = replaced(HUMANEVAL)
    assert outcome.reason is None
    assert len({variant.text for variant in outcome.variants}) == len(outcome.variants) == 10
    checks = ["\n".join(f"assert {test} == {output}" for test, output in shown) for shown in outcome.tests]
    assert all(passed([variant.followed_by(check) for variant, check in zip(outcome.variants, checks, strict=True)]))
    for variant, shown in zip(outcome.variants, outcome.tests, strict=True):
        assert [examples_in(Problem(variant.text, variant.text))[at].source for at in (0, 1)] == [
            test for test, _ in shown
        ]
        assert without_tests(variant.text, shown) == without_tests(
            HUMANEVAL, [("total([1, 2, 3])", "6"), ("total([4], 1)", "5")]
        )


def test_a_test_that_cannot_be_another_stays_and_says_why():
    assert replaced(HUMANEVAL).kept == {"total([])": "no other input was found"}


def test_the_same_seed_gives_the_same_variants():
    assert replaced(HUMANEVAL, seed=3) == replaced(HUMANEVAL, seed=3) != replaced(HUMANEVAL, seed=4)


def test_statements_around_code_keep_the_code_and_their_style():
    outcome = replaced(MBPP, CODE)
    assert len(outcome.variants) == 10
    assert all(CODE in variant.text for variant in outcome.variants)
    assert all(", " not in first[0] for first, _ in outcome.tests)
    assert all(second[0].startswith("total((") for _, second in outcome.tests)


def test_programs_are_shown_by_other_inputs_and_what_they_print():
    outcome = replaced(APPS, "a, b = map(int, input().split())\nprint(a + b)\n", n=3)
    assert len(outcome.variants) == 3
    for variant, ((stated_input, printed),) in zip(outcome.variants, outcome.tests, strict=True):
        assert sum(map(int, stated_input.split())) == int(printed)
        assert f"Input\n{stated_input}\n\nOutput\n{printed}\n" in variant.text


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ("def f(a):\n    return a\n", None, "the text states no tests"),
        ("f(1) == 1", "def f(:", "the solution does not parse as Python"),
        ("f(1) == 2", "def f(a):\n    return a\n", "the solution gives another output than the text states"),
        ("f(1) == 1", "import absent\ndef f(a):\n    return a\n", "the original fails on it"),
        ("f(1) == 1", "def f(a):\n    while a:\n        pass\n", "the original takes too long"),
        ("f(1) == 1", "import random\ndef f(a):\n    return random.random()\n", "two runs gave different outputs"),
        (
            "f(1) == 1",
            "seen = []\ndef f(a):\n    seen.append(a)\n    return len(seen)\n",
            "two runs gave different out",
        ),
        ("f(None) == 1", "def f(a):\n    return 1\n", "no other input was found"),
    ],
)
def test_without_a_test_that_holds_there_is_no_variant_and_a_reason(text, code, reason):
    outcome = replaced(text, code, n=2)
    assert outcome.variants == ()
    assert outcome.reason.startswith(reason)


def test_outputs_that_depend_on_the_order_of_a_set_are_no_tests():
    code = "def f(a):\n    return list({'x', 'y', 'z', 'u', 'v', a})\ndef g(a):\n    return {'x', 'y', a}\n"
    first, other = answers_to([SolutionInputs(code, ("f('w')", "g('w')"))])[0]
    assert first.reason == "two runs gave different outputs"
    assert other.value == {"w", "x", "y"}


def test_a_solution_that_ends_its_process_harms_no_other():
    bad, good = "import os\ndef f(a):\n    os._exit(0)\n", "def f(a):\n    return a\n"
    (first,), (second,) = answers_to([SolutionInputs(bad, ("f(1)",)), SolutionInputs(good, ("f(1)",))])
    assert first.reason
    assert second.value == 1


def test_new_outputs_are_of_a_type_that_the_text_shows():
    code = "def f(a):\n    return None if a % 2 else a\n"
    outcome = replaced("f(2) == 2\n", code, n=3)
    assert all(output != "None" for ((_, output),) in outcome.tests)
    assert outcome.rejections == {"the new test cannot be written there": outcome.rejected}


def test_names_and_tests_change_together():
    tests, names = replaced(HUMANEVAL), variants(HUMANEVAL, 10)
    outcome = composed(tests, names, 10, kinds=("function", "variable"))
    assert outcome.reason is None
    assert len({variant.text for variant in outcome.variants}) == 10
    programs = []
    for variant in outcome.variants:
        assert variant.functions["total"] in variant.text
        assert variant.variables.keys() == names.variants[0].variables.keys()
        examples = examples_in(Problem(variant.text, variant.text))
        assert len(examples) == 2  # lines behind >>> are code and follow the names
        programs.append("\n".join([variant.text, *(f"assert {e.source} == {e.output.source}" for e in examples)]))
    assert all(passed(programs))


class Scripted:
    """A model that proposes and writes well, but for one reply of each kind."""

    name = "scripted"

    def __init__(self, inputs, bad_pages=0):
        self.inputs = inputs
        self.bad_pages = bad_pages
        self.requests = []

    def generate(self, prompts, **_):
        for prompt in prompts:
            self.requests.append(prompt)
            if "Propose" in prompt:
                yield json.dumps(self.inputs)
            elif self.bad_pages:
                self.bad_pages -= 1
                yield "Sure!"
            else:
                yield json.dumps(self.rewritten(prompt))

    @staticmethod
    def rewritten(prompt):
        text = prompt.partition("problem: ")[2].partition("\nProvided Test Cases: ")[0]
        stated_test = prompt.partition("Input: ")[2].partition("\nTask: ")[0]
        expression, _, output = stated_test.partition(" Output: ")
        return text.replace("total([1,2])", expression).replace("== 3", f"== {output}")


ONE = f"Write a sum.\nassert total([1,2]) == 3\n{CODE}"


def written(model, n=2, **settings):
    (outcome,) = written_tests([Problem(ONE, CODE)], model, n, **settings)
    return outcome


def test_a_model_proposes_and_rewrites_and_the_solution_says_what_is_true():
    model = Scripted(["total([5, 6])", "total([7,8])"])
    assert isinstance(model, Generator)
    outcome = written(model)
    assert (outcome.reason, outcome.rejections) == (None, {})
    assert {shown[0] for shown in outcome.tests} == {("total([5,6])", "11"), ("total([7,8])", "15")}
    assert len(model.requests) == 3


def test_what_a_model_proposes_in_another_form_is_counted():
    outcome = written(
        Scripted(["total([5,6])", "sum([1])", "total((1,2))", "total([9,9])", "total(['a'])", "total([1,2])"])
    )
    assert outcome.rejections == {
        "a proposed input has another form": 1,
        "a proposed input has another type": 1,
        "the original fails on it": 1,
    }
    assert len(outcome.variants) == 2


def test_a_page_that_is_not_the_text_with_the_tests_is_asked_for_again_within_the_budget():
    outcome = written(Scripted(["total([5,6])", "total([7,8])"], bad_pages=2))
    assert len(outcome.variants) == 2
    assert outcome.rejections == {"the rewritten problem is not the text with these tests": 2}
    spent = written(Scripted(["total([5,6])", "total([7,8])"], bad_pages=9), rounds=2)
    assert spent.variants == ()
    assert spent.rejections == {"the rewritten problem is not the text with these tests": 4}


def test_a_model_that_proposes_nothing_leaves_no_variant_and_says_so():
    outcome = written(Scripted([]))
    assert outcome.reason == "no other input was found"
    assert outcome.rejections == {"the reply is not a list of inputs": 1}


@pytest.mark.parametrize("reply", ['"a\\nb"', "'a\\nb'", "```\na\nb\n```", "a\nb", r"a\nb", '```json\n"a\\nb"\n```'])
def test_the_string_of_a_reply_is_read(reply):
    assert string_in(reply) == "a\nb"


def test_humaneval_yields_tests_that_its_own_solutions_confirm(shared_data):
    """A dozen tasks here; the benchmark script has all of them."""
    path = shared_data / "humaneval" / "HumanEval.jsonl.gz"
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    chosen = random.Random(1).sample(rows, 12)
    texts = [row["prompt"] + row["canonical_solution"] for row in chosen]
    outcome = replaced_tests([Problem(text, text) for text in texts], 3)
    assert sum(len(variant_set.variants) == 3 for variant_set in outcome) >= 9
    for text, variant_set in zip(texts, outcome, strict=True):
        assert all(ast.dump(ast.parse(v.text)) != ast.dump(ast.parse(text)) for v in variant_set.variants)


@pytest.mark.parametrize("line", ["[" * 300_000, '[Infinity, 0, "value", "1"]', "[1, 2]", '{"a": 1}', "9" * 9000])
def test_lines_that_a_solution_writes_in_place_of_answers_count_as_no_answer(line):
    """The descriptor of the answers is inherited, so a solution can write to it."""
    flood = f"""
import os
for descriptor in range(3, 40):
    try:
        os.write(descriptor, {line!r}.encode() + bytes([10]))
    except OSError:
        pass
"""
    (outcomes,) = answers_to([SolutionInputs(flood + CODE, ("total([1, 2])",))])
    assert outcomes[0].value in (3, None)
