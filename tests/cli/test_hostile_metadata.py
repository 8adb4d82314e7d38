"""Corpora and benchmarks whose names are attacks, through every output of the command line."""

import csv
import io
import json
import re
import unicodedata

import pytest

from assay.cli import ScoreRow
from assay.cli.score_files import write_csv, write_jsonl
from assay.corpora import Document, Origin
from assay.provenance import CodeIndex

SHARE = """def share_of(basket, total):
    shares = {}
    for item, price in sorted(basket.items()):
        if price <= 0:
            raise ValueError(f'no price: {item}')
        shares[item] = round(price / total, 3)
    return [key for key, share in shares.items() if share > 0.25]
"""
PATH = "../../a\n::error file=x::path\x1b[2J/share.py"
REPOSITORY = "own\r\n##[error]repository"
LICENCE = "GPL-\n::warning::licence\x9b31m"
AUTHOR = "\u202eAda [/red] [click](javascript:alert(2))\x1b]0;title\x07 ##vso[task.setvariable]"
ADDRESS = "javascript:alert(1)"
NAME = "share\n::set-output name=a::b"
COMMANDS = ("::error", "::warning", "::set-output", "##[", "##vso[")


def assert_harmless(text):
    """Nothing in it moves a terminal or commands a build log."""
    left = {character for character in text if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}} - {"\n"}
    assert not left
    assert "\u202e" not in text
    assert not [command for command in COMMANDS if command in text]


@pytest.fixture
def index(tmp_path):
    folder = tmp_path / "corpus.index"
    with CodeIndex.create(folder) as index:
        origin = Origin("sho\x1bp\n::error::source", PATH, REPOSITORY, None, LICENCE, AUTHOR, ADDRESS, 11)
        index.add([Document(SHARE, "python", "function", NAME, (origin,))])
        index.commit()
    return folder


@pytest.fixture
def snippet(tmp_path):
    path = tmp_path / "snippet.py"
    path.write_text(SHARE)
    return path


def test_a_trace_shows_hostile_names_and_obeys_none(assay, index, snippet):
    shown = assay("trace", snippet, "--index", index, "--fail-on-licence", "GPL-*", COLUMNS="500")
    assert shown.code == 1, shown.err
    assert_harmless(shown.out)
    assert_harmless(shown.err)
    assert r"a\n\x3a:error file=x::path\x1b[2J/share.py" in shown.out
    assert len(shown.out.splitlines()) == 1
    assert all(line.startswith("assay: ") for line in shown.err.splitlines())


def test_a_narrow_terminal_wraps_no_command_to_the_start_of_a_line(assay, index, snippet):
    shown = assay("trace", snippet, "--index", index, COLUMNS="60", FORCE_COLOR="1", TERM="dumb")
    assert not [line for line in shown.out.splitlines() if line.strip().startswith("::")]


def test_json_holds_the_names_as_they_are_and_no_raw_character(assay, index, snippet):
    shown = assay("trace", snippet, "--index", index, "--json")
    assert_harmless(shown.out)
    (finding,) = json.loads(shown.out)["files"][0]["findings"]
    (place,) = finding["places"]
    assert (place["path"], place["licence"], place["author"]) == (PATH, LICENCE, AUTHOR)


def test_sarif_links_nowhere_and_leaves_no_folder(assay, index, snippet, tmp_path):
    path = tmp_path / "found.sarif"
    assert assay("trace", snippet, "--index", index, "--sarif", path).code == 0
    (result,) = json.loads(path.read_text())["runs"][0]["results"]
    assert "physicalLocation" not in result["relatedLocations"][0]
    assert result["properties"]["url"] is None
    for text in (
        result["message"]["text"],
        result["relatedLocations"][0]["message"]["text"],
        result["relatedLocations"][0]["logicalLocations"][0]["fullyQualifiedName"],
        *result["partialFingerprints"].values(),
        *(value for value in result["properties"].values() if isinstance(value, str)),
    ):
        assert_harmless(text)
    assert not re.search(r"(?<!\\)\]\(javascript", result["message"]["text"])
    assert_harmless(path.read_text())


def test_the_description_of_an_index_obeys_nothing(assay, index):
    shown = assay("index", "info", "--index", index)
    assert shown.code == 0, shown.err
    assert_harmless(shown.out)
    assert LICENCE in json.loads(assay("index", "info", "--index", index, "--json").out)["licences"]


def test_a_hostile_table_is_indexed_and_its_faults_are_one_line(assay, tmp_path):
    table = tmp_path / "corpus.jsonl"
    row = {
        "content": SHARE,
        "path": PATH,
        "repository": REPOSITORY,
        "license": LICENCE,
        "author": AUTHOR,
        "url": ADDRESS,
    }
    table.write_text(json.dumps(row) + "\n")
    shown = assay("index", "build", table, "--index", tmp_path / "new.index", "--jobs", "1")
    assert shown.code == 0, shown.err
    assert_harmless(shown.out)
    bad = assay("index", "build", "no\x1b[2J\n::error::such", "--index", tmp_path / "b.index")
    assert bad.code == 2
    assert_harmless(bad.err)
    assert len(bad.err.splitlines()) == 1


IDS = ['=HYPERLINK("http://x")', "@SUM(1)", "+1+1", "-7", "a\n::error::b", "\x1b[2J", "[/red]", "MBPP/1"]
ROWS = [ScoreRow(sample_id, {"loss": -1.5}, {"lrr": "=1+1\x9b"}) for sample_id in IDS]


def test_hostile_ids_of_samples_are_no_formulas():
    file = io.BytesIO()
    write_csv(ROWS, file, ["loss"])
    rows = list(csv.reader(io.StringIO(file.getvalue().decode(), newline="")))[1:]
    assert [row[0] for row in rows] == [f"'{sample_id}" if sample_id[0] in "=@+" else sample_id for sample_id in IDS]
    assert {(row[1], row[2][0]) for row in rows} == {("-1.5", "{")}


def test_hostile_ids_of_samples_are_whole_in_json_lines():
    file = io.BytesIO()
    write_jsonl(ROWS, file, ["loss"])
    assert_harmless(file.getvalue().decode())
    assert [json.loads(line)["id"] for line in file.getvalue().splitlines()] == IDS
