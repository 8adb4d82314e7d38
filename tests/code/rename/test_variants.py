"""Variants: what they are, and what holds whatever the text."""

import ast
import dis
import gzip
import json
import random
import re
import sysconfig
import textwrap
import types
import warnings
from pathlib import Path

import pytest

from assay.code import (
    DictionaryPool,
    Limits,
    ProposedPool,
    keywords_of,
    passed,
    variants,
)
from assay.code.rename.pools import LETTERS, SYNONYMS

TEXT = '''def mean_value(numbers, start=0):  # mean of numbers
    """Mean.

    Args:
        numbers: what to average.
    """
    total = start
    for one in numbers:
        total += one
    return total / len(numbers)
'''
TESTS = "assert mean_value([1, 3]) == 2\nassert mean_value([1], start=1) == 2\n"
OF_LIBRARY = 300


def library_functions(count, seed=0):
    """Functions of Python's own library, dedented; a method counts as a function."""
    root = Path(sysconfig.get_paths()["stdlib"])
    paths = sorted(path for path in root.glob("*.py") if path.stat().st_size < 200_000)
    draw = random.Random(seed)
    for path in draw.sample(paths, len(paths)):
        text = path.read_text("utf-8")
        lines = text.splitlines(keepends=True)
        result = [
            node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        for node in draw.sample(result, min(6, len(result))):
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield f"{path.stem}.{node.name}", textwrap.dedent("".join(lines[start - 1 : node.end_lineno]))
            count -= 1
            if not count:
                return


def test_ten_distinct_variants_with_only_names_changed():
    result = variants(TEXT)
    assert result.reason is None
    assert result.rejected == 0
    texts = {variant.text for variant in result.variants}
    assert len(texts) == 10
    assert TEXT not in texts
    for variant in result.variants:
        text = variant.text
        for old, new in (*variant.functions.items(), *variant.variables.items()):
            assert not re.search(rf"\b{new}\b", TEXT)
            text = re.sub(rf"\b{new}\b", old, text)
        assert text == TEXT
        assert set(variant.functions) == {"mean_value"}
        assert set(variant.variables) == {"numbers", "start", "total", "one"}


def test_the_same_seed_gives_the_same_variants_and_another_one_others():
    assert variants(TEXT, seed=3) == variants(TEXT, seed=3)
    assert not {variant.text for variant in variants(TEXT).variants} & {
        variant.text for variant in variants(TEXT, seed=1).variants
    }


def test_a_text_gets_the_same_variants_whatever_was_rewritten_before():
    first = variants(TEXT)
    variants("def f(x):\n    return x\n")
    assert variants(TEXT) == first
    assert variants(TEXT, 4).variants == first.variants[:4]


def test_one_kind_alone():
    functions = variants(TEXT, 3, kinds=["function"]).variants[0]
    assert functions.variables == {}
    assert "numbers" in functions.text
    variables = variants(TEXT, 3, kinds=["variable"]).variants[0]
    assert variables.functions == {}
    assert "def mean_value(" in variables.text


def test_a_function_and_a_variable_of_one_name_part():
    text = "def count(x):\n    return x\ndef f(count):\n    return count\nprint(count(f))\n"
    result = variants(text, 1).variants[0]
    assert result.functions["count"] != result.variables["count"]


def test_no_new_name_is_used_twice_or_means_something_to_python():
    import builtins
    import keyword

    for variant in variants(TEXT, 50).variants:
        new = [*variant.functions.values(), *variant.variables.values()]
        assert len(set(new)) == len(new)
        assert not set(new) & {*keyword.kwlist, *keyword.softkwlist, *dir(builtins)}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("print(1)\n", "no identifiers to rename"),
        ("def f(:", "does not parse as Python"),
        ("def f(x):\n    nonlocal n\n    return x\n", "does not compile as Python: no binding for nonlocal 'n' found"),
        ("def f(a):\n    return locals()\n", "sees its own names: uses locals()"),
    ],
)
def test_where_there_is_no_variant_there_is_a_reason(source, reason):
    result = variants(source)
    assert result.variants == ()
    assert result.reason.startswith(reason)


def test_where_there_are_fewer_the_reason_counts_the_names():
    pool = ProposedPool({"x": ("a", "b", "print", "if")})
    result = variants("x = 1\nprint(x)\n", pool=pool)
    assert sorted(variant.text for variant in result.variants) == ["a = 1\nprint(a)\n", "b = 1\nprint(b)\n"]
    assert result.reason == "only 2 distinct variants: the pool has names 2 for x"


@pytest.mark.parametrize(
    ("arguments", "words"), [({"n": 0}, "n = 0"), ({"kinds": ["class"]}, "class"), ({"kinds": []}, "kinds")]
)
def test_impossible_wishes_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        variants(TEXT, **arguments)


def test_a_bigger_pool_gives_more_variants():
    text = "x = 1\n"
    assert len(variants(text, 100, pool=DictionaryPool()).variants) == len(LETTERS) - 1


def test_a_variant_passes_the_tests_of_its_original(sandbox):
    result = variants(TEXT, keep=keywords_of(TESTS))
    programs = [TEXT + TESTS, *(variant.followed_by(TESTS) for variant in result.variants)]
    assert passed(programs) == (True,) * 11


def test_a_failing_a_crashing_and_an_endless_program_have_not_passed(sandbox):
    programs = [
        "",
        "1 / 0",
        "import os; os._exit(0)",
        "import os; os.kill(os.getpid(), 9)",
        "exit(0)",
        "exit(2)",
        "while True: pass",
    ]
    assert passed([*programs, "x = 1"], limits=Limits(wall_seconds=60, cpu_seconds=1)) == (
        True,
        False,
        True,
        False,
        True,
        False,
        False,
        True,
    )


def test_programs_that_no_time_is_left_for_have_not_passed(sandbox):
    programs = ["x = 1", "import time; time.sleep(60)", "x = 1"]
    assert passed(programs, limits=Limits(wall_seconds=4)) == (True, False, False)


def test_the_page_shows_what_the_engine_writes():
    page = (Path(__file__).resolve().parents[3] / "docs" / "variants.md").read_text("utf-8")
    original, variant, *_ = re.findall(r"```python\n(def .*?)```", page, re.DOTALL)
    assert variants(original, 1).variants[0].text == variant


# real code


@pytest.mark.parametrize("seed", range(2))
def test_functions_of_the_library_compile_to_the_same_bytecode_but_for_names(seed):
    """An oracle that shares nothing with the engine: the compiler resolves every name itself."""
    verified = 0
    for name, text in library_functions(OF_LIBRARY // 2, seed):
        result = variants(text, 2)
        assert result.rejected == 0, name
        for variant in result.variants:
            verified += 1
            names = {new: old for old, new in (*variant.functions.items(), *variant.variables.items())}
            assert list(instructions(variant.text, names)) == list(instructions(text, {})), name
    assert verified > OF_LIBRARY // 2


def test_humaneval_behaves_as_before_under_its_own_tests(sandbox, shared_data):
    with gzip.open(shared_data / "humaneval" / "HumanEval.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines][::6]
    samples = [
        (row["prompt"] + row["canonical_solution"], f"{row['test']}\ncheck({row['entry_point']})\n") for row in rows
    ]
    assert unchanged(samples, n=3) > 70


def test_mbpp_behaves_as_before_under_its_own_tests(sandbox, shared_data):
    rows = [json.loads(line) for line in (shared_data / "mbpp" / "mbpp.jsonl").read_text("utf-8").split("\n") if line]
    samples = [(row["code"], "\n".join([row["test_setup_code"], *row["test_list"]])) for row in rows[::12]]
    assert unchanged(samples, n=3) > 100


def test_nearly_every_sample_of_bigcodebench_has_ten_variants(shared_data):
    with gzip.open(shared_data / "bigcodebench" / "BigCodeBench.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines][::6]
    result = [variants(row["complete_prompt"] + row["canonical_solution"]) for row in rows]
    assert not any(variant_set.rejected for variant_set in result)
    assert sum(variant_set.reason is None for variant_set in result) >= 0.97 * len(result)


def unchanged(samples, n):
    """Number of variants run; every one ends as its original does."""
    programs = []
    for text, tests in samples:
        result = variants(text, n, keep=keywords_of(tests))
        programs += [f"{text}\n\n{tests}", *(variant.followed_by(tests) for variant in result.variants)]
    outcomes = passed(programs, limits=Limits(wall_seconds=60))
    assert all(outcomes), programs[outcomes.index(False)]
    return len(outcomes) - len(samples)


def instructions(text, names):
    """Opcodes and arguments of all code in the text. Closures are sorted: the compiler orders cells by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        waiting = [compile(text, "text", "exec", dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        cells, rest = [], []
        for instruction in dis.get_instructions(code):
            value = instruction.argval
            if instruction.opname == "KW_NAMES":
                value = tuple(names.get(name, name) for name in code.co_consts[instruction.arg])
            elif instruction.opname == "LOAD_CONST":
                value = "text" if isinstance(value, str | tuple | types.CodeType) else value
            elif isinstance(value, str):
                value = names.get(value, value)
            elif isinstance(value, tuple):
                value = tuple(names.get(name, name) for name in value)
            (cells if instruction.opname in {"MAKE_CELL", "LOAD_CLOSURE"} else rest).append(
                (instruction.opname, str(value))
            )
        sort_closures(rest)
        yield names.get(code.co_name, code.co_name), sorted(cells), rest
        waiting += [co_const for co_const in code.co_consts if isinstance(co_const, types.CodeType)]


def sort_closures(rest):
    """Since Python 3.13 cells are loaded like variables: LOAD_FAST n times, BUILD_TUPLE, LOAD_CONST, MAKE_FUNCTION."""
    for index, (opcode, value) in enumerate(rest):
        if opcode == "BUILD_TUPLE" and [opcode for opcode, _ in rest[index + 1 : index + 3]] == [
            "LOAD_CONST",
            "MAKE_FUNCTION",
        ]:
            rest[index - int(value) : index] = sorted(rest[index - int(value) : index])


def test_one_name_at_a_time_takes_the_names_in_turn_and_the_first_candidates_first():
    pool = ProposedPool({"total": ("amount", "result"), "start": ("first", "initial")})
    changed = [variant.variables for variant in variants(TEXT, 4, pool=pool, rename="one").variants]
    assert len(changed) == 4
    assert all(len(names) == 1 for names in changed)
    assert {name for names in changed[:2] for name in names} == {"total", "start"}
    assert [names["total"] for names in changed if "total" in names] == ["amount", "result"]


def test_one_name_at_a_time_has_synonyms_by_default():
    (first, *_) = variants("total = 1\nprint(total)\n", 1, rename="one").variants
    assert first.variables["total"] in SYNONYMS["total"]
