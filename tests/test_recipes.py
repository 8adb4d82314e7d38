"""The container file, the action and the recipes of the docs fit the repository."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra hf")


def extras():
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def test_the_container_file_copies_what_is_here_and_installs_extras_that_exist():
    text = (ROOT / "Containerfile").read_text()
    copied = [name for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE) for name in line.split()[:-1]]
    assert {"src", "pyproject.toml"} <= {name.removeprefix("./") for name in copied}
    assert not [name for name in copied if not (ROOT / name).exists()]
    assert set(re.search(r"'\.\[([\w,-]+)\]'", text)[1].split(",")) <= extras()
    assert {"bubblewrap", "libseccomp2"} <= set(text.split())


@pytest.fixture
def step(tmp_path):
    """Run the command of the action's last step with `assay` as it is here."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    *_, last = action["runs"]["steps"]
    program = tmp_path / "bin" / "assay"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m assay "$@"\n')
    program.chmod(0o755)

    def run(command):
        environment = os.environ | {
            "PATH": f"{program.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "COMMAND": command,
        }
        return subprocess.run(
            ["bash", "-e", "-c", last["run"]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_action_runs_the_words_of_its_command_and_keeps_the_exit_code(step):
    assert step("benchmarks list --format csv").stdout.startswith("name,")
    assert step("benchmarks show nowhere").returncode == 2


def test_the_action_runs_nothing_but_assay(step, tmp_path):
    done = step("benchmarks show 'a b' ; touch stolen $(touch stolen)")
    assert done.returncode == 2
    assert not (tmp_path / "stolen").exists()


def test_every_input_of_the_action_is_described_and_used():
    text = (ROOT / "action.yml").read_text()
    action = yaml.safe_load(text)
    for name, value in action["inputs"].items():
        assert value["description"]
        assert f"inputs.{name}" in text
    assert all(step["shell"] == "bash" for step in action["runs"]["steps"])


def test_no_page_installs_a_stranger_or_has_a_placeholder():
    names = (
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CITATION.cff",
        "pyproject.toml",
        "mkdocs.yml",
        "action.yml",
    )
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "Containerfile", *(ROOT / name for name in names)]
    for page in pages:
        text = page.read_text("utf-8")
        assert not re.search(r"pip install (?:--\S+ )*'?assay(?![\w/-])", text), page
        assert not re.search(r"/OWNER/|<OWNER>", text), page
