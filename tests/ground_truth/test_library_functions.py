"""Functions of a module's source, as texts."""

import ast
import hashlib
import textwrap

import pytest

from assay.ground_truth import functions_of, library_functions, library_paths
from assay.ground_truth.doses import library_root, module_of


def found(source):
    return {function.name: function for function in functions_of(textwrap.dedent(source), "m.py")}


def test_decorators_belong_to_the_function():
    function = found(
        """\
        import functools

        @functools.cache
        @other(
            1)
        def f(x):
            return x
        """
    )["f"]
    assert function.text == "@functools.cache\n@other(\n    1)\ndef f(x):\n    return x\n"
    assert function.line == 3


def test_a_nested_function_is_part_of_the_outer_one():
    assert list(found("def f():\n    def g():\n        return 1\n    return g\n")) == ["f"]


def test_methods_are_dedented_and_named_with_their_classes():
    functions = found(
        """\
        class A:
            class B:
                async def f(self):
                    if self:
                        return 1
        """
    )
    assert list(functions) == ["A.B.f"]
    assert functions["A.B.f"].text == "async def f(self):\n    if self:\n        return 1\n"


def test_conditional_definitions_are_found():
    source = """\
        if posix:
            def a(): return 1
        elif nt:
            def b(): return 2
        else:
            def c(): return 3
        try:
            def d(): return 4
        except ImportError:
            def e(): return 5
        else:
            def f(): return 6
        """
    assert list(found(source)) == ["a", "b", "c", "d", "e", "f"]


def test_a_form_feed_shifts_no_line():
    functions = found("x = 1\n\f\ndef f():\n    return 1\n\f\n\ndef g():\n    return 2\n")
    assert [function.text for function in functions.values()] == [
        "def f():\n    return 1\n",
        "def g():\n    return 2\n",
    ]


def test_a_string_that_reaches_the_margin_in_a_plain_function_stays():
    function = found('def f():\n    return """\nat the margin\n"""\n')["f"]
    assert function.text == 'def f():\n    return """\nat the margin\n"""\n'


def test_a_method_that_no_dedenting_makes_valid_is_left_out():
    source = 'class A:\n    def f(self):\n        return """\nat the margin\n"""\n    def g(self):\n        return 1\n'
    assert list(found(source)) == ["A.g"]


def test_the_last_line_needs_no_newline():
    assert found("def f():\n    return 1")["f"].text == "def f():\n    return 1\n"


def test_the_digest_is_that_of_the_text():
    function = found("def f():\n    return 'é'\n")["f"]
    assert function.digest == hashlib.sha256("def f():\n    return 'é'\n".encode()).hexdigest()


@pytest.mark.parametrize(
    "data",
    [
        "# -*- coding: latin-1 -*-\ndef f():\n    return 'é'\n".encode("latin-1"),
        "\ufeffdef f():\n    return 'é'\n".encode(),
        "def f():\r\n    return 'é'\r\n".encode(),
    ],
    ids=["latin-1", "byte-order-mark", "crlf"],
)
def test_encoding_and_line_ends_do_not_count(tmp_path, data):
    (tmp_path / "m.py").write_bytes(data)
    (function,) = library_functions(tmp_path, ["m.py"])
    assert function.text == "def f():\n    return 'é'\n"


def test_a_module_that_this_library_lacks_is_passed_over(tmp_path):
    assert list(library_functions(tmp_path, ["nowhere.py"])) == []


def test_tests_and_installed_packages_are_no_library(tmp_path):
    for path in ["a.py", "json/tool.py", "test/b.py", "json/tests/c.py", "site-packages/d.py", "config-3/e.py"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "_sysconfigdata__linux.py").touch()
    assert library_paths(tmp_path) == ["a.py", "json/tool.py"]


@pytest.mark.parametrize(
    ("path", "module"), [("json/decoder.py", "json.decoder"), ("json/__init__.py", "json"), ("shlex.py", "shlex")]
)
def test_a_path_names_its_module(path, module):
    assert module_of(path) == module


def test_every_text_of_this_library_is_one_definition():
    root = library_root()
    functions = list(library_functions(root, ["argparse.py", "ast.py", "asyncio/tasks.py", "enum.py"]))
    assert len(functions) > 200
    for function in functions:
        (definition,) = ast.parse(function.text).body
        assert definition.name == function.name.rpartition(".")[2]
