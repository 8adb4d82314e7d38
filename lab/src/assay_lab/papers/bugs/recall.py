"""Recall without reading: does a model name the file and the lines of a fix that it has not been shown?

The model gets the name of the repository and the text of the issue, nothing of the code. It may name the file because
the issue does, or because few files of a project change. So three things stand beside its answers: the file that the
other tasks of the project change most often, the tasks whose issue does not name the file, and the same questions on
controls: tasks of other repositories (`--data outside=FILE`), and tasks that are later than the model (`--data
later=FILE`). All are tables in the columns of SWE-bench.

Source: Liang, Garg, Zilouchian Moghaddam, The SWE-Bench Illusion, 2025, arXiv:2506.12286, which asks chat models for
the path. Departures: the model continues a text, so that base models answer too, and it is asked for the patch.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product, repeat, starmap
from pathlib import Path, PurePosixPath

import numpy as np

from assay.agent_runs import GoldTask, normal
from assay.datasets import DataSelection, is_benchmark
from assay.errors import DataError
from assay.evaluation import Estimate, difference_of_means, grouped_mean
from assay.scoring import Opener, Question, ask
from assay.types import Float64Array, Generator
from assay_lab.bugs import drawn_pairs
from assay_lab.bugs.pairs import SamplePair, files_of, issue_of, read_pairs
from assay_lab.columns import attributes
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.finding import Finding, ValueRow
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.mappings import map_values
from assay_lab.papers.bugs.averages import models_of, most_texts
from assay_lab.papers.printed import value_table

TASKS, CONTROLS = "tasks", ("outside", "later")
LAYOUT = "swe-bench-lite"
"""Benchmark whose columns all tables have."""
CHARACTERS = 4000
"""Most characters of an issue that a model reads."""
FILE, LINES = "file", "lines"
ENDS = {FILE: "The fix changes the file `", LINES: "This patch fixes it:\n\ndiff --git a/"}
TOKENS = {FILE: 40, LINES: 240}
USUAL, HIDDEN = "most frequent file", "file named, not by the issue"


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of a model to the questions on a set of tasks.

    Attributes:
        groups: [n], repositories.
        columns: name of a measure → [n], between 0 and 1; NaN where it does not apply, or the prompt was rejected.
    """

    groups: tuple[str, ...]
    columns: Mapping[str, Float64Array]

    def means(self) -> tuple[Estimate, ...]:
        """Return the mean of each column, with its interval over repositories."""
        return tuple(map(self._mean, self.columns.values()))

    def _mean(self, values: Float64Array) -> Estimate:
        scored = np.flatnonzero(~np.isnan(values))
        return grouped_mean(values[scored], list(map(self.groups.__getitem__, scored)))

    def minus(self, control: "Answers") -> tuple[Estimate, ...]:
        """Return the mean of each column minus that of a control."""
        # repositories of both sets are groups of their own
        groups = [*zip(repeat(TASKS), self.groups), *zip(repeat("control"), control.groups)]
        differences = []
        for name, values in self.columns.items():
            both = np.concatenate([values, control.columns[name]])
            scored = np.flatnonzero(~np.isnan(both))
            of_scored = list(map(groups.__getitem__, scored))
            differences.append(difference_of_means(both[scored], scored < len(values), of_scored))
        return tuple(differences)


def recall(bench: Bench) -> Finding:
    """Files and lines of a fix that a model names from the text of the issue alone."""
    if TASKS not in bench.data:
        raise DataError(f"no tasks were given: expected --data {TASKS}=FILE")
    limit = most_texts(bench)
    sets = map_values(partial(asked_pairs, limit=limit), bench.data)
    rows: list[ValueRow] = []
    for model in models_of(bench):
        bench.watchers.begin(f"{label_of(model)} on {len(sets)} sets")
        generator = Opener().generator(model)
        answers = map_values(partial(answered_from_issues, model=generator), sets)
        for name, of_set in answers.items():
            rows.append(ValueRow(f"{label_of(model)}, {name} ({len(of_set.groups)})", of_set.means()))
        for control in filter(answers.__contains__, CONTROLS):
            row = f"{label_of(model)}, {TASKS} - {control}"
            rows.append(ValueRow(row, answers[TASKS].minus(answers[control])))
    table = value_table(
        "recall",
        "Right without reading the code",
        head="model, tasks",
        columns=next(iter(answers.values())).columns,
        rows=rows,
        unit="percent",
    )
    notes = [
        f"A model reads the repository's name and at most {CHARACTERS:,} characters of the issue.",
        USUAL + ": of the other tasks of the project.",
        HIDDEN + ": tasks whose issue does not have the name of the file.",
        "In brackets: 95 % intervals over repositories.",
    ]
    notes += [f"No control: --data {name}=FILE names one." for name in CONTROLS if name not in sets]
    return Finding(name="bugs/recall", title="Recall without reading", tables=(table,), notes=tuple(notes), seeds=())


def asked_pairs(place: Path, limit: int | None) -> tuple[SamplePair, ...]:
    """Return the tasks of a table, or of a benchmark by its name, that have an issue and a file.

    Raises:
        DataError: they cannot be read.
    """
    name = str(place)
    known = is_benchmark(name) and not place.exists()
    dataset = read_pairs(name) if known else read_pairs(LAYOUT, DataSelection(data=place))
    return tuple(drawn_pairs([pair for pair in dataset.pairs if issue_of(pair) and _files(pair)], limit))


def answered_from_issues(pairs: Sequence[SamplePair], model: Generator) -> Answers:
    """Return the answers of a model to both questions on each task."""
    replies = ask(starmap(question_on, product(pairs, ENDS)), model)
    values: dict[str, list[float]] = defaultdict(list)
    for pair, kind in product(pairs, ENDS):
        reply = replies[question_on(pair, kind)]
        values[kind].append(right_part(pair, kind, reply) if isinstance(reply, str) else np.nan)
    files, hidden = list(map(_files, pairs)), []
    for pair, paths in zip(pairs, files, strict=True):
        hidden.append(not any(PurePosixPath(path).stem in issue_of(pair) for path in paths))
    usual = [float(_usual_file(pair, pairs) in paths) for pair, paths in zip(pairs, files, strict=True)]
    columns = {
        "file named": np.array(values[FILE]),
        USUAL: np.array(usual),
        # NaN leaves a task out of the mean
        HIDDEN: np.where(hidden, values[FILE], np.nan),
        "lines of the fix": np.array(values[LINES]),
    }
    return Answers(tuple(attributes(pairs, "fixed.group")), columns)


def question_on(pair: SamplePair, kind: str) -> Question:
    """Return the question for the file of a task, or for the lines of its fix."""
    issue = issue_of(pair)[:CHARACTERS].rstrip()
    return Question(f"Repository: {pair.fixed.group}\n\nIssue:\n{issue}\n\n{ENDS[kind]}", TOKENS[kind])


def right_part(pair: SamplePair, kind: str, answer: str) -> float:
    """Return 1 where an answer names a file of the fix; or the share of its informative lines, NaN without any."""
    if kind == FILE:
        return float(any(map(answer.__contains__, _files(pair))))
    lines = GoldTask(pair.id, str(pair.fixed.metadata["patch"])).fix.lines
    # the model answers with a patch or with plain code
    written = {normal(re.sub(r"^[+ ]", "", line)) for line in answer.splitlines()}
    return sum(map(written.__contains__, lines)) / len(lines) if lines else np.nan


def _files(pair: SamplePair) -> tuple[str, ...]:
    return files_of(pair) or ()


def _usual_file(pair: SamplePair, pairs: Sequence[SamplePair]) -> str:
    """Return the file that the other tasks of a project change most often; "" where there is none."""
    counts: Counter[str] = Counter()
    for other in pairs:
        # not the task itself: its own file would be the answer
        if other.id != pair.id and other.fixed.group == pair.fixed.group:
            counts.update(_files(other))
    return max(counts, key=counts.__getitem__, default="")


EXPERIMENTS = (Reproduction("bugs", "recall", recall, needs=(TASKS,), takes=(TASKS, *CONTROLS), seeds=1),)
