"""Results by part of a task: often only the prompt, the solution or the tests leaked.

The tokens of a part are taken from the one pass over the whole text, so a solution is scored given its prompt, and no
model runs twice. Each part of the benchmark is compared with the same part of the unseen texts.
"""

import ast
import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from assay.errors import Unscorable
from assay.evaluation import MINIMUM_UNSEEN, UnseenTail, conformal_p_values, flag_rate
from assay.leakage.results import PartResult
from assay.python_parser import python_tree
from assay.scores import FrequencyTable, SampleInputs, ScoreRequest, View
from assay.scoring import restricted
from assay.types import Float64Array, Sample, TokenLogProbs, TokenStatistics

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "prompt": ("prompt", "complete_prompt", "instruct_prompt", "question", "text"),
    "solution": ("canonical_solution", "code", "solution"),
    "tests": ("test_list", "test", "tests"),
}
"""Part → columns of the benchmark's table that hold it, in the order in which they are tried."""
FEWEST_SAMPLES = 10

PartBounds = tuple[int, int]


def part_spans(sample: Sample) -> Mapping[str, PartBounds]:
    """Return where the parts of a task stand in its text, in characters; empty where it has no parts.

    A part is found by its column. What remains before a solution or behind a prompt is the other of the two. A Python
    function without such columns is divided behind its docstring.
    """
    spans: dict[str, PartBounds] = {}
    for part, columns in COLUMNS.items():
        # the first column whose words stand in the text: others may hold another version of the task
        bounds = next(filter(None, (_bounds(sample, column) for column in columns)), None)
        if bounds is not None:
            spans[part] = bounds
    length = len(sample.text)
    # loaders often keep only one of the two columns: the rest of the text is the other
    if "prompt" in spans and spans["prompt"][0] == 0:
        spans.setdefault("solution", (spans["prompt"][1], length))
    elif "solution" in spans and spans["solution"][1] == length:
        spans.setdefault("prompt", (0, spans["solution"][0]))
    if spans or sample.language not in (None, "python"):
        return spans
    end = docstring_end(sample.text)
    if end is not None:
        spans = {"prompt": (0, end), "solution": (end, length)}
    return spans


def _bounds(sample: Sample, column: str) -> PartBounds | None:
    """Return where the words of a column stand in a text; None where they do not, or are all of it."""
    words = _words(sample.metadata.get(column))
    start = sample.text.find(words)
    # a column that is the whole text divides nothing
    if start < 0 or not words.strip() or len(words) >= len(sample.text):
        return None
    return start, start + len(words)


def docstring_end(code: str) -> int | None:
    """Return where the line ends that closes the docstring of the last function, in characters; None without one."""
    try:
        statements = python_tree(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not statements:
        return None
    last = statements[-1]
    if not isinstance(last, ast.FunctionDef | ast.AsyncFunctionDef) or ast.get_docstring(last, clean=False) is None:
        return None
    # syntax trees count lines; keeping the ends makes the sum a place in characters
    end = sum(map(len, code.splitlines(keepends=True)[: last.body[0].end_lineno]))
    # a docstring alone has no solution behind it
    if len(last.body) == 1 or end >= len(code):
        return None
    return end


class PartKeeper:
    """Observer of the engine: scores each part of each sample from the statistics of the whole text."""

    def __init__(self, samples: Sequence[Sample], request: ScoreRequest, frequencies: FrequencyTable | None) -> None:
        self._samples = samples
        self._request = request
        self._frequencies = frequencies
        self.values: dict[str, Float64Array] = {}

    def __call__(self, index: int, statistics: TokenLogProbs) -> None:
        """Score the parts of one sample; log-probabilities alone do not say where their tokens stand."""
        if not isinstance(statistics, TokenStatistics):
            return
        sample = self._samples[index]
        for part, (start, end) in part_spans(sample).items():
            # a token that crosses the border counts where it begins
            inside = (statistics.offsets[:, 0] >= start) & (statistics.offsets[:, 0] < end)
            views = {View(): restricted(statistics, inside)}
            column = self.values.setdefault(part, np.full(len(self._samples), np.nan))
            try:
                column[index] = self._request(SampleInputs(sample.text[start:end], views, self._frequencies))
            except Unscorable:
                column[index] = math.nan


def by_part(
    values: Mapping[str, Float64Array],
    groups: Sequence[Hashable],
    unseen_groups: Sequence[Hashable],
    *,
    alpha: float,
) -> tuple[PartResult, ...]:
    """Return what is flagged of each part; parts that too few texts of either side have are left out.

    Args:
        values: part → its score of each sample, then of each unseen text.
        groups: of the samples.
        unseen_groups: of the unseen texts.
        alpha: nominal false-positive rate.
    """
    results = []
    for part in filter(values.__contains__, COLUMNS):
        # the keeper saw the benchmark first, then the unseen texts
        own, unseen = np.split(values[part], [len(groups)])
        # a rate of a handful of tasks would be read as one of the benchmark
        if np.sum(~np.isnan(own)) < FEWEST_SAMPLES or np.sum(~np.isnan(unseen)) < MINIMUM_UNSEEN:
            continue
        tail = UnseenTail.of(unseen, unseen_groups, alpha)
        rate = flag_rate(conformal_p_values(own, unseen), alpha, groups=groups, unseen=tail)
        results.append(PartResult(part, rate, tail.texts))
    return tuple(results)


def _words(value: object) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return str(value or "")
