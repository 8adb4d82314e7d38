"""Runs in the layouts of all harnesses, toy files of which tell the same story."""

import gzip
import json

import pytest

from assay.agent_runs import (
    AgentRun,
    UnreadRun,
    judge_run,
    judge_runs,
    read_gold_tasks,
    read_runs,
    run_files,
    task_of_run,
)
from assay.errors import DataError
from support.agent_files import (
    CALLS,
    COMMIT,
    LAYOUTS,
    SHOW,
    TASK,
    chat,
    claude_code,
    codex,
    harbor,
    mini_swe_agent,
    openhands,
    swe_agent,
    write,
    write_tasks,
)
from support.agent_layouts import INCOMPLETE, VARIANTS, claude_code_subagent


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_every_layout_gives_the_same_steps_and_the_same_verdict(layout, tmp_path):
    tasks = read_gold_tasks(write_tasks(tmp_path), {})
    (run,) = read_runs(write(tmp_path, layout()))
    assert [step.typed.splitlines()[0] for step in run.steps] == [command for command, _ in CALLS]
    assert COMMIT.strip() in run.steps[1].output
    judged = judge_run(run, "file", task_of_run(run, tasks))
    assert (judged.verdict, judged.step) == ("read the fix", 2)
    assert judged.channel == "history beyond the base commit"
    assert SHOW in judged.command
    assert len(judged.lines) == 3


@pytest.mark.parametrize("layout", VARIANTS, ids=lambda layout: layout.__name__)
def test_every_form_of_a_layout_shows_the_step_that_read_the_fix(layout, tmp_path):
    tasks = read_gold_tasks(write_tasks(tmp_path), {})
    (run,) = read_runs(write(tmp_path, layout()))
    judged = judge_run(run, "file", task_of_run(run, tasks))
    assert judged.verdict == "read the fix", judged.reason
    assert judged.channel == "history beyond the base commit"
    assert "git log --all -p -S total" in judged.command


@pytest.mark.parametrize("layout", VARIANTS, ids=lambda layout: layout.__name__)
def test_no_form_of_a_layout_is_accused_where_the_output_has_no_fix(layout, tmp_path):
    tasks = read_gold_tasks(write_tasks(tmp_path), {})
    calls = [(command, output.replace(COMMIT, "nothing")) for command, output in CALLS]
    (run,) = read_runs(write(tmp_path, layout(calls)))
    assert judge_run(run, "file", task_of_run(run, tasks)).verdict == "neither"


@pytest.mark.parametrize(("layout", "reason"), INCOMPLETE.items(), ids=lambda part: getattr(part, "__name__", ""))
def test_what_a_file_leaves_out_is_undecided(layout, reason, tmp_path):
    tasks = read_gold_tasks(write_tasks(tmp_path), {})
    (run,) = read_runs(write(tmp_path, layout()))
    judged = judge_run(run, "file", task_of_run(run, tasks) or tasks["shop__shop-7"])
    assert (judged.verdict, reason in judged.reason) == ("cannot tell", True), judged


@pytest.mark.parametrize(("value", "solved"), [("C", 1.0), (0.5, 0.5), ({"a": 1, "b": 0}, None), (7, None)])
def test_an_inspect_log_is_read_by_inspect(tmp_path, value, solved):
    log_module = pytest.importorskip("inspect_ai.log")
    model = pytest.importorskip("inspect_ai.model")
    from inspect_ai.scorer import Score
    from inspect_ai.tool import ToolCall

    messages = [model.ChatMessageUser(content="Solve it")]
    for number, (command, output) in enumerate(CALLS):
        call = ToolCall(id=f"c{number}", function="bash", arguments={"cmd": command})
        messages.append(model.ChatMessageAssistant(content="", tool_calls=[call]))
        messages.append(model.ChatMessageTool(content=output, tool_call_id=f"c{number}", function="bash"))
    sample = log_module.EvalSample(
        id="shop__shop-7", epoch=1, input="x", target="y", messages=messages, scores={"s": Score(value=value)}
    )
    dataset, config = log_module.EvalDataset(name="d"), log_module.EvalConfig()
    spec = log_module.EvalSpec(created="2026-01-01T00:00:00+00:00", task="t", dataset=dataset, model="m", config=config)
    path = tmp_path / "log.eval"
    log_module.write_eval_log(log_module.EvalLog(eval=spec, status="success", samples=[sample]), str(path))
    (run,) = read_runs(path)
    judged = judge_run(run, str(path), read_gold_tasks(write_tasks(tmp_path), {})[run.tasks[0]])
    assert (judged.verdict, judged.place, judged.solved) == ("read the fix", "messages[4]", solved)


def test_gzip_is_unpacked_and_rows_are_read_one_by_one(tmp_path):
    row = openhands()[1]
    (tmp_path / "output.jsonl.gz").write_bytes(gzip.compress((row * 3).encode()))
    runs = list(read_runs(tmp_path / "output.jsonl.gz"))
    assert [run.solved for run in runs] == [1.0, 1.0, 1.0]


def test_an_empty_line_between_rows_parts_no_run_from_the_others(tmp_path):
    row = openhands()[1].strip()
    (tmp_path / "output.jsonl").write_text(f"{row}\n\n{row}\n\n{row}\n")
    assert [run.solved for run in read_runs(tmp_path / "output.jsonl")] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.traj.json", mini_swe_agent()[1][:900], "cut or damaged JSON"),
        ("b.json", '{"scores": 3}', "an unknown layout (scores)"),
        ("c.traj", '{"trajectory": [{"action": "ls"}], "history": [3]}', "an entry is damaged"),
        ("d.jsonl", openhands()[1] + '{"instance_id": "x", "hist', "line 2 is cut or damaged"),
        ("e.jsonl", openhands()[1] * 2 + '\n{"instance_id": "x", "hist', "line 4 is cut or damaged"),
        ("f.traj", '{"attempts": [{"model": "x"}]}', "an unknown layout (attempts)"),
    ],
)
def test_what_is_cut_or_unknown_is_reported_in_one_line(name, text, reason, tmp_path):
    (tmp_path / name).write_text(text)
    (unread,) = (part for part in read_runs(tmp_path / name) if isinstance(part, UnreadRun))
    assert reason in unread.reason
    assert "\n" not in unread.reason


@pytest.mark.parametrize(
    ("layout", "lost"), [(mini_swe_agent, '"id": "c1"'), (claude_code, '"id": "t1"'), (harbor, '"tool_call_id": "c3"')]
)
def test_an_output_that_has_lost_its_call_is_undecided(layout, lost, tmp_path):
    name, text = layout()
    (run,) = read_runs(write(tmp_path, (name, text.replace(lost, '"lost": 1'))))
    judged = judge_run(run, "", read_gold_tasks(write_tasks(tmp_path), {})["shop__shop-7"])
    assert (judged.verdict, "which call it answers" in judged.reason) == ("cannot tell", True)


def test_a_submission_that_is_no_text_is_left_out(tmp_path):
    path = write(tmp_path, swe_agent(CALLS[:1]))
    path.write_text(path.read_text().replace('"submission": ""', '"submission": 7'))
    (run,) = read_runs(path)
    assert run.submission is None


def test_a_large_output_is_read_whole(tmp_path):
    filler = "x = 1  # nothing of interest\n" * 400_000
    path = write(tmp_path, mini_swe_agent(((SHOW, filler + COMMIT), *CALLS[2:])))
    (run,) = read_runs(path)
    assert judge_run(run, "", read_gold_tasks(write_tasks(tmp_path), {})["shop__shop-7"]).verdict == "read the fix"


def test_a_reader_of_another_distribution_is_asked_too(tmp_path, monkeypatch):
    def own(path, content):
        steps = ()
        return [AgentRun("mine", "own", ("t",), "", steps)] if "own_layout" in content else None

    from assay.agent_runs import RUN_READERS

    monkeypatch.setitem(RUN_READERS._own, "own", own)
    monkeypatch.setitem(RUN_READERS._loaded, "own", own)
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"own_layout": 1}))
    assert [run.name for run in read_runs(path)] == ["mine"]


def test_a_session_finds_its_task_by_the_text_of_the_issue(tmp_path):
    tasks = read_gold_tasks(write_tasks(tmp_path), {})
    content = {"messages": chat()}
    path = tmp_path / "session.json"
    path.write_text(json.dumps(content))
    (run,) = read_runs(path)
    assert task_of_run(run, tasks).id == TASK["instance_id"]


def test_the_files_of_sub_agents_are_read_with_their_session(tmp_path):
    name, text = claude_code_subagent()
    main = write(tmp_path, (name, text.replace('"sessionId": "s"', '"sessionId": "0a1b"')))
    (row, *rows) = (json.loads(line) for line in claude_code()[1].splitlines())
    inner = [{**part, "isSidechain": True, "agentId": "a1", "sessionId": "0a1b"} for part in (row, *rows)]
    text = "".join(json.dumps(part) + "\n" for part in inner)
    beside = write(tmp_path, ("0a1b/subagents/agent-a1.jsonl", text))
    (unread,) = read_runs(beside)
    assert (unread.reason[:23], unread.is_beside) == ("its steps belong to a r", True)
    with pytest.raises(DataError, match="belong to a run in another file"):
        judge_runs([beside], read_gold_tasks(write_tasks(tmp_path), {}))
    (run,) = read_runs(main)
    judged = judge_run(run, "", read_gold_tasks(write_tasks(tmp_path), {})["shop__shop-7"])
    assert (judged.verdict, judged.place) == ("read the fix", "line 5 of agent-a1.jsonl")


def test_a_trajectory_is_read_with_its_continuation_and_once(tmp_path):
    name, text = harbor()
    content = json.loads(text)
    steps = content["steps"]
    first = content | {"steps": steps[:2], "continued_trajectory_ref": "trajectory.cont-1.json"}
    further = content | {"steps": [{**steps[1], "is_copied_context": True}, *steps[2:]]}
    path = write(tmp_path, (name, json.dumps(first)))
    write(tmp_path, (name.replace(".json", ".cont-1.json"), json.dumps(further)))
    write(tmp_path, (name.replace("trajectory.json", "sessions/rollout-1.jsonl"), codex()[1]))
    assert [file for file, _ in run_files([tmp_path])] == [path]
    # named by itself, a folder of repetitions is read
    assert len(list(run_files([path.parent / "sessions"]))) == 1
    (run,) = read_runs(path)
    assert (len(run.steps), run.cut) == (3, "")
    path.with_name("trajectory.cont-1.json").unlink()
    (run,) = read_runs(path)
    assert run.cut == "the trajectory goes on in a file that is not beside it"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("preds.json", {"t": {"model_name_or_path": "m", "instance_id": "t", "model_patch": "x"}}),
        ("report.json", {"resolved_ids": []}),
        ("config.json", {"trial_name": "t", "trials_dir": "x"}),
    ],
)
def test_what_harnesses_write_beside_runs_is_passed_over_in_a_folder(name, content, tmp_path):
    tasks = read_gold_tasks(write_tasks(tmp_path), {})
    write(tmp_path / "runs", mini_swe_agent())
    path = write(tmp_path / "runs", (name, json.dumps(content)))
    assert judge_runs([tmp_path / "runs"], tasks).unread == ()
    (unread,) = judge_runs([tmp_path / "runs", path], tasks).unread
    assert "predictions, tasks, a report, or settings" in unread.reason


def test_calls_that_only_the_events_of_inspect_have_are_read(tmp_path):
    pytest.importorskip("inspect_ai.event")
    from inspect_ai.event import ToolEvent

    from assay.agent_runs.layouts.inspect_log import _from_events

    events = [ToolEvent(id=f"c{n}", function="bash", arguments={"cmd": c}, result=o) for n, (c, o) in enumerate(CALLS)]
    assert [(step.typed, step.output) for step in _from_events(events)] == list(CALLS)
