"""Probes that need only generated text: what can a model repeat of a bug that it should not know?

- path: the model reads the issue text, and is asked for the file that has to be changed.
- function: the model reads the first lines of the fixed text, and continues it.
- patch: the model reads the fixed text up to the first changed line, and continues it.

A model can answer right without having seen the bug: some files are changed often, and code repeats itself. So every
probe has a frequency baseline, which answers from the other bugs and the prompt alone, and the same probe on control
texts from outside the benchmark. There is a verdict only where the interval of the difference to the control excludes
zero and the model beats the baseline.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from assay.code import lexemes
from assay.evaluation import Estimate, grouped_bootstrap, unknown
from assay.scoring import Question, ask
from assay.types import Decision, Float64Array, Generator, Undecided, Verdict
from assay_lab.bugs.pairs import SamplePair, files_of, fixed_sides, issue_of
from assay_lab.bugs.preference import mean_of
from assay_lab.columns import attributes, text_column

ProbeName = Literal["path", "function", "patch"]
PROBES: tuple[ProbeName, ...] = ("path", "function", "patch")

LENGTH = 20
"""Lexemes that are compared; an answer of fewer right lexemes from the start is right in part."""
HEADER_LINES = 2
"""Lines that are not blank, which the model reads of a function."""
CONTEXTS = (8, 5, 3, 2, 1)
"""Lexemes before the next one that the frequency baseline looks for, the longest first."""
CHARACTERS_PER_LEXEME = 12
"""Enough for nearly all code, so that `LENGTH` lexemes fit in as many tokens."""


@dataclass(frozen=True, slots=True)
class ProbeTask:
    """One question to the model.

    Attributes:
        id: of the bug or control text.
        group: of the bug or control text.
        prompt: text that the model reads.
        truth: right answer.
        baseline: answer of the frequency baseline.
    """

    id: str
    group: str | None
    prompt: str
    truth: str
    baseline: str


@dataclass(frozen=True, slots=True, eq=False)
class ProbeResult:
    """Result of one probe.

    Attributes:
        probe: its name.
        tasks: bugs that were asked about.
        left_out: bugs without a question: no issue text, a change of one line, or a text that is too short.
        model: mean share of the answer that the model gets right.
        baseline: the same of the frequency baseline.
        control: the same of the model on control texts; without a value where there are none.
        difference: model on the bugs minus model on the control texts, each minus its baseline.
        decision: the verdict, with its reason.
        values: float64 [tasks], the share of each bug.
        ids: [tasks], of the bugs.
        groups: [tasks], of the bugs.
    """

    probe: ProbeName
    tasks: int
    left_out: int
    model: Estimate
    baseline: Estimate
    control: Estimate
    difference: Estimate
    decision: Decision
    values: Float64Array
    ids: tuple[str, ...] = ()
    groups: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ProbeAnswers:
    """Answers of a model to one probe on a set of bugs or control texts.

    Attributes:
        ids: [tasks], of the bugs.
        groups: [tasks], of the bugs.
        values: float64 [tasks], share of each answer that is right; NaN where the model rejected the prompt.
        baseline: float64 [tasks], the same of the frequency baseline.
        left_out: bugs without a question.
    """

    ids: tuple[str, ...]
    groups: tuple[str | None, ...]
    values: Float64Array
    baseline: Float64Array
    left_out: int


def run_probes(
    sets: Mapping[str, Sequence[SamplePair]],
    model: Generator,
    *,
    controls: Sequence[SamplePair] = (),
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> Mapping[str, Mapping[ProbeName, ProbeResult]]:
    """Ask a model about every bug of every set, and about every control once; return set → probe → result.

    Args:
        sets: name → bugs.
        model: continues text.
        controls: bugs or plain texts (then both sides are the same) of repositories outside the benchmarks.
        seed: of the resamples.
        progress: called with the number of answers of a probe so far.

    Raises:
        ModelError: the model cannot be run.
    """
    compared = answered(controls, model, progress=progress)
    results = {}
    for name, pairs in sets.items():
        answers = answered(pairs, model, progress=progress)
        results[name] = {each: _compared(each, answers[each], compared[each], seed=seed) for each in PROBES}
    return results


def answered(
    pairs: Sequence[SamplePair], model: Generator, *, progress: Callable[[int], None] = lambda _: None
) -> Mapping[ProbeName, ProbeAnswers]:
    """Return the answers of a model to each probe on a set; arguments as `run_probes`."""
    frequent = FrequentContinuations(text_column(fixed_sides(pairs)))
    tasks = {name: tuple(tasks_of(name, pairs, frequent)) for name in PROBES}
    replies = ask(list(map(question_of, chain.from_iterable(tasks.values()))), model, progress=progress)
    answers = {}
    for name, of_probe in tasks.items():
        values, baseline = _shares(name, of_probe, replies)
        answers[name] = ProbeAnswers(
            ids=tuple(attributes(of_probe, "id")),
            groups=tuple(attributes(of_probe, "group")),
            values=values,
            baseline=baseline,
            left_out=len(pairs) - len(of_probe),
        )
    return answers


def _compared(name: ProbeName, bugs: ProbeAnswers, controls: ProbeAnswers, *, seed: int) -> ProbeResult:
    difference = _difference(bugs, controls, seed=seed)
    mine, theirs = mean_of(bugs.values, bugs.groups), mean_of(bugs.baseline, bugs.groups)
    has_controls = len(controls.values) > 0
    return ProbeResult(
        probe=name,
        tasks=len(bugs.values),
        left_out=bugs.left_out,
        model=mine,
        baseline=theirs,
        control=mean_of(controls.values, controls.groups) if has_controls else unknown(),
        difference=difference,
        decision=_decision(name, mine, theirs, difference=difference, has_controls=has_controls),
        values=bugs.values,
        ids=bugs.ids,
        groups=bugs.groups,
    )


def tasks_of(name: ProbeName, pairs: Sequence[SamplePair], frequent: "FrequentContinuations") -> Iterator[ProbeTask]:
    """Yield the questions of a probe; a bug that gives none is left out.

    Args:
        name: of the probe.
        pairs: the bugs.
        frequent: of the fixed texts of the bugs, in their order.
    """
    if name == "path":
        yield from _path_tasks(pairs)
        return
    cut = _header if name == "function" else _first_change
    for at, pair in enumerate(pairs):
        prompt, truth = cut(pair)
        if prompt.strip() and len(lexemes(truth)) >= LENGTH:
            yield ProbeTask(
                id=pair.id, group=pair.fixed.group, prompt=prompt, truth=truth, baseline=frequent.continued(prompt, at)
            )


def question_of(task: ProbeTask) -> Question:
    """Return the question that a model is asked."""
    return Question(task.prompt, LENGTH * CHARACTERS_PER_LEXEME // 3)


def right_share(name: ProbeName, truth: str, answer: str) -> float:
    """Return the share of an answer that is right: 0 or 1 for a path, right lexemes from the start for code."""
    if name == "path":
        return float(any(path in answer for path in truth.split("\n")))
    expected = lexemes(truth)[:LENGTH]
    return _equal(expected, lexemes(answer)) / len(expected)


class FrequentContinuations:
    """The lexemes that follow each context in a set of texts; every text can be continued without itself."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Count the contexts of all texts."""
        self._following: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        for number, text in enumerate(texts):
            self._add(self._following, number, lexemes(text))

    def continued(self, prompt: str, without: int) -> str:
        """Return the continuation of a prompt: what most often follows the longest context that occurs anywhere.

        Args:
            prompt: text before the continuation; its own contexts count too.
            without: number of the text that the prompt is a part of.
        """
        words = lexemes(prompt)
        own: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        self._add(own, -1, words)
        answer: list[str] = []
        for _ in range(LENGTH):
            best = self._next([*words, *answer], own, without)
            if best is None:
                break
            answer.append(best)
        return " ".join(answer)

    def _next(
        self, words: Sequence[str], own: Mapping[tuple[str, ...], list[tuple[int, str]]], without: int
    ) -> str | None:
        # back off: the longest context that occurs in another text, or in the prompt, decides
        for size in CONTEXTS:
            context = tuple(words[-size:])
            places = [*self._following.get(context, ()), *own.get(context, ())]
            counts = Counter(word for number, word in places if number != without)
            if counts:
                return str(counts.most_common(1)[0][0])
        return None

    @staticmethod
    def _add(following: dict[tuple[str, ...], list[tuple[int, str]]], number: int, words: Sequence[str]) -> None:
        for at in range(1, len(words)):
            for size in CONTEXTS:
                if size <= at:
                    following.setdefault(tuple(words[at - size : at]), []).append((number, words[at]))


def _path_tasks(pairs: Sequence[SamplePair]) -> Iterator[ProbeTask]:
    paths = [files_of(pair) or () for pair in pairs]
    for at, pair in enumerate(pairs):
        issue = issue_of(pair)
        if not issue or not paths[at]:
            continue
        # the baseline knows which files of the project other bugs change
        counts: Counter[str] = Counter()
        for other, names in enumerate(paths):
            if other != at and pairs[other].fixed.group == pair.fixed.group:
                counts.update(names)
        yield ProbeTask(
            id=pair.id,
            group=pair.fixed.group,
            prompt=f"{issue.rstrip()}\n\nThe bug is in the file ",
            truth="\n".join(paths[at]),
            baseline=max(counts, key=counts.__getitem__, default=""),
        )


def _header(pair: SamplePair) -> tuple[str, str]:
    """Return the first lines of the fixed text, and the rest."""
    lines = pair.fixed.text.splitlines(keepends=True)
    seen = 0
    for at, line in enumerate(lines):
        seen += bool(line.strip())
        if seen == HEADER_LINES:
            return "".join(lines[: at + 1]), "".join(lines[at + 1 :])
    return pair.fixed.text, ""


def _first_change(pair: SamplePair) -> tuple[str, str]:
    """Return the fixed text up to its first changed line, and the rest; nothing where no second line changes."""
    fixed, buggy = (side.text.splitlines(keepends=True) for side in (pair.fixed, pair.buggy))
    first = _equal(fixed, buggy)
    # what is left of the fixed text between the equal lines at the beginning and at the end
    changed = len(fixed) - first - _equal(fixed[first:][::-1], buggy[first:][::-1])
    if changed < 2:  # noqa: PLR2004  one line to read and one to write
        return "", ""
    return "".join(fixed[: first + 1]), "".join(fixed[first + 1 :])


def _equal(lines: Sequence[str], others: Sequence[str]) -> int:
    """Return the number of equal lines at the beginning."""
    count = 0
    for line, other in zip(lines, others, strict=False):
        if line != other:
            break
        count += 1
    return count


def _shares(
    name: ProbeName, tasks: Sequence[ProbeTask], answers: Mapping[Question, object]
) -> tuple[Float64Array, Float64Array]:
    """Return the share of each answer that is right, NaN where the model rejected the prompt; and the baseline's."""
    values = np.full((2, len(tasks)), np.nan)
    for at, task in enumerate(tasks):
        answer = answers[question_of(task)]
        if isinstance(answer, str):
            values[0, at] = right_share(name, task.truth, answer)
        values[1, at] = right_share(name, task.truth, task.baseline)
    return values[0], values[1]


def _difference(bugs: ProbeAnswers, controls: ProbeAnswers, *, seed: int) -> Estimate:
    """Return how much more than its baseline a model gets right on the bugs than on the controls."""
    if not len(bugs.values) or not len(controls.values):
        return Estimate(math.nan, math.nan, math.nan, reason="no control text")
    pooled = np.concatenate([bugs.values - bugs.baseline, controls.values - controls.baseline])
    # both sides are resampled together, by group, so that the interval is that of their difference
    rows = np.flatnonzero(~np.isnan(pooled))
    is_bug, scored = (rows < len(bugs.values)), pooled[rows]
    names = [*_unique_groups(0, bugs.groups), *_unique_groups(1, controls.groups)]

    def mean(weights: Float64Array) -> Float64Array:
        total = weights.sum(1)
        means: Float64Array = weights @ scored / np.where(total > 0, total, np.nan)
        return means

    def gap(weights: Float64Array) -> Float64Array:
        return (mean(weights * is_bug) - mean(weights * ~is_bug))[:, None]

    return grouped_bootstrap(gap, list(map(names.__getitem__, rows)), is_bug, seed=seed)[0]


def _unique_groups(side: int, groups: Sequence[str | None]) -> Iterator[tuple[object, ...]]:
    """Yield groups that differ from those of the other side, whatever their names; a text without one is its own."""
    for at, group in enumerate(groups):
        yield (side, at, "") if group is None else (side, group)


def _decision(
    name: ProbeName, model: Estimate, baseline: Estimate, difference: Estimate, *, has_controls: bool
) -> Decision:
    figures = f"{name}: {model.value:.0%} of the answers right, {baseline.value:.0%} by frequency alone"
    if math.isnan(model.value):
        return Decision(Verdict.CANNOT_TELL, f"{name}: no bug gives a question.", Undecided.NOT_MEASURED)
    if not has_controls:
        return Decision(
            Verdict.CANNOT_TELL, f"{figures}; there is no control from outside the benchmark.", Undecided.NOT_MEASURED
        )
    if not difference.has_interval:
        return Decision(Verdict.CANNOT_TELL, f"{figures}; {difference.reason}.", Undecided.TOO_FEW)
    figures += f"; {difference.value:+.2f} [{difference.low:+.2f}, {difference.high:+.2f}] more than on the controls."
    seen = difference.low > 0 and model.value > baseline.value
    return Decision(Verdict.CONTAMINATED if seen else Verdict.NO_EVIDENCE, figures)
