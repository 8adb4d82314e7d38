"""How many tasks a scan finds, by what was done to them, in files of packages that hold no benchmark.

A task, changed, stands at a random line of a random file. Six benchmarks chose the limits of the rule, the others
confirm them. Tasks of fewer than eight words are left out; "too short to tell" counts as not found.
"""

import builtins
import keyword
import random
import re
import textwrap
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assay.languages import LANGUAGES
from assay.scan import Matcher, ScannedTask, read_tasks
from assay_lab.experiments.declaration import Data, Experiment, Result

CHOSEN_ON = ("humaneval", "mbpp", "humanevalpack", "swe-bench-lite", "debugbench", "defects4j")
CONFIRMED_ON = ("bigcodebench", "humaneval-x", "quixbugs", "gitbug-java", "bugsinpy", "bugscpp")
LEAST_WORDS = 8
SIZES = range(2000, 20_000)
"""Bytes of a file that carries a task."""
NO_CODE = r'("""|\'\'\').*?\1|"[^"\n]*"|\'[^\'\n]*\'|#.*|//.*'

Change = Callable[[ScannedTask, random.Random], str]


def part(task: ScannedTask, *names: str) -> str:
    """Return the text of the first of some parts that a task has; "" without one."""
    texts = {piece.name: piece.text for piece in task.parts}
    return next((texts[name] for name in names if name in texts), "")


def fixed_names() -> frozenset[str]:
    """Return the words that no renaming changes, in lower case."""
    words = set(keyword.kwlist).union(*map(dir, (builtins, str, list, dict, set, bytes)))
    for language in LANGUAGES.values():
        words |= language.unavailable
    return frozenset(map(str.lower, words))


FIXED = fixed_names()


def renamed(code: str, draw: random.Random) -> str:
    """Return code with every other name replaced; comments and strings stay."""
    names: dict[str, str] = {}

    def name_for(match: re.Match[str]) -> str:
        word = match[0]
        if match[1] is not None or not re.match(r"[A-Za-z_]", word) or word.lower() in FIXED:
            return word
        return names.setdefault(word, f"v{draw.randrange(10**6)}")

    return re.sub(rf"{NO_CODE}|[A-Za-z_]\w*", name_for, code)


def reformatted(code: str) -> str:
    """Return code with other spaces and quotes."""
    return re.sub(r"[ \t]*([-+*/=<>,(){}\[\]]+)[ \t]*", r" \1 ", code).replace("'", '"')


def other_comments(code: str) -> str:
    """Return code whose docstrings and comments say something else."""
    text = re.sub(r'"""(.*?)"""', '"""' + "texto traducido a otra lengua " * 3 + '"""', code, flags=re.DOTALL)
    return re.sub(r"(?m)(//|#).*$", r"\1 comentario traducido", text)


def third_of_lines(code: str, draw: random.Random) -> str:
    """Return code with other names and a comment in a third of its lines."""
    lines = code.split("\n")
    for number, line in enumerate(lines):
        if line.strip() and draw.random() < 1 / 3:
            lines[number] = f"{renamed(line, draw)}  # changed"
    return "\n".join(lines)


def whole(task: ScannedTask) -> str:
    """Return the whole task, or its patch."""
    return part(task, "task", "patch", "solution")


def code_of(task: ScannedTask) -> str:
    """Return the task as code: its solution where the whole is a patch."""
    return part(task, "solution") if part(task, "patch") else part(task, "task", "solution")


CHANGES: Mapping[str, Change] = {
    "word for word": lambda task, _: whole(task),
    "reformatted": lambda task, _: reformatted(whole(task)),
    "all names replaced": lambda task, draw: renamed(code_of(task), draw),
    "solution alone, all names replaced": lambda task, draw: renamed(part(task, "solution"), draw),
    "solution alone": lambda task, _: part(task, "solution"),
    "docstring or issue alone": lambda task, _: part(task, "docstring", "issue"),
    "docstring or issue, rewrapped": lambda task, _: "\n".join(textwrap.wrap(part(task, "docstring", "issue"), 50)),
    "prompt in a chat": lambda task, _: part(task, "prompt", "issue"),
    "translated comments": lambda task, _: other_comments(code_of(task)),
    "solution edited in a third of its lines": lambda task, draw: third_of_lines(part(task, "solution"), draw),
}


def carriers(packages: Path, draw: random.Random, most: int = 200) -> list[str]:
    """Return sources of packages: files of 2 to 20 kB."""
    texts: list[str] = []
    for path in sorted(packages.glob("*.whl"))[:20]:
        with zipfile.ZipFile(path) as archive:
            inside = [e for e in archive.infolist() if e.filename.endswith(".py") and e.file_size in SIZES]
            for entry in draw.sample(inside, min(15, len(inside))):
                texts.append(archive.read(entry).decode("utf-8", "replace"))
    return texts[:most]


def embedded(text: str, sources: Sequence[str], draw: random.Random) -> bytes:
    """Return a text at a random line of a random source."""
    source = draw.choice(sources)
    at = source.rfind("\n", 0, draw.randrange(len(source))) + 1
    return f"{source[:at]}{text}\n{source[at:]}".encode("utf-8", "surrogatepass")


def run(scale: int, seed: int, data: Data) -> Result:
    """Tasks that a scan finds in files of packages, by what was done to them."""
    draw = random.Random(seed)  # noqa: S311  a draw of an experiment
    sources = carriers(data["packages"], draw)
    names = [name for name in (*CHOSEN_ON, *CONFIRMED_ON) if name in data]
    rows: list[dict[str, object]] = []
    for name in names:
        tasks = read_tasks([f"{name}={data[name]}"])
        matcher = Matcher(tasks)
        chosen = draw.sample(range(len(tasks)), min(scale, len(tasks)))
        for change, make in CHANGES.items():
            texts = {number: make(tasks[number], draw) for number in chosen}
            texts = {number: text for number, text in texts.items() if len(re.findall(r"\w+", text)) >= LEAST_WORDS}
            if not texts:
                continue
            places = [embedded(text, sources, draw) for text in texts.values()]
            hits = {(at, match.task) for at, match in matcher.search(places)}
            detected = sum((at, number) in hits for at, number in enumerate(texts))
            rows.append(
                {
                    "benchmark": name,
                    "rule": "chosen on" if name in CHOSEN_ON else "confirmed on",
                    "change": change,
                    "tasks": len(texts),
                    "recall": detected / len(texts),
                }
            )
    return Result(rows, [f"{len(sources)} files of packages carry the tasks"])


EXPERIMENTS = (
    Experiment(
        name="scan/recall",
        run=run,
        scales={"smoke": 5, "full": 100},
        columns=("benchmark", "rule", "change", "tasks", "recall"),
        needs={"packages": "a folder of wheels"},
        takes={name: f"files of {name}" for name in (*CHOSEN_ON, *CONFIRMED_ON)},
        stored="scan/recall",
    ),
)
