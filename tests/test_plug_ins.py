"""Plug-ins: the distribution of the how-to page is built, installed and used; broken ones are named."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from assay import plug_ins
from assay.errors import PlugInError
from assay.plug_ins import PlugIns

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "how-to" / "write-a-plug-in.md"
TASKS = [{"id": i, "question": f"add {i}", "answer": f"def add(x):\n    return x + {i}\n"} for i in range(4)]


def install(project, target):
    """Build a wheel with the installed setuptools, and install it into a folder; both without a network."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = [*pip, "wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", project / "dist", project]
    subprocess.run(wheel, check=True, capture_output=True)
    built = next((project / "dist").glob("*.whl"))
    subprocess.run([*pip, "install", "--no-index", "--no-deps", "--target", target, built], check=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that the plug-in of the page is installed in."""
    if importlib.util.find_spec("setuptools") is None:  # not imported: in this process it would replace distutils
        pytest.skip("the plug-in is built with setuptools")
    project, target = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("installed")
    for path, content in re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', PAGE.read_text("utf-8"), re.DOTALL):
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).write_text(content, "utf-8")
    install(project, target)
    return target


@pytest.fixture
def command(installed, tmp_path):
    """Run `assay ARGUMENTS` in a process that sees the plug-in."""
    (tmp_path / "my-tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in TASKS), "utf-8")
    (tmp_path / "corpus.txt").write_text("def add(x):\n    return x + 1\n", "utf-8")

    def run(*arguments, path=(installed,)):
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", *path))),
            "ASSAY_CACHE": str(tmp_path / "cache"),
            "COLUMNS": "200",
            "NO_COLOR": "1",
        }
        call = [sys.executable, "-m", "assay", *arguments]
        return subprocess.run(call, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


@pytest.mark.slow
def test_score_benchmark_and_model_of_a_plug_in_work_together(command):
    done = command("score", "words:corpus.txt", "my-tasks", "--data", "my-tasks.jsonl", "--scores", "median_l:floor=-3")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["id"] for line in lines] == ["0", "1", "2", "3"]
    values = [line["scores"]["median_l:floor=-3"] for line in lines]
    assert values[1] == max(values)
    assert min(values) >= -3


@pytest.mark.slow
def test_lists_show_what_plug_ins_add(command):
    scores = command("score", "--list")
    assert "median_l" in scores.stdout
    assert "us, 2027" in scores.stdout
    benchmarks = command("benchmarks", "list", "--json")
    assert json.loads(benchmarks.stdout)[-1]["name"] == "my-tasks"


@pytest.mark.slow
def test_an_error_of_a_plug_in_s_model_is_one_line(command):
    done = command("score", "words:absent.txt", "my-tasks", "--data", "my-tasks.jsonl", "--scores", "median_l")
    assert done.returncode == 2
    assert (
        done.stderr.strip()
        .splitlines()[-1]
        .endswith("absent.txt cannot be read (No such file or directory); expected a text file")
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "body", "expected"),
    [
        (
            "loud = broken:loud",
            "raise RuntimeError('no\\nlicence')",
            r"cannot be imported \(RuntimeError: no licence\)",
        ),
        ("loud = broken:quiet", "", r"cannot be imported \(AttributeError: .*quiet"),
        ("loud = broken:loud", "loud = 3", "is of type int; expected a detector"),
        ("loss = broken:loud", "loud = 3", "assay itself uses this name"),
        ("kds = broken:loud", "loud = 3", "assay itself uses this name"),
        ("median_l = broken:loud", "loud = 3", "plug-in 'median_l' of my-plug-in 1.0 .* have one name"),
    ],
)
def test_a_plug_in_that_cannot_be_used_ends_with_one_line_that_names_it(
    command, installed, tmp_path, entry, body, expected
):
    folder = tmp_path / "second"
    (folder / "broken-0.3.dist-info").mkdir(parents=True)
    (folder / "broken-0.3.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 0.3\n")
    (folder / "broken-0.3.dist-info" / "entry_points.txt").write_text(f"[assay.scores]\n{entry}\n")
    (folder / "broken.py").write_text(body)
    done = command("score", "--list", path=(installed, folder))
    assert done.returncode == 2
    assert done.stderr.startswith("assay: error: plug-in ")
    assert done.stderr.count("\n") == 1
    assert "of broken 0.3" in done.stderr
    assert re.search(expected, done.stderr)


@pytest.mark.parametrize(
    ("entry", "body", "expected"),
    [
        ("loud = broken:loud", "raise RuntimeError('no\\nlicence')", "(RuntimeError: no licence)"),
        ("loud = broken:loud", "import sys\nsys.exit(1)", "(SystemExit: 1)"),
        ("audit = broken:loud", "", "assay itself uses this name"),
    ],
)
def test_a_command_that_cannot_be_imported_is_one_line_as_well(command, tmp_path, entry, body, expected):
    (tmp_path / "broken-0.3.dist-info").mkdir()
    (tmp_path / "broken-0.3.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 0.3\n")
    (tmp_path / "broken-0.3.dist-info" / "entry_points.txt").write_text(f"[assay.commands]\n{entry}\n")
    (tmp_path / "broken.py").write_text(body)
    done = command("benchmarks", "list", path=(tmp_path,))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert expected in done.stderr


def points(*entries):
    return lambda group: [EntryPoint(name, value, group) for name, value in entries]


def test_a_plug_in_is_imported_once_and_only_when_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(plug_ins, "entry_points", points(("pi", "math:pi"), ("absent", "no_such_module:x")))
    numbers = PlugIns("numbers", lambda value: isinstance(value, float), "a number", lambda: ())
    assert list(numbers) == ["absent", "pi"]
    assert "absent" in numbers
    assert numbers["pi"] is numbers["pi"]
    with pytest.raises(KeyError):
        numbers["e"]
    with pytest.raises(PlugInError, match=r"cannot be imported .*no_such_module"):
        numbers["absent"]


def test_the_object_has_the_name_of_its_entry_point(monkeypatch):
    monkeypatch.setattr(plug_ins, "entry_points", points(("other", "assay.scores.token_scores:loss")))
    with pytest.raises(PlugInError, match="has the name 'loss'; expected that of its entry point"):
        PlugIns("scores", lambda _: True, "a score", lambda: ())["other"]
