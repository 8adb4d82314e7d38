"""`assay trace` as a person meets it: tables, JSON, SARIF, exit codes, folders, standard input, benchmarks."""

import io
import json
import sys
from types import SimpleNamespace

import pytest

from assay.provenance import CodeIndex, Document, Origin

SHARE = """def share_of(basket, total):
    shares = {}
    for item, price in sorted(basket.items()):
        if price <= 0:
            raise ValueError(f'no price: {item}')
        shares[item] = round(price / total, 3)
    return [key for key, share in shares.items() if share > 0.25]
"""
FENCE = """def fence(points, width):
    posts, gaps = [], 0
    while points:
        first = points.pop()
        posts.append((first - width) // 2 + len(posts))
        gaps += first % 7 if first else width ** 2
    return posts, gaps
"""
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
    for told in ("shop/share.py:11–17", "4–10", "GPL-3.0-only", "Ada", "owner/shop", "characters", "0.99"):
        assert told in found.out


def test_a_renamed_copy_is_found_by_its_tokens(assay, index, tmp_path):
    path = tmp_path / "renamed.py"
    path.write_text(renamed(SHARE))
    (found,) = json.loads(assay("trace", path, "--index", index, "--json").out)
    assert (found["matches"][0]["channel"], found["matches"][0]["containment"]) == ("tokens", 1)
    assert found["matches"][0]["origins"][0]["author"] == "Ada"


def test_a_denied_licence_is_exit_code_1_and_is_told(assay, index, snippet):
    found = assay("trace", snippet, "--index", index, "--fail-on-licence", "GPL-*")
    assert found.code == 1
    assert "finding: snippet.py" in found.err.replace(str(snippet.parent) + "/", "")
    assert "under GPL-3.0-only" in found.err
    assert assay("trace", snippet, "--index", index, "--fail-on-licence", "MIT").code == 0


def test_standard_input_is_traced(assay, index, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(SHARE.encode())))
    (found,) = json.loads(assay("trace", "-", "--index", index, "--language", "py", "--json").out)
    assert (found["path"], found["language"], found["matches"][0]["containment"]) == ("stdin", "python", 1)


def test_a_folder_is_traced_function_by_function(assay, index, tmp_path):
    folder = tmp_path / "ours"
    folder.mkdir()
    (folder / "one.py").write_text(f"{OTHER}\n\n{SHARE}")
    (folder / "two.py").write_text(f"{FENCE}")
    found = json.loads(assay("trace", folder, "--index", index, "--json").out)
    matched = {(one["path"], one["name"]): one for one in found if one["matches"]}
    assert {path.rpartition("/")[2] + ":" + name for path, name in matched} == {"one.py:share_of", "two.py:fence"}
    whole = json.loads(assay("trace", folder, "--index", index, "--by", "file", "--json").out)
    assert [one["name"] for one in whole] == [None, None]
    assert "3 texts traced, 2 with a match" in assay("trace", folder, "--index", index).out


def test_without_a_match_it_says_why(assay, index, tmp_path):
    path = tmp_path / "other.py"
    path.write_text(OTHER)
    found = assay("trace", path, "--index", index)
    assert found.code == 0
    assert "no match: no document of the index shares" in found.out
    assert "looked up" in found.out
    path.write_text("x = 1\n")
    assert "no match: too short" in assay("trace", path, "--index", index).out


def test_sarif_has_the_finding_at_the_lines_of_the_file(assay, index, snippet, tmp_path):
    out = tmp_path / "found.sarif"
    assert assay("trace", snippet, "--index", index, "--sarif", out, "--fail-on-licence", "GPL-3.0-only").code == 1
    (result,) = json.loads(out.read_text())["runs"][0]["results"]
    assert result["ruleId"] == "denied-licence"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 4, "endLine": 10}


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
        (["snippet.py", "--benchmark", "mbpp"], "expected code to trace, or --benchmark"),
        (["snippet.py", "--fail-on-licence", "MIT OR X"], "expected one SPDX identifier"),
        (["snippet.py", "--method", "hst"], "has no vectors"),
        (["snippet.py", "--template", "absent.py"], "template absent.py: cannot be read"),
        (["snippet.py", "--sarif", "no/such/folder.sarif"], "cannot be written"),
        (["binary.bin"], "binary; expected source code"),
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


def test_samples_of_a_benchmark_are_looked_for(assay, index, tmp_path):
    rows = [
        ("copied", SHARE),
        ("renamed", renamed(FENCE.replace("points", "w1"))),
        ("absent", OTHER),
        ("short", "x = 1"),
    ]
    data = tmp_path / "bench.jsonl"
    data.write_text("".join(json.dumps({"id": name, "text": text, "lang": "python"}) + "\n" for name, text in rows))
    options = ("trace", "--benchmark", data, "--language", "lang", "--index", index)
    found = json.loads(assay(*options, "--json").out)
    kinds = {one["id"]: one["kind"] for one in found["per_sample"]}
    assert kinds == {"copied": "type 1", "renamed": "type 2", "absent": "absent", "short": "too short"}
    assert found["judged"] == 3
    assert found["rates"]["in the corpus"]["value"] == pytest.approx(2 / 3)
    shown = assay(*options).out
    assert "in the corpus" in shown
    assert "not judged" in shown


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
