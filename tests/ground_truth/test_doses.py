"""The running interpreter's functions, matched with a manifest."""

from dataclasses import replace

import pytest

from assay.errors import DataError
from assay.ground_truth import LIBRARY_FUNCTION, PACKAGE_FILE, Manifest, ManifestEntry, functions_of
from assay.ground_truth.doses import known_dose_functions
from assay_lab.builtin.shipped_files import write_manifest

SOURCE = "".join(f"def f{i}(x):\n    return x + {i}\n\n" for i in range(6))
HEADER = {"kind": "header", "python": "3.99.1"}


def entry(function, dose):
    return ManifestEntry(
        kind=LIBRARY_FUNCTION,
        package="python",
        version="3.99.1",
        path=function.path,
        name=function.name,
        line=function.line,
        sha256=function.digest,
        licence="PSF-2.0",
        dose=dose,
        characters=len(function.text),
        tokens=10,
    )


@pytest.fixture
def library(tmp_path):
    """A standard library of one module."""
    root = tmp_path / "lib"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "mod.py").write_text(SOURCE)
    return root


@pytest.fixture
def listed():
    """Entries of the six functions: doses 0 and 1 in turn."""
    return [entry(function, i % 2) for i, function in enumerate(functions_of(SOURCE, "pkg/mod.py"))]


def known(tmp_path, library, entries):
    path = tmp_path / "manifest.jsonl.gz"
    write_manifest(path, Manifest(HEADER, tuple(entries)))
    return known_dose_functions(path, library)


def test_every_function_of_this_library_is_found_with_its_dose(tmp_path, library, listed):
    found = known(tmp_path, library, listed)
    assert (found.matched, found.listed, found.trained_on) == (6, 6, "3.99.1")
    assert [sample.metadata["dose"] for sample in found.samples] == [0, 1] * 3
    assert [sample.label for sample in found.samples] == ["nonmember", "member"] * 3
    assert {sample.group for sample in found.samples} == {"pkg.mod"}
    assert found.samples[2].id == "pkg.mod:f2"
    assert found.samples[2].text == "def f2(x):\n    return x + 2\n"


def test_another_pythons_library_matches_in_part(tmp_path, library, listed):
    (library / "pkg" / "mod.py").write_text(SOURCE.replace("return x + 3", "return 3 + x"))
    found = known(tmp_path, library, listed)
    assert (found.matched, found.listed) == (5, 6)
    assert "pkg.mod:f3" not in {sample.id for sample in found.samples}


def test_a_function_that_moved_to_another_module_is_found(tmp_path, library, listed):
    (library / "pkg" / "mod.py").rename(library / "elsewhere.py")
    assert known(tmp_path, library, listed).matched == 6


def test_package_files_are_no_functions(tmp_path, library, listed):
    file = replace(listed[0], kind=PACKAGE_FILE, sha256="0" * 64)
    assert known(tmp_path, library, [file, *listed]).listed == 6


def test_ids_are_unique_where_names_are_not(tmp_path, library):
    source = SOURCE + SOURCE.replace("return x", "return 7 * x")
    (library / "pkg" / "mod.py").write_text(source)
    found = known(tmp_path, library, [entry(function, 0) for function in functions_of(source, "pkg/mod.py")])
    assert len({sample.id for sample in found.samples}) == found.matched == 12


def test_a_library_without_any_of_them_is_refused(tmp_path, library, listed):
    (library / "pkg" / "mod.py").write_text("x = 1\n")
    with pytest.raises(DataError, match=r"none of the 6 functions of known dose .* Python near 3\.99\.1"):
        known(tmp_path, library, listed)
