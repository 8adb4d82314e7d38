"""Tables 2, 9 and 11: detectors that need no more of the model than what it writes.

They have runs of their own: the same configuration, judged by what each checkpoint writes. The shipped model writes on
a CPU, twelve texts for each one that is judged, and so gets fewer to judge; how many stands below every table.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from operator import methodcaller
from typing import Any

import numpy as np

from assay import __version__
from assay.evaluation import Estimate
from assay.models import StatisticsCache, cached_generator, combined
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay_lab.columns import attributes, group_column, having, id_column
from assay_lab.experiments.bench import PAPER_SCALE, Bench
from assay_lab.experiments.finding import Finding, Value, ValueRow, over_seeds
from assay_lab.experiments.named_data import named_dataset
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import ANY, Reproduction
from assay_lab.experiments.runs import Runs, epoch_heading, epoch_tables, macro_f1_chart, runs_of, setting
from assay_lab.papers.printed import printed_values, value_table
from assay_lab.papers.srdetection.audited import BENCHMARKS, audit_finding
from assay_lab.papers.srdetection.detectors import (
    WRITING,
    black_rows,
    calibrated_black,
    drawn_black,
    named_detectors,
    paper_score,
    rule_share,
)
from assay_lab.papers.srdetection.sensitivity import by_variants
from assay_lab.testbed import (
    ALL,
    FILTER,
    FOLDER,
    SCORES,
    STATISTICS,
    Configuration,
    Evaluation,
    current_scores,
    open_checkpoint,
    opened_rewriter,
    part_column,
    read_planted,
    read_scores,
    settings_notes,
    write_scores,
    writing_detectors,
)

PAPER = paper("srdetection")
NUMBERS = tuple(map(int, next(iter(PAPER.tables["table-11"].values["macro-F1"].values()))))
"""Numbers of variants in the paper's table; the largest is the score's default."""
FEW = {"members": 40, "calibration_members": 20, "calibration_nonmembers": 40}
"""At most so many texts where a built-in model writes."""
OF_A_GROUP = 4
"""At most so many of them from one group: each class then has the ten groups that an interval needs."""
ALPHA = 0.05


def table_2(bench: Bench) -> Finding:
    """Accuracy, precision, recall and macro-F1 of the black-box detectors after 1, 3 and 5 epochs."""
    black = writing(bench)
    runs = runs_of(black)
    learning = attributes(having(writing_detectors(), access="labelled"), "name")
    changed = chain.from_iterable(settings_notes(chosen.judging, learning) for chosen in black.configurations)
    return Finding(
        name="srdetection/table-2",
        title="Black-box detectors after 1, 3 and 5 epochs (SrDetection, Table 2)",
        tables=epoch_tables(PAPER.tables["table-2"], runs, black_rows()),
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
            *dict.fromkeys(changed),
        ),
        seeds=bench.seeds,
        charts=macro_f1_chart("Macro-F1 of black-box detectors by epoch", runs, drawn_black()),
    )


def table_9(bench: Bench) -> Finding:
    """Share of each benchmark that black-box SrDetection calls leaked.

    The paper audits six public models on three benchmarks, and so does the scale "paper", without training. At the
    other scales the models are of the testbed, whose truth is known:
    what was planted is a benchmark that leaked, what was held out is one that did not; benchmarks of `bench.data` stand
    beside them.
    """
    printed = PAPER.tables["table-9"]
    title = "Models × benchmarks, black-box: the share called leaked (SrDetection, Table 9)"
    if bench.scale == PAPER_SCALE:
        score = variant_rule(bench.configurations[0])
        return audit_finding(bench, "srdetection/table-9", title, score=score, printed=printed)
    black = writing(bench)
    runs = runs_of(black)
    columns: dict[str, dict[str, Value]] = {}
    for chosen in black.configurations:
        for epoch in (0, *chosen.training.checkpoints):
            shares = leaked_shares(black, chosen, epoch=epoch, runs=runs[chosen.name])
            columns[f"{chosen.name}, {epoch_heading(epoch)}"] = shares
    names = next(iter(columns.values()))
    rows = map(ValueRow, names, zip(*map(methodcaller("values"), columns.values()), strict=True))
    flagged = "Share called leaked"
    return Finding(
        name="srdetection/table-9",
        title=title,
        tables=(
            value_table("flagged", flagged, head="texts, decision", columns=columns, rows=rows, unit="percent"),
            value_table(
                "paper",
                printed.source,
                head="model (paper)",
                columns=map(str, printed.columns),
                rows=map(ValueRow, printed.values, map(partial(printed_values, printed), printed.values)),
                unit="percent",
            ),
        ),
        notes=(
            *black_setting(black, runs),
            "Shares are of all texts, filtered or not; of one seed the brackets are 95 % intervals over groups.",
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
    notes = list(black_setting(black, runs))
    most = min(attributes(black.configurations, "judging.variants"))
    if most < max(NUMBERS):
        notes.append(f"Only {most} variants of each text were asked for: the row of {max(NUMBERS)} has those.")
    notes.append(
        "The rule calls a text leaked when more of it is written than of every variant, so more variants can "
        "only flag fewer texts. The paper's F1 after one epoch falls from 3 variants to 10 on both models, "
        "where its text says that more generally improve detection."
    )
    return Finding(
        name="srdetection/table-11",
        title="Macro-F1 of SrDetection, black-box, by number of variants (SrDetection, Table 11)",
        tables=by_variants(paper_score("black"), PAPER.tables["table-11"], runs),
        notes=tuple(notes),
        seeds=bench.seeds,
    )


def writing(bench: Bench) -> Bench:
    """Return the bench whose runs are judged by what the models write."""
    judge = partial(judged_by_writing, named=writing_named(bench))
    return replace(bench, configurations=tuple(map(judge, bench.configurations)))


def writing_named(bench: Bench) -> tuple[str, ...]:
    """Return the detectors of generated text that a file names; errors as `named_detectors`."""
    return named_detectors(bench, WRITING)


def judged_by_writing(configuration: Configuration, *, named: Sequence[str] = ()) -> Configuration:
    """Return the same run for black-box detectors: no clean texts beyond the held-out ones, and few for the CPU."""
    fewer: dict[str, Any] = {"unseen": 0}
    if configuration.model.startswith("builtin:"):
        for part, most in {**FEW, "per_group": OF_A_GROUP}.items():
            own = getattr(configuration.data, part)
            # "all" is no number to compare with
            fewer[part] = most if own == ALL else min(most, own)
    return replace(
        configuration,
        name=f"{configuration.name}-black",
        data=replace(configuration.data, **fewer),
        judging=replace(configuration.judging, detectors=detectors(named)),
    )


def detectors(named: Sequence[str]) -> tuple[str, ...]:
    """Return those that are named, else all of generated text, and what the three tables cannot do without.

    That is the paper's filter, SrDetection with each number of variants, and the detector of calibrated decisions.
    """
    rule = paper_score("black")
    # the largest number is the default of the score, which stands there already
    fewer = (f"{rule}:n={n}" for n in NUMBERS if n < max(NUMBERS))
    return (FILTER, *(named or ("black",)), rule, calibrated_black(), *fewer)


def black_setting(bench: Bench, runs: Runs) -> tuple[str, ...]:
    """Return sentences on what was measured on what."""
    notes = setting(bench, runs)
    if any(chosen.model.startswith("builtin:") for chosen in bench.configurations):
        most = " + ".join(map(str, FEW.values()))
        few = (
            f"At most {most} texts (members; calibration's two classes), fewer than in the gray-box tables: the model "
            f"writes an answer for each and for each of its variants. At most {OF_A_GROUP} of them are of one group, "
            "so that every class has enough groups for an interval. Intervals are wide accordingly."
        )
        return (*notes, few)
    return notes


def leaked_shares(
    bench: Bench, configuration: Configuration, *, epoch: int, runs: tuple[Evaluation, ...]
) -> dict[str, Value]:
    """Return texts and decision → the share called leaked under one checkpoint, over seeds."""
    by_rule = [rule_rates(bench, bench.configured(configuration, seed), epoch) for seed in bench.seeds]
    calibrated = list(map(calibrated_rates, runs, repeat(epoch)))
    planted, clean = map(partial(over_seeds, share=True), zip(*by_rule, strict=True))
    planted_calibrated, clean_calibrated = map(partial(over_seeds, share=True), zip(*calibrated, strict=True))
    values: dict[str, Value] = {
        "planted, SrDetection's rule": planted,
        "held out, SrDetection's rule": clean,
        f"planted, {calibrated_black()} at 5 %": planted_calibrated,
        f"held out, {calibrated_black()} at 5 %": clean_calibrated,
    }
    for name in bench.data:
        values[f"{name}, SrDetection's rule"] = benchmark_rate(bench, configuration, epoch, name=name)
    return values


def rule_rates(bench: Bench, configuration: Configuration, epoch: int) -> tuple[Estimate | None, Estimate | None]:
    """Return the shares of the planted and of the held-out texts of one run that SrDetection's rule calls leaked."""
    folder = bench.folder(configuration)
    planted = read_planted(folder / FOLDER)
    values = read_scores(folder / SCORES / f"epoch-{epoch}.parquet", id_column(planted.samples))
    column = values[variant_rule(configuration)]
    parts = part_column(planted.samples)
    groups = np.array(group_column(planted.samples), object)
    members, others = parts == "member", parts == "nonmember"
    share = partial(rule_share, ties=configuration.judging.ties)
    return share(column[members], groups[members].tolist()), share(column[others], groups[others].tolist())


def calibrated_rates(run: Evaluation, epoch: int) -> tuple[Estimate | None, Estimate | None]:
    """Return what the calibrated decisions of one run call leaked of the planted and of the held-out texts, at 5 %.

    None where too few texts calibrate.
    """
    cell = run.cell(calibrated_black(), epoch)
    for null in cell.nulls if cell else ():
        if null.alpha == ALPHA:
            return null.members.rate, null.clean.rate
    return None, None


def benchmark_rate(bench: Bench, configuration: Configuration, epoch: int, *, name: str) -> Estimate | None:
    """Return the share of a benchmark that SrDetection's rule calls leaked under one checkpoint of the first seed.

    The values are kept on disk, bound to the checkpoint, the texts and the score.
    """
    run = bench.configured(configuration, bench.seeds[0])
    folder = bench.folder(run) / SCORES
    samples = named_dataset(name, bench.data[name]).samples
    ids, path, own = id_column(samples), folder / f"{name}-epoch-{epoch}.parquet", variant_rule(run)
    model = open_checkpoint(bench.folder(run), run, epoch)
    texts = [[sample.id, sample.text, sample.language] for sample in samples]
    rewritings = [run.judging.engine, *run.judging.changes, run.judging.names, run.judging.rename]
    facts = {"assay": __version__, "target": model.digest, "texts": texts, "score": own, "rewritings": rewritings}
    origins = {own: combined(facts)}
    values = current_scores(path, ids, origins)
    if own not in values:
        bench.watchers.begin(f"{name} after epoch {epoch}")
        with StatisticsCache(folder / STATISTICS) as cache:
            generator = cached_generator(model, cache, digest=model.generation_digest)
            with opened_rewriter(bench.folder(run), run.judging, generator) as rewriter:
                work = plan(requests(own), {}, generator=generator, rewriter=rewriter)
                values = dict(score_samples(samples, work, progress=bench.watchers.scoring).values)
        write_scores(path, ids, values, origins=origins)
        (folder / STATISTICS).unlink(missing_ok=True)
    return rule_share(values[own], group_column(samples), run.judging.ties)


def variant_rule(configuration: Configuration) -> str:
    """Return the column of SrDetection's rule with as many variants as the run makes, at most the paper's ten."""
    # a run with fewer variants than the paper has no value of the default score
    most = configuration.judging.variants
    return paper_score("black") if most >= max(NUMBERS) else f"{paper_score('black')}:n={most}"


EXPERIMENTS = (
    Reproduction("srdetection", "table-2", table_2, checks=(writing_named,)),
    Reproduction(
        "srdetection",
        "table-9",
        table_9,
        takes=ANY,
        paper_data=BENCHMARKS[1:],
        checks=(writing_named,),
        audits=tuple(map(PAPER.audited.__getitem__, PAPER.tables["table-9"].values)),
    ),
    Reproduction("srdetection", "table-11", table_11, checks=(writing_named,)),
)
