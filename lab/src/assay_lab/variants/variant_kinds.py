"""Does SrDetection find more where variants show other test cases too?

HumanEval and MBPP, each task as a program (MBPP's statement and tests as a docstring before the code); tasks with ten
variants of each kind are drawn, half of them trained on (`builtin:small`, one epoch, all weights, 1e-3), half held out.
`sr_gray` on ten variants with other names, on ten with other test cases, and on ten with both: AUROC, and macro-F1 of
the paper's rule. Filtered: without the texts that the base model finds easier than all their variants of that kind.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, islice, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import load
from assay.evaluation import Estimate, rank_all
from assay.models import CachedScorer, StatisticsCache, open_local
from assay.scores import requests
from assay.scoring import CHANGES, NAMES, Change, Deterministic, Rewritten, plan, score_samples
from assay.training import TrainingSettings, member_rows
from assay.types import Sample
from assay_lab.columns import at_places, group_column, text_column
from assay_lab.evaluation.differences import paired_difference
from assay_lab.evaluation.thresholds import at_threshold
from assay_lab.experiments.declaration import Data, Experiment, Result, benchmark_data
from assay_lab.mappings import map_values
from assay_lab.training.finetuning import Task, checkpoint_folder, finetune

MODEL = "builtin:small"
NAMES_ALONE = "names"
KINDS: Mapping[str, tuple[Change, ...]] = {
    NAMES_ALONE: NAMES,
    "test cases": ("tests",),
    "names and test cases": CHANGES,
}
# the rule of the paper decides above 0, not at it
ABOVE_0 = float(np.nextafter(0.0, np.inf))

Floats = NDArray[np.float64]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    tasks: int = 300
    epochs: tuple[int, ...] = (1,)
    variants: int = 10
    resamples: int = 1000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Made:
    """Rewritings that were made before: the sandbox runs once, and not for every model."""

    name: str
    known: Mapping[str, Rewritten]
    counts: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, samples: Sequence[Sample], n: int) -> list[Rewritten]:
        """See `assay.scoring.rewriters.Rewriter`."""
        made = [self.known[sample.id] for sample in samples]
        return [replace(rewritten, texts=rewritten.texts[:n]) for rewritten in made]


def tasks(data: Data) -> list[Sample]:
    """Every task of both benchmarks as one program."""
    humaneval = load("humaneval", data=data["humaneval"] / "HumanEval.jsonl.gz", part="full").samples
    mbpp = load("mbpp", data=data["mbpp"] / "mbpp.jsonl", part="published").samples
    return [*humaneval, *map(with_docstring, mbpp)]


def with_docstring(sample: Sample) -> Sample:
    """A task of MBPP as a program: what it asks and its tests, then the code."""
    tests = "\n".join(sample.metadata["test_list"])  # type: ignore[arg-type]  # as the benchmark has it
    code = str(sample.metadata["code"]).replace("\r", "").strip("\n")
    return replace(sample, text=f'"""\n{sample.metadata["text"]}\n{tests}\n"""\n{code}\n')


def chosen(size: Size, data: Data) -> tuple[list[Sample], dict[str, Made]]:
    """Tasks in random order that have enough variants of each kind, the first half to be trained on."""
    order = np.random.default_rng(size.seed).permutation
    everything = tasks(data)
    # an iterator, so that each batch goes on where the last one ended
    drawn = iter(at_places(everything, order(len(everything))))
    samples: list[Sample] = []
    made: dict[str, dict[str, Rewritten]] = {kind: {} for kind in KINDS}
    engines = map_values(Deterministic, KINDS)
    while len(samples) < size.tasks and (batch := list(islice(drawn, min(50, 2 * size.tasks)))):
        of_kinds = zip(*(engine(batch, size.variants) for engine in engines.values()), strict=True)
        for sample, rewritings in zip(batch, of_kinds, strict=True):
            is_full = all(len(rewritten.texts) == size.variants for rewritten in rewritings)
            if len(samples) < size.tasks and is_full:
                samples.append(sample)
                for kind, rewritten in zip(engines, rewritings, strict=True):
                    made[kind][sample.id] = rewritten
    return samples, {kind: Made(kind, known) for kind, known in made.items()}


def trained(folder: Path, members: Sequence[Sample], size: Size) -> None:
    """Checkpoints of a model that was trained on the members."""
    base = open_local(MODEL, device="cpu")
    training = TrainingSettings(method="full", rate=1e-3, epochs=size.epochs[-1], checkpoints=size.epochs, device="cpu")
    rows = member_rows(base.checkpoint.tokenizer, text_column(members), context=base.context)
    task = Task(model=MODEL, revision=None, members=rows, general=[], training=training, seed=size.seed)
    finetune(folder, task)


def values(
    folder: Path, epoch: int, samples: Sequence[Sample], *, made: Mapping[str, Made], size: Size
) -> dict[str, Floats]:
    """Kind → `sr_gray` of each sample, on one checkpoint."""
    checkpoint = str(checkpoint_folder(folder, epoch)) if epoch else MODEL
    model = open_local(checkpoint, device="cpu")
    name = f"sr_gray:n={size.variants}"
    with StatisticsCache(folder / f"epoch-{epoch}.sqlite") as cache:
        scorer = CachedScorer(model, cache)
        scored = {}
        for kind, rewriter in made.items():
            work = plan(requests(name), {"target": scorer}, rewriter=rewriter)
            scored[kind] = score_samples(samples, work).values[name]
        return scored


def judged(
    epoch: int, samples: Sequence[Sample], *, found: Mapping[str, Floats], base: Mapping[str, Floats], size: Size
) -> list[Row]:
    """Each kind, on all texts and on those that pass its filter; and how far it is above names alone."""
    member = np.arange(len(samples)) < len(samples) // 2
    groups = group_column(samples)
    draws = {"resamples": size.resamples, "seed": size.seed}
    rows = []
    for view, kind in product(("all", "filtered"), KINDS):
        kept = base[kind] < 0 if view == "filtered" else np.ones(len(samples), np.bool_)
        truths = member[kept]
        if truths.all() or not truths.any():
            continue
        own = list(compress(groups, kept))
        ranking = rank_all({kind: found[kind][kept]}, truths, own, **draws)[kind]
        rule = at_threshold(found[kind][kept], positive=truths, groups=own, threshold=ABOVE_0, **draws)
        row: Row = {
            "epoch": epoch,
            "view": view,
            "kind": kind,
            "members": int(truths.sum()),
            "nonmembers": int((~truths).sum()),
            "auroc": counts(ranking.auroc),
            "macro_f1": counts(rule.macro_f1),
            "rule_on_nonmembers": rule.false_positives / max(1, int((~truths).sum())),
        }
        if kind != NAMES_ALONE and view == "all":
            names = found[NAMES_ALONE]
            difference = paired_difference(
                found[kind], names, positive=member, groups=groups, resamples=size.resamples, seed=size.seed
            )
            row["auroc_over_names"] = counts(difference.estimate)
        rows.append(row)
    return rows


def counts(estimate: Estimate) -> list[float]:
    """Value and interval."""
    return [estimate.value, estimate.low, estimate.high]


def run(size: Size, seed: int, data: Data) -> Result:
    """Does SrDetection find more where variants show other test cases too?"""
    size = replace(size, seed=seed)
    samples, made = chosen(size, data)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "train"
        trained(folder, samples[: len(samples) // 2], size)
        base = values(folder, 0, samples, made=made, size=size)
        rows = []
        for epoch in size.epochs:
            found = values(folder, epoch, samples, made=made, size=size)
            rows += judged(epoch, samples, found=found, base=base, size=size)
    return Result(rows)


EXPERIMENTS = (
    Experiment(
        name="variants/variant_kinds",
        run=run,
        scales={"smoke": Size(tasks=4, variants=2, resamples=50), "full": Size()},
        needs=benchmark_data("humaneval", "mbpp"),
    ),
)
