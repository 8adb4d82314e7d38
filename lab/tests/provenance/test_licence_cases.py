"""Heads of files and manifests are read as a reader with the law in mind reads them."""

from itertools import starmap

from assay_lab.provenance.licence_cases import cases_of, is_permissive, is_right, read


def test_no_case_is_called_permissive_that_is_not_and_nearly_all_are_named():
    cases = list(cases_of())
    readings = list(map(read, cases))
    pairs = list(zip(readings, cases, strict=True))
    assert not [case for licence, case in pairs if is_permissive(licence) and not any(map(is_permissive, case.right))]
    assert sum(starmap(is_right, pairs)) / len(cases) > 0.97
