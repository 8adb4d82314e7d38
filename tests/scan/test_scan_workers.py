"""Whoever reads the files, and whatever ends meanwhile, the evidence is the same."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from assay.files import new_file
from assay.scan import ScanWorkers, read_evidence, scan_corpus
from assay.scan.matching import Matcher
from assay.scan.tasks import ScannedTask, TaskPart
from assay.scan.workers import CRASHES, FileProcesses, FileResult, FileWork, _by_processes

SOLUTION = "".join(f"    shadow_{at} = nearest(heights, {at * 37 % 101}) * tower[{at}] + window\n" for at in range(12))
TASK = {
    "task_id": "Tower/0",
    "prompt": "def towers(heights):\n",
    "canonical_solution": SOLUTION,
    "entry_point": "towers",
}
LARGEST_FILES = 12


def corpus(folder: Path, *, rows: int) -> Path:
    folder.mkdir()
    for number in range(LARGEST_FILES):
        lines = [{"text": f"def area_{at}(a, b):\n    return a * b + {at}\n" * 40} for at in range(rows)]
        lines[rows // 2]["text"] += TASK["prompt"] + SOLUTION
        (folder / f"{number:02}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def tasks_file(folder: Path) -> str:
    (folder / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    return f"humaneval={folder / 'tasks.jsonl'}"


@pytest.mark.slow
def test_a_scan_killed_in_the_middle_leaves_no_process_and_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    folder, tasks = corpus(tmp_path / "corpus", rows=3000), tasks_file(tmp_path)
    whole, out = tmp_path / "whole.parquet", tmp_path / "out.parquet"
    state = tmp_path / ".out.parquet.run" / "state"
    words = [sys.executable, "-m", "assay", "scan", str(folder), "--for", tasks, "--jobs", "2", "-o"]
    process = subprocess.Popen([*words, str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list(state.glob("*.json"))) < 2:
        time.sleep(0.01)
    assert process.poll() is None, "the scan ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in state.glob("*.json")}
    assert 2 <= len(kept) < LARGEST_FILES
    subprocess.run([*words, str(out)], check=True, capture_output=True)
    subprocess.run([*words, str(whole)], check=True, capture_output=True)
    assert out.read_bytes() == whole.read_bytes()
    assert len(read_evidence(out).tasks[0].places) == LARGEST_FILES


class EndsItsProcess(FileWork):
    """Work that no process survives for one of its files."""

    def __call__(self, path: str) -> FileResult:
        if "crash" in path:
            os._exit(1)
        return FileResult(path, compared=1, size=1, shapes={}, unread={}, places={}, rows=())


@pytest.mark.slow
def test_a_file_that_ends_its_process_is_counted_and_the_others_are_read(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b", "crash", "c", "d"):
        paths.append(str(tmp_path / name))
        (tmp_path / name).touch()
    matcher = Matcher([ScannedTask("b", "0", (TaskPart("solution", SOLUTION),))])
    results = list(_by_processes(paths, FileProcesses(EndsItsProcess(matcher), 2)))
    assert [result.source for result in results] == paths
    assert [dict(result.unread) for result in results] == [{}, {}, {CRASHES: 1}, {}, {}]


class Waits(FileWork):
    """Work that never ends for one of its files."""

    def __call__(self, path: str) -> FileResult:
        if "endless" in path:
            threading.Event().wait()
        return FileResult(path, compared=1, size=1, shapes={}, unread={}, places={}, rows=())


@pytest.mark.slow
def test_a_scan_that_is_interrupted_waits_for_no_file_and_leaves_no_process(tmp_path: Path) -> None:
    matcher = Matcher([ScannedTask("b", "0", (TaskPart("solution", SOLUTION),))])
    processes = FileProcesses(Waits(matcher), 2)
    results = _by_processes(["a", "endless"], processes)
    assert next(results).source == "a"
    workers = list(processes._pools[2]._processes.values())
    # as Ctrl-C does, wherever it meets the reader of the results
    results.close()
    assert workers
    assert not any(worker.is_alive() for worker in workers)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C of a test."""


def test_a_clean_copy_that_goes_on_has_no_file_of_the_writer_that_was_killed(tmp_path: Path) -> None:
    folder, tasks, clean = corpus(tmp_path / "corpus", rows=2), tasks_file(tmp_path), tmp_path / "clean"
    out = tmp_path / "out.jsonl"

    def interrupt(done: int, _: int) -> None:
        if done == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        scan_corpus([str(folder)], [tasks], clean=clean, out=out, progress=interrupt)
    # what SIGKILL leaves, and a file of the user
    half = [new_file(clean / "corpus" / "02.jsonl"), new_file(out)]
    (clean / "corpus" / ".notes.unfinished").write_text("mine")
    scan_corpus([str(folder)], [tasks], clean=clean, out=out)
    assert not [path for path in half if path.exists()]
    expected = {".notes.unfinished", *(path.name for path in folder.iterdir())}
    assert {path.name for path in (clean / "corpus").iterdir()} == expected


def test_readers_that_no_one_installed_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n')
    with pytest.raises(Exception, match="received --readers nobody, expected one of processes"):
        scan_corpus([str(path)], [tasks_file(tmp_path)], workers=ScanWorkers(readers="nobody"))
