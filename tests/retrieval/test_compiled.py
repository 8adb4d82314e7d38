"""Compiled loops: the same function, whether or not there is a folder to keep it in."""

import numpy as np
import pytest

from assay.retrieval import compiled as module
from assay.retrieval.compiled import compiled


def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result


def test_a_compiled_loop_computes_what_python_computes():
    numbers = np.arange(10)
    assert compiled(total)(numbers) == total(numbers) == 45


def test_where_nothing_can_be_kept_the_loop_is_compiled_all_the_same(monkeypatch):
    asked = []
    original = module.njit

    def without_folder(**options):
        asked.append(options)
        if options.get("cache"):
            message = "cannot cache function: no locator available"
            raise RuntimeError(message)
        return original(**options)

    monkeypatch.setattr(module, "njit", without_folder)
    assert compiled(total)(np.arange(10)) == 45
    assert [entry.get("cache", False) for entry in asked] == [True, False]


def test_an_error_of_the_loop_reaches_the_caller():
    with pytest.raises(Exception, match="resolve"):
        compiled(lambda text: text.nothing_of_this_name)("a")
