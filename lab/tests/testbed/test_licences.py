"""Which distributions may be trained on."""

import pytest

from assay_lab.testbed.licences import PERMISSIVE, is_permissive, permissive_licence


@pytest.mark.parametrize(
    "expression",
    [
        "MIT",
        "Apache-2.0 OR BSD-3-Clause",
        "BSD-3-Clause AND (MIT OR 0BSD) AND Zlib",
        "Apache-2.0 WITH LLVM-exception",
        "(PSF-2.0)",
    ],
)
def test_an_expression_of_permissive_licences_is_permissive(expression):
    assert is_permissive(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "GPL-3.0-or-later",
        "MPL-2.0",
        "LGPL-2.1-only",
        "MIT AND MPL-2.0",
        "MIT OR GPL-2.0-only",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "LicenseRef-Proprietary",
        "MIT AND LicenseRef-Other",
        "CC-BY-SA-4.0",
        "",
        "OR",
    ],
)
def test_an_expression_that_names_any_other_licence_is_not(expression):
    assert not is_permissive(expression)


def test_no_copyleft_licence_counts_as_permissive():
    assert not [name for name in PERMISSIVE if name.startswith(("GPL", "LGPL", "AGPL", "MPL", "EPL", "CC-BY-SA"))]


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ([("License-Expression", "BSD-3-Clause AND MIT")], "BSD-3-Clause AND MIT"),
        ([("Classifier", "License :: OSI Approved :: MIT License")], "MIT"),
        (
            [
                ("Classifier", "License :: OSI Approved"),
                ("Classifier", "License :: OSI Approved :: BSD License"),
                ("Classifier", "License :: OSI Approved :: Apache Software License"),
                ("Classifier", "Topic :: Utilities"),
            ],
            "Apache-2.0 OR BSD-3-Clause",
        ),
        ([("License", "  Apache License 2.0 ")], "Apache-2.0"),
        ([("License", "BSD 3-Clause License")], "BSD-3-Clause"),
    ],
    ids=["expression", "classifier", "classifiers", "field", "field-bsd"],
)
def test_a_stated_permissive_licence_is_read(install, metadata, licence):
    assert permissive_licence(install("stated", *metadata)) == licence


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        [("License", "UNKNOWN")],
        [("License", "see LICENSE.txt")],
        [("License-Expression", "GPL-3.0-only")],
        [("License-Expression", "MPL-2.0 AND MIT")],
        [("Classifier", "License :: OSI Approved :: GNU General Public License v3 (GPLv3)")],
        [("Classifier", "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)")],
        [("Classifier", "License :: Other/Proprietary License")],
        [
            ("Classifier", "License :: OSI Approved :: MIT License"),
            ("Classifier", "License :: OSI Approved :: GNU General Public License v2 (GPLv2)"),
        ],
    ],
    ids=["none", "unknown", "prose", "gpl", "mpl-and-mit", "gpl-class", "mpl-class", "proprietary", "mit-and-gpl"],
)
def test_anything_else_is_left_out(install, metadata):
    assert permissive_licence(install("stated", *metadata)) is None


@pytest.mark.parametrize(
    "weaker",
    [("Classifier", "License :: OSI Approved :: MIT License"), ("License", "MIT")],
    ids=["classifier", "field"],
)
def test_the_expression_outranks_the_older_fields(install, weaker):
    assert permissive_licence(install("stated", weaker, ("License-Expression", "GPL-3.0-only"))) is None


def test_classifiers_outrank_the_free_text_field(install):
    gpl = ("Classifier", "License :: OSI Approved :: GNU General Public License v3 (GPLv3)")
    assert permissive_licence(install("stated", ("License", "MIT"), gpl)) is None
