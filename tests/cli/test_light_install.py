"""The base install has no torch: tracing and indexing work without it, and the rest names its extra."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import EXTRAS, install_command
from support.installed import without

ROOT = Path(__file__).resolve().parents[2]

LIGHT = without(EXTRAS) + "from assay.cli.app import main; main()"

CODE = """def interval(low, high, values):
    total = 0
    for value in values:
        if low <= value < high:
            total += value * value
    return total / max(1, len(values))
"""


@pytest.fixture
def light(tmp_path):
    """Run `assay ARGUMENTS` in another process, in which no optional dependency can be imported."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "ASSAY_CACHE": str(tmp_path / "cache"),
        "NO_COLOR": "1",
    }

    def run(*arguments):
        command = [sys.executable, "-c", LIGHT, *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False
        )

    return run


@pytest.mark.slow
def test_code_is_indexed_and_traced(light, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.py").write_text(CODE)
    (tmp_path / "query.py").write_text(CODE)
    built = light("index", "build", "corpus", "--index", "code.index")
    assert built.returncode == 0, built.stderr
    traced = light("trace", "query.py", "--index", "code.index", "--min-confidence", 0)
    assert traced.returncode == 0, traced.stderr
    assert "a.py" in traced.stdout
    assert light("index", "info", "--index", "code.index").returncode == 0


@pytest.mark.slow
def test_lists_need_no_model(light):
    for command in (["benchmarks", "list"], ["score", "--list"], ["--help"], ["cache", "info"]):
        assert light(*command).returncode == 0, command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["audit", "builtin:small", "texts.jsonl"], "hf"),
        (["score", "builtin:small", "texts.jsonl"], "hf"),
        (["demo"], "hf"),
        (["serve", "--index", "code.index"], "serve"),
        (["score", "openai:m@http://localhost:1/v1", "hf:owner/name"], "hub"),
    ],
)
def test_a_missing_extra_is_one_line_that_names_it(light, tmp_path, command, extra):
    (tmp_path / "texts.jsonl").write_text('{"text": "x = 1"}\n')
    ended = light(*command)
    assert ended.returncode == 2, ended.stdout + ended.stderr
    (line,) = ended.stderr.splitlines()
    assert line.endswith(install_command(extra))
