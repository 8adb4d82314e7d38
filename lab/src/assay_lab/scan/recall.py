"""How many tasks a scan finds, by what was done to them, in rows of JSON lines that hold no other benchmark.

Each task, changed, stands at a random line of a source or text of a package; the prompt in a chat is the first message
of one. The limits of the rule were chosen on six benchmarks and other packages; the other benchmarks confirm them. A
text of fewer than eight words is left out, and "too short to tell" counts as not found.
"""

import json
import random
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.datasets import DataSelection, read_dataset
from assay.languages import LANGUAGES
from assay.scan import Matcher, ScannedTask, scan_file, task_of
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.scan.archives import packages_in, texts_in

CHOSEN_ON = ("humaneval", "mbpp", "humanevalpack", "swe-bench-lite", "debugbench", "defects4j")
CONFIRMED_ON = ("bigcodebench", "humaneval-x", "apps", "quixbugs", "gitbug-java", "bugsinpy", "bugscpp")
LEAST_WORDS = 8
SIZES = range(2000, 20_000)
"""Bytes of a text that carries a task."""
EACH_PACKAGE = 5
"""Texts of a package that carry tasks."""
WHOLE = ("task", "patch", "solution")
"""Parts of a task of which the first that it has is the whole."""
PROSE = ("docstring", "issue")

_TEXTS = {
    "python": r'""".*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*',
    "": r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
}
"""Language, "" for the others → comments and texts in quotes."""
_PROSE = {"python": r'"""(.*?)"""|\'\'\'(.*?)\'\'\'|#([^\n]*)', "": r"/\*(.*?)\*/|//([^\n]*)"}
_MARKS = re.compile(r"[ \t]*([-+*/=<>,(){}\[\]]+)[ \t]*")


@dataclass(frozen=True, slots=True)
class InjectedTask:
    """A task that is changed.

    Attributes:
        language: of its code.
        parts: name → text.
        others: other solutions of the same task.
    """

    language: str
    parts: Mapping[str, str]
    others: Sequence[str]

    def part(self, *names: str) -> str:
        """Return the text of the first of some parts that the task has; "" without one."""
        return next(filter(None, map(self.parts.get, names)), "")

    @property
    def prose(self) -> str:
        """The prompt, where it is no code."""
        return "" if "docstring" in self.parts else self.parts.get("prompt", "")

    @property
    def code(self) -> str:
        """The whole without its prose: the solution where the prompt is prose."""
        return self.part("solution") if self.prose and "patch" not in self.parts else self.part(*WHOLE)


Change = Callable[[InjectedTask, random.Random], str]


def renamed(code: str, language: str, draw: random.Random) -> str:
    """Return code with every name replaced that its language and its library do not define; comments stay."""
    # benchmarks name the wrong language here and there, so keywords of every language stay
    fixed = frozenset().union(*(other.reserved for other in LANGUAGES.values()))
    fixed |= LANGUAGES[language].unavailable if language in LANGUAGES else frozenset()
    names: dict[str, str] = {}

    def name_for(match: re.Match[str]) -> str:
        word = match[0]
        # a comment or literal matches as a whole, so that no name within it is replaced
        if match[1] is None or word in fixed:
            return word
        return names.setdefault(word, f"v{draw.randrange(10**6)}")

    texts = _TEXTS.get(language, _TEXTS[""])
    # a name after a dot is a member of something else: a renaming of names leaves it
    return re.sub(rf"{texts}|(?<![\w.])([A-Za-z_]\w*)", name_for, code, flags=re.DOTALL)


def reformatted(code: str) -> str:
    """Return code with other spaces, indentation, quotes and line ends, and without empty lines."""
    text = _MARKS.sub(r" \1 ", code.replace("    ", "\t")).replace("'", '"')
    return "\r\n".join(filter(str.strip, text.split("\n")))


def translated(code: str, language: str, draw: random.Random) -> str:
    """Return code whose docstrings and comments have other words; numbers, marks and code stay."""
    words: dict[str, str] = {}

    def word_for(match: re.Match[str]) -> str:
        return words.setdefault(match[0], "".join(draw.choices("abcdefghijlmnoprstuvz", k=len(match[0]))))

    def comment_for(match: re.Match[str]) -> str:
        return re.sub(r"[A-Za-z]{2,}", word_for, match[0])

    return re.sub(_PROSE.get(language, _PROSE[""]), comment_for, code, flags=re.DOTALL)


def third_of_lines(code: str, language: str, draw: random.Random) -> str:
    """Return code of whose lines a third, drawn, is left out, has other names, or is followed by another line."""
    lines: list[str] = []
    for line in code.split("\n"):
        if not line.strip() or draw.random() >= 1 / 3:
            lines.append(line)
        # 0 leaves the line out, 1 puts another one behind it, 2 renames alone
        elif edit := draw.randrange(3):
            lines.append(renamed(line, language, draw))
            if edit == 1:
                lines.append(f"{line[: len(line) - len(line.lstrip())]}v{draw.randrange(10**6)} = {draw.random():.3}")
    return "\n".join(lines)


def chat(task: InjectedTask, _: random.Random) -> str:
    """Return the prompt or the issue with the words of a person before it."""
    prompt = task.part("prompt", "issue")
    return prompt and f"Please solve this for me, and explain each step:\n\n{prompt}"


CHAT = "prompt in a chat"
CHANGES: Mapping[str, Change] = {
    "word for word": lambda task, _: task.part(*WHOLE),
    "reformatted": lambda task, _: reformatted(task.part(*WHOLE)),
    "all names replaced": lambda task, draw: f"{task.prose}\n{renamed(task.code, task.language, draw)}",
    "docstring alone": lambda task, _: task.part(*PROSE),
    CHAT: chat,
    "translated comments": lambda task, draw: translated(task.code, task.language, draw),
    "solution alone": lambda task, _: task.part("solution"),
    "tests alone": lambda task, _: task.part("tests"),
    "docstring, rewrapped": lambda task, _: "\n".join(textwrap.wrap(task.part(*PROSE), 50)),
    "solution, all names replaced": lambda task, draw: renamed(task.part("solution"), task.language, draw),
    "a third of the lines edited": lambda task, draw: third_of_lines(task.part("solution"), task.language, draw),
    "another solution": lambda task, draw: draw.choice(task.others) if task.others else "",
}
"""What is done to a task → the text that stands in the corpus; "" where the task has no such part."""
GOALS = {
    "word for word": 0.995,
    "reformatted": 0.99,
    "all names replaced": 0.95,
    "docstring alone": 0.97,
    CHAT: 0.99,
    "translated comments": 0.95,
}


def carriers(packages: Path, draw: random.Random) -> list[str]:
    """Return some texts of 2 to 20 kB from each package."""
    texts: list[str] = []
    for package in packages_in(packages):
        inside = [raw for _, raw in texts_in(package) if len(raw) in SIZES]
        chosen = draw.sample(inside, min(EACH_PACKAGE, len(inside)))
        texts += (raw.decode("utf-8", "replace") for raw in chosen)
    return texts


def row_with(text: str, change: str, *, source: str, draw: random.Random) -> dict[str, object]:
    """Return a row that holds a text: at a random line of a source, or as the first message of a chat about it."""
    at = source.rfind("\n", 0, draw.randrange(len(source))) + 1
    if change == CHAT:
        return {"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": source[at:]}]}
    return {"text": f"{source[:at]}{text}\n{source[at:]}"}


def injected_tasks(name: str, data: Data) -> Iterator[tuple[ScannedTask, InjectedTask]]:
    """Yield the tasks of a benchmark as the scan has them and as they are changed."""
    others = _other_solutions(name, data)
    for sample in read_dataset(name, DataSelection(repeated="number", data=str(data[name]))).samples:
        task = task_of(sample, name)
        parts = {part.name: part.text for part in task.parts}
        # as it is published, with the names of its files
        if "patch" in parts:
            parts["patch"] = str(sample.metadata.get("patch") or sample.metadata.get("bug_patch"))
        yield task, InjectedTask(sample.language or "", parts, others.get(re.sub(r"\D", "", task.id), ()))


def _other_solutions(name: str, data: Data) -> dict[str, list[str]]:
    """Return number of a task → programs of models that pass its tests."""
    solutions: dict[str, list[str]] = {}
    folder = data["generations"] / name if "generations" in data else Path()
    for path in sorted(folder.glob("*/*.jsonl")):
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            if row["is_solved"]:
                solutions.setdefault(re.sub(r"\D", "", row["task_id"]), []).append(row["solution"])
    return solutions


def run(scale: int, seed: int, data: Data) -> Result:
    """Tasks that a scan finds in rows of training data, by what was done to them."""
    rows: list[dict[str, object]] = []
    notes: list[str] = []
    missed: list[str] = []
    for half, names, packages in (
        ("chosen on", CHOSEN_ON, data["packages"]),
        ("confirmed on", CONFIRMED_ON, data.get("other-packages", data["packages"])),
    ):
        held = {name: list(injected_tasks(name, data)) for name in names if name in data}
        draw = random.Random(seed)  # noqa: S311  a draw of an experiment
        sources = carriers(packages, draw)
        notes.append(f"{half}: {len(sources)} texts of {len(packages_in(packages))} packages carry the tasks.")
        searched = Searched(held, sources, data["work"] / "rows.jsonl")
        for change in CHANGES:
            counts = []
            for name, pairs in held.items():
                chosen = draw.sample(range(len(pairs)), min(scale, len(pairs)))
                hits = searched.hits(name, change, chosen=chosen, draw=draw)
                counts.append((name, sum(hits.values()), len(hits)))
                missed += (f"{change} {name} {task}" for task, hit in hits.items() if not hit)
            counts.append(("all", sum(count[1] for count in counts), sum(count[2] for count in counts)))
            rows += (_row(half, change, *count) for count in counts if count[2])
    (data["work"] / "missed.txt").write_text("\n".join(missed), "utf-8")
    return Result(rows, notes)


def _row(half: str, change: str, name: str, hits: int, tasks: int) -> dict[str, object]:
    recall = wilson(hits, tasks)
    share = {"value": recall.value, "low": recall.low, "high": recall.high}
    return {"rule": half, "benchmark": name, "change": change, "tasks": tasks, "found": hits, "recall": share}


class Searched:
    """Rows that hold tasks of some benchmarks, and the scan of them.

    Args:
        held: benchmark → its tasks.
        sources: texts that carry them.
        path: of the file of rows, written anew for each search.
    """

    def __init__(
        self, held: Mapping[str, Sequence[tuple[ScannedTask, InjectedTask]]], sources: Sequence[str], path: Path
    ) -> None:
        self.held, self.sources, self.path = held, sources, path
        tasks: list[ScannedTask] = []
        self.first: dict[str, int] = {}
        for name, pairs in held.items():
            self.first[name] = len(tasks)
            tasks += (task for task, _ in pairs)
        self.matcher = Matcher(tasks)

    def hits(self, name: str, change: str, *, chosen: Sequence[int], draw: random.Random) -> dict[str, bool]:
        """Return id → found in its own row, of the chosen tasks of a benchmark that have a text for a change."""
        numbers: list[int] = []
        lines: list[str] = []
        for number in chosen:
            text = CHANGES[change](self.held[name][number][1], draw)
            if len(re.findall(r"\w+", text)) >= LEAST_WORDS:
                numbers.append(number)
                lines.append(json.dumps(row_with(text, change, source=draw.choice(self.sources), draw=draw)) + "\n")
        if not lines:
            return {}
        self.path.write_text("".join(lines), "utf-8")
        places = scan_file(str(self.path), self.matcher).places
        found: dict[str, bool] = {}
        # rows of a file are counted from 1
        for row, number in enumerate(numbers, 1):
            inside = places.get(self.first[name] + number, ())
            found[self.held[name][number][0].id] = any(place.row == row for place in inside)
        return found


EXPERIMENTS = (
    Experiment(
        name="scan/recall",
        run=run,
        scales={"smoke": 5, "full": 100},
        columns=("rule", "benchmark", "change", "tasks", "found", "recall"),
        needs={"packages": "a folder of archives of packages that the limits of the rule were chosen on"},
        takes={
            **{name: f"files of {name}" for name in (*CHOSEN_ON, *CONFIRMED_ON)},
            "other-packages": "a folder of archives of other packages, which carry the benchmarks that confirm",
            "generations": "input_data of github.com/FloridSleeves/LLMDebugger: programs of models that pass the tests",
        },
        stored="scan/recall",
    ),
)
