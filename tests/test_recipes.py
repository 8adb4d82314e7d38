"""The container file, the action and the recipes of the docs fit the repository."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from assay import __version__
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


ASSAY = f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m assay "$@"\n'
PYTHON = f"""#!/bin/sh
# makes an environment with assay as it is here, and installs nothing
if [ "$2" = venv ]; then
    mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cat > "$3/bin/assay" <<'END' && chmod +x "$3/bin/assay"
{ASSAY}END
else
    echo "$@" > "$RUNNER_TEMP/installed"
fi
"""


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def action(tmp_path):
    """Run the steps of the action as a runner does: each in bash, its environment made from inputs and context."""
    parts = yaml.safe_load((ROOT / "action.yml").read_text())
    runner = tmp_path / "runner"
    path = f"{program(runner / 'bin' / 'python3', PYTHON).parent}{os.pathsep}{os.environ['PATH']}"

    def run(folder, event, **given):
        context = {"github.action_path": str(ROOT), "github.sha": event.get("after", "")}
        context["github.event.before"] = event.get("before", "")
        for side, commit in event.get("pull_request", {}).items():
            context[f"github.event.pull_request.{side}.sha"] = commit["sha"] if side in {"base", "head"} else ""

        def expanded(text):
            first = lambda match: next(filter(None, map(context.get, match[1].split(" || "))), "")  # noqa: E731
            return re.sub(r"\$\{\{ (.*?) \}\}", first, text)

        for name, value in parts["inputs"].items():
            context[f"inputs.{name}"] = given.get(name, expanded(value["default"]))
        (runner / "event.json").write_text(json.dumps(event))
        of_runner = {"PATH": path, "RUNNER_TEMP": str(runner), "GITHUB_EVENT_PATH": str(runner / "event.json")}
        for step in parts["runs"]["steps"]:
            environment = os.environ | of_runner | {name: expanded(text) for name, text in step["env"].items()}
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=folder / expanded(step.get("working-directory", ".")),
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                break
        return done

    run.installed = runner / "installed"
    return run


@pytest.mark.slow
def test_the_action_judges_a_pull_request_by_the_rules_of_its_base(action, tmp_path):
    """In a checkout of one commit, as actions/checkout makes it."""
    repository = DatedRepository(tmp_path / "project")
    repository.commit("2020-01-01", {"assay.toml": '[check]\nfail-on-licence = ["copyleft"]\n'})
    base = repository.git("rev-parse", "HEAD")
    text = "# SPDX-License-Identifier: GPL-3.0-only\nX = 1\n"
    repository.commit("2020-01-02", {"new.py": text, "assay.toml": "[check]\n"})
    head = repository.git("rev-parse", "HEAD")
    checkout = tmp_path / "checkout"
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.path}", str(checkout))
    body = {"body": "- [x] AI-assisted", "head": {"ref": "x", "sha": head}, "base": {"sha": base}}
    done = action(checkout, {"pull_request": body})
    assert (done.returncode, done.stdout.partition("\n")[0]) == (1, "Findings"), done.stderr
    assert "check box: AI-assisted" in done.stdout
    rules = [result["ruleId"] for result in json.loads((checkout / "assay.sarif").read_text())["runs"][0]["results"]]
    assert rules == ["stated-licence", "declared-agent"]
    assert action.installed.read_text().split() == (
        ["-m", "pip", "install", "--quiet", "--constraint", f"{ROOT}/constraints.txt", str(ROOT)]
    )
    assert action(checkout, {"pull_request": body}, base="; touch stolen $(touch stolen)").returncode == 2
    assert not (checkout / "stolen").exists()
    done = action(checkout, {"before": base, "after": head})
    assert (done.returncode, done.stdout.partition("\n")[0]) == (1, "Findings"), done.stderr
    done = action(checkout, {})
    assert (done.returncode, done.stdout.count("received an event without a base")) == (2, 1)


@pytest.mark.slow
@pytest.mark.program
def test_the_hook_runs_from_a_repository_and_a_rev(tmp_path, monkeypatch):
    """As pre-commit runs it, but with the assay of the test in place of an installed one."""
    hooks = DatedRepository(tmp_path / "assay")
    hooks.commit("2020-01-01", {".pre-commit-hooks.yaml": (ROOT / ".pre-commit-hooks.yaml").read_text()})
    hooks.git("tag", f"v{__version__}")
    project = DatedRepository(tmp_path / "project")
    hook = {"id": "assay-check", "language": "system"}
    config = {"repos": [{"repo": str(hooks.path), "rev": f"v{__version__}", "hooks": [hook]}]}
    rules = '[check]\nfail-on-licence = ["copyleft"]\n'
    project.commit("2020-01-01", {"assay.toml": rules, ".pre-commit-config.yaml": yaml.safe_dump(config)})
    place = program(tmp_path / "bin" / "assay", ASSAY).parent
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")

    def committed(text):
        (project.path / "new.py").write_text(text)
        project.git("add", "-A")
        command = [sys.executable, "-m", "pre_commit", "run"]
        return subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=False)

    done = committed("# SPDX-License-Identifier: GPL-3.0-only\nX = 1\n")
    assert (done.returncode, "Findings" in done.stdout) == (1, True), done.stdout
    assert committed("X = 1\n").returncode == 0


def test_the_pages_name_the_tag_of_this_version():
    text = (ROOT / "docs" / "how-to" / "check-a-change.md").read_text("utf-8")
    assert f"/assay@v{__version__}\n" in text
    assert f"rev: v{__version__}\n" in text


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
