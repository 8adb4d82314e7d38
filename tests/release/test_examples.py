"""Other examples of a task show as much as its own."""

import pytest

from assay.release import shows_as_much

TEXT = 'def f(x, base):\n    """Say it.\n    >>> f(8, 3)\n    True\n    >>> f(7, 2)\n    False\n    """\n'


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        ("f(8, 3)", "f(9, 4)", True),
        ("f(8, 3)", "f(9, 11)", False),  # a base above all that the text shows
        ("f(8, 3)", "f(-8, 3)", False),
        ("f(8, 3)", "f(0, 3)", False),
        ("    False", "    True", False),  # one result alone
        ("    True", "    []", False),
        ("Say it.", "Say that.", False),
    ],
)
def test_examples_show_as_much_in_the_range_of_the_old_ones(old, new, fits):
    assert shows_as_much(TEXT, TEXT.replace(old, new)) is fits


def _shown(*examples: tuple[str, str]) -> str:
    lines = "".join(f"    >>> f({source})\n    {result}\n" for source, result in examples)
    return f'def f(x):\n    """Treat \'y\' apart.\n{lines}    """\n'


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        # the overlapping example, a repeated factor, the edge 0, the edge of one element
        ([("'aaaa', 'aa'", "3"), ("'', 'a'", "0")], [("'abab', 'ab'", "2"), ("'', 'b'", "0")], False),
        ([("'aaaa', 'aa'", "3"), ("'', 'a'", "0")], [("'bbb', 'bb'", "2"), ("'', 'b'", "0")], True),
        ([("8", "[2, 2, 2]"), ("10", "[2, 5]")], [("14", "[2, 7]"), ("6", "[2, 3]")], False),
        ([("8", "[2, 2, 2]"), ("10", "[2, 5]")], [("9", "[3, 3]"), ("6", "[2, 3]")], True),
        ([("0", "'0'"), ("5", "'5 5'")], [("4", "'4'"), ("2", "'2 2'")], False),
        ([("[1]", "True"), ("[2, 3]", "False")], [("[4, 1]", "True"), ("[2, 5]", "False")], False),
        ([("[1, 3, 2]", "[1, 3, 3]")], [("[8, 3, 2]", "[8, 8, 8]")], False),
        ([("1", "0"), ("7", "2"), ("9", "3")], [("1", "0"), ("8", "2"), ("6", "2")], False),
        # brackets that the task takes for closed, words that have a sense, a letter that the text names
        ([("'(()) ()'", "2"), ("'()'", "1")], [("')() (('", "2"), ("'()'", "1")], False),
        ([("'(()) ()'", "2"), ("'()'", "1")], [("'() (())'", "2"), ("'()'", "1")], True),
        ([("'This is a message'", "17")], [("'Yynj nj o avjjoqv'", "17")], False),
        ([("'This is a message'", "17")], [("'message This a is'", "17")], True),
        ([("'abcde'", "2"), ("'acedy'", "3")], [("'qfghi'", "1"), ("'eqifp'", "2")], False),
        ([("'abcde'", "2"), ("'acedy'", "3")], [("'afghi'", "2"), ("'oqiuy'", "4")], True),
    ],
)
def test_examples_keep_the_special_cases_that_they_show(old, new, fits):
    assert shows_as_much(_shown(*old), _shown(*new)) is fits
