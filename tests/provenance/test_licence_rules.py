"""Licence expressions: AND asks for both, OR leaves the choice."""

import pytest

from assay.errors import DataError
from assay.provenance.licence_rules import checked_rules, denied

GPL = ["GPL-3.0-only"]


@pytest.mark.parametrize(
    ("expression", "rules", "expected"),
    [
        ("GPL-3.0-only", GPL, True),
        ("gpl-3.0-ONLY", GPL, True),
        ("GPL-3.0", GPL, True),
        ("GPL-3.0-or-later", GPL, False),
        ("GPL-3.0+", ["GPL-3.0-or-later"], True),
        ("LGPL-3.0-only", GPL, False),
        ("LGPL-3.0-only", ["GPL-*"], False),
        ("GPL-2.0-or-later", ["GPL-*"], True),
        ("MIT AND GPL-3.0-only", GPL, True),
        ("MIT OR GPL-3.0-only", GPL, False),
        ("GPL-3.0-only OR AGPL-3.0-only", ["GPL-*", "AGPL-*"], True),
        ("MIT OR (Apache-2.0 AND GPL-3.0-only)", GPL, False),
        ("(MIT OR Apache-2.0) AND GPL-3.0-only", GPL, True),
        ("MIT OR Apache-2.0 AND GPL-3.0-only", GPL, False),
        ("GPL-3.0-only WITH Classpath-exception-2.0", GPL, True),
        ("GPL-3.0-only WITH Classpath-exception-2.0", ["GPL-3.0-only WITH Classpath-exception-2.0"], True),
        ("GPL-3.0-only", ["GPL-3.0-only WITH Classpath-exception-2.0"], False),
        ("unknown", ["unknown"], True),
        ("unknown", GPL, False),
        ("MIT", [], False),
        ("", GPL, False),
        ("(GPL-3.0-only", GPL, False),
        ("AND", ["AND*"], True),
        ("LicenseRef-Our Own Words", ["licenseref-our own words"], True),
    ],
)
def test_an_expression_is_denied_where_no_way_is_left(expression, rules, expected):
    assert denied(expression, rules) is expected


@pytest.mark.parametrize("rule", ["", "  ", "MIT OR GPL-3.0-only", "(MIT)", "MIT,GPL-3.0-only"])
def test_a_rule_names_one_licence(rule):
    with pytest.raises(DataError, match="expected one SPDX identifier"):
        checked_rules([rule])
