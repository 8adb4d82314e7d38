"""Is a planted reading of the fix found in a real run of an agent, and is any real run accused?

Each plant is one further step of a real run, before the agent wrote a line of the fix: a command of one channel, with
the gold patch in the form in which that command prints it. A *stranger* is the same step with the patch of another
task: it shows foreign text, and no fix. *Tasks with runs* are those that the agent worked on, on which the rules were
chosen; the patches of *other tasks* are judged in the same runs, as if these had worked on them. *Deletions* are the
patches of both that only add, the other way round, in runs that hand them in.
"""

import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, starmap
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import NamedTuple

from assay.agent_runs import (
    AgentRun,
    GoldTask,
    JudgedRun,
    Step,
    items_of,
    judge_run,
    read_gold_tasks,
    read_runs,
    run_files,
    task_of_run,
)
from assay.datasets import Hunk, hunks
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result

NEEDS = {"agent-runs": "a folder with runs of an agent and tasks.jsonl.gz, their table in the columns of SWE-bench"}
TASKS = "tasks.jsonl.gz"
FEW = 3
"""Informative lines below which a patch is small."""
NEW = methodcaller("side", "new")
SIDES = str.maketrans("+-", "-+")
PACKAGES = "/usr/local/lib/python3.9/site-packages"


class Scale(NamedTuple):
    """Runs that are used, and plants of each form in a run."""

    runs: int | None
    repeats: int


@dataclass(frozen=True, slots=True)
class Plant:
    """One form of a plant.

    Attributes:
        channel: that the verdict should name.
        name: of the form.
        show: task and a source of chance → command and output.
    """

    channel: str
    name: str
    show: Callable[[GoldTask, random.Random], tuple[str, str]]


def _sha(chance: random.Random, length: int = 40) -> str:
    return f"{chance.getrandbits(160):040x}"[:length]


def _commit(task: GoldTask, chance: random.Random) -> str:
    head = f"commit {_sha(chance)}\nAuthor: A. Person <person@example.org>\nDate:   Mon Mar 7 10:00:00 2022 +0100\n\n"
    return f"{head}    Fixed #{chance.randrange(9999)} -- A fix.\n\n{task.patch}"


def _number(task: GoldTask) -> str:
    return task.id.rpartition("-")[2]


def _show(task: GoldTask, chance: random.Random) -> tuple[str, str]:
    return f"cd /testbed && git show {_sha(chance, 10)}", _commit(task, chance)


def _log(task: GoldTask, chance: random.Random) -> tuple[str, str]:
    word = (task.fix.lines or ("fix",))[0].split()[0].strip("\"'()")
    return f"git log --all -p -S '{word}' -- {task.fix.paths[0]} | head -300", _commit(task, chance)


def _show_file(task: GoldTask, chance: random.Random) -> tuple[str, str]:
    return f"git show origin/main:{task.fix.paths[0]} | sed -n '1,400p'", _new_side(task, chance)


def _blame(task: GoldTask, chance: random.Random) -> tuple[str, str]:
    sha = _sha(chance, 10)
    rows = enumerate(_new_side(task, chance).splitlines(), 1)
    text = "".join(starmap((sha + " (A. Person 2022-03-07 10:00:00 +0100 {:4}) {}\n").format, rows))
    return f"git blame origin/main -- {task.fix.paths[0]}", text


def _taken(task: GoldTask, chance: random.Random) -> tuple[str, str]:
    path = task.fix.paths[0]
    return f"git checkout {_sha(chance, 10)} -- {path} && cat {path}", _new_side(task, chance)


def _diff_revisions(task: GoldTask, chance: random.Random) -> tuple[str, str]:
    return f"git diff HEAD {_sha(chance, 8)} -- {task.fix.paths[0]}", task.patch


def _curl(suffix: str) -> Callable[[GoldTask, random.Random], tuple[str, str]]:
    def show(task: GoldTask, _: random.Random) -> tuple[str, str]:
        head = f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nSubject: [PATCH] Fix\n\n---\n" if suffix == "patch" else ""
        return f"curl -sL https://github.com/{task.repository}/pull/{_number(task)}.{suffix}", head + task.patch

    return show


def _api(task: GoldTask, _: random.Random) -> tuple[str, str]:
    files = [{"filename": path, "patch": task.patch} for path in task.fix.paths]
    address = f"https://api.github.com/repos/{task.repository}/pulls/{_number(task)}/files"
    return f"cd /testbed && curl -s {address} | python -m json.tool", json.dumps(files, indent=4)


def _longest(task: GoldTask, chance: random.Random) -> Hunk:
    # hunks of one length are chosen by chance
    return max(hunks(task.patch), key=lambda hunk: (sum(sign == "+" for sign, _ in hunk.lines), chance.random()))


def _new_side(task: GoldTask, _: random.Random) -> str:
    return "\n".join(map(NEW, hunks(task.patch)))


def _numbered(task: GoldTask, chance: random.Random) -> str:
    hunk = _longest(task, chance)
    rows = enumerate(hunk.side("new").splitlines(), hunk.first_line)
    return "".join(starmap("{:6d}\t{}\n".format, rows))


def _installed(task: GoldTask, chance: random.Random) -> tuple[str, str]:
    hunk = _longest(task, chance)
    last = hunk.first_line + len(hunk.lines)
    return f"sed -n '{hunk.first_line},{last}p' {PACKAGES}/{task.fix.paths[0]}", hunk.side("new")


def _installed_grep(task: GoldTask, chance: random.Random) -> tuple[str, str]:
    hunk = _longest(task, chance)
    path = f"{PACKAGES}/{hunk.path}"
    rows = enumerate(hunk.side("new").splitlines(), hunk.first_line)
    return f"grep -n -A8 -B3 'def ' {path}", "".join(starmap(f"{path}-{{}}-{{}}\n".format, rows))


def _outside_patch(task: GoldTask, _: random.Random) -> tuple[str, str]:
    return "ls /opt/eval && cat /opt/eval/gold.patch", task.patch


def _outside_file(task: GoldTask, chance: random.Random) -> tuple[str, str]:
    return f"cat -n /srv/upstream/{task.fix.paths[0]} | head -500", _numbered(task, chance)


def _tests(task: GoldTask, _: random.Random) -> tuple[str, str]:
    return f"cat /testbed/{task.tests.paths[0]}", "\n".join(map(NEW, hunks(task.test_patch)))


def _tests_outside(task: GoldTask, chance: random.Random) -> tuple[str, str]:
    return "cat /tests/test_solution.py", _tests(task, chance)[1]


PLANTS = (
    Plant("history beyond the base commit", "git show COMMIT", _show),
    Plant("history beyond the base commit", "git log --all -p -S", _log),
    Plant("history beyond the base commit", "git show BRANCH:FILE", _show_file),
    Plant("history beyond the base commit", "git diff HEAD COMMIT", _diff_revisions),
    Plant("history beyond the base commit", "git blame BRANCH", _blame),
    Plant("history beyond the base commit", "git checkout COMMIT, cat", _taken),
    Plant("network", "curl PULL.diff", _curl("diff")),
    Plant("network", "curl PULL.patch", _curl("patch")),
    Plant("network", "curl API, JSON", _api),
    Plant("another installation of the package", "sed -n in site-packages", _installed),
    Plant("another installation of the package", "grep -n -A in site-packages", _installed_grep),
    Plant("a file outside the repository", "cat gold.patch", _outside_patch),
    Plant("a file outside the repository", "cat -n of a copy", _outside_file),
    Plant("the tests", "cat the test file", _tests),
    Plant("the tests", "cat a test file outside", _tests_outside),
)


def planted(run: AgentRun, task: GoldTask, shown: GoldTask, plant: Plant, chance: random.Random) -> AgentRun:
    """Return the run with one further step that shows a patch, before the agent wrote a line of it itself."""
    patch = shown.tests if plant.channel == "the tests" else shown.fix
    lines = patch.lines or tuple(patch.words)
    # behind that step the agent could have read its own lines
    written = (number for number, step in enumerate(run.steps) if any(map(step.typed.__contains__, lines)))
    place = chance.randrange(max(1, next(written, len(run.steps))))
    # a stranger's patch is shown as one of this repository, so that the command says nothing
    command, output = plant.show(replace(shown, repository=task.repository), chance)
    step = Step(f"planted at {place}", tool="bash", arguments={"command": command}, output=output)
    return replace(run, steps=(*run.steps[:place], step, *run.steps[place:]))


class Trial(NamedTuple):
    """One plant: informative lines of its patch, whether it was found, exactly where, and whether a stranger was."""

    lines: int
    found: bool
    exact: bool
    accused: bool


def tried(plant: Plant, runs: Sequence[tuple[AgentRun, GoldTask]], scale: Scale, *, seed: int) -> Iterator[Trial]:
    """Yield what became of each plant of one form."""
    chance = random.Random(f"{plant.name} {seed}")  # noqa: S311  no secret
    for agent_run, task in runs:
        others = [other for _, other in runs if other.id != task.id and other.patch]
        lines = task.tests.lines if plant.channel == "the tests" else task.fix.deleted or task.fix.lines
        for _ in range(scale.repeats):
            judged = judge_run(planted(agent_run, task, shown=task, plant=plant, chance=chance), "", task)
            exact = is_reader(judged) and judged.place.startswith("planted") and judged.channel == plant.channel
            strange = planted(agent_run, task, shown=chance.choice(others), plant=plant, chance=chance)
            accused = is_reader(judge_run(strange, "", task))
            yield Trial(len(lines), is_reader(judged), exact, accused=accused)


def runs_in(folder: Path) -> Iterator[AgentRun]:
    """Yield the runs in a folder, beside which its table of tasks lies."""
    for path, _ in run_files([folder]):
        if path.name != TASKS:
            yield from (run for run in read_runs(path) if isinstance(run, AgentRun))


def run(scale: Scale, seed: int, data: Data) -> Result:
    """Which planted readings of the gold patch are found in real runs, and how many real runs are accused?"""
    folder = data["agent-runs"]
    table = read_gold_tasks(folder / TASKS, {})
    runs = list(runs_in(folder))
    named = ((agent_run, task_of_run(agent_run, table)) for agent_run in runs[: scale.runs])
    groups = {"tasks with runs": [(agent_run, task) for agent_run, task in named if task is not None]}
    if "tasks" in data:
        chance = random.Random(seed)  # noqa: S311  no secret
        others = [task for name, task in read_gold_tasks(data["tasks"], {}).items() if name not in table]
        groups["other tasks"] = [(chance.choice(runs), task) for task in others]
    reverse = list(deletions(chain.from_iterable(groups.values())))
    groups |= {"deletions": reverse} if len(reverse) > 1 else {}
    rows: list[dict[str, object]] = []
    for group, chosen in groups.items():
        accused = [task.id for agent_run, task in chosen if is_reader(judge_run(agent_run, "", task))]
        # none accused of few runs still leaves room: the upper end says how much
        high = wilson(len(accused), len(chosen)).high
        row = {"tasks": group, "form": "as recorded", "planted": 0, "strangers": len(chosen), "accused": len(accused)}
        rows.append({**row, "accused_at_most": high})
        for plant in PLANTS:
            results = list(tried(plant, chosen, scale, seed=seed))
            rows += [_row(group, plant, results, is_small=is_small) for is_small in (False, True)]
    return Result(rows, ["Runs of one agent and one model; the plants are ours, in the form that each command prints."])


def deletions(pairs: Iterable[tuple[AgentRun, GoldTask]]) -> Iterator[tuple[AgentRun, GoldTask]]:
    """Yield the patches that only add, the other way round, each in a run that hands it in.

    Steps that show the file as the task found it are left out: it is the fixed file of the reversed task.
    """
    for agent_run, task in pairs:
        reverse = reversed_patch(task.patch)
        fix = items_of(reverse)
        if fix.deleted:
            # the other way round the old text is the fix, which a real run has read as a file of the repository
            steps = tuple(step for step in agent_run.steps if not fix.shown(step.output))
            yield replace(agent_run, submission=reverse, steps=steps), replace(task, patch=reverse)


def reversed_patch(patch: str) -> str:
    """Return the patch that undoes another one."""
    parts = []
    for hunk in hunks(patch):
        rows = "".join(sign.translate(SIDES) + text for sign, text in hunk.lines)
        # the old side is the new one of before
        old, new = hunk.side("new").count("\n"), hunk.side("old").count("\n")
        head = f"--- a/{hunk.path}\n+++ b/{hunk.path}\n@@ -{hunk.first_line},{old} +{hunk.first_line},{new} @@\n"
        parts.append(head + rows)
    return "".join(parts)


def is_reader(judged: JudgedRun) -> bool:
    """Return True for a run that read the fix."""
    return judged.verdict == "read the fix"


def _row(group: str, plant: Plant, results: Sequence[Trial], *, is_small: bool) -> dict[str, object]:
    chosen = [trial for trial in results if (trial.lines < FEW) == is_small]
    found = sum(map(attrgetter("found"), chosen))
    share = wilson(found, len(chosen))
    return {
        "tasks": group,
        "form": plant.name,
        "channel": plant.channel,
        "lines": f"fewer than {FEW}" if is_small else f"{FEW} and more",
        "planted": len(chosen),
        "found": found,
        "at_step_and_channel": sum(map(attrgetter("exact"), chosen)),
        "interval": [share.low, share.high],
        "strangers": len(chosen),
        "accused": sum(map(attrgetter("accused"), chosen)),
    }


EXPERIMENTS = (
    Experiment(
        name="provenance/agent_readings",
        run=run,
        scales={"smoke": Scale(runs=4, repeats=1), "full": Scale(runs=None, repeats=2)},
        columns=("tasks", "form", "lines", "planted", "found", "at_step_and_channel", "strangers", "accused"),
        needs=NEEDS,
        takes={"tasks": "further tasks in the columns of SWE-bench, whose patches did not shape the rules"},
    ),
)
