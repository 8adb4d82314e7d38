"""Table 4 and Figure 4: one member that thresholds miss and SrDetection finds, original and variant side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import numpy as np

from assay.reports import Excerpt
from assay.types import Float64Array, Sample
from assay_lab.columns import id_column
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.finding import Finding, Value, ValueRow
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.runs import cell_of
from assay_lab.mappings import map_values
from assay_lab.papers.printed import value_table
from assay_lab.papers.srdetection.detectors import gray_rows, paper_score
from assay_lab.testbed import (
    FOLDER,
    SCORES,
    Configuration,
    Evaluation,
    Ties,
    open_checkpoint,
    opened_rewriter,
    part_column,
    read_planted,
    read_scores,
)

PAPER = paper("srdetection")
NONE_FOUND = "SrDetection finds no member here; this one is the nearest to its rule."


@dataclass(frozen=True, slots=True)
class Classification:
    """One detector's value on a sample, and the threshold from which it calls a sample a member."""

    value: float
    threshold: float
    is_strict: bool

    @property
    def is_member(self) -> bool:
        """Return whether the value calls the sample a member; a published rule needs a value above its threshold."""
        return self.value > self.threshold if self.is_strict else self.value >= self.threshold


@dataclass(frozen=True, slots=True)
class StudiedSample:
    """The sample of the case study: a member, and detector → its classification."""

    sample: Sample
    classifications: Mapping[str, Classification]


def table_4(bench: Bench) -> Finding:
    """Scores and thresholds on one member that most thresholds miss."""
    configuration, evaluation = first_run(bench)
    chosen = choose(bench, configuration, evaluation)
    printed = PAPER.tables["table-4"]
    rows = []
    for label, detector in gray_rows().items():
        if detector not in chosen.classifications:
            continue
        own = chosen.classifications[detector]
        papers: list[Value] = [printed.value(label, column=column) for column in printed.columns]
        in_paper = "no" if label in printed.values else None
        papers.append("yes" if detector == paper_score("gray") else in_paper)
        rows.append(ValueRow(label, (own.value, own.threshold, "yes" if own.is_member else "no", *papers)))
    heads = ("score", "threshold", "found")
    columns = (*heads, *map("#1061 of APPS (paper), {}".format, heads))
    return Finding(
        name="srdetection/table-4",
        title="One member that thresholds miss (SrDetection, Table 4)",
        tables=(value_table("case", "Scores of one member", head="detector", columns=columns, rows=rows),),
        notes=(
            f"Ours: {chosen.sample.id}. {run_sentence(configuration)}",
            *([] if chosen.classifications[paper_score("gray")].is_member else [NONE_FOUND]),
            (
                "Chosen, as in the paper, for what it shows: of the members that SrDetection finds, the one that the "
                "fewest other detectors find. An example proves nothing; Table 1 counts."
            ),
        ),
        seeds=(configuration.seed,),
    )


def figure_4(bench: Bench) -> Finding:
    """A member that thresholds miss beside one of its variants, token by token."""
    configuration, evaluation = first_run(bench)
    sample = choose(bench, configuration, evaluation).sample
    model = open_checkpoint(bench.folder(configuration), configuration, configuration.training.checkpoints[0])
    with opened_rewriter(bench.folder(configuration), configuration.judging, model) as rewriter:
        texts = rewriter([sample], configuration.judging.variants)[0].texts
    statistics = list(model.token_statistics([sample.text, *texts]))
    perplexities = [float(np.exp(-np.mean(text.log_probs, dtype=np.float64))) for text in statistics]
    # the text itself is the first; its variants follow
    easiest = 1 + int(np.argmin(perplexities[1:]))
    shown = (perplexities[0], min(perplexities[1:]), max(perplexities[1:]))
    excerpts = (
        Excerpt(sample.id, sample.text, statistics[0]),
        Excerpt(f"{sample.id}, easiest variant", texts[easiest - 1], statistics[easiest]),
    )
    printed = PAPER.tables["figure-4"]
    ((papers, values),) = printed.values.items()
    rows = map(ValueRow, map(str, printed.columns), zip(shown, values, strict=True))
    columns = (sample.id, f"{papers} (paper)")
    return Finding(
        name="srdetection/figure-4",
        title="A member and its easiest variant, token by token (SrDetection, Figure 4)",
        tables=(value_table("perplexity", "Perplexity", head="text", columns=columns, rows=rows),),
        notes=(run_sentence(configuration), "Orange: tokens that the model did not expect; blue: tokens that it did."),
        seeds=(configuration.seed,),
        excerpts=excerpts,
    )


def first_run(bench: Bench) -> tuple[Configuration, Evaluation]:
    """Return the first model's run with the first seed."""
    configuration = bench.configured(bench.configurations[0], bench.seeds[0])
    return configuration, replace(bench, seeds=bench.seeds[:1]).evaluations(bench.configurations[0])[0]


def choose(bench: Bench, configuration: Configuration, evaluation: Evaluation) -> StudiedSample:
    """Return the member that SrDetection finds and the fewest others do, at the first checkpoint.

    Of equal ones the one with the highest score of SrDetection; where it finds none, the member that is the nearest.
    """
    epoch, folder = configuration.training.checkpoints[0], bench.folder(configuration)
    planted = read_planted(folder / FOLDER)
    values = read_scores(folder / SCORES / f"epoch-{epoch}.parquet", id_column(planted.samples))
    columns = classifications_of(evaluation, epoch, values, ties=configuration.judging.ties)
    own = columns[paper_score("gray")]
    # a member that is found comes before any that is not
    candidates = []
    for at in np.flatnonzero(part_column(planted.samples) == "member").tolist():
        found_by = sum(column[at].is_member for column in columns.values()) if own[at].is_member else 0
        value = -np.inf if np.isnan(own[at].value) else own[at].value
        # ordered by: found at all, by few others, by its value; the position breaks ties
        candidates.append((own[at].is_member, -found_by, value, at))
    best = max(candidates)[-1]
    return StudiedSample(planted.samples[best], map_values(itemgetter(best), columns))


def classifications_of(
    evaluation: Evaluation, epoch: int, values: Mapping[str, Float64Array], *, ties: Ties
) -> dict[str, list[Classification]]:
    """Return gray-box detector → its classification of each text after an epoch."""
    classifications = {}
    for detector in gray_rows().values():
        cell = cell_of(evaluation, detector, epoch, view=evaluation.cells[0].view)
        if cell is not None and cell.decided is not None and cell.detector in values:
            # a published rule is not fitted: it needs a value above 0
            is_rule = not cell.decided.fitted_on
            threshold, is_strict = (0.0, ties == "strict") if is_rule else (cell.decided.threshold, False)
            classify = partial(Classification, threshold=threshold, is_strict=is_strict)
            classifications[detector] = list(map(classify, values[cell.detector].tolist()))
    return classifications


def run_sentence(configuration: Configuration) -> str:
    """Return a sentence that names the run."""
    epoch = configuration.training.checkpoints[0]
    when = f"{epoch} epoch{'s' * (epoch > 1)}"
    return f"{configuration.name} ({label_of(configuration.model)}), seed {configuration.seed}, after {when}."


EXPERIMENTS = (
    Reproduction("srdetection", "table-4", table_4, models=1, models_with_data=1, seeds=1),
    Reproduction("srdetection", "figure-4", figure_4, models=1, models_with_data=1, seeds=1),
)
