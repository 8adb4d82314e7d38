"""Bills of materials and identifiers of Software Heritage, checked by the tools of others where they are installed."""

import json
import subprocess
import zipfile
from dataclasses import replace
from hashlib import sha1
from pathlib import Path

import pytest

from assay import build_index
from assay.corpora import LineRange, SourceText
from assay.provenance import open_index, sarif, trace_file
from assay.provenance.findings import BILLS, cyclonedx_bill, finding_line, place_swhid, spdx_document, without_own

SOURCE = "\ufeff# Licensed under the GPL, version 2 or later.\r\n\r\n\r\ndef share_of(total, parts):\r\n" + "".join(
    f"    part_{at} = total * {at} + parts[{at}]\r\n    print('é', part_{at}, total - {at * 7})\r\n" for at in range(8)
)
COPY = "import os\n\n\n" + SOURCE.partition("\r\n\r\n\r\n")[2].replace("\r\n", "\n")


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "share.py").write_bytes(SOURCE.encode())
    return folder


@pytest.fixture
def traced(tmp_path, corpus):
    build_index([corpus], tmp_path / "i", encoder=None, jobs=1, progress=False)
    with open_index(str(tmp_path / "i")) as index:
        return trace_file(SourceText("src/own.py", COPY, "python"), index)


def place_of(traced, **changes):
    place = traced.findings[0].places[0]
    return replace(place, origin=replace(place.origin, **changes))


def test_the_content_is_that_of_git_byte_for_byte(traced, corpus):
    """Also with a byte order mark, line ends of Windows and other letters."""
    content = traced.findings[0].places[0].origin.content
    raw = (corpus / "share.py").read_bytes()
    assert content == sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()
    command = ["git", "hash-object", "--no-filters", corpus / "share.py"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == content
    assert place_swhid(traced.findings[0].places[0]) == f"swh:1:cnt:{content};lines=4-20"


def test_an_identifier_has_its_context_and_is_read_by_the_library_of_software_heritage(traced, corpus):
    place = place_of(traced, repository="https://a.b/c d;e", commit="0" * 40, path="sub folder/share;1.py")
    place = replace(place, lines=(LineRange(3, 3),))
    assert place_swhid(place).endswith(f";anchor=swh:1:rev:{'0' * 40};path=/sub%20folder/share%3B1.py;lines=3")
    assert place_swhid(place_of(traced, content=None)) is None
    swhids = pytest.importorskip("swh.model.swhids", reason="swh.model is not installed")
    place = place_of(traced, repository="https://a.b/c", commit="0" * 40)
    read = swhids.QualifiedSWHID.from_string(place_swhid(place))
    assert (read.object_id.hex(), read.lines, read.path) == (place.origin.content, (4, 20), b"/share.py")
    content = pytest.importorskip("swh.model.model").Content.from_data((corpus / "share.py").read_bytes())
    assert content.sha1_git.hex() == place.origin.content


def test_every_output_has_the_identifier(traced):
    swhid = place_swhid(traced.findings[0].places[0])
    assert swhid in finding_line(traced.findings[0])
    assert sarif([traced])["runs"][0]["results"][0]["properties"]["swhid"] == swhid
    assert all(swhid in json.dumps(bill([traced])) for bill in BILLS.values())


def test_spdx_has_the_lines_and_the_source(traced):
    document = spdx_document([traced])
    (snippet,) = document["snippets"]
    (_, lines) = snippet["ranges"]
    assert (lines["startPointer"]["lineNumber"], lines["endPointer"]["lineNumber"]) == (4, 20)
    first, last = (snippet["ranges"][0][end]["offset"] for end in ("startPointer", "endPointer"))
    assert COPY.encode()[first - 1 : last].decode().startswith("def share_of")
    assert last == len(COPY.encode())
    assert document["packages"][0]["licenseConcluded"] == "GPL-2.0-or-later"
    kinds = {relation["relationshipType"] for relation in document["relationships"]}
    assert kinds == {"DESCRIBES", "CONTAINS", "COPY_OF"}
    assert spdx_document([traced])["documentNamespace"] == document["documentNamespace"]


@pytest.mark.parametrize("licence", ["GPL-2.0-or-later", "unknown", "MIT AND unknown", "LicenseRef-ours", "Our Terms"])
@pytest.mark.parametrize("url", ["https://example.org/c", "https://a.b/c", "http://localhost:8000/x", "javascript:x"])
def test_spdx_tools_finds_nothing_wrong(traced, tmp_path, licence, url):
    validator = pytest.importorskip("spdx_tools.spdx.validation.document_validator", reason="no spdx-tools")
    from spdx_tools.spdx.parser.parse_anything import parse_file

    finding = traced.findings[0]
    changes = {"licence": licence, "author": "A\x1b B", "commit": "0" * 40, "url": url}
    changed = replace(traced, findings=(replace(finding, places=(place_of(traced, **changes),)),))
    (tmp_path / "x.spdx.json").write_text(json.dumps(spdx_document([changed, replace(traced, findings=())])))
    document = parse_file(str(tmp_path / "x.spdx.json"))
    assert validator.validate_full_spdx_document(document) == []
    assert len(document.snippets) == 1


@pytest.mark.parametrize("licence", ["GPL-2.0-or-later", "unknown", "LicenseRef-ours", "Our Terms"])
def test_the_library_of_cyclonedx_finds_nothing_wrong(traced, licence):
    validation = pytest.importorskip("cyclonedx.validation.json", reason="no cyclonedx-python-lib")
    from cyclonedx.schema import SchemaVersion

    finding = traced.findings[0]
    changes = {"licence": licence, "author": "Ada", "commit": "0" * 40, "url": "https://a.b/c"}
    changed = replace(traced, findings=(replace(finding, places=(place_of(traced, **changes),)),))
    validator = validation.JsonStrictValidator(SchemaVersion.V1_6)
    for files in ([changed], [traced], [replace(traced, findings=())]):
        assert validator.validate_str(json.dumps(cyclonedx_bill(files))) is None


def test_cyclonedx_has_the_evidence(traced):
    (package,) = cyclonedx_bill([traced, traced])["components"]
    (component,) = package["components"]
    assert component["licenses"] == [{"expression": "GPL-2.0-or-later", "acknowledgement": "concluded"}]
    evidence = component["evidence"]
    assert [(place["location"], place["line"]) for place in evidence["occurrences"]] == [("src/own.py", 4)]
    assert evidence["identity"][0]["methods"][0]["technique"] == "source-code-analysis"
    assert 0 <= evidence["identity"][0]["confidence"] <= 1


def test_a_package_is_one_component_with_its_files_beneath_and_joins_the_bill_of_another_tool(tmp_path):
    """By package URL, as npm and pip write it; the declared licence stands beside the concluded one."""
    folder = tmp_path / "node_modules" / "@acme" / "share"
    folder.mkdir(parents=True)
    manifest = {"name": "@acme/share", "version": "1.2.0", "license": "MIT", "author": "Ada <a@b.c>"}
    manifest["repository"] = {"url": "git+https://github.com/acme/share.git"}
    (folder / "package.json").write_text(json.dumps(manifest))
    for name in ("a.py", "b.py"):
        (folder / name).write_bytes(SOURCE.replace("total", f"total_{name[0]}").encode())
    build_index([tmp_path / "node_modules"], tmp_path / "i", encoder=None, jobs=1, progress=False)
    copies = [SourceText(f"own_{name}.py", COPY.replace("total", f"total_{name}"), "python") for name in "ab"]
    with open_index(str(tmp_path / "i")) as index:
        files = [trace_file(file, index) for file in copies]
    origin = files[0].findings[0].places[0].origin
    assert (origin.author, origin.url) == ("Ada", "https://github.com/acme/share")
    (component,) = cyclonedx_bill(files)["components"]
    of_npm = {"components": [{"purl": "pkg:npm/%40acme/share@1.2.0", "name": "share"}]}
    assert component["purl"] in {entry["purl"] for entry in of_npm["components"]}
    assert component["licenses"] == [{"expression": "MIT", "acknowledgement": "declared"}]
    assert component["evidence"]["licenses"] == [{"expression": "GPL-2.0-or-later", "acknowledgement": "concluded"}]
    assert {file["name"] for file in component["components"]} == {"@acme/share/a.py", "@acme/share/b.py"}
    package = spdx_document(files)["packages"][0]
    assert package["externalRefs"][0]["referenceLocator"] == component["purl"]
    assert (package["licenseDeclared"], package["licenseConcluded"]) == ("MIT", "GPL-2.0-or-later")
    assert (package["name"], package["versionInfo"]) == ("@acme/share", "1.2.0")


OTHER_TOOL = Path(__file__).parents[2] / "data" / "bills" / "cyclonedx-py-7.5.0.json"
"""Of `cyclonedx-py requirements --sv 1.6` on `Share.Tools==1.2.0` and `acme_parts==2.0`."""


def test_the_bill_joins_that_of_cyclonedx_py_by_package_url(tmp_path):
    """Also where a name has capitals, points and underscores; what is copied is then known of each dependency."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, version, letter in (("Share.Tools", "1.2.0", "a"), ("acme_parts", "2.0", "b")):
        stem = f"{name}-{version}"
        with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
            metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nLicense-Expression: MIT\n"
            wheel.writestr(f"{stem}.dist-info/METADATA", metadata)
            wheel.writestr(f"{letter}.py", SOURCE.replace("total", f"total_{letter}"))
            wheel.writestr(f"{stem}.dist-info/RECORD", f"{letter}.py,,\n")
    build_index([folder], tmp_path / "i", encoder=None, jobs=1, progress=False)
    copies = [SourceText(f"own_{name}.py", COPY.replace("total", f"total_{name}"), "python") for name in "ab"]
    with open_index(str(tmp_path / "i")) as index:
        files = [trace_file(file, index) for file in copies]
    ours = {component["purl"]: component for component in cyclonedx_bill(files)["components"]}
    theirs = {component["purl"]: component for component in json.loads(OTHER_TOOL.read_text())["components"]}
    assert ours.keys() == theirs.keys()
    for purl, component in ours.items():
        assert component["version"] == theirs[purl]["version"]
        assert component["licenses"] == [{"expression": "MIT", "acknowledgement": "declared"}]
        assert component["evidence"]["licenses"] == [{"expression": "GPL-2.0-or-later", "acknowledgement": "concluded"}]
    locators = [package["externalRefs"][0]["referenceLocator"] for package in spdx_document(files)["packages"][:2]]
    assert set(locators) == theirs.keys()


@pytest.mark.parametrize("name", ["acme/share", "https://github.com/Acme/share", "ADA", "corpus"])
def test_code_of_our_own_is_no_finding(traced, name):
    place = place_of(traced, repository="https://github.com/acme/share.git", author="Ada", source="corpus")
    (finding,) = traced.findings
    both = replace(finding, places=(place, place_of(traced, author="Bob", source="other")))
    (file,) = without_own([replace(traced, findings=(both,))], [name])
    assert [left.origin.author for left in file.findings[0].places] == ["Bob"]
    (file,) = without_own([replace(traced, findings=(replace(finding, places=(place,)),))], [name])
    assert file.findings == ()
