"""The command line as a person meets it: exit code, standard output, standard error."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"


@dataclass
class Finished:
    code: int
    out: str
    err: str


@pytest.fixture
def environment(tmp_path):
    """No cache and no hub but this test's own."""
    return os.environ | {
        "ASSAY_CACHE": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path / "hub"),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(SOURCE),
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }


@pytest.fixture
def assay(tmp_path, environment):
    """Run `assay ARGUMENTS` in a process of its own, in an empty folder."""

    def run(*arguments, **options):
        done = subprocess.run(
            [sys.executable, "-m", "assay", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment | options,
            timeout=240,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def texts(tmp_path):
    """A small labelled data set on disk."""
    rows = [
        {"id": f"t{i}", "text": f"def f{i}(x):\n    return x + {i * i}\n", "label": i % 2, "group": f"g{i // 4}"}
        for i in range(24)
    ]
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
