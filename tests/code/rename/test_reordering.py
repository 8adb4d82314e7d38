"""Reordering changes the order of independent parts, and nothing else."""

import pytest

from assay.code import passed, reordered

PROGRAM = '''\
import os
import sys
from math import floor


class Box:
    """A box."""

    size = 3

    def first(self):
        return 1

    def second(self, n=2):
        return self.first() + n


def half(number):
    """Halve.

    >>> half(4)
    2
    >>> half(9)
    4
    """
    return floor(number / 2)
'''
TESTS = "\n\nassert half(9) == 4 and Box().second() == 3 and Box.size == 3 and os and sys\n"


def test_texts_are_distinct_and_have_the_same_lines():
    texts = reordered(PROGRAM, 6, seed=1)
    assert len(set(texts)) == 6
    for text in texts:
        assert text != PROGRAM
        assert sorted(text.splitlines()) == sorted(PROGRAM.splitlines())


@pytest.mark.usefixtures("sandbox")
def test_texts_run_the_same():
    assert all(passed([text + TESTS for text in reordered(PROGRAM, 6, seed=1)]))


def test_the_same_seed_gives_the_same_order():
    assert reordered(PROGRAM, 3, seed=1) == reordered(PROGRAM, 3, seed=1)
    assert reordered(PROGRAM, 3, seed=1) != reordered(PROGRAM, 3, seed=2)


@pytest.mark.parametrize(
    "text",
    [
        "import os\n",
        "from __future__ import annotations\nfrom a import b\n",
        "from a import *\nfrom b import *\n",
        "from a import x\nfrom b import x\n",
        "class A:\n    @property\n    def f(self): ...\n    @f.setter\n    def f(self, v): ...\n",
        'def f():\n    """\n    >>> x = 1\n    >>> f()\n    2\n    >>> g()\n    3\n    """\n',
        "def broken(:\n",
        "import os; import sys\n",
    ],
)
def test_what_may_depend_on_its_order_stays(text):
    assert reordered(text, 3, seed=0) == ()
