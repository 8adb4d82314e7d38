"""Python's parser is one for all threads; readers of other people's texts take turns in it."""

import gc
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from assay.code.rename.python_verification import _tables
from assay.licences.manifests import read_project_file
from assay.python_parser import REFUSALS, compiles, python_expression, python_literal, python_tree

VALUE = "[" + ", ".join(f"(1, [2, {i}], 'text')" for i in range(200)) + "]"
MODULE = "\n".join(f"def f{i}(x):\n    return [x, {i}, (1, 2)]" for i in range(60))
SETUP = f"{MODULE}\nfrom setuptools import setup\nsetup(name='p', license='MIT')\n"


def tables(text):
    return len(list(_tables(text)))


@pytest.fixture
def others_let_in():
    """A pass of the collector lets another thread in, as the end of any object of Python may."""

    def let_in(*_):
        time.sleep(0)

    thresholds = gc.get_threshold()
    gc.callbacks.append(let_in)
    gc.set_threshold(200)
    yield
    gc.callbacks.remove(let_in)
    gc.set_threshold(*thresholds)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (python_tree, MODULE),
        (python_expression, VALUE),
        (python_literal, VALUE),
        (compiles, MODULE),
        (tables, MODULE),
        (lambda text: read_project_file("setup.py", text.encode()).licence, SETUP),
    ],
)
def test_threads_read_at_the_same_time(others_let_in, read, text):
    """While Python 3.11 makes a tree, another thread that makes one leaves it with a wrong depth."""
    alone = type(read(text))
    with ThreadPoolExecutor(3) as threads:
        assert set(map(type, threads.map(read, [text] * 40))) == {alone}


def test_what_python_cannot_read_is_one_kind_of_error():
    for source in ("x y", "{[]: 1}", "f()", "[" * 300, "-" * 100_000 + "1", "9" * 5_000, "'\0'", "\ud800"):
        with pytest.raises(REFUSALS):
            python_literal(source)
    assert list(map(compiles, ("return", "\0", "x = 1"))) == [False, False, True]


def test_warnings_about_the_code_of_others_are_kept_to_ourselves():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert compiles("'\\d' is 1")
        assert python_literal("'\\d'") == "\\d"
    assert not shown
