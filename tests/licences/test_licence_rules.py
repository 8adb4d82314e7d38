"""Licence expressions: AND asks for both, OR leaves the choice."""

import pytest

from assay.errors import DataError
from assay.licences.rules import LicenceRules, read_rules

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
        ("(GPL-3.0-only", GPL, False),
        ("(GPL-3.0-only", ["unknown"], True),
        ("Our Own Words", ["unknown"], True),
        ("LicenseRef-Ours", ["unknown"], False),
        ("LicenseRef-Ours", ["licenseref-ours"], True),
        ("LGPL-2.1-or-later", ["copyleft"], True),
        ("LGPL-2.1-or-later", ["strong-copyleft"], False),
        ("AGPL-3.0-only", ["strong-copyleft"], True),
        ("MPL-2.0", ["weak-copyleft"], True),
        ("MIT OR GPL-2.0-only", ["copyleft"], False),
        ("BSD-3-Clause", ["permissive"], True),
    ],
)
def test_an_expression_is_denied_where_no_way_is_left(expression, rules, expected):
    assert read_rules(rules).deny(expression) is expected


@pytest.mark.parametrize(
    ("expression", "rules", "expected"),
    [
        ("MIT", LicenceRules(allowed=("mit",)), False),
        ("Apache-2.0", LicenceRules(allowed=("mit",)), True),
        ("unknown", LicenceRules(allowed=("permissive",)), True),
        ("MIT OR Apache-2.0", LicenceRules(allowed=("mit",)), False),
        ("MIT AND Apache-2.0", LicenceRules(allowed=("mit",)), True),
        ("LGPL-3.0-only", LicenceRules(("copyleft",), ("lgpl-*",)), False),
        ("GPL-3.0-only", LicenceRules(("copyleft",), ("lgpl-*",)), True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", LicenceRules(("gpl-*",), ("* with classpath-*",)), False),
        ("Apache-2.0", LicenceRules(("copyleft",), ("lgpl-*",)), False),
    ],
)
def test_allowed_licences_are_exceptions_or_the_only_ones(expression, rules, expected):
    assert rules.deny(expression) is expected


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        ("", "an identifier such as"),
        ("Foo Bar", "an identifier such as"),
        ("XYZ-*", "an identifier such as"),
        ("GPL3", "did you mean GPL-3.0-only"),
        ("gpl", "did you mean GPL-"),
        ("mit-fe", "did you mean MIT-feh"),
        ("apache license 2.0", "did you mean Apache-2.0"),
        ("MIT OR GPL-3.0-only", "several licences"),
        ("MIT,GPL-3.0-only", "did you mean"),
        ("Classpath-exception-2.0", "not on the SPDX list"),
    ],
)
def test_a_rule_is_one_licence_pattern_or_family(rule, hint):
    with pytest.raises(DataError, match=hint):
        read_rules([rule])


def test_no_rule_denies_nothing():
    assert not LicenceRules()
    assert not LicenceRules().deny("GPL-3.0-only")
