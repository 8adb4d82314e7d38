"""`assay check`: a change is judged by the rules of the commit that it is merged into."""

import base64
import html
import io
import json
import os
import textwrap
import zipfile

import pytest

from assay.corpora import Document, Origin
from assay.provenance import CodeIndex
from support.commands import run_assay
from support.dated_repository import DatedRepository
from support.first_screen import broken_limits
from support.snippets import FENCE
from support.snippets import SHARE_OF as COPIED

OWN = "def own(a):\n    return a.b\n"
TRAILER = "Add\n\nCo-authored-by: Claude <noreply@anthropic.com>"


class Branch(DatedRepository):
    """A branch `work` from `main`, which has the rules."""

    def rules(self, text):
        self.git("checkout", "-q", "main")
        self.commit("2020-01-02", {"assay.toml": text})
        self.git("checkout", "-qB", "work")

    def save(self, files, message="Change"):
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.git("add", "-A")
        self.git("commit", "-qm", message)


@pytest.fixture
def index(tmp_path):
    folder = tmp_path / "corpus.index"
    with CodeIndex.create(folder) as index:
        documents = (("share_of", COPIED, "GPL-3.0-only"), ("fence", FENCE, "unknown"))
        index.add(
            [
                Document(text, "python", "function", name, (Origin("gnu", f"{name}.py", licence=licence),))
                for name, text, licence in documents
            ]
        )
        index.commit()
    return folder


@pytest.fixture
def rules(index):
    return f'[check]\nindex = "{index}"\nfail-on-licence = ["copyleft"]\nbaseline = "accepted.json"\n'


EMPTY = '{"format": 1, "findings": []}'


@pytest.fixture
def branch(tmp_path, rules, monkeypatch):
    branch = Branch(tmp_path / "project")
    branch.commit("2020-01-01", {"old.py": OWN, "accepted.json": EMPTY})
    branch.rules(rules)
    monkeypatch.chdir(branch.path)
    return branch


def verdict(*arguments):
    finished = run_assay("check", *arguments)
    return finished.code, finished.out.partition("\n")[0]


def test_a_change_without_a_finding_is_clean(branch):
    branch.save({"new.py": OWN.replace("own", "new")})
    assert verdict() == (0, "Clean")
    assert verdict("--base", "work") == (0, "Clean")


def test_a_copy_under_a_denied_licence_is_a_finding_in_text_json_and_sarif(branch, tmp_path):
    branch.save({"new.py": f"{OWN}\n\n{COPIED}"})
    finished = run_assay("check", "--sarif", tmp_path / "log.sarif")
    first, because, *_ = finished.out.splitlines()
    assert (finished.code, first, because) == (1, "Findings", "Changed code is a copy under a denied licence.")
    assert "next: look at new.py:5\n" in finished.out
    (run,) = json.loads((tmp_path / "log.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("denied-licence", "error")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "denied-licence"
    data = json.loads(run_assay("check", "--json").out)
    assert (data["verdict"], data["lines"]) == ("findings", {"new.py": 11})
    assert "::error" in run_assay("check", "--format", "github").out


def test_the_rules_hold_in_every_folder_of_the_repository(branch, monkeypatch):
    branch.save({"src/new.py": COPIED})
    monkeypatch.chdir(branch.path / "src")
    assert verdict() == (1, "Findings")


def test_only_lines_that_the_branch_adds_are_judged(branch):
    branch.git("checkout", "-q", "main")
    branch.save({"copied.py": COPIED})
    branch.git("checkout", "-qB", "work")
    branch.git("mv", "copied.py", "moved.py")
    branch.save({"old.py": f"{OWN}\nX = 1\n"})
    assert verdict() == (0, "Clean")


WEAKENED = {
    "the rules": {"assay.toml": "[check]\n"},
    "no rules": {"assay.toml": b"\xff"},
    "the baseline": {"accepted.json": "accept"},
    "a comment": {"new.py": f"# assay: ignore we wrote this\n{COPIED}"},
    "attributes": {".gitattributes": "*.py binary\n"},
    "returns": {"new.py": "# x\r# y\r# z\r" * 9 + "\n" + COPIED},
    "the rules of another file": {"pyproject.toml": "[tool.assay.check]\n"},
}


@pytest.mark.parametrize("files", WEAKENED.values(), ids=WEAKENED)
def test_a_change_cannot_weaken_its_own_gate(branch, files):
    branch.save({"new.py": COPIED})
    run_assay("check", "--write-baseline", "kept.json")
    accepted = (branch.path / "kept.json").read_text()
    (branch.path / "kept.json").unlink()
    branch.save({name: accepted if text == "accept" else text for name, text in files.items()})
    assert verdict() == (1, "Findings")
    assert verdict("--config", "assay.toml") == (1, "Findings")
    # the same content in the base has its effect
    if "accepted.json" in files:
        branch.git("checkout", "-q", "main")
        branch.save({"accepted.json": accepted})
        branch.git("checkout", "-q", "work")
        assert verdict() == (0, "Clean")


def test_a_change_cannot_hide_behind_a_name_or_a_link(branch, rules):
    (branch.path / "other.toml").write_text("[check]\n")
    (branch.path / "assay.toml").unlink()
    (branch.path / "assay.toml").symlink_to(branch.path / "other.toml")
    (branch.path / os.fsdecode(b"caf\xe9.py")).write_text(COPIED)
    branch.save({})
    assert verdict() == (1, "Findings")


def test_a_name_that_reads_like_another_one_and_a_pointer_hide_nothing(branch):
    (branch.path / os.fsdecode(b"a\xff.py")).write_text(f"# one line\n{COPIED}")
    branch.save({"a\\xff.py": "# one line\n"})
    assert verdict() == (1, "Findings")
    branch.git("checkout", "-qB", "work", "main")
    branch.save({"new.py": f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 9\n"})
    assert verdict() == (3, "Undecided")


def test_rules_that_a_partial_clone_lacks_are_no_missing_rules(branch, tmp_path, monkeypatch):
    branch.save({"new.py": COPIED})
    branch.git("checkout", "-q", "main")
    branch.save({"assay.toml": f"{(branch.path / 'assay.toml').read_text()}# newer than the branch\n"})
    branch.git("checkout", "-q", "work")
    branch.git("config", "uploadpack.allowFilter", "true")
    branch.git("clone", "-q", "--filter=blob:none", branch.path.as_uri(), str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    finished = run_assay("check", "--base", "origin/main")
    assert (finished.code, "the repository lacks its content" in finished.err) == (2, True)


def test_a_change_cannot_bring_its_own_index(branch, rules, index):
    inside = branch.path / "licensed.index"
    index.rename(inside)
    (branch.path / ".git/info/exclude").write_text("licensed.index\n")
    branch.rules(rules.replace(str(index), "licensed.index"))
    branch.save({"new.py": OWN})
    assert verdict() == (0, "Clean")
    (inside / "further.txt").write_text("x")
    branch.git("add", "-f", "licensed.index/further.txt")
    branch.git("commit", "-qm", "Index")
    refused = run_assay("check")
    assert (refused.code, "a change that writes the index" in refused.err) == (2, True)


def base(branch, files):
    branch.git("checkout", "-q", "main")
    branch.save(files)
    branch.git("checkout", "-qB", "work")


def test_a_comment_that_the_base_has_accepts_nothing_in_code_that_the_change_adds(branch):
    text = f"# assay: ignore ours\n{OWN}"
    base(branch, {"new.py": text})
    branch.save({"new.py": text.replace(OWN, COPIED)})
    assert verdict() == (1, "Findings")


def test_a_block_that_the_change_leaves_alone_is_no_finding(branch):
    text = f"# assay: ignore ours\n{COPIED}"
    base(branch, {"new.py": text})
    branch.save({"new.py": f"{text}\n\n{OWN}"})
    assert verdict() == (0, "Clean")


def quoted(text, mark='"""'):
    return f"{mark}\n{text}{mark}\n"


def notebook(source):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


BECAME_CODE = {
    "a text that gets the name of a language": ({"notes.txt": COPIED}, {"notes.txt": None, "code.py": COPIED}),
    "quotes around lines": ({"a.py": quoted(COPIED)}, {"a.py": COPIED}),
    "one quote of two": ({"a.py": f'x = 1\n"""\n{COPIED}"""\n'}, {"a.py": f'x = 1\n""" """\n{COPIED}'}),
    "marks of a comment": ({"a.js": f"/*\n{COPIED}*/\n"}, {"a.js": COPIED}),
    "a cell that was prose": (
        {"a.ipynb": notebook(quoted(COPIED)).replace("code", "markdown")},
        {"a.ipynb": notebook(COPIED)},
    ),
}


@pytest.mark.parametrize(("before", "after"), BECAME_CODE.values(), ids=BECAME_CODE)
def test_lines_that_become_code_are_judged(branch, before, after):
    base(branch, before)
    for name, text in after.items():
        if text is None:
            (branch.path / name).unlink()
    branch.save({name: text for name, text in after.items() if text is not None})
    assert verdict() == (1, "Findings")


def zipped(**files):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return raw.getvalue()


LINES = COPIED.splitlines()
PLACES = {
    "cell": {"a.ipynb": notebook(COPIED)},
    "cell of lines": {"a.ipynb": notebook(COPIED.splitlines(keepends=True))},
    "fence": {"README.md": f"# Title\n\n```python\n{COPIED}```\n"},
    "fence of a list": {"README.md": "- item\n\n  ```\n" + textwrap.indent(COPIED, "  ") + "  ```\n"},
    "directive": {"a.rst": "Text.\n\n.. code-block:: python\n\n" + textwrap.indent(COPIED, "   ") + "\nEnd.\n"},
    "prose": {"notes.txt": f"Some words come first.\n\n{COPIED}\nand some after it.\n"},
    "component": {"a.vue": f'<template/>\n<script lang="python">\n{COPIED}</script>\n'},
    "page": {"a.html": f"<pre>\n{html.escape(COPIED)}</pre>\n"},
    "suffix of no language": {"a.unheard-of": COPIED},
    "no suffix": {"run": f"#!/usr/bin/env python3\n{COPIED}"},
    "value": {"a.json": json.dumps({"code": COPIED})},
    "patch": {"a.patch": "--- a\n+++ b\n@@ -1,0 +1,8 @@\n" + textwrap.indent(COPIED, "+", lambda _: True)},
    "patch that takes it away": {
        "a.diff": "--- a\n+++ b\n@@ -1,8 +0,0 @@\n" + textwrap.indent(COPIED, "-", lambda _: True)
    },
    "template that begins like JSON": {"a.j2": f"{{% raw %}}\n{COPIED}{{% endraw %}}\n"},
    "table of TOML, which begins like JSON": {"a.toml": f'[table]\ncode = """\n{COPIED}"""\n'},
    "key": {"a.json": json.dumps({COPIED: 1})},
    "quoted string": {"a.yaml": f"code: {json.dumps(COPIED)}\n"},
    "quoted string cut off": {"a.yaml": f"code: {json.dumps(COPIED)[:-1]}\n"},
    "quoted string with an escape that JSON lacks": {"a.yaml": f'code: {json.dumps(COPIED)[:-1]}\\x20"\n'},
    "quoted lines": {"a.po": "".join(f"{json.dumps(line)}\n" for line in COPIED.splitlines(keepends=True))},
    "base64": {"a.txt": base64.encodebytes(COPIED.encode()).decode()},
    "base64 in a source": {"a.py": f'{OWN}CODE = "{base64.urlsafe_b64encode(COPIED.encode()).decode()}"\n'},
    "comment": {"a.py": f"{OWN}{textwrap.indent(COPIED, '# ', lambda _: True)}"},
    "comment of another language": {"a.sql": textwrap.indent(COPIED, "-- ", lambda _: True)},
    "comment of several lines": {"a.c": f"/*\n{textwrap.indent(COPIED, ' * ', lambda _: True)}*/\nint x;\n"},
    "mail that quotes a patch": {"mail.txt": "> @@ -0,0 +1,8 @@\n" + textwrap.indent(COPIED, "> +", lambda _: True)},
    "strings of lines": {"a.js": "const s = [\n" + "".join(f"  {json.dumps(line)},\n" for line in LINES) + "];\n"},
    "strings in other quotes": {"a.py": "CODE = (\n" + "".join(f"    {line + chr(10)!r}\n" for line in LINES) + ")\n"},
    "commands that write lines": {
        "Dockerfile": "FROM x\nRUN " + " && \\\n ".join(f"echo {json.dumps(line)} >> a.py" for line in LINES) + "\n"
    },
    "attachment": {"a.ipynb": notebook("x = 1").replace("code", base64.b64encode(COPIED.encode()).decode())},
    "archive": {"a.zip": zipped(**{"b/c.py": COPIED})},
    "wheel inside an archive": {"a.zip": zipped(**{"b.whl": zipped(**{"c.py": COPIED})})},
    "image that goes on as a text": {"a.gif": b"GIF89a\0\0\1;\n" + COPIED.encode()},
}


@pytest.mark.parametrize("files", PLACES.values(), ids=PLACES)
def test_a_copy_is_found_wherever_it_stands(branch, files):
    branch.save(files)
    assert verdict() == (1, "Findings")


NOT_READ = {
    "compiled": {"a.so": b"\x7fELF\0\1\2" * 99},
    "document": {"a.pdf": b"%PDF-1.7\n\0\1\2\xff" * 99},
    "encrypted or broken archive": {"a.zip": b"PK\3\4" + b"\0" * 99},
    "minified": {"a.min.js": "function a(b){return b.map(c=>c+1)}\n"},
    "minified without a name": {"a.js": "function a(b,c){for(var d=0;d<b.length;d++){b[d]=c(b[d]);}return b;}" * 9},
    "too large": {"a.py": "x = 1\n" * 200_000},
    "LFS pointer": {"a.bin": f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 9\n"},
}


@pytest.mark.parametrize("files", NOT_READ.values(), ids=NOT_READ)
def test_a_file_that_could_hold_code_and_is_not_read_leaves_the_rule_undecided(branch, tmp_path, files):
    branch.save(files)
    finished = run_assay("check", "--write-baseline", tmp_path / "accepted.json")
    assert (finished.code, finished.out.partition("\n")[0]) == (3, "Undecided")
    (name,) = files
    assert f"next: read {name} yourself" in finished.out
    base(branch, {"accepted.json": (tmp_path / "accepted.json").read_text()})
    branch.save(files)
    assert verdict() == (0, "Clean")


def test_what_cannot_hold_code_is_counted_and_changes_no_answer(branch):
    branch.save({"a.png": b"\x89PNG\r\n\x1a\n\0\1\2" * 99, "b.ttf": b"\0\1\0\0\0" * 99, "empty.py": ""})
    (branch.path / "link.py").symlink_to("old.py")
    branch.save({})
    finished = run_assay("check")
    assert (finished.code, "Cannot hold code: 1 empty, 1 link to a judged file, 2 media." in finished.out) == (0, True)


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\0\1\2" * 99 + b"PK\3\4\0\0",
        b"%PDF-1.4\n1 0 obj\n<< >>\nstream\n(def f\\(x\\):) Tj\nendstream\n",
        rb"{\rtf1 def f(x):\par     return x\par }",
    ],
    ids=["an archive behind a picture", "PDF without binary parts", "RTF"],
)
def test_what_looks_like_media_or_text_but_could_hold_code_is_not_clean(branch, content):
    branch.save({"a.dat": content})
    assert verdict() == (3, "Undecided")


def test_a_link_gives_a_text_the_name_of_a_language(branch):
    base(branch, {"notes.txt": COPIED})
    (branch.path / "deep").mkdir()
    (branch.path / "deep/x.py").symlink_to("../notes.txt")
    branch.save({})
    assert verdict() == (1, "Findings")


def test_the_files_of_a_submodule_are_judged_where_they_are(branch):
    branch.git("init", "-q", "sub.py")
    (branch.path / "sub.py/new.py").write_text(COPIED)
    branch.git("-C", "sub.py", "add", "-A")
    branch.git("-C", "sub.py", "-c", "user.name=n", "-c", "user.email=a@b.c", "commit", "-qm", "x")
    branch.save({})
    finished = run_assay("check")
    assert (finished.code, "look at sub.py/new.py:1" in finished.out) == (1, True)
    (branch.path / "sub.py").rename(branch.path.parent / "away")
    assert verdict() == (3, "Undecided")


def test_what_cannot_be_decided_does_not_pass(branch, rules, monkeypatch):
    branch.save({"new.py": FENCE})
    assert verdict() == (3, "Undecided")
    monkeypatch.setattr("assay.corpora.change_reading.LARGEST_TEXT", 10)
    finished = run_assay("check")
    assert (finished.code, "next: read new.py yourself" in finished.out) == (3, True)


def test_a_table_with_another_name_is_no_missing_rule(branch):
    branch.rules((branch.path / "assay.toml").read_text().replace("[check]", "[chekc]"))
    finished = run_assay("check")
    assert (finished.code, "received no table check; did you mean chekc?" in finished.err) == (2, True)


def test_rules_that_name_a_baseline_can_write_the_first_one(branch, tmp_path):
    branch.rules((branch.path / "assay.toml").read_text().replace("accepted.json", "missing.json"))
    branch.save({"new.py": f"# SPDX-License-Identifier: GPL-2.0-only\n{OWN}"})
    assert run_assay("check").code == 2
    assert run_assay("check", "--write-baseline", tmp_path / "missing.json").code == 1
    assert json.loads((tmp_path / "missing.json").read_text())["findings"]


def test_without_an_index_the_answer_says_that_copies_were_not_looked_for(branch):
    branch.rules('[check]\nfail-on-licence = ["copyleft"]\n')
    branch.save({"new.py": COPIED})
    assert "copies were not looked for" in " ".join(run_assay("check").out.split())


@pytest.mark.slow
def test_a_licence_that_added_lines_state(branch, tmp_path):
    header = "# SPDX-License-Identifier: GPL-2.0-only\n"
    branch.save({"new.py": f"{header}{OWN}"})
    assert verdict() == (1, "Findings")
    assert "new.py:1" in run_assay("check").out
    run_assay("check", "--write-baseline", tmp_path / "accepted.json")
    branch.rules((branch.path / "assay.toml").read_text().replace("accepted.json", str(tmp_path / "accepted.json")))
    branch.save({"new.py": f"{header}{OWN}"})
    accepted = run_assay("check")
    assert accepted.code == 0
    # the table of a terminal breaks long cells, so the words are looked for in the JSON
    stated = [entry for entry in json.loads(run_assay("check", "--json").out)["statements"] if entry["licence"]]
    assert [(entry["licence"], entry["excuse"]) for entry in stated] == [("GPL-2.0-only", "in the baseline")]
    log = json.loads(run_assay("check", "--sarif", "-").out)
    assert log["runs"][0]["results"][0]["suppressions"]


@pytest.mark.parametrize(
    "text",
    ["# GPL and copyleft\nX = 1\n", f'{OWN * 200}\nX = "SPDX-License-Identifier: GPL-2.0-only"\n'],
    ids=["mentioned", "in a string"],
)
def test_words_about_licences_state_none(branch, text):
    branch.save({"new.py": text})
    assert verdict() == (0, "Clean")


def test_the_staged_change_is_judged_against_the_last_commit(branch):
    (branch.path / "new.py").write_text(COPIED)
    (branch.path / "assay.toml").write_text("[check]\n")
    assert verdict("--staged") == (0, "Clean")
    branch.git("add", "-A")
    (branch.path / "new.py").write_text(OWN)  # the work tree does not count
    assert verdict("--staged") == (1, "Findings")
    refused = run_assay("check", "--staged", "--base", "main")
    assert (refused.code, "--base has no effect" in refused.err) == (2, True)


WRITERS = {"agent": TRAILER, "unrecorded": "Add", "contradicting": TRAILER}


@pytest.mark.parametrize("writer", WRITERS)
def test_rules_on_who_wrote_the_change(branch, writer):
    branch.rules(f'[check]\nfail-on-writer = ["{writer}"]\n')
    branch.save({"new.py": OWN}, WRITERS[writer])
    if writer == "contradicting":
        assert verdict() == (0, "Clean")
        note = 'new.py\n  h_1 2\n---\n{"schema_version": "authorship/3.0.0", "humans": {"h_1": {}}}'
        branch.git("notes", "--ref", "ai", "add", "-m", note)
    assert verdict() == (1, "Findings")
    branch.git("notes", "--ref", "ai", "add", "-f", "-m", "garbage")
    branch.git("commit", "-q", "--amend", "-m", "Add", "--no-edit")
    other = {"agent": "Clean", "unrecorded": "Findings", "contradicting": "Clean"}
    assert verdict()[1] == other[writer]


def test_a_record_that_cannot_be_read_leaves_a_rule_on_writers_undecided(branch):
    branch.rules('[check]\nfail-on-writer = ["agent"]\n')
    branch.save({"new.py": OWN})
    branch.git("notes", "--ref", "ai", "add", "-m", "garbage")
    assert verdict() == (3, "Undecided")


@pytest.mark.slow
@pytest.mark.parametrize(
    "request_",
    [
        {"body": "- [x] I used Copilot to write this"},
        {"body": "Generated with [Claude Code](https://claude.com)"},
        {"user": {"login": "copilot-swe-agent[bot]"}},
    ],
)
def test_the_description_and_the_author_of_a_pull_request_declare_an_agent(branch, tmp_path, request_):
    branch.save({"new.py": OWN})
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"body": None, **request_}}))
    fail = ("--fail-on-writer", "agent", "--pull-request", event)
    assert verdict(*fail) == (1, "Findings")
    event.write_text('{"pull_request": {"head": {"ref": "codex/fix-1"}}}')
    shown = run_assay("check", *fail)  # a name does not say who wrote the code
    assert (shown.code, "agent branch: codex/fix-1" in shown.out) == (0, True)
    event.write_text('{"push": 1}')
    assert verdict(*fail) == (0, "Clean")
    event.write_text("x")
    assert verdict(*fail)[0] == 2


def test_an_event_that_is_too_large_is_refused_and_not_cut(branch, tmp_path, monkeypatch):
    branch.save({"new.py": OWN})
    event = tmp_path / "event.json"
    event.write_text("{}" + " " * 20_000)
    monkeypatch.setattr("assay.checking.rules.LARGEST_METADATA", 10_000)
    shown = run_assay("check", "--pull-request", event)
    assert shown.code == 2
    assert "has more than 10,000 bytes" in shown.err


def test_without_a_rule_nothing_is_judged(branch, tmp_path):
    branch.rules("verbose = true\n")
    branch.save({"new.py": COPIED}, TRAILER)
    shown = run_assay("check")
    assert (shown.code, shown.out.partition("\n")[0], "Co-authored-by: Claude" in shown.out) == (0, "No rule", True)


def test_a_found_file_with_rules_is_not_in_the_way_of_other_commands(branch):
    assert run_assay("benchmarks", "list", "--format", "csv").code == 0
    branch.save({"assay.toml": "[check]\nindexes = 'x'\n"})
    assert run_assay("benchmarks", "list").code == 2


@pytest.mark.parametrize(
    ("arguments", "text", "line"),
    [
        (["--config", "absent.toml"], "", "absent.toml of"),
        (["--config", "two words.toml"], "", "two words.toml of"),
        ([], "[check]\nfail-on-licenses = ['MIT']\n", "did you mean fail-on-license"),
        ([], "[check]\nfail-on-licence = 'MIT'\n", "check.fail-on-licence: received 'MIT', expected a list: [\"MIT\"]"),
        ([], "[check]\nindex = ['a']\n", "check.index: received ['a'], expected"),
        ([], "[check]\nfail-on-licence = ['GPL3']\n", "is not on the SPDX list"),
        ([], "[check]\nbaseline = 'absent.json'\n", "absent.json of"),
        ([], "[check]\nfail-on-licence = ['copylef']\n", "assay.toml of "),
        ([], "[check]\nfail-on-licence = ['copylef']\n", "did you mean copyleft"),
        ([], "[check]\nfail-on-writer = ['agents']\n", "did you mean agent?"),
        ([], "[check\n", "is not a TOML file"),
        (["--base", "-x"], "", "received the commit '-x'"),
        (["--base", "absent"], "", "received no commit absent"),
        (["--base", ""], "", "--base: received an empty text, expected a value"),
        (["--head", ""], "", "--head: received an empty text, expected a value"),
    ],
)
def test_wrong_input_is_one_line(branch, arguments, text, line):
    branch.rules(text)
    branch.save({"new.py": OWN})
    refused = run_assay("check", *arguments)
    assert (refused.code, line in refused.err, refused.err.count("\n")) == (2, True, 1), refused.err


def test_every_answer_keeps_the_limits_of_a_first_screen(branch):
    from assay.checking import ChangeRules, CheckSettings, check_change
    from assay.corpora import SourceChange
    from assay.reports import describe

    branch.save({"new.py": f"# SPDX-License-Identifier: GPL-2.0-only\n{OWN}"}, TRAILER)
    change = SourceChange.between(branch.path)
    for rules in (
        CheckSettings(),
        CheckSettings(fail_on_licence=("copyleft",)),
        CheckSettings(fail_on_licence=("MIT",)),
        *(CheckSettings(fail_on_writer=(writer,)) for writer in WRITERS),
    ):
        assert not list(broken_limits(describe(check_change(change, ChangeRules.of(rules))).answer))


GPL = "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\n"
MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy\n"


def statements():
    return [
        (fact["path"], fact["level"], fact["licence"])
        for fact in json.loads(run_assay("check", "--json").out)["statements"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("LICENSE", MIT, GPL),
        ("COPYING", None, GPL),
        ("vendor/LICENSE.txt", None, GPL),
        ("LICENSES/GPL-3.0-only.txt", None, "The text.\n"),
        ("package.json", '{"license": "MIT"}', '{"license": "GPL-3.0-only"}'),
        ("pyproject.toml", '[project]\nlicense = "MIT"\n', '[project]\nlicense = "GPL-3.0-only"\n'),
        ("README.md", "# x\n\n## License\n\nMIT\n", "# x\n\n## License\n\nGPL-3.0-only\n"),
        ("Makefile", "all:\n", "# SPDX-License-Identifier: GPL-3.0-only\nall:\n"),
        ("old.py", f"# SPDX-License-Identifier: MIT\n{OWN}", f"# SPDX-License-Identifier: GPL-3.0-only\n{OWN}"),
    ],
)
def test_a_licence_that_becomes_a_denied_one_is_a_finding_until_it_is_accepted(branch, tmp_path, name, before, after):
    branch.git("checkout", "-q", "main")
    branch.save({name: before} if before else {"further.py": OWN})
    branch.git("checkout", "-qB", "work")
    branch.save({name: after})
    assert verdict() == (1, "Findings")
    assert statements() == [(name, "error", "GPL-3.0-only")]
    run_assay("check", "--write-baseline", tmp_path / "kept.json")
    assert verdict("--baseline", tmp_path / "kept.json") == (0, "Clean")


@pytest.mark.slow
def test_every_change_of_a_licence_text_is_named(branch):
    branch.git("checkout", "-q", "main")
    branch.save({"LICENSE": MIT, "lib/COPYING": GPL, "package.json": '{"license": "MIT"}'})
    branch.git("checkout", "-qB", "work")
    branch.save(
        {"LICENSE": f"{MIT}\n", "lib/COPYING": f"{GPL}\n", "package.json": '{"license": "MIT", "private": true}'}
    )
    assert verdict() == (0, "Clean")
    assert statements() == [("LICENSE", "notice", "MIT"), ("lib/COPYING", "notice", "GPL-3.0-only")]
    branch.git("rm", "-q", "LICENSE")
    branch.save({"lib/COPYING": "Ask us.\n"})
    assert statements() == [("lib/COPYING", "warning", "unknown"), ("LICENSE", "notice", "")]
    assert verdict() == (3, "Undecided")
    # a licence of a folder is another one at the root
    branch.save({"lib/COPYING": GPL})
    branch.git("mv", "lib/COPYING", "COPYING")
    branch.save({})
    assert ("COPYING", "error", "GPL-3.0-only") in statements()


def test_a_field_that_names_no_known_licence_is_undecided_and_words_about_tags_are_not(branch):
    branch.git("checkout", "-q", "main")
    branch.save({"package.json": '{"license": "MIT"}'})
    branch.git("checkout", "-qB", "work")
    branch.save({"a.md": "Write SPDX-License-Identifier: GPL-3.0-only in files.\n", "package.json": "{}"})
    assert verdict() == (0, "Clean")
    assert statements() == [("package.json", "notice", "")]
    branch.save({"package.json": '{"license": "Terms of Acme"}'})
    assert verdict() == (3, "Undecided")


def test_an_unknown_licence_is_accepted_in_its_wording_alone(branch, tmp_path):
    branch.save({"LICENSE": "Ask us.\n"})
    run_assay("check", "--write-baseline", tmp_path / "kept.json")
    assert verdict("--baseline", tmp_path / "kept.json") == (0, "Clean")
    branch.save({"LICENSE": "Pay us.\n"})
    assert verdict("--baseline", tmp_path / "kept.json") == (3, "Undecided")


def words(*arguments):
    return " ".join(run_assay("check", *arguments).out.split())


def test_the_output_names_the_base_the_rules_and_what_was_not_judged(branch):
    branch.save({f"{name}.md": "text\n" for name in "abcdefg"})
    shown = words()
    assert "0 findings in 7 changed lines of 7 files" in shown
    assert "Base: main (" in shown
    assert "rules of assay.toml there: fail-on-licence copyleft; index" in shown
    assert "The change writes" not in shown
    branch.save({"assay.toml": "[check]\n", "accepted.json": "{}"})
    assert "The change writes assay.toml and accepted.json" in words()


def test_a_link_and_a_submodule_are_named(branch, tmp_path):
    (branch.path / "link.py").symlink_to(tmp_path / "outside.py")
    branch.git("init", "-q", "sub")
    branch.git("-C", "sub", "-c", "user.name=n", "-c", "user.email=a@b.c", "commit", "-qm", "x", "--allow-empty")
    branch.save({})
    shown = words()
    assert "link.py Not judged: a link that leads outside, or to nothing" in shown
    assert "Undecided" in shown


def test_a_staged_change_says_that_its_writer_comes_with_the_commit(branch):
    branch.rules('[check]\nfail-on-writer = ["agent"]\n')
    (branch.path / "new.py").write_text(OWN)
    branch.git("add", "-A")
    assert "come with the commit" in words("--staged")
    (branch.path / "new.py").write_text(f"# Generated by Claude\n{OWN}")
    branch.git("add", "-A")
    assert verdict("--staged") == (1, "Findings")


def test_paths_of_the_rules_begin_at_the_root(branch, index, rules, monkeypatch):
    index.rename(branch.path / "licensed.index")
    (branch.path / ".git/info/exclude").write_text("licensed.index\n")
    branch.rules(rules.replace(str(index), "licensed.index"))
    branch.save({"src/new.py": COPIED})
    monkeypatch.chdir(branch.path / "src")
    assert verdict() == (1, "Findings")
    # those of the command line begin here
    assert verdict("--index", "../licensed.index", "--baseline", "../accepted.json") == (1, "Findings")


@pytest.mark.slow
def test_a_baseline_is_added_to(branch, tmp_path):
    kept = tmp_path / "kept.json"
    branch.save({"new.py": COPIED})
    assert "accepts 1 more finding, once" in run_assay("check", "--write-baseline", kept).err
    branch.git("checkout", "-qB", "other", "main")
    branch.save({"LICENSE": GPL})
    assert "accepts 1 more finding, and 1 as before, once" in run_assay("check", "--write-baseline", kept).err
    assert "accepts 0 more findings, and 2 as before" in run_assay("check", "--write-baseline", kept).err
    branch.save({"new.py": COPIED})
    assert verdict("--baseline", kept) == (0, "Clean")
    assert "accepts 2 more findings, once" in run_assay("check", "--write-baseline", kept, "--force").err
    kept.write_text("{}")
    refused = run_assay("check", "--write-baseline", kept)
    assert (refused.code, kept.read_text()) == (2, "{}")


@pytest.mark.slow
def test_one_declaration_is_one_finding(branch):
    branch.rules('[check]\nfail-on-writer = ["agent"]\n')
    branch.save({"new.py": f"{OWN}\n\n{OWN}\n\n{OWN}"}, TRAILER)
    branch.save({"other.py": OWN}, TRAILER)
    assert "2 findings in 12 changed lines" in run_assay("check").out
    assert "new.py:1-10 written by: agent" in words()
    (_, (lines,)) = (
        json.loads(run_assay("check", "--json").out)["written"]["files"][0][key] for key in ("path", "ranges")
    )
    assert (lines["first"], lines["last"], lines["judged"]) == (1, 10, 6)


def test_a_declaration_without_lines_of_code_is_a_finding_too(branch):
    branch.rules('[check]\nfail-on-writer = ["agent"]\n')
    branch.save({"a.md": "text\n"}, TRAILER)
    assert verdict() == (1, "Findings")


def test_a_log_is_replaced_and_no_other_file(branch, tmp_path):
    log = tmp_path / "assay.sarif"
    branch.save({"new.py": OWN})
    for _ in range(2):
        assert verdict("--sarif", log)[0] == 0
    log.write_text("mine")
    assert (verdict("--sarif", log)[0], log.read_text()) == (2, "mine")


def test_lines_of_a_pipe_are_no_wider_than_a_screen(branch, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    branch.save(
        {"new.py": OWN}, TRAILER + "".join(f"\nCo-authored-by: Claude {n} <noreply@anthropic.com>" for n in range(9))
    )
    assert max(map(len, run_assay("check").out.splitlines())) <= 110


def test_a_name_with_quotes_unicode_and_a_line_end_has_the_lines_that_were_added(branch):
    branch.git("checkout", "-q", "main")
    names = ('a "é" 日\t.py', "b\nc.py", '"d".py', "e f.py")
    branch.save(dict.fromkeys(names, COPIED))
    branch.git("checkout", "-qB", "work")
    branch.save(dict.fromkeys(names, f"{COPIED}X = 1\n"))
    assert verdict() == (0, "Clean")
    assert json.loads(run_assay("check", "--json").out)["lines"] == dict.fromkeys(names, 1)


def test_an_empty_change_and_a_clone_without_its_base_are_no_clean_change(branch, tmp_path, monkeypatch):
    branch.save({"new.py": COPIED})
    assert "nothing to judge" in words("--base", "work")
    branch.git("clone", "-q", "--depth", "1", "-b", "work", branch.path.as_uri(), str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    refused = run_assay("check")
    assert (refused.code, "a shallow clone" in refused.err) == (2, True)


def test_a_repository_without_a_commit_is_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Branch(tmp_path / "empty")
    monkeypatch.chdir(tmp_path / "empty")
    for arguments in ((), ("--staged",)):
        refused = run_assay("check", *arguments)
        assert (refused.code, "a repository without a commit" in refused.err) == (2, True)


def test_a_change_of_forty_files_fits_on_one_screen(branch):
    """What fails comes first; what passes and what is similar are counted in one line and listed with -v."""
    branch.save({f"src/copy_{at}.py": f"{OWN}\n\n{COPIED}" for at in range(40)})
    shown = run_assay("check").out
    assert shown.count("\n") <= 40
    assert "40 findings in" in shown
    assert "30 more rows with -v." in shown
    assert run_assay("check", "-v").out.count("GPL-3.0-only") == 10 + 40


def test_what_a_rule_does_not_deny_is_counted_and_listed_with_v(branch, rules):
    branch.rules(rules.replace('"copyleft"', '"AGPL-*"'))
    branch.save({"new.py": COPIED})
    shown = run_assay("check").out
    assert "Not shown: 1 copy that passes (GPL-3.0-only 1); -v lists them." in shown
    assert "share_of" not in shown
    assert "share_of" in run_assay("check", "-v").out
