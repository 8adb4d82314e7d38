"""Figure 2: models × benchmarks, the share that a gray-box detector calls leaked, by the audits of `assay audit`."""

from collections.abc import Sequence

import numpy as np

from assay.datasets import load
from assay.evaluation.calibration import wilson
from assay.leakage import Audit, audit
from assay.scores import requests
from assay.scoring import plan
from assay.testbed.configuration import Configuration
from assay.testbed.evaluate import open_checkpoint
from assay.testbed.experiments.bench import Bench
from assay.testbed.experiments.case_study import first_run
from assay.testbed.experiments.finding import Finding, Line, Value
from assay.testbed.plant import FOLDER, read_planted
from assay.types import Sample

PLANTED = {"planted": "member", "held out": "nonmember"}


def figure_2(bench: Bench) -> Finding:
    """Share of each benchmark called leaked under each checkpoint, by the rule and by calibrated decisions.

    The paper audits 15 public models on four benchmarks. Here the models are of the testbed, whose truth is known:
    what was planted is a benchmark that leaked, what was held out is one that did not; benchmarks of `bench.data` stand
    beside them.
    """
    configuration, _ = first_run(bench)
    folder = bench.folder(configuration)
    planted = read_planted(folder / FOLDER)
    sets: dict[str, tuple[Sample, ...]] = {name: planted.part(part) for name, part in PLANTED.items()}
    sets |= {name: load(name, data=path).samples for name, path in bench.data.items()}
    unseen = planted.part("calibration-nonmember")
    audits: dict[str, Audit] = {}
    lines = []
    for epoch in (0, *configuration.training.checkpoints):
        values: list[Value] = []
        for name, samples in sets.items():
            bench.watchers.says(f"auditing {name} after epoch {epoch}")
            found = audited(bench, configuration, epoch, name=name, samples=samples, unseen=unseen)
            audits[f"{name.replace(' ', '-')}-epoch-{epoch}"] = found
            values += shares(found, configuration)
        lines.append(Line("before training" if not epoch else f"epoch {epoch}", tuple(values)))
    return Finding(
        name="figure-2",
        title="Models × benchmarks: the share called leaked (SrDetection, Figure 2)",
        head="model",
        columns=tuple(f"{name}, {what}" for name in sets for what in ("SrDetection's rule", "calibrated at 5 %")),
        lines=tuple(lines),
        unit="percent",
        notes=(
            (
                f"{configuration.name} ({configuration.model}), seed {configuration.seed}; calibrated by mid_pit "
                f"against {len(unseen)} texts held out, of the planted texts' kind: of another kind of benchmark "
                "that says nothing."
            ),
            "The paper's figure is a picture without numbers, of 15 models on APPS, HumanEval, MBPP and BigCodeBench.",
            "The audits lie in folders beside this table: `assay compare` sets them side by side.",
        ),
        seeds=(configuration.seed,),
        audits=audits,
    )


def audited(
    bench: Bench,
    configuration: Configuration,
    epoch: int,
    *,
    name: str,
    samples: Sequence[Sample],
    unseen: Sequence[Sample],
) -> Audit:
    """The audit of one benchmark under one checkpoint; labels stay out of it, as they would in the field."""
    model = open_checkpoint(bench.folder(configuration), configuration, epoch)
    rule = f"sr_gray:n={configuration.judging.variants}"
    blank = [Sample(s.id, s.text, s.language, None, s.group) for s in samples]
    fresh = [Sample(s.id, s.text, s.language, None, s.group) for s in unseen]
    todo = plan(requests(f"mid_pit,{rule}"), {"target": model})
    return audit(
        blank,
        todo,
        benchmark=name,
        unseen=fresh,
        unseen_source="texts held out",
        seed=configuration.seed,
        resamples=configuration.judging.resamples,
        progress=bench.watchers.scoring,
    )


def shares(found: Audit, configuration: Configuration) -> list[Value]:
    """What SrDetection's rule and the calibrated decision call leaked."""
    column = found.values[f"sr_gray:n={configuration.judging.variants}"]
    known = column[~np.isnan(column)]
    calibrated = found.summary("mid_pit").calibration
    return [wilson(int((known > 0).sum()), len(known)), calibrated.flagged.rate if calibrated else None]
