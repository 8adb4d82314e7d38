"""Accepted findings: a comment with a reason, a baseline, and lines that a change does not add."""

import json

import pytest

from assay.corpora import Document, Origin, SourceText, added_lines, added_parts, parts_of
from assay.errors import DataError
from assay.licences import read_rules
from assay.provenance import CodeIndex, Thresholds, TraceSettings, judge, trace_file
from assay.provenance.findings import accept_findings, read_baseline, write_baseline

RULES = read_rules(["copyleft"])
COPIED = """def share_of(basket, total):
    shares = {}
    for item, price in sorted(basket.items()):
        if price <= 0:
            raise ValueError(f'no price: {item}')
        shares[item] = round(price / total, 3)
    return [key for key, share in shares.items() if share > 0.25]
"""
OWN = "def own(a):\n    return a.b\n"


@pytest.fixture
def index(tmp_path):
    with CodeIndex.create(tmp_path / "corpus.index") as index:
        origin = Origin("gnu", "share.py", licence="GPL-3.0-only")
        index.add([Document(COPIED, "python", "function", "share_of", (origin,))])
        index.commit()
        yield index


def judged(text, index, baseline=frozenset(), path="own.py", parts=parts_of):
    result = trace_file(SourceText(path, text, "python"), index, settings=TraceSettings(Thresholds()), parts=parts)
    return accept_findings(judge([result], RULES), {path: text}, baseline)


@pytest.mark.parametrize(
    ("comment", "excuse"),
    [
        ("# assay: ignore we wrote both", "we wrote both"),
        ("# assay: ignore: written by us", "written by us"),
        ("#assay: ignore -- ours", "ours"),
        ("# assay: ignore", None),
        ("# assay: ignored by all", None),
        ("# nothing", None),
    ],
)
def test_a_comment_with_a_reason_accepts_a_finding(index, comment, excuse):
    judgement = judged(COPIED.replace("shares = {}", f"shares = {{}}  {comment}"), index)
    assert [denial.excuse for denial in judgement.denials] == [excuse]
    assert len(judgement.failures) == (excuse is None)
    assert bool(judgement.remarks) == comment.endswith("ignore")


def test_the_comment_may_be_on_the_line_above_and_reaches_no_other_finding(index):
    assert judged(f"{OWN}\n# assay: ignore ours\n{COPIED}", index).failures == ()
    assert len(judged(f"# assay: ignore ours\n{OWN}\n{COPIED}", index).failures) == 1


def test_a_baseline_accepts_the_same_lines_wherever_they_move(index, tmp_path):
    path = tmp_path / "baseline.json"
    before = judged(COPIED, index)
    write_baseline(path, before.denials, {"own.py": COPIED})
    keys = read_baseline(path)
    assert judged(f"{OWN}\n\n{COPIED}", index, keys).failures == ()
    assert judged(COPIED, index, keys).denials[0].is_in_baseline
    assert len(judged(COPIED.replace("0.25", "0.5"), index, keys).failures) == 1
    assert len(judged(COPIED, index, keys, path="other.py").failures) == 1


@pytest.mark.parametrize("content", ["", "[]", '{"format": 7, "findings": []}', '{"format": 1}'])
def test_what_is_not_a_baseline_is_refused(tmp_path, content):
    path = tmp_path / "baseline.json"
    path.write_text(content)
    with pytest.raises(DataError, match="baseline"):
        read_baseline(path)


def diff_of(path, before, after):
    lines = after.splitlines()
    start = len(before.splitlines())
    added = "".join(f"+{line}\n" for line in lines[start:])
    return f"--- a/{path}\n+++ b/{path}\n@@ -{start},0 +{start + 1},{len(lines) - start} @@\n{added}"


def test_only_lines_that_a_change_adds_are_judged(index):
    after = f"{OWN}\n{COPIED}"
    added = added_lines(diff_of("own.py", OWN, after))["own.py"]
    assert judged(after, index, parts=lambda file: added_parts(file, added)).failures
    elsewhere = added_lines(diff_of("own.py", COPIED, f"{COPIED}\n{OWN}"))["own.py"]
    assert judged(f"{COPIED}\n{OWN}", index, parts=lambda file: added_parts(file, elsewhere)).failures == ()


def test_the_lines_of_a_diff_are_those_of_the_new_file():
    diff = (
        "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n x = 1\n+y = 2\n z = 3\n"
        "--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        '--- /dev/null\n+++ "b/caf\\303\\251.py"\n@@ -0,0 +1,2 @@\n+a\n+b\n'
    )
    assert added_lines(diff) == {"a.py": {2}, "gone.py": frozenset(), "café.py": {1, 2}}
    assert added_lines("") == {}


def test_a_string_of_several_lines_stays_a_string_around_added_lines():
    text = 'x = """\nshares = {}\n"""\ny = 2\n'
    (part,) = added_parts(SourceText("a.py", text, "python"), frozenset({2}))
    assert part.text == 'x = """\nshares = {}\n"""\n\n'


def test_the_baseline_names_its_findings_for_the_reader(index, tmp_path):
    path = tmp_path / "baseline.json"
    write_baseline(path, judged(COPIED, index).denials, {"own.py": COPIED})
    (entry,) = json.loads(path.read_text())["findings"]
    assert (entry["path"], entry["source"], entry["licence"]) == ("own.py", "share.py", "GPL-3.0-only")
