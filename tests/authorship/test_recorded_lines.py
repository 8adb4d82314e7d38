"""Lines at HEAD are followed to the records of the commits that changed them last, under their old numbers."""

import json

import pytest

from assay.authorship import recorded_lines
from assay.authorship.record_store import MOST_REMARKS
from assay.authorship.surroundings import declared_around
from assay.errors import DataError
from support.commands import run_assay
from support.dated_repository import DatedRepository

SESSION = {"s_c9883b05a2487d": {"agent_id": {"tool": "cursor", "id": "1", "model": "gpt"}}}
TRAILER = "\n\nCo-authored-by: Claude <noreply@anthropic.com>"


class Recorded(DatedRepository):
    """A repository in which tools leave records."""

    def save(self, text, message="Change", path="a.py"):
        (self.path / path).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def note(self, attested, text=None, commit="HEAD"):
        metadata = {"schema_version": "authorship/3.0.0", "sessions": SESSION, "humans": {"h_1": {}}}
        self.git("notes", "--ref", "ai", "add", "-f", "-m", text or f"{attested}\n---\n{json.dumps(metadata)}", commit)

    def trace(self, commit, lines, writer="ai", path="a.py"):
        ranges = [{"start_line": first, "end_line": last} for first, last in lines]
        files = [{"path": path, "conversations": [{"contributor": {"type": writer}, "ranges": ranges}]}]
        record = {
            "version": "0.1.0",
            "id": "1",
            "timestamp": "2026",
            "vcs": {"type": "git", "revision": commit},
            "files": files,
        }
        folder = self.path / ".agent-trace"
        folder.mkdir(exist_ok=True)
        with (folder / "traces.jsonl").open("a") as file:
            file.write(f"{json.dumps(record)}\n")

    def states(self, path="a.py"):
        (file,) = recorded_lines([self.path / path]).files
        return [(str(lines), lines.state) for lines in file.ranges]


@pytest.fixture
def repository(tmp_path):
    repository = Recorded(tmp_path / "project")
    repository.save("one\ntwo\n", "First")
    return repository


def test_a_note_is_followed_through_later_commits_and_a_new_name(repository):
    repository.save("one\nTWO\nthree\nfour\n")
    repository.note("a.py\n  s_c9883b05a2487d::t_1 2,4\n  h_1 3")
    repository.save("zero\none\nTWO\nthree\nfour\n")
    repository.git("mv", "a.py", "b.py")
    repository.git("commit", "-qm", "Move")
    repository.save("zero\none\nTWO\nthree\nchanged\n", path="b.py")
    # the fourth line of the note was changed by a commit without a record
    assert repository.states("b.py") == [("1-2", "unrecorded"), ("3", "agent"), ("4", "person"), ("5", "unrecorded")]


def test_a_rebased_commit_keeps_its_trailer_and_loses_its_note(repository):
    repository.save("one\ntwo\nthree\n", f"Add{TRAILER}")
    repository.note("a.py\n  s_c9883b05a2487d::t_1 3")
    assert repository.states() == [("1-2", "unrecorded"), ("3", "agent")]
    repository.git("commit", "-q", "--amend", "-m", "Add")
    assert repository.states() == [("1-3", "unrecorded")]  # never a person's


def test_a_trailer_holds_for_its_commit_unless_a_record_names_the_lines(repository):
    repository.save("one\ntwo\nthree\nfour\n", f"Add{TRAILER}")
    assert repository.states() == [("1-2", "unrecorded"), ("3-4", "agent")]
    repository.note("a.py\n  s_c9883b05a2487d::t_1 4")
    assert repository.states() == [("1-3", "unrecorded"), ("4", "agent")]


def test_records_that_disagree_contradict_each_other(repository):
    commit = repository.save("one\ntwo\nthree\nfour\n", f"Add{TRAILER}")
    repository.note("a.py\n  h_1 3")
    assert repository.states() == [("1-2", "unrecorded"), ("3", "contradicting"), ("4", "agent")]
    repository.trace(commit, [(4, 4)])
    repository.trace(commit, [(4, 4)], "human")
    assert repository.states()[-1] == ("4", "contradicting")


def test_a_trace_counts_in_the_commit_that_it_names(repository):
    commit = repository.save("one\ntwo\nthree\nfour\n")
    repository.trace(commit, [(1, 3)])
    repository.trace("0" * 40, [(4, 4)])
    # line 1 is of an older commit, of which nothing is recorded
    assert repository.states() == [("1-2", "unrecorded"), ("3", "agent"), ("4", "unrecorded")]


def test_malformed_records_are_one_remark_each(repository):
    commit = repository.save("one\ntwo\nthree\n")
    repository.note("", "garbage")
    folder = repository.path / ".agent-trace"
    folder.mkdir()
    (folder / "traces.jsonl").write_text("{}\n\nnull\n")
    (folder / "b.json").write_bytes(b"\xff\x00")
    remarks = recorded_lines([repository.path / "a.py"]).remarks
    assert [remark.partition(":")[0] for remark in remarks] == [
        ".agent-trace/b.json, line 1",
        ".agent-trace/traces.jsonl, line 1",
        ".agent-trace/traces.jsonl, line 3",
        f"refs/notes/ai of {commit[:12]}",
    ]
    (folder / "traces.jsonl").write_text("x\n" * 100)
    remarks = recorded_lines([repository.path / "a.py"]).remarks
    assert len(remarks) == MOST_REMARKS + 1
    assert remarks[-1] == "82 more records were not read."


def test_no_link_leads_out_of_the_repository_and_large_records_are_not_read(repository, tmp_path, monkeypatch):
    secret = tmp_path / "secret.jsonl"
    secret.write_text("secret words\n")
    folder = repository.path / ".agent-trace"
    folder.mkdir()
    (folder / "traces.jsonl").symlink_to(secret)
    assert recorded_lines([repository.path / "a.py"]).remarks == ()
    monkeypatch.setattr("assay.authorship.record_store.LARGEST_METADATA", 10)
    (folder / "traces.jsonl").unlink()
    (folder / "traces.jsonl").write_text("x" * 20)
    repository.note("a.py\n  s_c9883b05a2487d::t_1 1")
    assert all("more than 10 bytes" in remark for remark in recorded_lines([repository.path / "a.py"]).remarks)
    assert len(recorded_lines([repository.path / "a.py"]).remarks) == 2


def test_a_shallow_clone_leaves_older_lines_without_a_record(repository, tmp_path):
    repository.save("one\ntwo\nthree\n", f"Add{TRAILER}")
    repository.save("one\ntwo\nthree\nfour\n", f"More{TRAILER}")
    repository.git("clone", "-q", "--depth", "2", f"file://{repository.path}", str(tmp_path / "clone"))
    recorded = recorded_lines([tmp_path / "clone" / "a.py"])
    assert [(str(lines), lines.state) for lines in recorded.files[0].ranges] == [("1-3", "unrecorded"), ("4", "agent")]
    assert [remark for remark in recorded.remarks if "shallow" in remark]


def test_a_checkpoint_of_entire_names_its_agent(repository):
    repository.save("one\ntwo\nthree\n", "Add\n\nEntire-Checkpoint: a3b2c4d5e6f7")
    repository.git("checkout", "-q", "--orphan", "entire/checkpoints/v1")
    (repository.path / "a3/b2c4d5e6f7/0").mkdir(parents=True)
    repository.save('{"agent": "Claude Code"}', path="a3/b2c4d5e6f7/0/metadata.json")
    repository.git("checkout", "-qf", "main")
    signals, unread = declared_around(repository.path)
    assert [signal.text for signal in signals] == ["Entire-Checkpoint: a3b2c4d5e6f7 (Claude Code)"]
    assert unread == ()
    assert repository.states()[-1] == ("3", "agent")


def test_declared_signals_name_the_records_of_a_file(repository):
    repository.save("one\n", path="other.py")
    repository.note("a.py\n  s_c9883b05a2487d::t_1 1\nother.py\n  s_c9883b05a2487d::t_1 1")
    repository.git("branch", "claude/fix")
    signals, _ = declared_around(repository.path / "other.py")
    assert [(signal.kind, signal.text) for signal in signals] == [
        ("line record", "git-ai note: cursor gpt: lines 1 of other.py"),
        ("agent branch", "claude/fix"),
    ]
    assert {name for signal in declared_around(repository.path)[0] for name in signal.files} == {"a.py", "other.py"}


def test_no_hook_and_no_filter_of_the_repository_runs(repository, tmp_path):
    mark = tmp_path / "ran"
    for setting in ("filter.x.clean", "core.fsmonitor", "diff.x.textconv"):
        repository.git("config", setting, f": > {mark}; cat")
    repository.save("* filter=x diff=x\n", path=".gitattributes")
    assert mark.exists()  # git add runs the filter
    mark.unlink()
    assert repository.states() == [("1-2", "unrecorded")]
    assert not mark.exists()


def test_the_command_shows_lines_as_text_json_sarif_and_a_page(repository, monkeypatch, tmp_path):
    monkeypatch.chdir(repository.path)
    repository.save("one\ntwo\nthree\nfour\n", f"Add{TRAILER}")
    repository.note("a.py\n  h_1 3")
    shown = run_assay("detect", "--by", "line", "a.py", "-o", tmp_path / "page.html")
    first, because, *_ = shown.out.splitlines()
    assert (shown.code, first) == (0, "Records disagree")
    assert not any(character.isdigit() for character in because)
    assert "a.py:3  contradicting" in shown.out
    assert "contradicting" in (tmp_path / "page.html").read_text()
    data = json.loads(run_assay("detect", "--by", "line", ".", "--json").out)
    assert data["lines"] == {"agent": 1, "mixed": 0, "person": 0, "unrecorded": 2, "contradicting": 1}
    log = json.loads(run_assay("detect", "--by", "line", "a.py", "--sarif", "-").out)
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == [
        "unrecorded-lines", "contradicting-records", "recorded-lines",
    ]  # fmt: skip
    refused = run_assay("detect", "--by", "line", "a.py", "--reference", "x.json")
    assert (refused.code, "--reference has no effect" in refused.err) == (2, True)
    (repository.path / "new.py").write_text("one\n")
    refused = run_assay("detect", "--by", "line", "new.py")
    assert (refused.code, "new.py: received a file that the last commit does not have" in refused.err) == (2, True)


def test_lines_belong_to_a_repository(tmp_path):
    (tmp_path / "a.py").write_text("x")
    with pytest.raises(DataError, match="not in a git repository"):
        recorded_lines([tmp_path / "a.py"])


def test_records_that_disagree_are_a_declared_fact_without_the_lines_too(repository):
    commit = repository.save("one\nTWO\nthree\n")
    repository.note("a.py\n  h_1 2-3")
    repository.trace(commit, [(3, 3)])
    signals, _ = declared_around(repository.path / "a.py")
    (fact,) = (signal for signal in signals if signal.kind == "records disagree")
    assert fact.text.startswith("lines 3-3 of a.py: ")
    assert not fact.is_about_code


def test_a_path_that_does_not_exist_is_refused_as_such(repository):
    with pytest.raises(DataError, match="received no such file or folder"):
        recorded_lines([repository.path / "absent.py"])
