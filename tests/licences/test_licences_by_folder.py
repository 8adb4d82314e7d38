"""A licence file that states a licence by folder gives none to the project, whatever text stands in it."""

import pytest

from assay.licences import licence_of_text

MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software.
"""


@pytest.mark.parametrize("opening", ["this software are", "the repository is", "this codebase are"])
def test_portions_under_other_licences_leave_the_whole_unknown(opening):
    head = f"Copyright 2026 Wheel Works\n\nPortions of {opening} licensed as follows:\n\n* ee/: see ee/LICENSE.\n\n"
    assert licence_of_text((head + MIT).encode()) == "unknown"


def test_the_same_text_alone_is_read():
    assert licence_of_text(f"MIT License\n\n{MIT}".encode()) == "MIT"
