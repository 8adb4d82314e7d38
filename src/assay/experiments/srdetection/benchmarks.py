"""Figure 2: models × benchmarks, the share that a gray-box detector calls leaked, by the audits of `assay audit`."""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.datasets import load
from assay.evaluation import Estimate, wilson
from assay.experiments.bench import Bench
from assay.experiments.finding import Finding, Line, over_seeds, seeds_note
from assay.experiments.srdetection.detection import in_paper
from assay.leakage import Audit, audit
from assay.models import CachedScorer, StatisticsCache
from assay.scores import SRDETECTION, headline_score, requests
from assay.scoring import plan
from assay.testbed import STATISTICS, Configuration, open_checkpoint
from assay.types import Sample

PLANTED = {"planted": "member", "held out": "nonmember"}
CALIBRATED = headline_score("gray").name
Sets = Mapping[str, Sequence[Sample]]


def figure_2(bench: Bench) -> Finding:
    """Share of each benchmark called leaked under each checkpoint, by the rule and by calibrated decisions.

    The paper audits 15 public models on four benchmarks. Here the models are of the testbed, whose truth is known:
    what was planted is a benchmark that leaked, what was held out is one that did not; benchmarks of `bench.data` stand
    beside them.
    """
    given: Sets = {name: load(name, data=path).samples for name, path in bench.data.items()}
    audits: dict[str, Audit] = {}
    lines = []
    for configuration in bench.configurations:
        for epoch in (0, *configuration.training.checkpoints):
            called = []
            for seed in bench.seeds:
                found = audits_of(bench, bench.configured(configuration, seed), epoch, given)
                prefix = f"{configuration.name}-seed-{seed}-epoch-{epoch}"
                audits |= {f"{prefix}-{name.replace(' ', '-')}": one for name, one in found.items()}
                called.append([share for one in found.values() for share in shares(one, configuration)])
            when = f"epoch {epoch}" if epoch else "before training"
            means = [over_seeds(column, share=True) for column in zip(*called, strict=True)]
            lines.append(Line(f"{configuration.name} · {when}", tuple(means)))
    (bench.out / STATISTICS).unlink(missing_ok=True)
    names = [*PLANTED, *given]
    return Finding(
        name="figure-2",
        title="Models × benchmarks: the share called leaked (SrDetection, Figure 2)",
        head="model",
        columns=tuple(f"{name}, {what}" for name in names for what in ("SrDetection's rule", "calibrated at 5 %")),
        lines=tuple(lines),
        unit="percent",
        notes=(
            seeds_note(bench.seeds),
            f"Texts judged: {', '.join(f'{name} {count}' for name, count in sizes(audits).items())}.",
            (
                "If names meant nothing, SrDetection's rule would call 9 % leaked. The calibrated decision is that of "
                f"{CALIBRATED} against texts held out, of the planted texts' kind: of another kind of benchmark it "
                "says nothing."
            ),
            "The paper's figure is a picture without numbers, of 15 models on APPS, HumanEval, MBPP and BigCodeBench.",
            "The audits lie in folders beside this table: `assay compare` sets them side by side.",
        ),
        seeds=bench.seeds,
        audits=audits,
    )


def audits_of(bench: Bench, configuration: Configuration, epoch: int, given: Sets) -> dict[str, Audit]:
    """Benchmark → its audit under one checkpoint; labels stay out of it, as they would in the field.

    Statistics are kept until the figure stands, 36 bytes a token: a run that was killed goes on where it was.
    """
    folder, planted = bench.folder(configuration), bench.planted(configuration)
    sets = {name: planted.part(part) for name, part in PLANTED.items()} | {**given}
    unseen = [without_label(sample) for sample in planted.part("calibration-nonmember")]
    with StatisticsCache(bench.out / STATISTICS) as cache:
        model = CachedScorer(open_checkpoint(folder, configuration, epoch), cache)
        todo = plan(requests(f"{CALIBRATED},{rule_of(configuration)}"), {"target": model})
        found = {}
        for name, samples in sets.items():
            bench.watchers.says(f"auditing {name} after epoch {epoch} of {folder.name}")
            found[name] = audit(
                [without_label(sample) for sample in samples],
                todo,
                benchmark=name,
                unseen=unseen,
                unseen_source="texts held out",
                seed=configuration.seed,
                resamples=configuration.judging.resamples,
                progress=bench.watchers.scoring,
            )
    return found


def without_label(sample: Sample) -> Sample:
    """What an auditor knows of a text."""
    return Sample(sample.id, sample.text, sample.language, None, sample.group)


def shares(found: Audit, configuration: Configuration) -> tuple[Estimate | None, Estimate | None]:
    """What SrDetection's rule and the calibrated decision call leaked."""
    column = found.values[rule_of(configuration)]
    known = column[~np.isnan(column)]
    calibrated = found.summary(CALIBRATED).calibration
    ruled = wilson(int((known > 0).sum()), len(known)) if len(known) else None
    return ruled, calibrated.flagged.rate if calibrated else None


def rule_of(configuration: Configuration) -> str:
    """SrDetection's score with as many variants as the run makes."""
    return f"{in_paper('gray')[SRDETECTION]}:n={configuration.judging.variants}"


def sizes(audits: Mapping[str, Audit]) -> dict[str, str]:
    """Benchmark → the number of its texts, and of those of them that have variants, in words."""
    found = {}
    for one in audits.values():
        ruled = next(s for s in one.summaries if s.score != CALIBRATED)
        found[one.benchmark] = f"{ruled.total} ({ruled.scored} with variants)"
    return found
