"""Copyleft is found in the heads of ScanCode's test files, where these are at hand."""

import pytest

from assay_lab.provenance.licence_heads import run, spdx_of


def test_keys_of_scancode_become_spdx_identifiers():
    assert spdx_of("gpl-2.0-plus WITH classpath-exception-2.0 OR bsd-new") == (
        "GPL-2.0-or-later WITH Classpath-exception-2.0 OR BSD-3-Clause"
    )


@pytest.mark.slow
def test_both_halves(shared_data):
    cases = shared_data / "scancode-tests"
    if not cases.is_dir():
        pytest.skip("the test files of ScanCode are not at hand")
    rows = {(row["half"], row["kind"]): row for row in run(None, 0, {"cases": cases}).rows}
    for half in ("a", "b"):
        row = rows[half, "source"]
        assert row["found"] / row["gnu"] > 0.92
        assert (row["found"] + row["gnu_unknown"]) / row["gnu"] > 0.96
        assert row["as_permissive"] / row["copyleft"] < 0.09
