"""Tables 2, 9 and 11: detectors that need no more of the model than what it writes.

They have runs of their own: the same configuration, judged by what each checkpoint writes. The shipped model writes on
a CPU, twelve texts for each one that is judged, and so gets fewer to judge; how many stands below every table.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.datasets import load
from assay.evaluation import Estimate, wilson
from assay.experiments.bench import Bench
from assay.experiments.finding import Drawn, Finding, Line, Value, over_seeds
from assay.experiments.paper_values import MEASURES, TABLE_2, TABLE_9, TABLE_11
from assay.experiments.srdetection.detection import epochs_of, in_paper, measured, setting, views, whose_columns
from assay.experiments.srdetection.sensitivity import by_variants
from assay.models import StatisticsCache, cached_generator
from assay.scores import SRDETECTION, default_scores, flagged, requests
from assay.scoring import plan, score_samples
from assay.testbed import (
    FOLDER,
    SCORES,
    STATISTICS,
    Configuration,
    Evaluation,
    Null,
    open_checkpoint,
    read_planted,
    read_scores,
    write_scores,
    writing_detectors,
)

FEW = {"members": 40, "calibration_members": 20, "calibration_nonmembers": 40}
"""At most so many texts where `builtin:small` writes."""
F1 = 3
ALPHA = 0.05
BENCHMARKS = ("HumanEval", "MBPP", "BigCodeBench")
CALIBRATED = default_scores("black")[0]
Runs = dict[str, tuple[Evaluation, ...]]


def table_2(bench: Bench) -> Finding:
    """Accuracy, precision, recall and macro-F1 of the black-box detectors after 1, 3 and 5 epochs."""
    black = writing(bench)
    runs = runs_of(black)
    papers = {name: paper for paper, name in in_paper("black", "labelled").items()}
    compared = dict.fromkeys((*papers, *(one.name for one in writing_detectors())))
    lines = []
    for epoch in epochs_of(runs):
        for detector in compared:
            paper = papers.get(detector)
            printed = TABLE_2.get(epoch, {}).get(paper or "")
            values: list[Value] = []
            for place, _ in enumerate(MEASURES):
                values += [four[place] / 100 for four in printed] if printed else [None, None]
                values += [
                    measured(found, detector, epoch, view)[place] for found in runs.values() for view in views(runs)
                ]
            lines.append(Line(f"epoch {epoch} · {paper or detector}", tuple(values)))
    return Finding(
        name="table-2",
        title="Black-box detectors after 1, 3 and 5 epochs (SrDetection, Table 2)",
        head="epoch and detector",
        columns=tuple(f"{measure}, {whose}" for measure in MEASURES for whose in whose_columns(runs)),
        lines=tuple(lines),
        unit="percent",
        notes=(
            *black_setting(black, runs),
            (
                "Precision and recall are means over the two classes; the paper's for DPDLLM (recall 100 at accuracy "
                "50) are those of the members. Its text has 53.09 and 82.06 where its table has 53.02 and 81.85."
            ),
            (
                "VeilProbe and DPDLLM learn from the calibration texts and their labels, and decide at 0; the paper "
                "does not say from how many theirs learn. SrDetection's rule needs no label; the thresholds of the "
                "rows without a paper's value are fitted on the calibration texts."
            ),
        ),
        seeds=bench.seeds,
        drawn=drawn(runs),
        x="epochs of training",
        y="macro-F1",
    )


def table_9(bench: Bench) -> Finding:
    """Share of each benchmark that black-box SrDetection calls leaked.

    The paper audits six public models on three benchmarks. Here the models are of the testbed, whose truth is known:
    what was planted is a benchmark that leaked, what was held out is one that did not; benchmarks of `bench.data` stand
    beside them.
    """
    black = writing(bench)
    runs = runs_of(black)
    lines = [
        Line(
            f"{model} (paper)",
            (*(one / 100 for one in printed), *([None] * (4 + len(bench.data)))),
        )
        for model, printed in TABLE_9.items()
    ]
    for configuration in black.configurations:
        found = runs[configuration.name]
        for epoch in (0, *configuration.training.checkpoints):
            ruled = [rule_rates(black, black.configured(configuration, seed), epoch) for seed in black.seeds]
            nulls = [null_of(one, epoch) for one in found]
            values: list[Value] = [None] * len(BENCHMARKS)
            values += [over_seeds([one[place] for one in ruled], share=True) for place in (0, 1)]
            values.append(over_seeds([one.members.rate if one else None for one in nulls], share=True))
            values.append(over_seeds([one.clean.rate if one else None for one in nulls], share=True))
            values += [benchmark_rate(black, configuration, epoch, name) for name in bench.data]
            when = f"epoch {epoch}" if epoch else "before training"
            lines.append(Line(f"{configuration.name} · {when}", tuple(values)))
    rule, calibrated = "SrDetection's rule", f"{CALIBRATED} at 5 %"
    return Finding(
        name="table-9",
        title="Models × benchmarks, black-box: the share called leaked (SrDetection, Table 9)",
        head="model",
        columns=(
            *(f"{name} (paper)" for name in BENCHMARKS),
            *(f"{kind}, {what}" for what in (rule, calibrated) for kind in ("planted", "held out")),
            *(f"{name}, {rule}" for name in bench.data),
        ),
        lines=tuple(lines),
        unit="percent",
        notes=(
            *black_setting(black, runs),
            "Shares are of all texts, filtered or not; of one seed the brackets are Wilson's 95 % intervals.",
            (
                "Held out: what the same decision calls leaked of texts that no model here saw. The paper has no such "
                "column, and so no measure of how much of its figures is leakage; nor has its table the baselines "
                "that its text says are lower."
            ),
            (
                "Calibrated: conformal p-values against the held-out calibration texts, which are of the planted "
                "texts' kind; of another kind of benchmark they would say nothing."
            ),
            *([f"Benchmarks of --data: seed {black.seeds[0]} alone."] if bench.data else []),
        ),
        seeds=bench.seeds,
    )


def table_11(bench: Bench) -> Finding:
    """Macro-F1 of SrDetection, black-box, by number of variants and epoch."""
    black = writing(bench)
    runs = runs_of(black)
    made = min(one.judging.variants for one in black.configurations)
    lines = by_variants(in_paper("black")[SRDETECTION], TABLE_11, runs)
    return Finding(
        name="table-11",
        title="Macro-F1 of SrDetection, black-box, by number of variants (SrDetection, Table 11)",
        head="variants and epoch",
        columns=tuple(whose_columns(runs)),
        lines=tuple(lines),
        unit="percent",
        notes=(
            *black_setting(black, runs),
            *(
                [f"Only {made} variants of each text were asked for: the row of 10 has those."]
                if made < max(TABLE_11)
                else []
            ),
            (
                "The rule calls a text leaked when more of it is written than of every variant, so more variants can "
                "only flag fewer texts. The paper's F1 after one epoch falls from 3 variants to 10 on both models, "
                "where its text says that more generally improve detection."
            ),
        ),
        seeds=bench.seeds,
    )


def writing(bench: Bench) -> Bench:
    """The bench whose runs are judged by what the models write."""
    return replace(bench, configurations=tuple(map(judged_by_writing, bench.configurations)))


def judged_by_writing(configuration: Configuration) -> Configuration:
    """The same run for black-box detectors: without clean texts beyond the held-out ones, and of few for the CPU."""
    fewer: dict[str, Any] = {"unseen": 0}
    if configuration.model.startswith("builtin:"):
        fewer |= {part: min(most, getattr(configuration.data, part)) for part, most in FEW.items()}
    return replace(
        configuration,
        name=f"{configuration.name}-black",
        data=replace(configuration.data, **fewer),
        judging=replace(configuration.judging, detectors=detectors()),
    )


def detectors() -> tuple[str, ...]:
    """The paper's filter, all that need no more than generated text, and SrDetection with fewer variants."""
    own = in_paper("black")[SRDETECTION]
    return (*flagged("filter"), "black", *(f"{own}:n={n}" for n in TABLE_11 if n != max(TABLE_11)))


def runs_of(bench: Bench) -> Runs:
    """Model → one run a seed."""
    return {one.name: bench.evaluations(one) for one in bench.configurations}


def black_setting(bench: Bench, runs: Runs) -> tuple[str, ...]:
    """What was measured on what."""
    notes = setting(bench, runs)
    if any(one.model.startswith("builtin:") for one in bench.configurations):
        most = " + ".join(map(str, FEW.values()))
        few = (
            f"At most {most} texts (members; calibration's two classes), fewer than in the gray-box tables: the model "
            "writes an answer for each and for each of its variants. Intervals are wide accordingly."
        )
        return (*notes, few)
    return notes


def drawn(runs: Runs) -> tuple[Drawn, ...]:
    """Macro-F1 by epoch on the first model."""
    found, view = next(iter(runs.values())), views(runs)[0]
    lines = []
    for name in (*in_paper("black", "labelled").values(), CALIBRATED):
        points = {float(epoch): measured(found, name, epoch, view)[F1] for epoch in epochs_of(runs)}
        known = {epoch: value for epoch, value in points.items() if value is not None}
        if known:
            lines.append(Drawn(name, known))
    return tuple(lines)


def rule_rates(bench: Bench, configuration: Configuration, epoch: int) -> tuple[Estimate | None, Estimate | None]:
    """What SrDetection's rule calls leaked of the planted and of the held-out texts of one run."""
    folder = bench.folder(configuration)
    planted = read_planted(folder / FOLDER)
    values = read_scores(folder / SCORES / f"epoch-{epoch}.parquet", [sample.id for sample in planted.samples])
    column = values[rule_of(configuration)]
    parts = np.array([sample.metadata["part"] for sample in planted.samples])
    return share(column[parts == "member"]), share(column[parts == "nonmember"])


def null_of(found: Evaluation, epoch: int) -> Null | None:
    """The calibrated decisions of one run at 5 %; None where too few texts calibrate."""
    cell = found.cell(CALIBRATED, epoch)
    return next((one for one in cell.nulls if one.alpha == ALPHA), None) if cell else None


def benchmark_rate(bench: Bench, configuration: Configuration, epoch: int, name: str) -> Estimate | None:
    """What SrDetection's rule calls leaked of a benchmark under one checkpoint of the first seed, kept on disk."""
    run = bench.configured(configuration, bench.seeds[0])
    folder = bench.folder(run) / SCORES
    samples = load(name, data=bench.data[name]).samples
    ids, path, rule = [one.id for one in samples], folder / f"{name}-epoch-{epoch}.parquet", rule_of(run)
    if not path.exists():
        bench.watchers.says(f"{name} after epoch {epoch}")
        with StatisticsCache(folder / STATISTICS) as cache:
            model = open_checkpoint(bench.folder(run), run, epoch)
            generator = cached_generator(model, cache, digest=model.digest)
            todo = plan(requests(rule), {}, generator=generator)
            found: Mapping[str, NDArray[np.float64]] = score_samples(
                samples, todo, progress=bench.watchers.scoring
            ).values
        write_scores(path, ids, found)
        (folder / STATISTICS).unlink(missing_ok=True)
    return share(read_scores(path, ids)[rule])


def rule_of(configuration: Configuration) -> str:
    """The column of SrDetection's rule with as many variants as the run makes, at most the paper's ten."""
    most = configuration.judging.variants
    own = in_paper("black")[SRDETECTION]
    return own if most >= max(TABLE_11) else f"{own}:n={most}"


def share(column: NDArray[np.float64]) -> Estimate | None:
    """The share above 0 of those that have a value; None where none has."""
    known = column[~np.isnan(column)]
    return wilson(int((known > 0).sum()), len(known)) if len(known) else None
