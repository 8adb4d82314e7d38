"""Statements of licences in packages, read one by one and compared with what a person read."""

import io
import tarfile

import pytest

from assay_lab.provenance import licences
from assay_lab.provenance.licences import cases_of, judged, run

FILES = {
    "thing-1/setup.py": "from setuptools import setup\nsetup(license='GPLv3+')\n",
    "thing-1/README.md": "# thing\n\n## License\n\nMIT\n",
    "thing-1/COPYING": "Licensed under the Apache License, Version 2.0.\n",
    "thing-1/src/a.py": "# License: LGPL 2.1 or later\n",
    "thing-1/src/b.py": "# See LICENSE.\n",
    "thing-1/src/c.py": "# License: MIT\n",
}


@pytest.fixture
def packages(tmp_path):
    with tarfile.open(tmp_path / "thing-1.tar.gz", "w:gz") as archive:
        for name, text in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return tmp_path


def test_a_package_has_a_few_files_of_each_kind(packages):
    cases = list(cases_of(packages / "thing-1.tar.gz"))
    assert {case.path.removeprefix("thing-1/"): licences.read(case) for case in cases} == {
        "setup.py": "GPL-3.0-or-later",
        "README.md": "MIT",
        "COPYING": "Apache-2.0",
        "src/a.py": "LGPL-2.1-or-later",
        "src/b.py": "unknown",
    }


def test_what_a_person_read_decides_and_nothing_else_counts(packages, monkeypatch):
    monkeypatch.setattr(licences, "judged", lambda: {("thing-1.tar.gz", "thing-1/README.md"): ("GPL-2.0-only",)})
    (rest,) = run(None, 0, {"packages": packages}).rows
    (half,) = {case.half for case in cases_of(packages / "thing-1.tar.gz")}
    (row,) = (row for row in rest["rows"] if (row["half"], row["kind"]) == (half, "all"))
    assert (row["files"], row["right"], row["permissive"], rest["not judged"]) == (1, 0, 1, 4)


def test_the_list_of_judgements_is_read():
    assert judged()["fontsource-variable-nunito-5.3.0.tgz", "package/README.md"] == ("OFL-1.1",)
