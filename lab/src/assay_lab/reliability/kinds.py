"""Do data-set scores rank sets of different kinds, where all have the same contaminated share?

Users compare benchmarks by such scores. Here no set was trained on, so that nothing but chance should order them. Each
set is halved: where a score orders the first halves as it orders the second halves, it orders the kinds of text.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from assay.datasets import DataSelection, is_benchmark, read_dataset
from assay.errors import DataError
from assay.leakage import MeasuredModel, TuningOptions
from assay.models import open_local
from assay.scores import DatasetInputs, dataset_requests
from assay.types import Float64Array, Sample
from assay_lab.evaluation.independent import spearman
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, ValueRow
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import ANY, Reproduction
from assay_lab.papers.printed import value_table
from assay_lab.reliability.grid_methods import DECLARED
from assay_lab.reliability.planted_pools import drawable_functions
from assay_lab.reliability.pool_settings import BASE_MODEL

KINDS = 10
SIZES: Mapping[str, int] = {"smoke": 3, "full": 20, "paper": 200}
"""Scale → texts of each half of a set."""
PAPER = paper("kds")
EXTRA = ("Mean log-likelihood (not in the paper)", "CoDeC (not in the paper)")
HEADLINE = f"mean:{DECLARED}"
CHARACTERS = 600
"""Longest text, so that no kind is slow; longer ones are cut."""


@dataclass(frozen=True, slots=True)
class HalvedKind:
    """Two sets of one kind of text.

    Attributes:
        name: of the data, or of the project.
        halves: two sets without a text in common.
    """

    name: str
    halves: tuple[tuple[Sample, ...], tuple[Sample, ...]]


def kinds(bench: Bench) -> Finding:
    """Order of ten sets of different kinds, none of which was trained on."""
    if bench.scale not in SIZES:
        raise DataError(f"scale {bench.scale!r}: expected one of {', '.join(SIZES)}")
    chosen = kinds_of(bench)
    rows = list(filter(PAPER.methods.__contains__, (*PAPER.tables["table-1"].values, *EXTRA)))
    methods = [*dict.fromkeys(map(PAPER.methods.__getitem__, rows)), HEADLINE]
    first_halves, second_halves = zip(*map(attrgetter("halves"), chosen), strict=True)
    of_first, of_second = (method_values(bench, halves, methods) for halves in (first_halves, second_halves))
    lines = []
    for method, first, second in zip(methods, of_first, of_second, strict=True):
        lines.append(ValueRow(method, (agreement(first, second), *map(float, (first + second) / 2))))
    title = "Spearman of the halves, and the values"
    columns = ("agreement of halves", *map(attrgetter("name"), chosen))
    size = SIZES[bench.scale]
    return Finding(
        name="assay/kinds",
        title="Order of sets of different kinds at equal share",
        tables=(value_table("kinds", title, head="method", columns=columns, rows=lines),),
        notes=(
            f"{len(chosen)} sets of 2 × {size} texts that {BASE_MODEL} was not trained on: the true share is 0 in all.",
            agreement_note(len(chosen)),
        ),
        seeds=bench.seeds,
    )


def agreement_note(count: int) -> str:
    """Return what the agreement of halves means."""
    return (
        "The agreement is the Spearman correlation of the values of the first halves with those of the second halves. "
        "0 is right. Near 1 the score ranks kinds of text, and a comparison of benchmarks by it says nothing of "
        f"contamination. Above {critical(count):.2f} it is significant at 5 % (one-sided)."
    )


def kinds_of(bench: Bench) -> tuple[HalvedKind, ...]:
    """Return the data sets of the bench, or without any the projects of this machine with most functions.

    Raises:
        DataError: fewer than three kinds have enough texts.
    """
    need = 2 * SIZES[bench.scale]
    texts = given_texts(bench) if bench.data else by_project(drawable_functions())
    # the name breaks ties, so that the choice does not depend on the order of reading
    largest = sorted((name for name in texts if len(texts[name]) >= need), key=lambda name: (-len(texts[name]), name))
    if len(largest) < 3:  # noqa: PLR2004  two can be ordered in one way by chance
        raise DataError(f"{len(largest)} kinds with {need} texts; expected at least 3, from --data NAME=PATH")
    return tuple(halved(name, texts[name], count=need, seed=bench.seeds[0]) for name in largest[:KINDS])


def given_texts(bench: Bench) -> Mapping[str, Sequence[Sample]]:
    """Return name → texts of the data of the bench: benchmarks, or tables."""
    texts = {}
    for name, path in bench.data.items():
        dataset = read_dataset(name, DataSelection(data=path)) if is_benchmark(name) else read_dataset(path)
        texts[name] = dataset.samples
    return texts


def by_project(samples: Sequence[Sample]) -> Mapping[str, Sequence[Sample]]:
    """Return project → its functions."""
    projects: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        projects[str(sample.group)].append(sample)
    return projects


def halved(name: str, samples: Sequence[Sample], *, count: int, seed: int) -> HalvedKind:
    """Return two sets of texts of a kind, drawn without repetition and cut to the same longest length."""
    order = np.random.default_rng(seed).permutation(len(samples))[:count]
    texts = tuple(Sample(samples[at].id, samples[at].text[:CHARACTERS]) for at in order)
    return HalvedKind(name, (texts[: count // 2], texts[count // 2 :]))


def method_values(bench: Bench, sets: Sequence[tuple[Sample, ...]], methods: Sequence[str]) -> list[Float64Array]:
    """Return for each method its value on each set, [sets]; fine-tuning has one rate for all, that of the paper."""
    model = open_local(BASE_MODEL)
    columns = []
    for place, samples in enumerate(sets):
        bench.watchers.begin(f"set {place + 1} of {len(sets)}")
        measured = MeasuredModel(model, samples, tuning=TuningOptions(seed=bench.seeds[0]))
        inputs = DatasetInputs(measured.samples, (), measured, seed=bench.seeds[0])
        columns.append([request(inputs).value for request in dataset_requests(",".join(methods))])
    return list(np.array(columns).T)


def agreement(first: Float64Array, second: Float64Array) -> float | None:
    """Return the Spearman correlation of two halves; None where a value is missing or all are equal."""
    if np.isnan(first).any() or np.isnan(second).any() or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return spearman(first, second)


def critical(count: int) -> float:
    """Return the correlation that two unrelated orders of so many sets exceed in 5 % of cases, by simulation."""
    random = np.random.default_rng(0)
    return float(np.quantile([spearman(np.arange(count), random.permutation(count)) for _ in range(2000)], 0.95))


EXPERIMENTS = (Reproduction("assay", "kinds", kinds, takes=ANY, models=0, models_with_data=0, seeds=1),)
