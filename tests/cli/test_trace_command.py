"""`assay trace` as a person meets it: tables, JSON, SARIF, exit codes, folders, standard input."""

import io
import json
import re
import sys
from types import SimpleNamespace

import pytest

from assay.corpora import Document, Origin
from assay.provenance import CodeIndex
from support.snippets import FENCE
from support.snippets import SHARE_OF as SHARE

OTHER = """class Walker:
    async def walk(self, node, *, depth=3):
        yield node
        with self.lock as held:
            async for child in node.children:
                assert child is not held
                del held[child:depth]
"""


def renamed(text):
    for old, new in [
        ("basket", "b1"),
        ("total", "t2"),
        ("shares", "zed"),
        ("share", "q"),
        ("item", "k"),
        ("price", "v"),
    ]:
        text = text.replace(old, new)
    return text


def findings_in(finished):
    """The findings of all files in the JSON that a command printed."""
    return [finding for file in json.loads(finished.out)["files"] for finding in file["findings"]]


@pytest.fixture
def index(tmp_path):
    folder = tmp_path / "corpus.index"
    with CodeIndex.create(folder) as index:
        index.add(
            [
                Document(
                    SHARE,
                    "python",
                    "function",
                    "share_of",
                    (Origin("shop", "shop/share.py", "owner/shop", None, "GPL-3.0-only", "Ada", "https://a.b/c", 11),),
                ),
                Document(FENCE, "python", "function", "fence", (Origin("farm", "fence.py", licence="MIT"),)),
            ]
        )
        index.commit()
    return folder


@pytest.fixture
def snippet(tmp_path):
    path = tmp_path / "snippet.py"
    path.write_text(f"import os\n\n\n{SHARE}")
    return path


def test_a_copy_is_shown_with_lines_licence_author_and_confidence(assay, index, snippet):
    found = assay("trace", snippet, "--index", index)
    assert found.code == 0, found.err
    (line,) = found.out.splitlines()
    assert re.search(
        r"snippet\.py:4: GPL-3\.0-only: 7 of 7 lines of share_of, from owner/shop "
        r"\(shop/share\.py:11-17 \(share_of\) in owner/shop; by Ada; confidence 0\.99\d\d\)$",
        line,
    )


def test_a_pipe_gets_one_line_for_each_finding_however_narrow_it_is(assay, index, snippet):
    assert assay("trace", snippet, "--index", index, COLUMNS="40").out.count("\n") == 1


def test_a_terminal_gets_the_verdict_first(assay, index, snippet):
    shown = assay("trace", snippet, "--index", index, FORCE_COLOR="1").out
    assert "GPL-3.0-only: 7 of 7 lines of share_of, from owner/shop" in shown.splitlines()[0]
    assert "next: keep its licence" in shown
    assert "snippet.py:4-10 with shop/share.py:11-17" in shown
    assert "confidence 0" not in shown
    assert "confidence 0" in assay("trace", snippet, "--index", index, "-v", FORCE_COLOR="1").out


def test_a_renamed_copy_is_found_by_its_tokens(assay, index, tmp_path):
    path = tmp_path / "renamed.py"
    path.write_text(renamed(SHARE))
    (finding,) = findings_in(assay("trace", path, "--index", index, "--json"))
    assert (finding["by"], finding["containment"], finding["matched_lines"]) == ("tokens", 1, 6)
    assert finding["places"][0]["author"] == "Ada"


def test_a_denied_licence_is_exit_code_1_and_is_told(assay, index, snippet):
    found = assay("trace", snippet, "--index", index, "--fail-on-licence", "GPL-*")
    assert found.code == 1
    assert "snippet.py:4: denied licence GPL-3.0-only: 7 of 7 lines" in found.out
    assert "assay: gate: 1 finding under a denied licence in 2 judged parts" in found.err
    assert assay("trace", snippet, "--index", index, "--fail-on-licence", "MIT").code == 0
    assert assay("trace", snippet, "--index", index, "--fail-on-license", "copyleft").code == 1
    assert assay("trace", snippet, "--index", index, "--allow-licence", "GPL-*").code == 0
    assert assay("trace", snippet, "--index", index, "--allow-license", "permissive").code == 1


def test_what_own_leaves_out_is_counted(assay, index, snippet):
    gate = ("trace", snippet, "--index", index, "--fail-on-licence", "GPL-*", "--own")
    left_out, misspelt = assay(*gate, "Ada"), assay(*gate, "Adda")
    assert (left_out.code, misspelt.code) == (0, 1)
    assert "--own leaves out 1 finding\n" in left_out.err
    assert "--own leaves out 0 findings\n" in misspelt.err


def test_an_unknown_licence_alone_is_exit_code_3_unless_it_is_allowed(assay, tmp_path, snippet):
    place = tmp_path / "unknown.index"
    with CodeIndex.create(place) as index:
        index.add([Document(SHARE, "python", "function", "share_of", (Origin("shop", "share.py"),))])
        index.commit()
    gate = ("trace", snippet, "--index", place, "--fail-on-licence", "copyleft")
    found = assay(*gate)
    assert found.code == 3
    assert "1 finding under an unknown licence" in found.err
    github = assay(*gate, "--format", "github").out
    assert "::warning " in github
    assert "licence unknown: " in github
    (result,) = json.loads(assay(*gate, "--sarif", "-").out)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("source-found", "warning")
    assert assay(*gate, "--allow-licence", "unknown").code == 0
    assert assay(*gate, "--fail-on-licence", "unknown").code == 1
    assert assay(*gate, "--write-baseline", tmp_path / "accepted.json").code == 0
    assert assay(*gate, "--baseline", tmp_path / "accepted.json").code == 0


def test_standard_input_is_traced(assay, index, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(SHARE.encode())))
    (found,) = json.loads(assay("trace", "-", "--index", index, "--language", "py", "--json").out)["files"]
    assert (found["path"], found["language"], found["findings"][0]["containment"]) == ("stdin", "python", 1)


def test_a_folder_is_traced_function_by_function(assay, index, tmp_path):
    folder = tmp_path / "ours"
    folder.mkdir()
    (folder / "one.py").write_text(f"{OTHER}\n\n{SHARE}")
    (folder / "two.py").write_text(f"{FENCE}")
    by_function = assay("trace", folder, "--index", index, "--json")
    assert [(entry["part"], entry["name"]) for entry in findings_in(by_function)] == [
        ("function", "share_of"),
        ("function", "fence"),
    ]
    by_file = findings_in(assay("trace", folder, "--index", index, "--by", "file", "--json"))
    assert {entry["part"] for entry in by_file} == {"file"}
    assert "2 files with 3 functions traced: copies in 2 of 2 files: " in assay("trace", folder, "--index", index).err


def test_what_a_folder_keeps_from_being_read_is_traced_or_named(assay, index, tmp_path):
    code = tmp_path / "src"
    code.mkdir()
    (code / "made.py").write_text(f"# Code generated by a tool. DO NOT EDIT.\n{SHARE}")
    (code / "long.py").write_text(f"x = '{'y' * 900_000}'\n{SHARE}")
    (code / "left.py").write_text(SHARE)
    (code / ".gitignore").write_text("left.py\n")
    finished = assay("trace", code, "--index", index, "--fail-on-licence", "copyleft", "--json")
    traced = [file["path"].rpartition("/")[2] for file in json.loads(finished.out)["files"]]
    assert traced == [".gitignore", "long.py", "made.py"]
    assert len([finding for finding in findings_in(finished) if finding["denied"]]) == 2
    assert "note: without code, or left out: 1 ignored\n" in finished.err


def test_a_binary_file_among_others_is_named(assay, index, snippet):
    binary = snippet.with_name("logo.bin")
    binary.write_bytes(b"\0\1\2\xff" * 99)
    found = assay("trace", binary, snippet, "--index", index)
    assert (found.code, "traced: GPL-3.0-only: 7 of 7 lines" in found.err, "note: not judged: " in found.err) == (
        0,
        True,
        True,
    )


def test_without_a_match_it_says_why(assay, index, tmp_path):
    path = tmp_path / "other.py"
    path.write_text(OTHER)
    found = assay("trace", path, "--index", index)
    assert found.code == 0
    assert "other.py: no source: no document of the index shares" in found.out
    assert "looked up" in assay("trace", path, "--index", index, "-v", FORCE_COLOR="1").out
    path.write_text("x = 1\n")
    assert "no source: too short" in assay("trace", path, "--index", index).out


def test_sarif_has_the_finding_at_the_lines_of_the_file(assay, index, snippet, tmp_path):
    out = tmp_path / "found.sarif"
    assert assay("trace", snippet, "--index", index, "--sarif", out, "--fail-on-licence", "GPL-3.0-only").code == 1
    (result,) = json.loads(out.read_text())["runs"][0]["results"]
    assert result["ruleId"] == "denied-licence"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 4, "endLine": 10}


def test_sarif_can_go_to_standard_output_alone(assay, index, snippet):
    printed = assay("trace", snippet, "--index", index, "--sarif", "-")
    assert printed.code == 0
    assert json.loads(printed.out)["version"] == "2.1.0"


def test_other_formats_have_a_row_or_an_annotation_for_each_finding(assay, index, snippet):
    denied = ("trace", snippet, "--index", index, "--fail-on-licence", "GPL-3.0-only", "--format")
    github = assay(*denied, "github")
    assert github.code == 1
    (error,) = [line for line in github.out.splitlines() if line.startswith("::error ")]
    assert "line=4,endLine=10" in error
    assert "snippet.py" in error
    markdown = assay(*denied, "markdown")
    assert markdown.code == 1
    assert "snippet.py:4-10" in markdown.out


def test_a_template_is_ignored(assay, index, snippet, tmp_path):
    given = tmp_path / "given.py"
    given.write_text(SHARE)
    found = assay("trace", snippet, "--index", index, "--template", given)
    assert "boilerplate" in found.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "expected code to trace"),
        (["absent.py"], "absent.py: cannot be read: No such file"),
        (["snippet.py", "--benchmark", "mbpp"], "--benchmark: expected `assay scan CORPUS"),
        (["snippet.py", "--fail-on-licence", "MIT OR X"], "received several licences"),
        (["snippet.py", "--fail-on-licence", "GPL3"], "did you mean GPL-3.0-only"),
        (["snippet.py", "--language", "pyton"], "no language is called 'pyton'; did you mean python"),
        (["snippet.py", "--baseline", "b.json"], "expected --fail-on-licence or --allow-licence with it"),
        (["snippet.py", "--fail-on-licence", "MIT", "--baseline", "b.json"], "expected a baseline"),
        (["snippet.py", "--write-clean", "a.jsonl"], "--write-clean: expected `assay scan CORPUS"),
        (["snippet.py", "--verbatim", "--sarif", "a.sarif"], "cannot be used with --verbatim"),
        (["snippet.py", "--method", "hst"], "has no vectors"),
        (["snippet.py", "--template", "absent.py"], "template absent.py: cannot be read"),
        (["snippet.py", "--sarif", "no/such/folder.sarif"], "does not exist"),
        (["binary.bin"], "binary, and no kind of media that cannot hold code); expected code"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(assay, index, snippet, arguments, told):
    (snippet.parent / "binary.bin").write_bytes(b"\0\1\2\xff" * 99)
    found = assay("trace", *arguments, "--index", index)
    assert found.code == 2
    assert told in found.err
    assert found.err.count("\n") == 1


def test_an_index_that_is_none_is_told(assay, snippet, tmp_path):
    found = assay("trace", snippet, "--index", tmp_path / "nothing")
    assert (found.code, "no index here" in found.err) == (2, True)


def test_a_copied_function_among_own_ones_fails_alone_and_beside_another_file(assay, index, tmp_path):
    own = "\n\n".join(OTHER.replace("Walker", f"W{at}").replace("child", f"c{at}") for at in range(20))
    mixed, other = tmp_path / "mixed.py", tmp_path / "other.py"
    mixed.write_text(f"{own}\n\n{SHARE}\n")
    other.write_text(OTHER)
    gate = ("--index", index, "--fail-on-licence", "copyleft")
    assert assay("trace", mixed, *gate).code == 1
    assert assay("trace", mixed, other, *gate).code == 1
    assert assay("trace", other, *gate).code == 0


def test_a_baseline_is_written_once_and_accepts_afterwards(assay, index, snippet):
    gate = ("trace", "snippet.py", "--index", index, "--fail-on-licence", "copyleft")
    assert assay(*gate, "--write-baseline", "known.json").code == 0
    accepted = assay(*gate, "--baseline", "known.json")
    assert (accepted.code, "0 findings" in accepted.err, "1 accepted" in accepted.err) == (0, True, True)
    assert "accepted (in the baseline)" in accepted.out


def test_passages_that_occur_word_for_word_are_listed(assay, index, snippet):
    found = assay("trace", snippet, "--index", index, "--verbatim")
    assert "snippet.py:4: " in found.out
    assert "words as in shop/share.py:11-17 (share_of) in owner/shop (GPL-3.0-only): def share_of" in found.out
    (passage,) = json.loads(assay("trace", snippet, "--index", index, "--verbatim", "--json").out)
    assert passage["text"] == SHARE.strip()
    assert " ".join(SHARE.split()) in found.out
    assert "…" not in found.out


def test_an_index_is_calibrated_on_unrelated_code(assay, index, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    for at in range(30):
        (own / f"{at}.py").write_text(
            OTHER.replace("Walker", f"W{at}").replace("depth", f"d{at}") + f"\nx{at} = {at}\n"
        )
    found = assay("index", "calibrate", "--index", index, "--unrelated", own, "--called", "our own code")
    assert found.code == 0, found.err
    assert "characters" in found.out
    written = json.loads((index / "calibration.json").read_text())
    assert written["provenance"]["unrelated"] == "our own code"
    few = assay("index", "calibrate", "--index", index, "--unrelated", own / "1.py")
    assert (few.code, "expected at least 20" in few.err) == (2, True)
    short = tmp_path / "short"
    short.mkdir()
    for at in range(30):
        (short / f"{at}.py").write_text("def f(): 0\n")
    nothing = assay("index", "calibrate", "--index", index, "--unrelated", short)
    assert nothing.code == 2
    assert "nothing was measured" in nothing.err
    assert json.loads((index / "calibration.json").read_text()) == written


@pytest.mark.parametrize(("form", "key"), [("spdx", "spdxVersion"), ("cyclonedx", "bomFormat")])
def test_a_bill_of_materials_is_an_output_of_trace_alone(assay, index, snippet, form, key):
    found = assay("trace", snippet, "--index", index, "--format", form)
    assert found.code == 0
    assert key in json.loads(found.out)
    refused = assay("index", "info", "--index", index, "--format", form)
    assert (refused.code, refused.out) == (2, "")
    assert "has no bill of materials" in refused.err
    assert assay("trace", snippet, "--index", index, "--format", form, "--verbatim").code == 2


def test_a_file_that_could_hold_code_and_is_not_read_is_exit_code_3_until_it_is_accepted(assay, index, tmp_path):
    code = tmp_path / "src"
    code.mkdir()
    (code / "own.py").write_text("def own(a):\n    return a.b\n")
    (code / "lib.so").write_bytes(b"\x7fELF\0\1\2" * 99)
    (code / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\1\2" * 99)
    gate = ("--index", index, "--fail-on-licence", "copyleft")
    finished = assay("trace", code, *gate, "--write-baseline", tmp_path / "accepted.json", "--json")
    assert (finished.code, "without code, or left out: 1 media" in finished.err) == (0, True)
    finished = assay("trace", code, *gate, "--json")
    (unread,) = json.loads(finished.out)["not_judged"]
    assert (finished.code, unread["path"].rpartition("/")[2]) == (3, "lib.so")
    assert assay("trace", code, "--index", index).code == 0
    assert assay("trace", code, *gate, "--baseline", tmp_path / "accepted.json").code == 0
