"""A long command that is killed at any point is continued; what belongs to others is never changed."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Annotated, ClassVar
from unittest.mock import Mock

import pytest

from assay.api import load_run
from assay.errors import DataError
from assay.leakage import UnseenScores
from assay.run import Run, changed_settings, manifest_in
from assay.settings import Setting, Settings

WORK = """
import sys, time
from pathlib import Path
from assay.errors import AssayError
from assay.run import Run

def numbers(run, amount, hurry):
    # one file a step: what a killed run has done is not done again
    run.state.mkdir(exist_ok=True)
    for step in range(amount):
        part = run.state / str(step)
        if not part.exists():
            part.write_text(str(step * step))
            print(f"step {step}", flush=True)
            time.sleep(hurry)
    return "\\n".join((run.state / str(step)).read_text() for step in range(amount))

place, kind, amount, hurry = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
run = Run.beside(place, "numbers", force="--force" in sys.argv) if kind == "file" else Run(place, "numbers")
try:
    with run.begun(amount=amount):
        result = numbers(run, amount, hurry)
        record = run.record(steps=amount)
        if kind == "file":
            Path(place).write_text(result)
        else:
            (run.path / "result.txt").write_text(result)
            run.note(**record)
        run.finish()
except AssayError as error:
    print(f"assay: error: {error}", file=sys.stderr)
    sys.exit(2)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting(Settings):
    """Settings of which one decides about the result."""

    PANEL: ClassVar[str] = "Counting"
    amount: Annotated[int, Setting("Numbers.")] = 3
    limit: Annotated[int, Setting("Most requests.", decides=False)] = 9


@pytest.fixture
def work(tmp_path):
    def start(place, *arguments, kind="folder", amount=4, hurry=0.0):
        command = [sys.executable, "-c", WORK, str(tmp_path / place), kind, str(amount), str(hurry), *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


def killed_at(process, line):
    """Kill a process as soon as it has printed a line."""
    for printed in process.stdout:
        if printed.strip() == line:
            process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_run_killed_at_any_step_continues_and_ends_like_one_that_was_not(work, tmp_path, kind):
    name = "result.txt" if kind == "file" else "run"
    for step in (0, 1, 2):
        killed_at(work(name, kind=kind, hurry=60), f"step {step}")
    assert not (tmp_path / name / ("." if kind == "file" else "result.txt")).exists()
    ended = work(name, kind=kind)
    out, err = ended.communicate()
    assert (ended.returncode, out.split()) == (0, ["step", "3"])
    assert "continues the unfinished run in" in err
    work(f"whole-{name}", kind=kind).communicate()
    inside = "." if kind == "file" else "result.txt"
    assert (tmp_path / name / inside).read_text() == (tmp_path / f"whole-{name}" / inside).read_text()
    assert not (tmp_path / ".result.txt.run").exists()
    assert not (tmp_path / "run" / "state").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_second_process_is_refused_in_one_line_and_one_of_other_settings_too(work, tmp_path, kind):
    name = "result.txt" if kind == "file" else "run"
    first = work(name, kind=kind, hurry=60)
    assert first.stdout.readline() == "step 0\n"
    second = work(name, kind=kind)
    _, err = second.communicate()
    assert (second.returncode, err.count("\n")) == (2, 1)
    assert f"{name}: another process works on this run; expected its end" in err
    first.send_signal(signal.SIGKILL)
    first.communicate()
    other = work(name, kind=kind, amount=5)
    _, err = other.communicate()
    assert (other.returncode, err.count("\n")) == (2, 1)
    assert f"{name} holds an unfinished run with other settings (amount); expected its settings to continue it" in err


def test_force_begins_anew_without_what_the_run_of_other_settings_left(tmp_path):
    (tmp_path / "run" / "state").mkdir(parents=True)
    (tmp_path / "run" / "manifest.json").write_text('{"assay": "1", "settings": {"amount": 3}}')
    forced = Run(tmp_path / "run", "x", force=True)
    with forced.begun(amount=4):
        assert not forced.continues
        assert not forced.state.exists()
        assert manifest_in(forced.path)["settings"] == {"amount": 4}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", ["notes.txt", "manifest.json", "folder/weights.bin"])
def test_a_folder_of_others_is_never_touched(tmp_path, name, force):
    file = tmp_path / "mine" / name
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    with (
        pytest.raises(DataError, match="mine holds files that are no run's"),
        Run(tmp_path / "mine", "x", force=force).begun(),
    ):
        pytest.fail("the run began")
    assert [path for path in (tmp_path / "mine").rglob("*") if path.is_file()] == [file]


def test_a_setting_that_decides_nothing_may_change_and_all_are_recorded(tmp_path):
    with pytest.raises(KeyboardInterrupt), Run(tmp_path / "run", "x").begun(Counting()):
        raise KeyboardInterrupt
    run = Run(tmp_path / "run", "x")
    with run.begun(Counting(limit=1)):
        assert run.continues
    assert manifest_in(run.path)["settings"] == {"amount": 3, "limit": 9}
    with (
        pytest.raises(DataError, match=r"other settings \(amount\)"),
        Run(tmp_path / "run", "x").begun(Counting(amount=4)),
    ):
        pytest.fail("the run began")


def test_work_that_is_refused_leaves_no_folder(tmp_path):
    with pytest.raises(DataError, match="no such score"), Run(tmp_path / "deep" / "run", "x").begun():
        raise DataError("no such score")
    assert list(tmp_path.iterdir()) == []


def test_a_repeatable_run_opens_again_with_the_same_settings_alone(tmp_path):
    for continues in (False, True):
        run = Run(tmp_path / "run", "x", repeatable=True)
        with run.begun(data={"members": 3}):
            assert run.continues is continues
            run.note(**run.record())
    with (
        pytest.raises(DataError, match=r"a finished run with other settings \(data\.members\)"),
        Run(tmp_path / "run", "x", repeatable=True).begun(data={"members": 4}),
    ):
        pytest.fail("the run began")


def test_a_number_is_free_where_no_run_of_other_settings_and_no_file_lies(tmp_path):
    for amount, name in ((1, "run"), (2, "run-2"), (1, "run")):
        run = Run(tmp_path / "run", "x", numbered=True)
        with pytest.raises(KeyboardInterrupt), run.begun(amount=amount):
            raise KeyboardInterrupt
        assert run.path.name == name


def test_changed_settings_are_named_with_their_place():
    before = {"seed": 0, "data": {"members": 1, "unseen": 2}, "names": ["a"]}
    now = {"seed": 0, "data": {"members": 2, "unseen": 2}, "names": ["a", "b"], "limit": 1}
    assert changed_settings(before, now) == ["data.members", "limit", "names"]
    assert changed_settings(before, now, ("limit", "names")) == ["data.members"]


def test_a_calibration_continues_with_the_same_settings_alone(assay, golden, texts, tmp_path, monkeypatch):
    command = ("calibrate", golden / "model", texts, "--scores")
    with monkeypatch.context() as interrupted:
        interrupted.setattr("assay.leakage.UnseenScores.measure", Mock(side_effect=KeyboardInterrupt))
        assert assay(*command, "loss", "-o", "a.json").code == 130
    other = assay(*command, "min_k", "-o", "a.json")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "a.json holds an unfinished run with other settings (scores)" in other.err
    again = assay(*command, "loss", "-o", "a.json")
    assert (again.code, "continues the unfinished run in a.json" in again.err) == (0, True)
    assert assay(*command, "loss", "-o", "b.json").code == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert not list(tmp_path.glob(".*.run"))
    loaded = load_run(tmp_path / "a.json")
    assert (type(loaded), loaded.texts) == (UnseenScores, 24)


@pytest.mark.parametrize("content", ["[]", "{", '{"format": 9}'])
def test_a_file_that_is_no_result_is_refused_with_the_kinds_there_are(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(DataError, match=r"is no result of a run.*expected audit, calibration, reference"):
        load_run(tmp_path / "x.json")
    (tmp_path / "manifest.json").write_text('{"kind": "unknown", "assay": "1"}')
    with pytest.raises(DataError, match="a run of the kind 'unknown'; expected audit, calibration, reference"):
        load_run(tmp_path)


@pytest.mark.slow
def test_an_audit_killed_at_any_point_ends_like_one_that_was_not(texts, golden, tmp_path, environment):
    command = [sys.executable, "-m", "assay", "audit", golden / "model", texts, "--describe", "--scores", "loss,min_k"]

    def start(out):
        return subprocess.Popen(
            [*map(str, command), "--out", out],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def is_finished():
        return "seconds" in json.loads((tmp_path / "run" / "manifest.json").read_text())

    for moment in ("manifest.json", "samples.parquet"):
        process = start("run")
        until = time.monotonic() + 200
        while not (tmp_path / "run" / moment).exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        process.send_signal(signal.SIGSTOP)
        if moment == "manifest.json":
            second = start("run")
            _, err = second.communicate()
            assert (second.returncode, err.count("\n")) == (2, 1), err
            assert "run: another process works on this run" in err
            assert not is_finished()
        process.send_signal(signal.SIGKILL)
        process.communicate()
    # a quick process may have written all of it before it was stopped
    for out in ("whole",) if is_finished() else ("run", "whole"):
        process = start(out)
        _, err = process.communicate()
        assert process.returncode == 0, err
    assert (tmp_path / "run" / "summary.json").read_bytes() == (tmp_path / "whole" / "summary.json").read_bytes()
