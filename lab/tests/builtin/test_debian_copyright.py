"""Licences from Debian's machine-readable copyright files."""

import pytest

from assay_lab.builtin.debian_copyright import parse_copyright, spdx

COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Source: https://example.org

Files: *
Copyright: 2020 A
License: Expat

Files: src/*.c
 lib/old?.h
Copyright: 2019 B
License: BSD-3-clause
 Redistribution and use ...

Files: src/parser.c
Copyright: 2018 C
License: GPL-2+

License: Expat
 Permission is hereby granted ...
"""


@pytest.mark.parametrize(
    ("path", "licence"),
    [
        ("README.c", "MIT"),
        ("src/deep/main.c", "BSD-3-Clause"),
        ("lib/old1.h", "BSD-3-Clause"),
        ("lib/old12.h", "MIT"),
        ("src/parser.c", None),
    ],
)
def test_the_last_matching_paragraph_decides(path, licence):
    assert parse_copyright(COPYRIGHT).licence(path) == licence


def test_a_file_in_prose_states_no_licence():
    assert parse_copyright("This package was debianised by ...\n\nIt is free.\n").licence("a.c") is None


@pytest.mark.parametrize(
    ("short", "expression"),
    [
        ("Expat or Apache-2.0", "MIT OR Apache-2.0"),
        ("MIT/Apache-2", "MIT OR Apache-2.0"),
        ("BSD-3-clause and Zlib", "BSD-3-Clause AND Zlib"),
        ("Apache-2.0 or GPL-2+", None),
        ("other", None),
    ],
)
def test_short_names_as_spdx(short, expression):
    assert spdx(short) == expression


def test_only_star_and_question_mark_are_special():
    stated = parse_copyright("Files: a.c b\\*.c\nLicense: ISC\n")
    assert stated.licence("a.c") == "ISC"
    assert stated.licence("abc") is None
    assert stated.licence("b*.c") == "ISC"
    assert stated.licence("bx.c") is None
