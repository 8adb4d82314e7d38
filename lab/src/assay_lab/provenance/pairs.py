"""Which copies between students does `assay pairs` find, beside Dolos and copydetect, and whom does it accuse wrongly?

Solutions of one task by different people are the independent pairs. Two of a task that share `RUN` tokens in a row,
names aside, or four lines, a name of five letters or a message that no third one has are hardly independent, and one of
them is left out.

- A set holds solutions of a few tasks, and disguised copies (`obfuscations`) of some. AUROC of the copies against all
  independent pairs of one task; the difference to another tool has a bootstrap interval over the sets.
- The same for students who solved three tasks each, of whom some have copied one.
- The same for IR-Plag (Karnalim et al., 2019): Java of students who were asked to copy, in six levels of disguise.
- A course is of students who solved two to five tasks each. It is quiet if no pair stands out. In every fourth one the
  last student copies: everything, or one of his tasks. Five students copy in five ways: those found, and false pairs.
- A class of three to seven students: the same, one copy at a time.

Dolos (dolos-lib) and copydetect are run with their defaults where they are installed.
"""

import json
import random
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from operator import itemgetter
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from assay.corpora import SourceText
from assay.submissions import Comparison, Submission, compare_submissions
from assay_lab.clones import seeded_random, strip_comments
from assay_lab.columns import at_places
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.provenance.obfuscations import KINDS, disguised

ENDINGS = {"python": "py", "java": "java", "c": "c", "cpp": "cpp"}
RUN = 80
MOST, LINES, OF_A_TASK, IN_A_SET, COPIES = 60, 5, 12, 24, 4
FEWEST, TASKS, IN_A_CLASS = 8, 3, 16
STUDENTS = (10, 30)
SMALL = range(3, 8)
EACH = 4
GROUPS = ("whole", "one of three", "IR-Plag")
WAYS: Mapping[str, str] = {
    "as it stands": "layout and comments",
    "names": "names",
    "reordered": "reordering",
    "one task": "small edits",
    "heavily refactored": "all together",
}
"""A way to copy → its obfuscation."""

COPYDETECT = """
import json, sys, copydetect
for line in sys.stdin:
    folder, ending = json.loads(line)
    detector = copydetect.CopyDetector(
        test_dirs=[folder], extensions=[ending], display_t=0, autoopen=False, silent=True)
    detector.run()
    rows, columns = (list(map(str, files)) for files in (detector.test_files, detector.ref_files))
    values = detector.similarity_matrix.max(-1).tolist()
    pairs = [[a, b, v] for a, row in zip(rows, values) for b, v in zip(columns, row) if a != b and v >= 0]
    print("pairs " + json.dumps(pairs))
"""
DOLOS = """
import { Dolos } from "@dodona/dolos-lib";
import fs from "fs";
for (const line of fs.readFileSync(0, "utf8").trim().split("\\n")) {
  const [folder, ending, language] = JSON.parse(line);
  const files = fs.readdirSync(folder).map((name) => folder + "/" + name);
  const report = await new Dolos({ language }).analyzePaths(files);
  const pairs = report.allPairs().map((pair) => [pair.leftFile.path, pair.rightFile.path, pair.similarity]);
  console.log("pairs " + JSON.stringify(pairs));
}
"""

Tasks = Mapping[str, Sequence[str]]
"""Name of a task → its independent solutions."""


@dataclass(frozen=True, slots=True)
class ProgramSet:
    """Programs, and copies of some of them under one disguise.

    Attributes:
        language: of all.
        kind: of the disguise.
        texts: the programs, then the copies.
        tasks: of the programs: those of one name are compared.
        sources: numbers of the programs that were copied.
        copied: what of a program.
    """

    language: str
    kind: str
    texts: tuple[str, ...]
    tasks: tuple[str, ...]
    sources: tuple[int, ...]
    copied: str = "whole"

    def auroc(self, scores: np.ndarray) -> float:
        """Return the AUROC of the copies against the solutions of one task, [n, n] → a number."""
        honest = [scores[a, b] for a, b in combinations(range(len(self.tasks)), 2) if self.tasks[a] == self.tasks[b]]
        copied = [scores[source, at] for at, source in enumerate(self.sources, len(self.tasks))]
        return float(roc_auc_score([0] * len(honest) + [1] * len(copied), honest + copied))


def independent(texts: Sequence[str], language: str) -> list[str]:
    """Return the solutions of a task without those that share rare lines, names or messages with an earlier one."""
    codes = [strip_comments(text, language) for text in texts]
    runs, words = list(map(_runs_of_lines, codes)), list(map(_words, codes))
    shapes = list(map(_runs_without_names, codes))
    # few tell nothing about what is rare
    if len(texts) < STUDENTS[0]:
        rare_runs, rare_words = set[str]().union(*runs), set[str]()
    else:
        rare_runs, rare_words = _of_two(runs), _of_two(words)
    kept: list[int] = []
    for at in range(len(texts)):
        for other in kept:
            # a word of five letters, or two shorter ones
            letters = sum(min(len(word), 5) - 2 for word in rare_words & words[at] & words[other])
            if shapes[at] & shapes[other] or rare_runs & runs[at] & runs[other] or letters > 1:
                break
        else:
            kept.append(at)
    return at_places(texts, kept)


def _runs_of_lines(code: str) -> set[str]:
    """Return each four lines that follow each other, without white space and short lines."""
    lines = [line for line in map("".join, map(str.split, code.splitlines())) if len(line) > 3]
    return {"\n".join(lines[at : at + 4]) for at in range(len(lines) - 3)}


def _runs_without_names(code: str) -> set[tuple[str, ...]]:
    """Return each `RUN` tokens that follow each other, names by the order of their first use among them."""
    tokens = re.findall(r"\w+|[^\w\s]", code)
    runs = set()
    for at in range(len(tokens) - RUN + 1):
        names = dict[str, str]()
        run = tokens[at : at + RUN]
        runs.add(tuple(names.setdefault(token, f"{len(names)}") if token[0].isalpha() else token for token in run))
    return runs


def _words(code: str) -> set[str]:
    """Return the names and the longer literals."""
    names = re.findall(r"[A-Za-z_]\w{2,}", re.sub(r"(['\"]).*?\1", "", code))
    literals = map(itemgetter(1), re.findall(r"(['\"])(.{8,}?)\1", code))
    return {*names, *literals}


def _of_two(sets: Sequence[set[str]]) -> set[str]:
    """Return what exactly two of the sets hold."""
    counts = Counter(chain.from_iterable(sets))
    return {part for part, count in counts.items() if count == 2}


def solutions(folder: Path, language: str, fewest: int) -> Tasks:
    """Return the tasks of a language with at least so many independent solutions."""
    tasks = {}
    for task in sorted((folder / language).glob("*/")):
        texts = [path.read_text("utf-8", errors="replace") for path in sorted(task.iterdir())]
        # a few of DebugBench are Python under the name of another language
        whole = [t for t in dict.fromkeys(texts) if t.count("\n") >= LINES and (language == "python" or ";" in t)]
        kept = independent(whole[:MOST], language)
        if len(kept) >= fewest:
            tasks[task.name] = kept
    return tasks


def program_sets(tasks: Tasks, language: str, number: int, seed: int) -> Iterable[ProgramSet]:
    """Yield sets of one language, each once for each disguise."""
    for at in range(number):
        draw = seeded_random(seed, f"{language} {at}")
        texts, owners = list[str](), list[str]()
        for task in draw.sample(sorted(tasks), len(tasks)):
            part = draw.sample(tasks[task], min(OF_A_TASK, len(tasks[task])))
            texts += part
            owners += [task] * len(part)
            if len(texts) >= IN_A_SET:
                break
        sources = draw.sample(range(len(texts)), min(COPIES, len(texts)))
        for kind in KINDS:
            copies = [disguised(texts[source], kind, language, seed=seed) for source in sources]
            yield ProgramSet(language, kind, texts=(*texts, *copies), tasks=tuple(owners), sources=tuple(sources))


def class_sets(tasks: Tasks, language: str, number: int, seed: int) -> Iterable[ProgramSet]:
    """Yield classes of students who solved a few tasks each, of whom a quarter has copied the first one."""
    for at in range(number):
        draw = seeded_random(seed, f"part {language} {at}")
        chosen = draw.sample(sorted(tasks), min(TASKS, len(tasks)))
        size = min(IN_A_CLASS, *(len(tasks[task]) for task in chosen))
        students = list(zip(*(draw.sample(tasks[task], size) for task in chosen), strict=True))
        own, others = students[: size - size // 4], students[size - size // 4 :]
        sources = draw.sample(range(len(own)), len(others))
        for kind in KINDS:
            texts = list(map("\n".join, own))
            for source, rest in zip(sources, others, strict=True):
                texts.append("\n".join([disguised(own[source][0], kind, language, seed=seed), *rest[1:]]))
            yield ProgramSet(
                language,
                kind=kind,
                texts=tuple(texts),
                tasks=("class",) * len(own),
                sources=tuple(sources),
                copied="one of three",
            )


def published_sets(folder: Path, seed: int) -> Iterable[ProgramSet]:
    """Yield the cases of IR-Plag by level: the original and independent solutions, and a few copies at a time."""
    for case in sorted(folder.glob("case-*")):
        texts = list(map(_java_of, [case / "original", *sorted((case / "non-plagiarized").iterdir())]))
        for level in sorted((case / "plagiarized").iterdir()):
            copies = list(map(_java_of, sorted(level.iterdir())))
            seeded_random(seed, f"{case.name} {level.name}").shuffle(copies)
            for part in (copies[:COPIES], copies[COPIES : 2 * COPIES]):
                if part:
                    yield ProgramSet(
                        "java",
                        kind=level.name,
                        texts=(*texts, *part),
                        tasks=(case.name,) * len(texts),
                        sources=(0,) * len(part),
                        copied="IR-Plag",
                    )


def _java_of(folder: Path) -> str:
    return "\n".join(path.read_text("utf-8", errors="replace") for path in sorted(folder.rglob("*.java")))


def compared(texts: Sequence[str], language: str) -> Comparison:
    """Return the comparison of programs, each of a student named by its number."""
    return compare_submissions(
        [Submission(f"{at:03}", [SourceText(str(at), text, language)]) for at, text in enumerate(texts)]
    )


def by_assay(sets: Sequence[ProgramSet]) -> list[np.ndarray]:
    """Return the evidence of all pairs of each set, as `assay pairs` has it."""
    matrices = []
    for part in sets:
        result = compared(part.texts, part.language)
        numbers = [int(submission.student) for submission in result.submissions]
        matrix = np.zeros((len(part.texts), len(part.texts)))
        matrix[np.ix_(numbers, numbers)] = result.evidence.scores
        for group in result.identical:
            same = list(map(int, group))
            # identical programs are named apart, and are the surest copies
            matrix[np.ix_(same, same)] = np.inf
        # the AUROC of scikit-learn takes no infinity
        matrices.append(np.nan_to_num(matrix + matrix.T, posinf=1e9))
    return matrices


def by_program(sets: Sequence[ProgramSet], command: Sequence[str], cwd: Path | None = None) -> list[np.ndarray]:
    """Return the similarities that another tool gives; it reads folders and prints pairs of paths."""
    with tempfile.TemporaryDirectory() as work:
        lines = []
        for number, part in enumerate(sets):
            folder, ending = Path(work, str(number)), ENDINGS[part.language]
            folder.mkdir()
            for at, text in enumerate(part.texts):
                (folder / f"{at}.{ending}").write_text(text, "utf-8")
            # Dolos is told the language, copydetect is not
            lines.append(json.dumps([str(folder), ending, part.language][: 2 + (cwd is not None)]))
        run = subprocess.run(  # noqa: S603  the user's own programs
            command, input="\n".join(lines), capture_output=True, text=True, check=True, cwd=cwd
        )
    matrices = []
    # what else a tool prints is passed over
    printed = [line for line in run.stdout.splitlines() if line.startswith("pairs ")]
    for part, line in zip(sets, printed, strict=True):
        matrix = np.zeros((len(part.texts), len(part.texts)))
        for first, second, value in json.loads(line.removeprefix("pairs ")):
            matrix[int(Path(first).stem), int(Path(second).stem)] = value
        matrices.append(np.maximum(matrix, matrix.T))
    return matrices


def auroc_rows(sets: Sequence[ProgramSet], data: Data, seed: int) -> list[dict[str, object]]:
    """Return a row for each disguise, of whole and of partial copies: AUROC of each tool, differences, intervals."""
    tools: dict[str, Callable[[], list[np.ndarray]]] = {"assay": lambda: by_assay(sets)}
    if "dolos" in data:
        command = ["node", "--input-type=module", "-e", DOLOS]
        tools["dolos"] = lambda: by_program(sets, command, data["dolos"])
    if "copydetect" in data:
        tools["copydetect"] = lambda: by_program(sets, [str(data["copydetect"]), "-c", COPYDETECT])
    values = {}
    for tool, measure in tools.items():
        values[tool] = np.array([part.auroc(matrix) for part, matrix in zip(sets, measure(), strict=True)])
    draw = np.random.default_rng(seed)
    groups = [(part.copied, part.kind) for part in sets]
    rows = []
    for copied, kind in dict.fromkeys(sorted(groups, key=lambda group: GROUPS.index(group[0]))):
        own = np.array([group == (copied, kind) for group in groups])
        row: dict[str, object] = {"part": "auroc", "copied": copied, "kind": kind, "sets": int(own.sum())}
        for tool, figures in values.items():
            row[tool] = float(figures[own].mean())
            if tool != "assay":
                gains = (values["assay"] - figures)[own]
                # whole sets are drawn again: the pairs of one set depend on each other
                means = gains[draw.integers(len(gains), size=(4000, len(gains)))].mean(axis=1)
                low, high = np.quantile(means, [0.025, 0.975]).tolist()
                row[f"over {tool}"] = {"value": float(gains.mean()), "low": low, "high": high}
        rows.append(row)
    return rows


def course_row(tasks: Tasks, language: str, number: int, seed: int) -> dict[str, object]:
    """Return how many courses are quiet, and which copies stand out."""
    counts = Counter({"courses of ways": 0})
    # a way that was never found is printed as 0
    ways = Counter(dict.fromkeys((*WAYS, "false"), 0))
    for at in range(number):
        draw = seeded_random(seed, f"course {language} {at}")
        chosen = draw.sample(sorted(tasks), min(draw.randint(2, 5), len(tasks)))
        most = min(STUDENTS[1], *(len(tasks[task]) for task in chosen))
        size = draw.randint(min(STUDENTS[0], most), most)
        columns = [draw.sample(tasks[task], size) for task in chosen]
        students = list(zip(*columns, strict=True))
        texts = list(map("\n".join, students))
        quiet = compared(texts, language)
        counts["quiet"] += not quiet.pairs
        counts["pairs"] += len(quiet.pairs)
        if at % EACH:
            continue
        counts["with copies"] += 1
        kind = KINDS[at // EACH % len(KINDS)]
        copied = [disguised(text, kind, language, seed=at) for text in students[0]]
        size_of_one = students[0][0].count("\n") + 1
        whole, partial = "\n".join(copied), "\n".join([copied[0], *students[-1][1:]])
        counts["whole"] += _stands_out([*texts[:-1], whole], language)
        is_found = _stands_out([*texts[:-1], partial], language)
        counts["one task"] += is_found
        few = texts[: draw.choice(SMALL)]
        counts["few quiet"] += not compared(few, language).pairs
        counts["few whole"] += _stands_out([*few[:-1], whole], language)
        counts["few one task"] += _stands_out([*few[:-1], partial], language)
        counts["of 20 lines"] += size_of_one >= 20
        counts["one task of 20 lines"] += is_found and size_of_one >= 20
        if len(students) >= 2 * len(WAYS):  # with fewer, a copier would be the source of another one
            counts["courses of ways"] += 1
            ways.update(_ways(students, language, draw))
    counts["courses"] = number
    return {"part": "courses", "language": language, **counts, "ways": dict(ways)}


def _stands_out(texts: Sequence[str], language: str) -> bool:
    """Return True if the last student stands out with the first one."""
    return ("000", f"{len(texts) - 1:03}") in _named_pairs(compared(texts, language))


def _named_pairs(comparison: Comparison) -> set[tuple[str, str]]:
    pairs = {(comparison.name(pair.first), comparison.name(pair.second)) for pair in comparison.pairs}
    return pairs | set(chain.from_iterable(combinations(sorted(group), 2) for group in comparison.identical))


def _ways(students: Sequence[Sequence[str]], language: str, draw: random.Random) -> Counter[str]:
    """Return which of the five ways to copy were found in a course with all of them, and the false pairs."""
    texts = list(map("\n".join, students))
    expected = {}
    for at, (way, kind) in enumerate(WAYS.items()):
        copied = [disguised(text, kind, language, seed=draw.randrange(1000)) for text in students[at]]
        if way == "one task":
            copied[1:] = students[-1 - at][1:]
        # those who copy are the last students, those they copy from the first ones
        texts[-1 - at] = "\n".join(copied)
        expected[f"{at:03}", f"{len(texts) - 1 - at:03}"] = way
    pairs = _named_pairs(compared(texts, language))
    found = Counter(way for pair, way in expected.items() if pair in pairs)
    found["false"] = len(pairs - set(expected))
    return found


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """Which copies `assay pairs` finds beside Dolos and copydetect, and which courses without copies stay quiet."""
    per_language, courses = scale
    sets = list[ProgramSet]()
    rows = list[dict[str, object]]()
    notes = []
    for language in ENDINGS:
        tasks = solutions(data["solutions"], language, FEWEST) if "solutions" in data else {}
        if len(tasks) > 1:
            sets += program_sets(tasks, language, number=per_language, seed=seed)
            sets += class_sets(tasks, language, number=per_language, seed=seed)
            rows.append(course_row(tasks, language, number=courses, seed=seed))
        notes.append(f"{language}: {len(tasks)} tasks with {sum(map(len, tasks.values()))} solutions")
    if "irplag" in data:
        sets += published_sets(data["irplag"], seed)
    missing = sorted({"dolos", "copydetect"} - set(data))
    notes += [f"{tool}: not measured, --data {tool}=… is not given" for tool in missing]
    return Result([*auroc_rows(sets, data, seed), *rows] if sets else rows, notes)


EXPERIMENTS = (
    Experiment(
        name="provenance/pairs",
        run=run,
        scales={"smoke": (1, 1), "full": (20, 50)},
        needs={"solutions": "a folder with LANGUAGE/TASK/FILE: solutions of one task by different people"},
        takes={
            "irplag": "the folder of IR-Plag with case-01 to case-07",
            "dolos": "a folder with node_modules that have @dodona/dolos-lib",
            "copydetect": "a Python interpreter with the package copydetect",
        },
    ),
)
