"""Figure 2: models × benchmarks, the share that a gray-box detector calls leaked, by the audits of `assay audit`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from assay.evaluation import Estimate
from assay.leakage import Audit, ComparisonData, DecisionSettings, audit
from assay.models import CachedScorer, StatisticsCache
from assay.scores import headline_score, requests
from assay.scoring import plan
from assay.types import Sample
from assay_lab.columns import group_column, outside
from assay_lab.experiments.bench import PAPER_SCALE, Bench
from assay_lab.experiments.finding import Finding, ValueRow, over_seeds, seeds_note
from assay_lab.experiments.named_data import named_dataset
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import ANY, Reproduction
from assay_lab.experiments.runs import epoch_heading
from assay_lab.mappings import enumerated, map_values
from assay_lab.papers.printed import headings, value_table
from assay_lab.papers.srdetection.audited import BENCHMARKS, audit_finding
from assay_lab.papers.srdetection.detectors import paper_score, rule_share
from assay_lab.testbed import STATISTICS, Configuration, manifest_of, open_checkpoint, opened_rewriter

CALIBRATED = headline_score("gray").name
PLANTED = {"planted": "member", "held out": "nonmember"}
DECISIONS = ("SrDetection's rule", "calibrated at 5 %")
Sets = Mapping[str, Sequence[Sample]]


def figure_2(bench: Bench) -> Finding:
    """Share of each benchmark called leaked under each checkpoint, by the rule and by calibrated decisions.

    The paper audits 15 public models on four benchmarks, and so does the scale "paper", without training. At the other
    scales the models are of the testbed, whose truth is known:
    what was planted is a benchmark that leaked, what was held out is one that did not; benchmarks of `bench.data` stand
    beside them.
    """
    if bench.scale == PAPER_SCALE:
        title = "Models × benchmarks: the share called leaked (SrDetection, Figure 2)"
        score = gray_rule(bench.configurations[0])
        return audit_finding(bench, "srdetection/figure-2", title, score=score, printed=None)
    benchmarks: Sets = {name: named_dataset(name, path).samples for name, path in bench.data.items()}
    audits: dict[str, Audit] = {}
    columns: dict[str, list[Estimate | None]] = {}
    for configuration in bench.configurations:
        for epoch in (0, *configuration.training.checkpoints):
            shares = []
            for seed in bench.seeds:
                audited = audits_of(bench, bench.configured(configuration, seed), epoch, benchmarks=benchmarks)
                prefix = f"{configuration.name}-seed-{seed}-epoch-{epoch}"
                audits |= {f"{prefix}-{name.replace(' ', '-')}": result for name, result in audited.items()}
                shares.append(called_leaked(audited.values(), configuration))
            means = list(map(partial(over_seeds, share=True), zip(*shares, strict=True)))
            columns[f"{configuration.name}, {epoch_heading(epoch)}"] = means
    (bench.out / STATISTICS).unlink(missing_ok=True)
    names = headings((*PLANTED, *benchmarks), DECISIONS)
    rows = map(ValueRow, names, zip(*columns.values(), strict=True))
    counts = enumerated(sizes(audits))
    return Finding(
        name="srdetection/figure-2",
        title="Models × benchmarks: the share called leaked (SrDetection, Figure 2)",
        tables=(
            value_table(
                "flagged", "Share called leaked", head="texts, decision", columns=columns, rows=rows, unit="percent"
            ),
        ),
        notes=(
            seeds_note(bench.seeds),
            f"Texts judged: {counts}.",
            (
                "If names meant nothing, SrDetection's rule would call 9 % leaked; its share on unseen text depends on "
                "the names of the variants, which come from our dictionary. The calibrated decision is that of "
                f"{CALIBRATED} against texts held out, of the planted texts' kind: of another kind of benchmark it "
                "says nothing."
            ),
            "The paper's figure is a picture without numbers, of 15 models on APPS, HumanEval, MBPP and BigCodeBench.",
            "The audits lie in folders beside this table: `assay report` sets them side by side.",
        ),
        seeds=bench.seeds,
        audits=audits,
        manifest=manifest_of(bench.folder(bench.configured(bench.configurations[0], bench.seeds[0]))),
    )


def audits_of(bench: Bench, configuration: Configuration, epoch: int, *, benchmarks: Sets) -> dict[str, Audit]:
    """Return benchmark → its audit under one checkpoint, without labels, as an auditor has none.

    Statistics are kept until the figure is finished, 36 bytes a token: a run that was killed goes on where it was.
    """
    folder, planted = bench.folder(configuration), bench.planted(configuration)
    sets = map_values(planted.part, PLANTED) | {**benchmarks}
    # an audit must not see from a label or a part of the run which texts were planted
    unseen = list(map(without_label, planted.part("calibration-nonmember")))
    comparison = ComparisonData(unseen=unseen, unseen_source="texts held out")
    judging = configuration.judging
    decision = DecisionSettings(seed=configuration.seed, resamples=judging.resamples, ties=judging.ties)
    with StatisticsCache(bench.out / STATISTICS) as cache:
        checkpoint = open_checkpoint(folder, configuration, epoch)
        model = CachedScorer(checkpoint, cache)
        with opened_rewriter(folder, judging, checkpoint) as rewriter:
            work = plan(requests(f"{CALIBRATED},{gray_rule(configuration)}"), {"target": model}, rewriter=rewriter)
            audits = {}
            for name, samples in sets.items():
                bench.watchers.begin(f"auditing {name} after epoch {epoch} of {folder.name}")
                audits[name] = audit(
                    list(map(without_label, samples)),
                    work,
                    benchmark=name,
                    comparison=comparison,
                    decision=decision,
                    progress=bench.watchers.scoring,
                )
    return audits


def without_label(sample: Sample) -> Sample:
    """Return what an auditor knows of a text: all but its label and its part of the run."""
    metadata = {name: value for name, value in sample.metadata.items() if name != "part"}
    return replace(sample, label=None, metadata=metadata)


def called_leaked(audits: Iterable[Audit], configuration: Configuration) -> list[Estimate | None]:
    """Return for each audit the shares that SrDetection's rule and the calibrated decision call leaked."""
    shares: list[Estimate | None] = []
    for result in audits:
        values = result.values[gray_rule(configuration)]
        shares.append(rule_share(values, group_column(result.samples), configuration.judging.ties))
        calibrated = result.summary(CALIBRATED).calibration
        shares.append(calibrated.flagged.rate if calibrated else None)
    return shares


def gray_rule(configuration: Configuration) -> str:
    """Return SrDetection's score with as many variants as the run makes."""
    return f"{paper_score('gray')}:n={configuration.judging.variants}"


def sizes(audits: Mapping[str, Audit]) -> dict[str, str]:
    """Return benchmark → the number of its texts, and of those with variants, in words."""
    counts = {}
    for result in audits.values():
        own = outside(result.summaries, "score", (CALIBRATED,))[0]
        counts[result.benchmark] = f"{own.total} ({own.scored} with variants)"
    return counts


EXPERIMENTS = (
    Reproduction(
        "srdetection",
        "figure-2",
        figure_2,
        takes=ANY,
        paper_data=BENCHMARKS,
        audits=tuple(paper("srdetection").audited.values()),
    ),
)
