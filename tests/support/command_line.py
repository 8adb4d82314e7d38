"""The command line as a person meets it: exit code, standard output, standard error."""

import json
import os
import sys
from pathlib import Path

import pytest

from assay.cli.app import main
from support.commands import Finished

SOURCE = Path(__file__).resolve().parents[2] / "src"
LAB = SOURCE.parent / "lab" / "src"


@pytest.fixture
def environment(tmp_path):
    """No cache but this test's own."""
    return os.environ | {
        "ASSAY_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join(map(str, (SOURCE, LAB))),
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }


@pytest.fixture
def assay(tmp_path, environment, monkeypatch, capsys):
    """Run `assay ARGUMENTS` in an empty folder, in this process: torch is imported once, not once a command."""

    def run(*arguments, **options):
        for name, value in (environment | options).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["assay", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Finished(ended.value.code, printed.out, printed.err)

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
