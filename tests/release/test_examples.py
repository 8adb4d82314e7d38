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
