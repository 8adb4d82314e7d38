"""Damaged files of every kind that a command reads: exit code 0, 1, 2 or 3 and one line, whatever byte is wrong.

`make fuzz` runs these for ASSAY_FUZZ_SECONDS each; in the suite each has a few examples.
"""

import gzip
import io
import json
import os
import random
import time
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.agent_files import TASK, mini_swe_agent, openhands

EXAMPLES = 3
SECONDS = float(os.environ.get("ASSAY_FUZZ_SECONDS", "0"))
ROWS = [{"id": f"t{i}", "text": f"def f{i}(x):\n    return x + {i}\n", "label": i % 2} for i in range(8)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
NOTEBOOK = json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "source": ["x = 1\n"]}], "metadata": {}}).encode()
PATCH = b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def f(x):\n-    return x\n+    return y\n"
LICENCE = b"MIT License\n\nCopyright (c) 2020 A\n\nPermission is hereby granted, free of charge, to any person\n"
PACKAGE = b'{"name": "p", "license": "MIT", "author": {"name": "A"}, "repository": "github:a/b"}'
PROJECT = b'[project]\nname = "p"\nlicense = { text = "MIT" }\nauthors = [{ name = "A" }]\n'
BASELINE = b'{"version": 1, "findings": []}'
SETTINGS = b'columns = { text = "prompt" }\nformat = "json"\n'
RESULTS = b'{"eval": {"a": [{"base_status": "pass", "plus_status": "fail"}], "b": [{"base_status": "timeout"}]}}'
HOSTILE = (
    b"", b"\0", b"\xff\xfe\0", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5_000, b"null", b"[]", b'""', b"NaN",
    b"\x1b[2J", "\u202e\u2028".encode(), b'{"text": ["a"], "path": ["b"], "license": {"c": 1}}', b'"\\ud800"',
    b"a = " + b"[" * 5_000, b"- " * 50_000, b"@@ -1,999999999 +1,999999999 @@\n", b"--- a\n+++ /dev/null\n@@",
    b"-" * 20_000 + b"1", b"(" * 20_000, b'{"content": "x", "path": ["a"], "lang": {}, "license": [{}]}\n',
)  # fmt: skip


AGENTS = ["annotate", "--tasks", "tasks.jsonl"]
SCAN = ["scan", "--for", "tasks.jsonl", "--jobs", "1"]
TASKS = json.dumps(TASK | {"task_id": "a", "prompt": TASK["patch"]}).encode()
EVIDENCE = (
    json.dumps(
        {
            "format": 1,
            "benchmark": "tasks.jsonl",
            "task_id": "a",
            "status": "found",
            "part": "solution",
            "how": "word for word",
            "share": 1.0,
            "source": "c.jsonl",
            "row": 1,
            "first_line": 1,
            "last_line": 5,
            "task_text": "x",
            "source_text": "x",
        }
    ).encode()
    + b"\n"
)


def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("ada", "bob"):
            archive.writestr(f"{name}/main.py", "def f(x, y):\n    return [x + y for _ in range(x)]\n" * 8)
    return out.getvalue()


def parquet():
    out = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(ROWS), out)
    return out.getvalue().to_pybytes()


def arrow():
    out = pa.BufferOutputStream()
    table = pa.Table.from_pylist(ROWS)
    with pa.ipc.new_file(out, table.schema) as file:
        file.write_table(table)
    return out.getvalue().to_pybytes()


READERS = {
    "JSON lines": ("d.jsonl", LINES, ["index", "build", "d.jsonl", "--index", "i", "--jobs", "1"]),
    "JSON lines of samples": ("d.jsonl", LINES, ["detect", "d.jsonl"]),
    "Parquet of samples": ("d.parquet", parquet, ["detect", "d.parquet"]),
    "Parquet of a corpus": ("d.parquet", parquet, ["index", "build", "d.parquet", "--index", "i", "--jobs", "1"]),
    "Arrow": ("d.arrow", arrow, ["detect", "d.arrow"]),
    "a notebook": ("d.ipynb", NOTEBOOK, ["detect", "d.ipynb"]),
    "a patch": ("d.patch", PATCH, ["detect", "--patch", "d.patch"]),
    "a licence": ("c/LICENSE", LICENCE, ["index", "build", "c", "--index", "i", "--jobs", "1"]),
    "package.json": ("c/package.json", PACKAGE, ["index", "build", "c", "--index", "i", "--jobs", "1"]),
    "pyproject.toml of a corpus": ("c/pyproject.toml", PROJECT, ["index", "build", "c", "--index", "i", "--jobs", "1"]),
    "source code": ("c/a.py", b"def f(x):\n    return [x for _ in x]\n", ["pairs", "c"]),
    "assay.toml": ("assay.toml", SETTINGS, ["config"]),
    "a run folder": ("run/manifest.json", b'{"schema": 1, "kind": "audit"}', ["report", "run"]),
    "a baseline": ("b.json", BASELINE, ["trace", "c", "--index", "i", "--baseline", "b.json"]),
    "a corpus that is scanned": ("d.jsonl.gz", gzip.compress(LINES), [*SCAN, "d.jsonl.gz"]),
    "Parquet that is scanned": ("d.parquet", parquet, [*SCAN, "d.parquet"]),
    "Arrow that is scanned": ("d.arrow", arrow, [*SCAN, "d.arrow"]),
    "an archive that is scanned": ("d.zip", zipped, [*SCAN, "d.zip"]),
    "a corpus that is cleaned": ("d.jsonl", LINES, [*SCAN, "d.jsonl", "--write-clean", "clean"]),
    "tasks of a scan": ("tasks.jsonl", TASKS, [*SCAN, "c"]),
    "evidence of a scan": ("e.jsonl", EVIDENCE, ["annotate", "r.json", "--scan", "e.jsonl"]),
    "a run of an agent": (
        "t.traj.json",
        mini_swe_agent()[1].encode(),
        [*AGENTS, "t.traj.json"],
    ),
    "runs of agents": ("output.jsonl", openhands()[1].encode(), [*AGENTS, "output.jsonl"]),
    "tasks of agents": ("tasks.jsonl", TASKS, [*AGENTS, "t.traj.json"]),
    "a course": ("course.zip", zipped, ["pairs", "course.zip"]),
    "results of an evaluation": ("r.json", RESULTS, ["annotate", "r.json", "--scan", "nowhere.jsonl"]),
}


def damaged(content, draw):
    """The content with some bytes replaced, a piece cut out or put in, or something else in its place."""
    kind = draw.randrange(8)
    if kind == 0:
        return draw.choice(HOSTILE)
    data = bytearray(content)
    at = draw.randrange(len(data))
    if kind == 1:
        return bytes(data[:at]) + draw.choice(HOSTILE) + bytes(data[at:])
    if kind == 2:
        return bytes(data[:at]) + bytes(data[at + draw.randrange(1, 40) :])
    for _ in range(draw.choice((1, 1, 2, 8))):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data)


@pytest.fixture
def folder(assay, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c/b.py").write_text("def g(y):\n    return y * 2\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "tasks.jsonl").write_bytes(TASKS)
    (tmp_path / "r.json").write_bytes(RESULTS)
    (tmp_path / "t.traj.json").write_text(mini_swe_agent()[1])
    return tmp_path


@pytest.mark.fuzz
@pytest.mark.timeout(0 if SECONDS else 300)
@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_file_ends_in_one_line(assay, folder, reader):
    name, sound, command = READERS[reader]
    content = sound() if callable(sound) else sound
    if command[0] == "trace":
        assert assay("index", "build", "c", "--index", "i", "--jobs", "1").code == 0
    seed = random.SystemRandom().randrange(2**32) if SECONDS else 0  # the suite damages the same bytes in every run
    draw, ends = random.Random(seed), time.monotonic() + SECONDS
    examples = 0
    while examples < EXAMPLES or time.monotonic() < ends:
        examples += 1
        data = damaged(content, draw)
        (folder / name).write_bytes(data)
        done = assay(*command)
        words = f"seed {seed}, example {examples}: {data[:300]!r}\n{done.err}"
        assert done.code in {0, 1, 2, 3}, words
        assert done.code != 2 or done.err.splitlines()[-1].startswith("assay: error: "), words
        assert "Traceback" not in done.out + done.err, words
