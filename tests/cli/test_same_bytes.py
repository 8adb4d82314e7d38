"""The same command prints and writes the same bytes: with one process or two, in every order of sets, after a kill."""

import json
import re
import signal
import subprocess
import sys

import pytest

FUNCTION = (
    "def total_of_prices(items, rate):\n    chosen = [item.price for item in items if item.price]\n    return {}\n"
)
TASK = {"task_id": "t/0", "prompt": "Write the total.", "canonical_solution": FUNCTION.format("sum(chosen) * rate")}
SPEED = re.compile(r"[\d,.]+ (?:s|MB/s)\b")


def run(environment, folder, *words, **variables):
    command = [sys.executable, "-P", "-m", "assay", *words]
    return subprocess.run(command, cwd=folder, env=environment | variables, capture_output=True, text=True, check=False)


@pytest.fixture
def corpus(tmp_path):
    """Twelve files with a task, one without, one that holds no text, and one that is cut off."""
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(12):
        (folder / f"m{number}.py").write_text(FUNCTION.format(f"sum(chosen) * rate + {number // 2}"))
    (folder / "other.py").write_text("def doubled(number):\n    return 2 * number\n")
    (folder / "binary.py").write_bytes(b"\0\1")
    (folder / "cut.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("scan", "corpus", "--for", "tasks.jsonl", "-o", "OUT.jsonl"),
        ("scan", "corpus", "--for", "tasks.jsonl", "--write-clean", "OUT"),
        ("index", "build", "corpus", "--index", "OUT", "--encoder", "none"),
    ],
)
def test_one_process_and_two(environment, tmp_path, corpus, command):
    printed = {}
    for jobs in ("1", "2"):
        out = f"out{jobs}"
        words = [word.replace("OUT", out) for word in command]
        done = run(environment, tmp_path, *words, "--jobs", jobs, "--no-progress")
        files = {}
        for path in sorted(tmp_path.glob(f"{out}*/**/*")) or [tmp_path / f"{out}.jsonl"]:
            if path.is_file():
                files[path.name.replace(out, "OUT")] = path.read_bytes()
        printed[jobs] = (
            done.returncode,
            *(SPEED.sub("", text).replace(out, "OUT") for text in (done.stdout, done.stderr)),
        )
        printed[jobs] += (files,)
    assert printed["1"][0] == 0
    assert printed["1"][-1]
    assert printed["1"] == printed["2"]


@pytest.mark.slow
@pytest.mark.parametrize("command", [("pairs", "corpus"), ("detect", "corpus", "--scores", "loss")])
def test_whatever_the_order_of_sets(environment, tmp_path, corpus, command):
    """Names of files and of reasons go through sets, whose order a seed decides."""
    first, second = (run(environment, tmp_path, *command, "--json", PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert (first.returncode, first.stdout, first.stderr) == (second.returncode, second.stdout, second.stderr)
    assert json.loads(first.stdout)


@pytest.mark.slow
def test_nothing_is_read_again_whatever_the_order_of_sets(environment, tmp_path, corpus):
    """A file's facts hold the words of the copyright holders, a set."""
    holders = "".join(f"Copyright (c) 2020 Someone{letter} Other{letter}\n" for letter in "ABCDEF")
    (corpus / "LICENSE").write_text(
        f"MIT License\n\n{holders}\nPermission is hereby granted, free of charge, to any person.\n"
    )
    run(environment, tmp_path, "index", "build", "corpus", "--index", "out", "--encoder", "none", PYTHONHASHSEED="1")
    added = run(environment, tmp_path, "index", "add", "corpus", "--index", "out", PYTHONHASHSEED="2")
    assert added.returncode == 0, added.stderr
    assert "0 read, 13 unchanged" in added.stdout + added.stderr


KILLED = """import os, pathlib, signal, sys
import assay.files
calls, step = iter(range(100)), int(sys.argv.pop(1))
def last(call):
    def called(*arguments, **named):
        result = call(*arguments, **named)
        if next(calls) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return called
assay.files.new_file = last(assay.files.new_file)
pathlib.Path.replace = last(pathlib.Path.replace)
from assay.cli.app import main
main()
"""
"""Runs a command; each call of the system that creates or renames a file is the last one once."""


@pytest.mark.slow
def test_an_annotation_that_was_killed_leaves_whole_files_and_can_be_repeated(environment, tmp_path, corpus):
    (tmp_path / "results.json").write_text(json.dumps({"eval": {"t/0": [{"base_status": "pass"}]}}))
    run(environment, tmp_path, "scan", "corpus", "--for", "tasks.jsonl", "-o", "evidence.jsonl", "--jobs", "1")
    words = ("annotate", "results.json", "--scan", "evidence.jsonl", "-o", "tasks.out", "--clean", "clean.out")
    whole = run(environment, tmp_path, *words)
    assert whole.returncode == 0, whole.stderr
    written = {name: (tmp_path / name).read_bytes() for name in ("tasks.out", "clean.out")}
    for step in range(4):
        for name in written:
            (tmp_path / name).unlink()
        command = [sys.executable, "-P", "-c", KILLED, str(step), *words]
        killed = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert killed.returncode == -signal.SIGKILL
        left = {name: (tmp_path / name).read_bytes() for name in written if (tmp_path / name).exists()}
        assert left.items() <= written.items()
        assert len(left) == (step + 1) // 2
        again = run(environment, tmp_path, *words, "--force")
        assert (again.returncode, again.stdout) == (0, whole.stdout)
        assert {name: (tmp_path / name).read_bytes() for name in written} == written
