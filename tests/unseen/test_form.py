"""The form of a benchmark, and functions put into it."""

import numpy as np
import pytest

from assay.code import functions_in
from assay.types import Sample
from assay.unseen.form import Frame, forms_of

HUMANEVAL = '\ndef total(numbers):\n    """Add numbers {n}."""\n    return sum(numbers) + {n}\n'
MBPP = "Write a function to add {n} to a number.\ndef add_{n}(x):\n    return x + {n}\n"
JAVA = (
    "import java.util.*;\n\nclass Solution {{\n"
    "    /** Add {n}. */\n    int add(int x) {{\n        return x + {n};\n    }}\n}}\n"
)

PYTHON_FILE = '''import os


class Basket:
    def weigh(self):
        """Return the weight."""
        return 1


@cached
def heaviest(baskets):
    """Return the heaviest basket.

    Ties go to the first one.
    """
    best = None
    for basket in baskets:
        if best is None or basket.weigh() > best.weigh():
            best = basket
    return best


def bare(x):
    return x
'''
JAVA_FILE = """package p;
public class Tools {
    /** Returns the larger of two numbers. */
    static int larger(int a, int b) {
        return a > b ? a : b;
    }
    static int none() { return 0; }
}
"""


def form(template, language):
    samples = [Sample(str(n), template.format(n=n), language) for n in range(40)]
    wide = forms_of(samples)[language]
    return type(wide)(**{name: getattr(wide, name) for name in wide.__slots__} | {"lengths": (1, 10_000)})


def rendered(template, language, text):
    request = form(template, language)
    random = np.random.default_rng(0)
    return {function.name: request.rendered(function, text, random) for function in functions_in(text, language)}


def test_a_docstring_in_the_function_is_the_form_of_humaneval():
    of_benchmark = form(HUMANEVAL, "python")
    assert (of_benchmark.documentation, of_benchmark.top_level) == ("own", True)
    assert of_benchmark.frames == ((Frame("\n", "", ""), 40),)
    texts = rendered(HUMANEVAL, "python", PYTHON_FILE)
    assert texts["bare"] is None
    assert texts["Basket.weigh"] is None
    assert texts["heaviest"].startswith('\n@cached\ndef heaviest(baskets):\n    """Return the heaviest basket.\n')
    assert texts["heaviest"].endswith("    return best\n")


def test_a_sentence_before_the_code_is_the_form_of_mbpp():
    assert form(MBPP, "python").documentation == "sentence"
    texts = rendered(MBPP, "python", PYTHON_FILE)
    assert texts["heaviest"].startswith(
        "Return the heaviest basket.\n@cached\ndef heaviest(baskets):\n    best = None\n"
    )
    assert '"""' not in texts["heaviest"]


def test_a_method_goes_into_the_class_of_the_benchmark():
    texts = rendered(JAVA, "java", JAVA_FILE)
    assert texts["Tools.none"] is None
    assert texts["Tools.larger"] == (
        "import java.util.*;\n\nclass Solution {\n    /** Returns the larger of two numbers. */\n"
        "    static int larger(int a, int b) {\n        return a > b ? a : b;\n    }\n}\n"
    )


def test_functions_without_documentation_are_the_form_of_code_alone():
    texts = rendered("def add_{n}(x):\n    return x + {n}\n", "python", PYTHON_FILE)
    assert '"""' not in texts["heaviest"]
    assert texts["bare"] == "def bare(x):\n    return x\n"


def test_a_frame_that_one_sample_alone_has_is_not_used():
    samples = [Sample("0", "import secret\n\n\ndef f(x):\n    return x\n", "python")]
    samples += [Sample(str(n), f"def f{n}(x):\n    return {n}\n", "python") for n in range(1, 60)]
    (of_benchmark,) = forms_of(samples).values()
    assert [frame.before for frame, _ in of_benchmark.frames] == [""]


def test_a_function_longer_than_the_benchmarks_is_left_out():
    samples = [Sample(str(n), MBPP.format(n=n), "python") for n in range(40)]
    long = f'def f(x):\n    """Do it."""\n    return [{", ".join(["1"] * 500)}]\n'
    (function,) = functions_in(long, "python")
    assert forms_of(samples)["python"].rendered(function, long, np.random.default_rng(0)) is None


@pytest.mark.parametrize("text", ["print(1)\n", "plain words, no code at all"])
def test_texts_without_functions_have_no_form(text):
    assert forms_of([Sample(str(n), text, "python") for n in range(10)]) == {}
