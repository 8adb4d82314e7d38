"""Table 4 and Figure 4: one member that thresholds miss and SrDetection finds, original and variant side by side."""

from dataclasses import dataclass, replace

import numpy as np

from assay.errors import DataError
from assay.experiments.bench import Bench
from assay.experiments.finding import Case, Finding, Line, Value
from assay.experiments.paper_values import TABLE_4
from assay.experiments.srdetection.detection import cell_of, in_paper, rows
from assay.leakage import SampleTokens
from assay.scores import SRDETECTION
from assay.scoring import rewritten
from assay.testbed import FOLDER, SCORES, Configuration, Evaluation, open_checkpoint, read_planted, read_scores
from assay.types import Sample, TokenStatistics


@dataclass(frozen=True, slots=True)
class Chosen:
    """The sample of the case study.

    Attributes:
        sample: a member.
        values: detector → its value on it.
        thresholds: detector → where it is called a member.
    """

    sample: Sample
    values: dict[str, float]
    thresholds: dict[str, float]

    def found(self, detector: str) -> bool:
        """Whether the detector calls it a member."""
        value, threshold = self.values[detector], self.thresholds[detector]
        return value > threshold if detector == in_paper("gray")[SRDETECTION] else value >= threshold


def table_4(bench: Bench) -> Finding:
    """Scores and thresholds on one member that most thresholds miss."""
    configuration, evaluation = first_run(bench)
    chosen = choose(bench, configuration, evaluation)
    lines = []
    for detector, paper in rows():
        if detector not in chosen.values:
            continue
        printed = TABLE_4.get(paper or "")
        known: tuple[Value, ...] = (
            (*printed, "no") if printed else (None, None, "yes" if paper == "SrDetection" else None)
        )
        ours = (chosen.values[detector], chosen.thresholds[detector], "yes" if chosen.found(detector) else "no")
        lines.append(Line(paper or detector, (*known, *ours)))
    return Finding(
        name="table-4",
        title="One member that thresholds miss (SrDetection, Table 4)",
        head="detector",
        columns=(
            *(f"#1061 of APPS, {what} (paper)" for what in ("score", "threshold", "found")),
            *(f"ours, {what}" for what in ("score", "threshold", "found")),
        ),
        lines=tuple(lines),
        unit="number",
        notes=(
            f"Ours: {chosen.sample.id}. {note(configuration)}",
            (
                "Chosen, as in the paper, for what it shows: of the members that SrDetection finds, the one that the "
                "fewest other detectors find. An example proves nothing; Table 1 counts."
            ),
        ),
        seeds=(configuration.seed,),
    )


def figure_4(bench: Bench) -> Finding:
    """The same member beside one of its variants, token by token."""
    configuration, evaluation = first_run(bench)
    chosen = choose(bench, configuration, evaluation)
    model = open_checkpoint(bench.folder(configuration), configuration, configuration.training.checkpoints[0])
    texts = rewritten(chosen.sample, configuration.judging.variants).texts
    statistics = list(model.token_statistics([chosen.sample.text, *texts]))
    perplexities = [float(np.exp(-np.mean(one.log_probs, dtype=np.float64))) for one in statistics]
    easiest = 1 + int(np.argmin(perplexities[1:]))
    variant = replace(chosen.sample, id=f"{chosen.sample.id}, easiest variant", text=texts[easiest - 1])
    case = Case(
        chosen.sample,
        variant,
        (tokens_of(chosen.sample.id, statistics[0]), tokens_of(variant.id, statistics[easiest])),
        (perplexities[0], perplexities[easiest], min(perplexities[1:]), max(perplexities[1:])),
    )
    return Finding(
        name="figure-4",
        title="A member and its easiest variant, token by token (SrDetection, Figure 4)",
        head="perplexity of",
        columns=("shipWithinDays (paper)", chosen.sample.id),
        lines=(
            Line("the original", (1.7082, perplexities[0])),
            Line("its easiest variant", (2.0287, min(perplexities[1:]))),
            Line("its hardest variant", (2.7565, max(perplexities[1:]))),
        ),
        unit="number",
        notes=(note(configuration), "Orange: tokens that the model did not expect; blue: tokens that it did."),
        seeds=(configuration.seed,),
        case=case,
    )


def first_run(bench: Bench) -> tuple[Configuration, Evaluation]:
    """The first model's run with the first seed."""
    configuration = bench.configured(bench.configurations[0], bench.seeds[0])
    return configuration, replace(bench, seeds=bench.seeds[:1]).evaluations(bench.configurations[0])[0]


def choose(bench: Bench, configuration: Configuration, evaluation: Evaluation) -> Chosen:
    """The member that SrDetection finds and the fewest others do, at the first checkpoint; the clearest among equals.

    Raises:
        DataError: SrDetection finds no member.
    """
    epoch, folder = configuration.training.checkpoints[0], bench.folder(configuration)
    planted = read_planted(folder / FOLDER)
    values = read_scores(folder / SCORES / f"epoch-{epoch}.parquet", [sample.id for sample in planted.samples])
    names, thresholds, own = {}, {}, in_paper("gray")[SRDETECTION]
    for detector, _ in rows():
        cell = cell_of(evaluation, detector, epoch, evaluation.cells[0].view)
        if cell is not None and cell.decided is not None and cell.detector in values:
            names[detector] = values[cell.detector]
            thresholds[detector] = cell.decided.threshold if cell.decided.fitted_on else 0.0  # strictly above
    best: tuple[float, float, int] | None = None
    for i, sample in enumerate(planted.samples):
        if sample.metadata["part"] != "member" or not names[own][i] > 0:
            continue
        others = sum(bool(column[i] >= thresholds[n]) for n, column in names.items() if n != own)
        best = max(filter(None, (best, (-others, float(names[own][i]), i))))
    if best is None:
        raise DataError(f"{folder}: SrDetection finds no member after epoch {epoch}; expected one for the case study")
    return Chosen(planted.samples[best[2]], {n: float(c[best[2]]) for n, c in names.items()}, thresholds)


def tokens_of(name: str, statistics: TokenStatistics) -> SampleTokens:
    """What a heat map needs of a text."""
    return SampleTokens(name, statistics.log_probs, statistics.ranks, statistics.tail_mass, statistics.offsets)


def note(configuration: Configuration) -> str:
    """Which run it is of."""
    return (
        f"{configuration.name} ({configuration.model}), seed {configuration.seed}, after "
        f"{configuration.training.checkpoints[0]} epoch{'s' * (configuration.training.checkpoints[0] > 1)}."
    )
