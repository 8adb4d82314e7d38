"""Results of other tools: ScanCode, SPDX, CycloneDX, REUSE, by path, pattern or for the whole project."""

import json
import stat
import sys

import pytest

from assay.api.indexing import build_index
from assay.corpora import SourceText, open_sources, with_licences
from assay.errors import DataError
from assay.licences import licence_of_file, read_licences
from assay.licences.statements import debian_licence
from assay.provenance import CodeIndex, trace_file
from assay.provenance.findings.describing import finding_data

SCANCODE = {
    "headers": [{"tool_name": "scancode-toolkit"}],
    "files": [
        {"path": "project", "type": "directory", "detected_license_expression_spdx": "MIT AND GPL-2.0-only"},
        {"path": "project/a.py", "type": "file", "detected_license_expression_spdx": "GPL-2.0-only"},
        {"path": "project/b.py", "type": "file", "detected_license_expression_spdx": None},
    ],
}
SPDX = {
    "spdxVersion": "SPDX-2.3",
    "packages": [{"name": "project", "licenseConcluded": "NOASSERTION", "licenseDeclared": "Apache-2.0"}],
    "files": [
        {"fileName": "./a.py", "licenseConcluded": "GPL-2.0", "licenseInfoInFiles": ["MIT"]},
        {"fileName": "./c.py", "licenseConcluded": "NOASSERTION", "licenseInfoInFiles": ["MIT", "0BSD"]},
    ],
}
TAG_VALUE = """SPDXVersion: SPDX-2.3
PackageName: project
PackageLicenseDeclared: Apache-2.0
FileName: ./a.py
LicenseConcluded: GPL-2.0-only
LicenseInfoInFile: MIT
SnippetSPDXID: SPDXRef-1
SnippetLicenseConcluded: MIT
LicenseConcluded: MIT
FileName: ./c.py
LicenseConcluded: NOASSERTION
LicenseInfoInFile: MIT
LicenseInfoInFile: 0BSD
"""
CYCLONEDX = {
    "bomFormat": "CycloneDX",
    "metadata": {"component": {"licenses": [{"license": {"id": "Apache-2.0"}}]}},
    "components": [
        {"type": "file", "name": "a.py", "licenses": [{"license": {"id": "GPL-2.0-only"}}]},
        {
            "type": "library",
            "name": "vendored",
            "evidence": {"licenses": [{"expression": "MIT AND 0BSD"}], "occurrences": [{"location": "c.py#L3"}]},
        },
    ],
}
REUSE = """version = 1
[[annotations]]
path = "**"
SPDX-License-Identifier = "Apache-2.0"
[[annotations]]
path = ["a.py", "vendor/**"]
SPDX-License-Identifier = "GPL-2.0-only"
[[annotations]]
path = "c.py"
SPDX-License-Identifier = ["MIT", "0BSD"]
"""
DEP5 = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: Somebody
License: Apache-2.0

Files: a.py vendor/*
Copyright: Somebody
License: GPL-2
 The text of the licence.

Files: c.py
License: Expat and 0BSD
"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("scan.json", json.dumps(SCANCODE)),
        ("spdx.json", json.dumps(SPDX)),
        ("project.spdx", TAG_VALUE),
        ("bom.json", json.dumps(CYCLONEDX)),
        ("REUSE.toml", REUSE),
        ("dep5", DEP5),
    ],
)
def test_every_tool_says_the_licence_of_a_file(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    stated = read_licences(tmp_path / name)
    assert stated.of("a.py", "project") == "GPL-2.0-only"
    if name != "scan.json":
        assert set(stated.of("c.py").replace("(", "").replace(")", "").split(" AND ")) == {"MIT", "0BSD"}
        assert stated.of("other.py") == "Apache-2.0"
    else:
        assert stated.of("b.py", "project") is None


@pytest.mark.parametrize(
    ("name", "licence"),
    [
        ("MIT/X11", "MIT"),
        ("X-MIT", "MIT"),
        ("X11", "X11"),
        ("Expat/X11", "MIT"),
        ("LGPL-2+ and Old-Tests-permissive and CC0-1.0", "LGPL-2.0-or-later"),
        ("Expat and Old-Tests-permissive", "unknown"),
    ],
)
def test_a_short_name_of_debian_that_is_not_known_hides_no_gnu_licence(name, licence):
    assert debian_licence(f"Format: x\n\nFiles: *\nCopyright: Somebody\nLicense: {name}\n") == licence


def test_a_folder_says_it_by_its_annotations_and_the_files_beside(tmp_path):
    (tmp_path / "REUSE.toml").write_text(REUSE)
    (tmp_path / "d.bin.license").write_text("SPDX-License-Identifier: LGPL-2.1-or-later\n")
    stated = read_licences(tmp_path)
    assert (stated.of("d.bin"), stated.of("vendor/x/y.py")) == ("LGPL-2.1-or-later", "GPL-2.0-only")


@pytest.mark.parametrize("content", ["{}", "[1]", "{", "words\n", '{"files": 3}', '{"bomFormat": "X"}'])
def test_anything_else_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(DataError, match="expected JSON of ScanCode"):
        read_licences(tmp_path / "x.json")


GPL = "# This is free software under the GPL version 3.\n"


@pytest.mark.parametrize(
    ("stated", "text", "licence"),
    [
        ("GPL-2.0-only", "", "GPL-2.0-only"),
        ("MIT", GPL, "MIT AND GPL-3.0-only"),
        ("unknown", GPL, "GPL-3.0-only"),
        ("unknown", "", "unknown"),
        ("MIT", "# See the GNU General Public License for more details.\n", "MIT"),
    ],
)
def test_what_a_tool_found_comes_first_and_hides_no_notice(stated, text, licence):
    assert licence_of_file("0BSD", text, "ISC", stated) == licence


PROGRAM = """#!{python}
import json, pathlib, sys
if "--version" in sys.argv:
    sys.exit(print("ScanCode version: 32.3.0"))
out, folder = pathlib.Path(sys.argv[-2]), pathlib.Path(sys.argv[-1])
log = pathlib.Path({log!r})
log.write_text(str(len(list(folder.iterdir()))) + " " + (log.read_text() if log.exists() else ""))
files = [{{"path": path.name, "type": "file", "detected_license_expression_spdx":
          "GPL-2.0-only" if "gnu" in path.read_text() else None}} for path in folder.iterdir()]
out.write_text(json.dumps({{"headers": [], "files": files}}))
"""


@pytest.fixture
def scancode(tmp_path, monkeypatch):
    """A program that answers as ScanCode does, and logs how many files it was given."""
    program, log = tmp_path / "scan", tmp_path / "log"
    program.write_text(PROGRAM.format(python=sys.executable, log=str(log)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("ASSAY_SCANCODE", str(program))
    return log


def test_scancode_reads_each_notice_once(tmp_path, scancode):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name, text in {"a.py": "# gnu\n", "b.py": "# gnu\n", "c.py": "x = 1\n"}.items():
        (corpus / name).write_text(text)
    for _ in range(2):
        (source,) = with_licences(open_sources([str(corpus)]), "scancode", tmp_path / "cache")
        assert {file.path: file.facts.stated for file in source.files()} == {
            "a.py": "GPL-2.0-only",
            "b.py": "GPL-2.0-only",
            "c.py": None,
        }
    assert scancode.read_text().split() == ["2"]


def test_the_reader_is_recorded_in_the_index_and_in_each_finding(tmp_path, scancode):
    corpus, at = tmp_path / "corpus", tmp_path / "index"
    corpus.mkdir()
    body = "".join(f"    part_{step} = total * {step} + parts[{step}]\n" for step in range(12))
    (corpus / "a.py").write_text(f"# gnu\ndef share(total, parts):\n{body}")
    build_index([corpus], at, encoder=None, licences="scancode")
    with CodeIndex.open(at) as index:
        (finding, *_) = trace_file(SourceText("mine.py", (corpus / "a.py").read_text(), "python"), index).findings
        assert index.info().licence_reader == finding.licence_reader == "assay 2, scancode 32.3.0"
    assert finding_data(finding)["licence_reader"] == "assay 2, scancode 32.3.0"
    with pytest.raises(DataError, match=r"read by 'assay 2, scancode 32\.3\.0', not by 'assay 2'"):
        build_index([corpus], at, encoder=None)


def test_a_program_that_fails_or_is_not_there_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="no program `scancode`"):
        with_licences(open_sources([str(tmp_path)]), "scancode", tmp_path)
    monkeypatch.setenv("ASSAY_SCANCODE", "/bin/false")
    (source,) = with_licences(open_sources([str(tmp_path)]), "scancode", tmp_path)
    with pytest.raises(DataError, match="exit code 1"):
        list(source.files())


def test_an_index_has_the_licences_of_a_result(tmp_path):
    from assay import build_index
    from assay.provenance import open_index

    corpus = tmp_path / "project"
    corpus.mkdir()
    (corpus / "a.py").write_text("".join(f"name_{at} = compute({at}, other)\n" for at in range(20)))
    (tmp_path / "scan.json").write_text(json.dumps(SCANCODE))
    build_index([corpus], tmp_path / "i", encoder=None, jobs=1, licences=str(tmp_path / "scan.json"), progress=False)
    with open_index(str(tmp_path / "i")) as index:
        (document,) = index.documents([1])
        assert [origin.licence for origin in document.origins] == ["GPL-2.0-only"]
    changed = SCANCODE | {"files": [dict(SCANCODE["files"][1], detected_license_expression_spdx="MIT")]}
    (tmp_path / "scan.json").write_text(json.dumps(changed))
    build_index([corpus], tmp_path / "i", encoder=None, jobs=1, licences=str(tmp_path / "scan.json"), progress=False)
    with open_index(str(tmp_path / "i")) as index:
        assert list(index.licences()) == ["MIT"]
