"""The container file, the action and the recipes of the docs fit the repository."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support.dated_repository import DatedRepository

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

    def run(folder, **inputs):
        environment = os.environ | {
            "PATH": f"{program.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            **inputs,
        }
        return subprocess.run(
            ["bash", "-e", "-c", last["run"]],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.slow
def test_the_action_judges_a_pull_request_by_the_rules_of_its_base(step, tmp_path):
    repository = DatedRepository(tmp_path / "project")
    repository.commit("2020-01-01", {"assay.toml": '[check]\nfail-on-licence = ["copyleft"]\n'})
    base = repository.git("rev-parse", "HEAD")
    text = "# SPDX-License-Identifier: GPL-3.0-only\nX = 1\n"
    repository.commit("2020-01-02", {"new.py": text, "assay.toml": "[check]\n"})
    event = tmp_path / "event.json"
    event.write_text('{"pull_request": {"body": "- [x] AI-assisted", "head": {"ref": "x"}}}')
    inputs = {
        "CONFIG": "assay.toml",
        "BASE": base,
        "HEAD": "HEAD",
        "SARIF": "log.sarif",
        "GITHUB_EVENT_PATH": str(event),
    }
    done = step(repository.path, **inputs)
    assert (done.returncode, done.stdout.partition("\n")[0]) == (1, "Findings")
    assert "check box: AI-assisted" in done.stdout
    rules = [
        result["ruleId"] for result in json.loads((repository.path / "log.sarif").read_text())["runs"][0]["results"]
    ]
    assert rules == ["stated-licence", "declared-agent"]
    assert step(repository.path, **inputs | {"BASE": "; touch stolen $(touch stolen)"}).returncode == 2
    assert not (repository.path / "stolen").exists()


def test_the_hook_runs_a_command_that_there_is():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"] == "assay check --staged"
    assert not hook["pass_filenames"]


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
