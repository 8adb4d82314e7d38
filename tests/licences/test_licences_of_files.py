"""Licences are read only from what states them."""

import sysconfig
from email.message import Message
from pathlib import Path

import pytest
from identify.vendor.licenses import LICENSES

from assay.licences import (
    all_of,
    canonical_licence,
    licence_of_file,
    licence_of_text,
    licence_tag,
    spelt_licence,
    stated_licence,
)

TEXTS = dict(LICENSES)
PROPRIETARY = "LicenseRef-scancode-proprietary-license"
GNU_CLASSIFIER = "License :: OSI Approved :: GNU General Public License (GPL)"


@pytest.mark.parametrize(
    ("line", "licence"),
    [
        ("# SPDX-License-Identifier: MIT", "MIT"),
        ("// SPDX-License-Identifier: apache-2.0 or mit", "Apache-2.0 OR MIT"),
        ("/* SPDX-License-Identifier: GPL-2.0 */", "GPL-2.0-only"),
        ("/* SPDX-License-Identifier: GPL-2.0+ */", "GPL-2.0-or-later"),
        ("<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->", "LGPL-2.1-or-later"),
        ('"SPDX-License-Identifier: BSD-3-Clause"', "BSD-3-Clause"),
        (
            "# SPDX-License-Identifier: GPL-2.0 WITH Classpath-exception-2.0\r\n",
            "GPL-2.0-only WITH Classpath-exception-2.0",
        ),
        ("# SPDX-License-Identifier: MIT\n# SPDX-License-Identifier: 0BSD", "MIT AND 0BSD"),
        ("# SPDX-License-Identifier: MIT, GPL-2.0  # of its authors", "MIT AND GPL-2.0-only"),
        ("# SPDX-License-Identifier: Our Own Terms", "unknown"),
        ("# SPDX-License-Identifier: LGPL-2.1\n# SPDX-License-Identifier: GPL-2.0", "LGPL-2.1-only AND GPL-2.0-only"),
        ("# SPDX-License-Identifier: GPL-2.0\n# SPDX-License-Identifier: Our Own Terms", "GPL-2.0-only"),
        ("# SPDX-License-Identifier: MIT\n# SPDX-License-Identifier: Our Own Terms", "unknown"),
        ("# a licence is a licence", None),
        ("\n" * 5000 + "# SPDX-License-Identifier: MIT", None),
    ],
)
def test_the_tag_near_the_top_is_read(line, licence):
    assert licence_tag(line) == licence


def test_a_file_of_its_own_licence_stands_under_that():
    assert licence_of_file(None, "# SPDX-License-Identifier: GPL-3.0-only\n", "MIT") == "GPL-3.0-only"


def test_the_tag_that_nobody_can_read_does_not_become_the_neighbours_licence():
    assert licence_of_file(None, "# SPDX-License-Identifier: Proprietary\n", "MIT") == "unknown"


def test_metadata_comes_first_and_hides_nothing():
    gpl = "# SPDX-License-Identifier: GPL-3.0-only\n"
    assert licence_of_file("MIT", "", "Apache-2.0") == "MIT"
    assert licence_of_file("MIT", gpl, None) == "MIT AND GPL-3.0-only"
    assert licence_of_file("MIT OR GPL-3.0-only", gpl, None) == "GPL-3.0-only"
    assert licence_of_file("unknown", gpl, None) == "GPL-3.0-only"


def test_nothing_stated_is_unknown():
    assert licence_of_file(None, "x = 1\n", None) == "unknown"


@pytest.mark.parametrize(
    "spdx", ["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MPL-2.0", "GPL-3.0", "LGPL-2.1"]
)
def test_a_licence_file_is_known_by_its_text(spdx):
    text = "Copyright (c) 2020 Somebody\n\n" + TEXTS[spdx].replace("\n", "\r\n")
    assert licence_of_text(text.encode()) == canonical_licence(spdx)


PYTHON = (
    "A. HISTORY OF THE SOFTWARE\n==========================\n\nOnce upon a time.\n\n"
    "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2\n--------------------------------------------\n\n1. Terms.\n"
)


def test_pythons_own_licence_file_is_known_by_its_history():
    assert licence_of_text(PYTHON.encode()) == "PSF-2.0"
    assert licence_of_text(("Ours is MIT. What follows is of others.\n\n" + PYTHON).encode()) == "MIT AND PSF-2.0"


def test_the_standard_library_says_its_licence_where_the_installation_does():
    file = Path(sysconfig.get_path("stdlib"), "LICENSE.txt")
    if not file.is_file():
        pytest.skip("this Python was installed without its licence")
    assert licence_of_text(file.read_bytes()) == "PSF-2.0"


@pytest.mark.parametrize("text", ["", "see the web page", "x" * 300_000, "\xff\xfe"])
def test_a_text_that_is_no_single_licence_is_none(text):
    assert licence_of_text(text.encode("latin-1", "replace")) is None


@pytest.mark.parametrize("known", ["MIT", "Apache-2.0", "BSD-3-Clause"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "NON-COMMERCIAL USE ONLY"),
        ("", "The weights are under the Acme Model License."),
        ("", "Additional terms: you may not use the Software to train machine learning models."),
        ("", "The Software shall not be used by the military."),
        ("", "The files in ee/ are proprietary."),
        ("", "This license does not apply to the folder ee/."),
        ("Modified licence, based on the MIT license.", ""),
        ("For non-commercial use:", ""),
    ],
)
def test_what_a_licence_file_takes_back_makes_it_unknown(known, before, after):
    assert licence_of_text(f"{before}\n\n{TEXTS[known]}\n\n{after}\n".encode()) == "unknown"


@pytest.mark.parametrize("known", ["Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT", "ISC", "MPL-2.0"])
@pytest.mark.parametrize(
    ("added", "binds"),
    [
        ("Parts of this software are under the GPL.", "GPL-1.0-or-later"),
        ("Portions are licensed under the LGPL-2.1-or-later.", "LGPL-2.1-or-later"),
        ("The files in vendor/ are under CC BY-NC-ND 4.0.", "CC-BY-NC-ND-4.0"),
        ("Some plugins are covered by the Business Source License 1.1.", "BUSL-1.1"),
        ("The artwork is licensed under CC-BY-NC.", "unknown"),
        ("Commercial use needs a licence.", "unknown"),
        ("Files under ee/ are subject to the Acme Enterprise License.", "unknown"),
        ("The contents of ee/ are proprietary.", "unknown"),
    ],
)
def test_what_is_added_to_a_licence_file_counts_wherever_it_stands(known, added, binds):
    paragraphs = TEXTS[known].strip().split("\n\n")
    for at in (0, len(paragraphs) // 2, len(paragraphs)):
        text = "\n\n".join([*paragraphs[:at], added, *paragraphs[at:]])
        licence = licence_of_text(text.encode())
        # a text with something in its middle may be one that nobody knows
        assert licence == "unknown" or set(licence.split(" AND ")) in ({known, binds}, {binds}), (at, licence)


@pytest.mark.parametrize(
    ("before", "known", "after", "licence"),
    [
        ("Dually licensed under the MIT or the GPL.", "MIT", "", "GPL-1.0-or-later OR MIT"),
        ("Thing is under the GPL, version 3 or later.", "GPL-3.0", "", "GPL-3.0-or-later"),
        ("Released under the GNU Affero General Public License.", "AGPL-3.0", "", "AGPL-3.0-only"),
        ("The Apache License", "Apache-2.0", "This product bundles httplib2 (MIT License).", "Apache-2.0 AND MIT"),
        ("Mozilla Public License", "MPL-2.0", "https://mozilla.org/MPL/2.0/.", "MPL-2.0"),
        ("Thing (the BSD license)", "BSD-2-Clause", "", "BSD-2-Clause"),
        ("Formerly GPL, relicensed under MIT.", "MIT", "", "MIT"),
    ],
)
def test_the_name_of_a_licence_beside_its_text_is_that_licence(before, known, after, licence):
    assert licence_of_text(f"{before}\n\n{TEXTS[known]}\n\n{after}\n".encode()) == licence


def test_a_licence_file_with_other_words_or_several_texts_states_all_of_them():
    assert licence_of_text(f"Thing is ours.\n\n{TEXTS['MIT']}\n\nAll samples are free to copy.".encode()) == "MIT"
    assert licence_of_text((TEXTS["MIT"] + TEXTS["Apache-2.0"]).encode()) == "Apache-2.0 AND MIT"
    assert licence_of_text(f"Dual licensed:\n{TEXTS['MIT']}{TEXTS['Apache-2.0']}".encode()) == "Apache-2.0 OR MIT"


def test_all_of_several_is_an_and_with_alternatives_in_brackets():
    assert all_of(["MIT", "Apache-2.0 OR 0BSD", "MIT"]) == "MIT AND (Apache-2.0 OR 0BSD)"
    assert all_of(["MIT OR 0BSD"]) == "MIT OR 0BSD"


@pytest.mark.parametrize(
    ("known", "clause", "licence"),
    [
        ("MIT", "The Software shall be used for Good, not Evil.", "JSON"),
        (
            "Apache-2.0",
            '"Commons Clause" License Condition: the right to sell is not granted.',
            "Apache-2.0 AND LicenseRef-scancode-commons-clause",
        ),
        ("BSD-3-Clause", "All advertising materials mentioning this software must name us.", "BSD-4-Clause"),
        (
            "BSD-3-Clause",
            "No express or implied licenses to any party's patent rights are granted.",
            "BSD-3-Clause-Clear",
        ),
    ],
)
def test_a_text_with_one_more_clause_is_another_licence(known, clause, licence):
    assert licence_of_text(f"{clause}\n{TEXTS[known]}".encode()) == licence


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("SPDX-License-Identifier: GPL-2.0+ OR MIT\n\nOf its authors.", "GPL-2.0-or-later OR MIT"),
        (
            f"{'It is ours. ' * 50}{TEXTS['BSD-3-Clause']}\nAlternatively, it may be used under the terms of the GPL.",
            "BSD-3-Clause OR GPL-1.0-or-later",
        ),
        ("It is ours. " * 100 + "It is under the terms of the GNU GPL, version 3 or later.", "GPL-3.0-or-later"),
        (
            TEXTS["Apache-2.0"]
            + "\n---- LLVM Exceptions to the Apache 2.0 License ----\nIf you combine or link compiled "
            "forms of this Software with software that is licensed under the GPLv2, and the patent provision conflicts "
            "with the conditions of the GPLv2, you may waive it.",
            "Apache-2.0 WITH LLVM-exception",
        ),
        ("SPDX-FileCopyrightText: Somebody\n\nSPDX-License-Identifier: MIT\n", "MIT"),
        (
            "Thing is under the MIT license. " + "It is ours. " * 300 + "Parts are under the GNU GPL, version 3.",
            "MIT AND GPL-3.0-only",
        ),
    ],
)
def test_a_short_licence_file_is_read_to_its_end(text, licence):
    assert licence_of_text(text.encode()) == licence


@pytest.mark.parametrize(
    ("words", "licence"),
    [
        ("mit", "MIT"),
        ("BSD", "BSD-3-Clause"),
        ("Modified BSD", "BSD-3-Clause"),
        ("Modified MIT", None),
        ("GPLv2+CE", "GPL-2.0-only WITH Classpath-exception-2.0"),
        ("GPL2 w/ CPE", "GPL-2.0-only WITH Classpath-exception-2.0"),
        ("PHP 3.01", "PHP-3.01"),
        ("Apache Software License (Apache 2.0)", "Apache-2.0"),
        ("ISC License (ISCL)", "ISC"),
        ("License :: OSI Approved :: GNU General Public License v3 (GPLv3)", "GPL-3.0-only"),
        ("GPL v3 or later, see COPYING", "GPL-3.0-or-later"),
        ("Commercial", None),
        ("CC BY-SA 3.0 Attribution-ShareAlike", "CC-BY-SA-3.0"),
        ("GPLv3 or commercial", "GPL-3.0-only"),
        ("MIT; commercial use prohibited", None),
        ("https://spdx.org/licenses/GPL-3.0-or-later", "GPL-3.0-or-later"),
        ("Apache License Version 2.0, January 2004", "Apache-2.0"),
        ("ASL 2.0", "Apache-2.0"),
        ("CeCILL-2", "CECILL-2.0"),
        ("", None),
    ],
)
def test_short_spellings(words, licence):
    assert spelt_licence(words) == licence


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ([("License-Expression", "mit")], "MIT"),
        ([("Classifier", "License :: OSI Approved :: GNU General Public License v3 (GPLv3)")], "GPL-3.0-only"),
        ([("Classifier", "License :: Other/Proprietary License"), ("License", "MIT")], PROPRIETARY),
        ([("License", "MPL-2.0")], "MPL-2.0"),
        ([("License", TEXTS["MIT"])], "MIT"),
        (
            [
                (
                    "License",
                    f"1. This LICENSE AGREEMENT is between the Python Software Foundation and you. {'It is. ' * 50}",
                )
            ],
            "PSF-2.0",
        ),
        ([("Classifier", GNU_CLASSIFIER), ("License", "http://www.gnu.org/licenses/gpl.html")], "GPL-1.0-or-later"),
        (
            [("Classifier", f"{GNU_CLASSIFIER[:-6]} v3 or later (GPLv3+)"), ("License", "GPL-3")],
            "GPL-3.0-or-later",
        ),
        ([("Classifier", GNU_CLASSIFIER), ("License", "GPLv3+")], "GPL-3.0-or-later"),
        ([("License", "UNKNOWN")], None),
    ],
)
def test_a_distribution_states_its_licence(fields, licence):
    metadata = Message()
    for name, value in fields:
        metadata[name] = value
    assert stated_licence(metadata) == licence


def test_an_expression_of_megabytes_states_nothing():
    """The parser of the library would take a minute and a gigabyte."""
    assert canonical_licence("MIT OR " * 1_000_000 + "MIT") is None


@pytest.mark.parametrize("character", [b"9", b"a", b"_", b"-", b"license: ", b"may not be used ", b"kommerziell"])
def test_a_long_word_in_a_licence_file_comes_to_an_end(character):
    # a pattern that may split a word anywhere would take the fourth power of its length
    assert licence_of_text(character * 5000) is None
