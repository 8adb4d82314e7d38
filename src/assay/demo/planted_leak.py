"""The live part of the demonstration: a leak that is planted here and now, and audited beside the model as it was."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from assay.api import audit
from assay.datasets import Dataset
from assay.errors import require
from assay.leakage import Audit
from assay.models import ModelSettings
from assay.scores import headline_score
from assay.types import NONMEMBER, Sample, texts_of

MODEL = "builtin:small"
TASKS, UNSEEN, EPOCHS = 100, 120, 4
SEED = 0
SHORTEST, LONGEST = 200, 1500
"""Characters of a planted function: long enough to be remembered, short enough to train on within a minute."""


@dataclass(frozen=True, slots=True)
class PlantedLeak:
    """Two audits of one benchmark of never-seen functions, of which one model was trained on half.

    Attributes:
        clean: of the model as it was.
        planted: of the copy that was trained on half of the benchmark.
        tasks: of the benchmark.
        leaked: tasks that were trained on.
    """

    clean: Audit
    planted: Audit
    tasks: int
    leaked: int


def plant_leak(functions: Dataset, folder: Path, settings: ModelSettings | None = None) -> PlantedLeak:
    """Train a copy of `builtin:small` on half of a benchmark of functions that it never saw, and audit both models.

    Args:
        functions: with labels; those that were never seen are used.
        folder: of the copy.
        settings: how the audited models are opened; in the cache the two audits share the statistics of the control.

    Raises:
        MissingExtra: PyTorch is not installed.
    """
    require("torch", purpose="the planted leak of the demonstration")
    from assay.models import load_checkpoint, quiet  # noqa: PLC0415  they import torch
    from assay.training import TrainingSettings, member_rows, tune  # noqa: PLC0415

    benchmark, unseen = benchmark_and_unseen(functions)
    leaked = benchmark[: len(benchmark) // 2]
    base = load_checkpoint(MODEL, ModelSettings(device="cpu"))
    # the rate is far above that of a real training: the leak has to show within a minute
    rows = member_rows(base.tokenizer, texts_of(leaked), context=512)
    training = TrainingSettings(method="full", rate=1e-3, batch=8, epochs=EPOCHS)
    tuned = tune(base.model, rows, training, seed=SEED)
    with quiet():
        tuned.save_pretrained(folder)
    base.tokenizer.save_pretrained(folder)
    data = Dataset.of("never-seen functions", benchmark, source="this interpreter's standard library")
    score = headline_score("gray").name
    compare = partial(audit, benchmark=data, unseen=unseen, scores=score, progress=False, model_settings=settings)
    return PlantedLeak(compare(MODEL), compare(str(folder)), tasks=len(benchmark), leaked=len(leaked))


def benchmark_and_unseen(functions: Dataset) -> tuple[list[Sample], list[Sample]]:
    """Return never-seen functions of two sets of modules, without labels, in random order."""
    never = [s for s in functions.samples if s.label == NONMEMBER and SHORTEST <= len(s.text) <= LONGEST]
    groups = sorted({str(sample.group) for sample in never})
    # by module, so that the benchmark and its unseen text are as unlike as those of a user
    own = set(groups[::2])
    benchmark, unseen = [], []
    for at in np.random.default_rng(SEED).permutation(len(never)):
        bare = Sample(never[at].id, never[at].text, language="python", group=never[at].group)
        if bare.group in own:
            benchmark.append(bare)
        else:
            unseen.append(bare)
    return benchmark[:TASKS], unseen[:UNSEEN]
