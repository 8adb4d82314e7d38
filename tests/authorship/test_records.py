"""Records of tools are read by their published formats; what departs from one is one line with its place."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.authorship.declared import Commit, in_boxes, in_branches, in_commits
from assay.authorship.recorded import state_of
from assay.authorship.records import LineRecord, read_checkpoint, read_note, read_trace, segments
from assay.errors import DataError

COMMIT = "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0"
AGENT = {"agent_id": {"tool": "cursor", "id": "6ef2299e", "model": "claude-4.5-opus"}, "messages": []}


def note(attested, version="authorship/3.0.0", **tables):
    return f"{attested}---\n{json.dumps({'schema_version': version, 'base_commit_sha': COMMIT, **tables})}"


def test_a_note_with_prompts_names_lines_of_an_agent():
    text = note(
        'src/main.rs\n  abcd1234abcd1234 1-10,15\n"my file.rs"\n  abcd1234abcd1234 3\n',
        prompts={"abcd1234abcd1234": AGENT},
    )
    source = "git-ai note: cursor claude-4.5-opus"
    assert read_note(text, COMMIT) == [
        LineRecord("agent", COMMIT, "src/main.rs", ((1, 10), (15, 15)), source),
        LineRecord("agent", COMMIT, "my file.rs", ((3, 3),), source),
    ]


def test_a_note_with_sessions_and_people():
    text = note(
        "a.py\n  s_c9883b05a2487d::t_9f8e7d6c5b4a32 1-2\n  h_a1b2c3d4e5f678 3\n",
        prompts={},
        sessions={"s_c9883b05a2487d": AGENT},
        humans={"h_a1b2c3d4e5f678": {"author": "A"}},
    )
    assert [(record.writer, record.lines) for record in read_note(text, COMMIT)] == [
        ("agent", ((1, 2),)),
        ("person", ((3, 3),)),
    ]


def test_a_note_may_name_no_lines():
    assert read_note(note(""), COMMIT) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no divider", "received no line ---"),
        ("---\n{", "expected JSON"),
        ("---\n" + "[" * 100_000, "nested too deeply"),
        ("---\n[]", "expected an object with schema_version"),
        (note("", "authorship/4.0.0"), "received version 'authorship/4.0.0', expected authorship/3"),
        (note("a.py\n  unknown 1\n"), "line 2: received '  unknown 1'"),
        (note("  abcd 1\n", prompts={"abcd": AGENT}), "line 1: received"),
        (note("../a.py\n  abcd 1\n", prompts={"abcd": AGENT}), "line 1: received the path '../a.py'"),
        (note("/etc/passwd\n", prompts={}), "inside the repository"),
        (note("a.py\n  abcd 1-x\n", prompts={"abcd": AGENT}), "line 2: received '1-x', expected lines"),
        (note("a.py\n  abcd 9-3\n", prompts={"abcd": AGENT}), "line 2: received other lines"),
        (note("a.py\n  abcd " + "1," * 20_001 + "1\n", prompts={"abcd": AGENT}), "more than 20,000 ranges"),
        (note("a.py\n  abcd 0\n", prompts={"abcd": AGENT}), "line 2: received other lines"),
        (note("", prompts={"abcd": {"agent_id": "cursor"}}), "received 'cursor' as agent_id, expected an object"),
    ],
)
def test_a_malformed_note_is_refused_with_its_place(text, line):
    with pytest.raises(DataError, match=r"refs/notes/ai of a1b2c3d4e5f6.*") as caught:
        read_note(text, COMMIT)
    assert line in str(caught.value)


def trace(**changes):
    conversation = {
        "contributor": {"type": "ai", "model_id": "anthropic/claude-opus"},
        "ranges": [
            {"start_line": 42, "end_line": 67, "content_hash": "murmur3:9f2e8a1b"},
            {"start_line": 70, "end_line": 70, "contributor": {"type": "human"}},
            {"start_line": 71, "end_line": 72, "contributor": {"type": "unknown"}},
        ],
    }
    record = {
        "version": "0.1.0",
        "id": "550e8400-e29b-41d4-a716-446655440000",
        "timestamp": "2026-01-23T14:30:00Z",
        "vcs": {"type": "git", "revision": COMMIT},
        "tool": {"name": "cursor", "version": "2.4.0"},
        "files": [{"path": "src/parser.ts", "conversations": [conversation]}],
    }
    return json.dumps(record | changes)


def test_a_trace_names_lines_and_an_unknown_contributor_states_nothing():
    agent = LineRecord("agent", COMMIT, "src/parser.ts", ((42, 67),), "Agent Trace: cursor anthropic/claude-opus")
    assert read_trace(trace(), "t") == [
        agent,
        LineRecord("person", COMMIT, "src/parser.ts", ((70, 70),), "Agent Trace: cursor"),
    ]


@pytest.mark.slow
@given(
    st.text()
    | st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["version", "files", "path", "conversations", "ranges", "contributor", "type", "vcs", "tool"]
                ),
                inner,
            )
        ),
    ).map(json.dumps)
)
def test_any_other_text_is_refused_in_words(text):
    for read in (
        lambda: read_trace(text, "t"),
        lambda: read_note(text, COMMIT),
        lambda: read_note(f"a\n---\n{text}", COMMIT),
    ):
        with suppress(DataError):
            read()


@pytest.mark.parametrize("system", [None, {"type": "jj", "revision": "kkmpptxz"}, {"type": "git", "revision": "HEAD"}])
def test_a_trace_without_a_commit_of_git_belongs_to_no_lines(system):
    assert {record.commit for record in read_trace(trace(version="1.0", vcs=system), "t")} == {""}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"version": "7.0"}, "received version '7.0'"),
        ({"version": None}, "received 'None' as version, expected a text"),
        ({"files": {}}, "received '{}' as files, expected a list"),
        ({"files": [{"path": "../x", "conversations": []}]}, "received the path '../x'"),
        ({"files": [{"path": "x", "conversations": [{"ranges": [{"start_line": "1"}]}]}]}, "as start_line"),
        (
            {"files": [{"path": "x", "conversations": [{"contributor": {"type": "cat"}, "ranges": [{}]}]}]},
            "contributor 'cat'",
        ),
    ],
)
def test_a_malformed_trace_is_refused_with_its_place(changes, line):
    with pytest.raises(DataError, match=r"t\.jsonl, line 3: ") as caught:
        read_trace(trace(**changes), "t.jsonl, line 3")
    assert line in str(caught.value)


def test_the_metadata_of_a_checkpoint_names_its_agent():
    assert read_checkpoint('{"checkpoint_id": "a3b2c4d5e6f7", "agent": "Claude Code"}', "m") == "Claude Code"
    assert read_checkpoint("{}", "m") == ""
    with pytest.raises(DataError, match="m: received '3' as agent"):
        read_checkpoint('{"agent": 3}', "m")


def record(writer, *lines, source="x"):
    return LineRecord(writer, COMMIT, "a", lines, source)


def test_overlapping_records_are_cut_where_they_change():
    found = segments([record("agent", (1, 5), (3, 4)), record("person", (4, 7), source="y"), record("agent", (9, 9))])
    agent, person = ("agent", "x"), ("person", "y")
    cut = [(first, last, sorted(claims)) for first, last, claims in found]
    assert [(first, last) for first, last, _ in cut] == [(1, 2), (3, 3), (4, 4), (5, 5), (6, 7), (9, 9)]
    assert [claims for *_, claims in cut] == [[agent]] * 2 + [[agent, person]] * 2 + [[person], [agent]]


def test_records_that_name_more_than_anybody_writes_are_refused():
    with pytest.raises(DataError, match="60 sources"):
        segments([record("agent", (1, 1), source=str(number)) for number in range(60)])


@pytest.mark.parametrize(
    ("writers", "state"),
    [
        ([], "unrecorded"),
        (["person"], "person"),
        (["mixed", "person"], "mixed"),
        (["agent", "mixed"], "agent"),
        (["agent", "person"], "contradicting"),
    ],
)
def test_an_absent_record_is_nobody_and_two_that_disagree_decide_nothing(writers, state):
    assert state_of(writers) == state


@pytest.mark.parametrize(
    "line",
    [
        "Claude-Session: https://claude.ai/code/session_01",
        "Amp-Thread-ID: https://ampcode.com/threads/T-1",
        "Agent-Logs-Url: https://github.com/o/r/sessions/1",
        "Devin Session: https://app.devin.ai/sessions/1",
        "Entire-Checkpoint: a3b2c4d5e6f7",
        "Entire-Attribution: 73% agent (146/200 lines)",
    ],
)
def test_trailers_that_name_a_conversation_with_an_agent(line):
    assert [(signal.kind, signal.text) for signal in in_commits([Commit("1", "A", "a@x", f"Fix\n\n{line}")])] == [
        ("agent session", line)
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Session: 3",
        "Reviewed-by: A",
        "The agent session: closed",
        "User-Session-Id: 4",
        "AI task: improve the model",
        "Cursor session: closes early",
        "Entire-Attribution: 0% agent (0/12 lines)",
    ],
)
def test_trailers_of_others_name_no_agent(line):
    assert not list(in_commits([Commit("1", "A", "a@x", f"Fix\n\n{line}")]))


def test_branches_of_tools():
    names = [
        "refs/heads/claude/fix-a",
        "refs/remotes/origin/codex/b",
        "refs/heads/main",
        "refs/heads/x/cursors/y",
        "refs/heads/feature/cursor/y",
    ]
    signals = list(in_branches(names))
    assert [signal.text for signal in signals] == ["claude/fix-a", "codex/b"]
    assert not any(signal.is_about_code for signal in signals)
    (merge,) = in_commits([Commit("1", "A", "a@x", "Merge pull request #3 from owner/copilot/fix-4\n\nFix")])
    assert (merge.kind, merge.text, merge.is_about_code) == ("agent branch", "copilot/fix-4", False)


@pytest.mark.parametrize(
    ("line", "writers"),
    [
        ("- [x] I used AI (Copilot) to write parts of this code", ["agent"]),
        ("* [X] AI-assisted editing", ["agent"]),
        ("- [x] This PR was generated with Claude Code", ["agent"]),
        ("- [x] No AI tools were used", ["person"]),
        ("- [ ] I used AI", []),
        ("- [x] I have read the AI policy", []),
        ("- [x] If I used AI, I reviewed all of it", []),
        ("- [x] I used the linter", []),
    ],
)
def test_check_boxes_of_a_pull_request(line, writers):
    assert [signal.writer for signal in in_boxes(f"## Checks\n{line}\n")] == writers
