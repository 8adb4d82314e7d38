"""Figures 1 and 6: does a model continue the text of a fix word for word?

The paper shows two examples. Here every bug is asked about: in Figure 1 the model reads the first lines of the fixed
text, in Figure 6 all of it up to the first changed line. Code repeats itself, so what the other bugs and the prompt
alone predict stands beside it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.evaluation import Estimate
from assay.models import StatisticsCache, cached_generator, open_local
from assay.scoring import Question, ask
from assay.types import Generator
from assay_lab.bugs import BugSet
from assay_lab.bugs.pairs import fixed_sides
from assay_lab.bugs.preference import mean_of
from assay_lab.bugs.probes import (
    LENGTH,
    FrequentContinuations,
    ProbeName,
    ProbeTask,
    question_of,
    right_share,
    tasks_of,
)
from assay_lab.columns import text_column
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.finding import Finding, ValueRow
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.papers.bugs.averages import NEEDED, PAPER, TAKEN, models_of, sets_of
from assay_lab.papers.printed import value_table

STORE = "continuations.sqlite"
SHOWN = 300
"""Characters of an example."""


def continued(bench: Bench, number: int, probe: ProbeName, prompt: str) -> Finding:
    """Return how much of each set every model continues word for word, and its longest continuation."""
    sets, notes = sets_of(bench)
    tasks = {}
    for each in sets:
        if isinstance(each, BugSet):
            # what the other bugs alone predict: without it, common code would count as remembered
            frequent = FrequentContinuations(text_column(fixed_sides(each.pairs)))
            tasks[each.name] = tuple(tasks_of(probe, each.pairs, frequent))
    rows, examples = [], []
    for model in models_of(bench):
        label = label_of(model)
        bench.watchers.begin(f"{label} continues")
        opened = open_local(model)
        with StatisticsCache(bench.out / STORE) as store:
            generator = cached_generator(opened, store, digest=opened.generation_digest)
            for name, of_set in tasks.items():
                row, best = of_model(of_set, generator, probe)
                rows.append(ValueRow(f"{label}, {name}", row))
                if best is not None:
                    examples.append(ValueRow(f"{label}, {best[0].id}", (best[0].truth[:SHOWN], best[1][:SHOWN])))
    columns = ("bugs", "right lexemes", "by frequency alone", "all right")
    title = f"Share of the next {LENGTH} lexemes that the model writes word for word"
    return Finding(
        name=f"bugs/figure-{number}",
        title=f"Continuations of fixes ({PAPER.title}, Figure {number})",
        tables=(
            value_table("continued", title, head="model and set", columns=columns, rows=rows),
            value_table(
                "examples",
                "The continuation of each model and set with most right lexemes",
                head="model and bug",
                columns=("the fix", "the model"),
                rows=examples,
            ),
        ),
        notes=(f"Prompt: {prompt}. Greedy decoding. The paper shows one bug as an example.", *notes),
        seeds=(),
    )


def of_model(
    tasks: Sequence[ProbeTask], generator: Generator, probe: ProbeName
) -> tuple[tuple[float | Estimate | None, ...], tuple[ProbeTask, str] | None]:
    """Return the values of a model on a set, and the task with the longest right answer."""
    replies: Mapping[Question, object] = ask(list(map(question_of, tasks)), generator)
    texts: list[tuple[ProbeTask, str]] = []
    for task in tasks:
        if isinstance(answer := replies[question_of(task)], str):
            texts.append((task, answer))
    if not texts:
        return (float(len(tasks)), None, None, None), None
    shares = np.array([right_share(probe, task.truth, answer) for task, answer in texts])
    frequent = np.array([right_share(probe, task.truth, task.baseline) for task, _ in texts])
    groups = [task.group for task, _ in texts]
    values = float(len(tasks)), mean_of(shares, groups), mean_of(frequent, groups), float(np.mean(shares == 1))
    return values, texts[int(shares.argmax())]


def first_lines(bench: Bench) -> Finding:
    """Fixes that models continue from their first lines, word for word."""
    return continued(bench, 1, "function", prompt="the first two lines of the fixed text")


def before_the_change(bench: Bench) -> Finding:
    """Fixes that models continue from their first changed line, word for word."""
    return continued(bench, 6, "patch", prompt="the fixed text up to its first changed line, which is included")


EXPERIMENTS = (
    Reproduction("bugs", "figure-1", first_lines, needs=NEEDED, takes=TAKEN, seeds=1, keys=("texts",)),
    Reproduction("bugs", "figure-6", before_the_change, needs=NEEDED, takes=TAKEN, seeds=1, keys=("texts",)),
)
