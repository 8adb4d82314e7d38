"""Score every detector on every checkpoint of a run, once, and evaluate the scores.

Scores are stored in `scores/epoch-N.parquet`. A run that was killed computes only the missing scores; within a
checkpoint it continues after the last stored statistics.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import compress, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay import __version__
from assay.errors import DataError
from assay.models import (
    CachedScorer,
    StatisticsCache,
    builtin_folder,
    cached_generator,
    combined,
    open_local,
    open_tokenizer,
)
from assay.scores import FrequencyTable, ModelRole, ScoreDefinition, request
from assay.scoring import DETERMINISTIC, NAMES, Progress, Rewriter, plan, score_samples
from assay.types import Generator, Sample, TokenScorer
from assay_lab.columns import among, attributes, having, id_column, outside
from assay_lab.mappings import mapped
from assay_lab.methods.fitted import FittedDetector
from assay_lab.testbed.configuration import Configuration, EvaluationSettings, configured
from assay_lab.testbed.detectors import FILTER, ComparedDetector, chosen, with_variants
from assay_lab.testbed.evaluation_result import Blind, Contest, DetectorResult, Evaluation, SampleView
from assay_lab.testbed.judge import blind, cells, contests
from assay_lab.testbed.plant import PARTS, Planted, part_column
from assay_lab.testbed.rewriting import opened_rewriter, rewriting_notes
from assay_lab.testbed.sources import general_texts
from assay_lab.testbed.stored_scores import Columns, current_scores, write_scores
from assay_lab.testbed.supervised import settings_notes, supervised_values
from assay_lab.training.finetuning import TRAIN, checkpoint_folder

if TYPE_CHECKING:  # torch is imported where a model is opened
    from assay.models import TransformersModel

SCORES = "scores"
FREQUENCIES = "frequencies.npz"
STATISTICS = "statistics.sqlite"
FREQUENCY_TEXTS = 5000
"""General texts that a table of token frequencies is counted on where none ships for the tokenizer."""

ScoreColumns = Mapping[str, NDArray[np.float64]]


def evaluate(
    out: Path, configuration: Configuration, planted: Planted, *, progress: Progress | None = None
) -> Evaluation:
    """Score every checkpoint with every detector, and judge them.

    Args:
        out: the run folder, trained.
        configuration: of the run.
        planted: its texts.
        progress: called after every batch, see `assay.scoring.run`.

    Raises:
        DataError: a checkpoint is missing.
        AssayError: a model cannot be run, or a detector cannot be computed.
    """
    epochs = (0, *configuration.training.checkpoints)
    detectors = with_variants(chosen(configuration.judging.detectors), configuration.judging.variants)
    scored = {}
    for epoch in epochs:
        scored[epoch] = checkpoint_scores(
            out, configuration, planted=planted, detectors=detectors, epoch=epoch, progress=progress
        )
    (out / SCORES / STATISTICS).unlink(missing_ok=True)
    result = judged(configuration, planted=planted, detectors=detectors, scored=scored)
    return replace(result, notes=(*result.notes, *rewriting_notes(out)))


def judged(
    configuration: Configuration,
    planted: Planted,
    detectors: Sequence[ComparedDetector],
    scored: Mapping[int, ScoreColumns],
) -> Evaluation:
    """Return AUROC, decisions, differences and false-positive rates of the values of all checkpoints."""
    draws = {"resamples": configuration.judging.resamples, "seed": configuration.seed}
    views: dict[SampleView, NDArray[np.bool_]] = {"all": np.ones(len(planted.samples), np.bool_)}
    passed = passes_filter(scored[0])
    notes = [*planted.notes, *settings_notes(configuration.judging, attributes(detectors, "name"))]
    if passed is not None and not configuration.data.filter:
        views["filtered"] = passed
    judged_cells: list[DetectorResult] = []
    compared: list[Contest] = []
    blinds: list[Blind] = []
    for view, kept in views.items():
        if any(not _part(planted, kept, part).any() for part in ("member", "nonmember")):
            notes.append(f"No {view} view: a class is empty.")
            continue
        for epoch, values in scored.items():
            # at epoch 0 scores that compare two models have no column
            mask = among(detectors, "name", values)
            judged_cells += cells(
                planted, values, mask, epoch=epoch, view=view, kept=kept, ties=configuration.judging.ties, **draws
            )
            compared += contests(planted, values, epoch=epoch, view=view, kept=kept, **draws)
        if (baseline := blind(planted, view=view, kept=kept, **draws)) is not None:
            blinds.append(baseline)
    return Evaluation(
        name=configuration.name,
        model=configuration.model,
        seed=configuration.seed,
        parts=_sizes(planted, views["all"]),
        passed_filter={} if passed is None else _sizes(planted, passed),
        cells=tuple(judged_cells),
        contests=tuple(compared),
        blind=tuple(blinds),
        notes=tuple(notes),
    )


def checkpoint_scores(
    out: Path,
    configuration: Configuration,
    planted: Planted,
    detectors: Sequence[ComparedDetector],
    *,
    epoch: int,
    progress: Progress | None = None,
) -> ScoreColumns:
    """Return the values of every detector on one checkpoint; those stored for this very checkpoint are not recomputed.

    Raises:
        DataError: the checkpoint is missing.
        AssayError: a model cannot be run, or a detector cannot be computed.
    """
    # the base model is its own reference: at epoch 0 scores that compare two models mean nothing
    compared = list(detectors) if epoch else outside(detectors, "access", ("two models",))
    path, ids = out / SCORES / f"epoch-{epoch}.parquet", id_column(planted.samples)
    models = {"target": open_checkpoint(out, configuration, epoch)}
    if having(compared, access="two models"):
        models["reference"] = open_checkpoint(out, configuration, 0)
    table = frequencies(out, configuration)
    origins = origins_of(compared, configuration, planted=planted, models=models, table=table)
    values = current_scores(path, ids, origins)
    missing = outside(compared, "name", values)
    if missing:
        path.parent.mkdir(parents=True, exist_ok=True)
        with StatisticsCache(path.with_name(STATISTICS)) as cache:
            values |= _computed(
                out,
                configuration,
                planted,
                detectors=missing,
                models=models,
                table=table,
                cache=cache,
                progress=progress,
            )

            cache.clear(models["target"].digest if epoch else None)
        write_scores(path, ids, values=values, origins=mapped(origins.__getitem__, values))
    return mapped(values.__getitem__, attributes(compared, "name"))


def origins_of(
    detectors: Sequence[ComparedDetector],
    configuration: Configuration,
    planted: Planted,
    models: Mapping[str, "TransformersModel"],
    table: FrequencyTable,
) -> dict[str, str]:
    """Return, for each detector, the digest of all that its values depend on."""
    judging = configuration.judging
    common = {
        "assay": __version__,
        "texts": planted.digest,
        "target": models["target"].digest,
        "frequencies": [table.tokenizer_digest, hashlib.sha256(table.counts.tobytes()).hexdigest()],
        "variants": judging.variants,
        # only scores over variants depend on the source of names, see below
        "names": None,
        "unseen_one_pass": judging.unseen_one_pass,
        "seed": configuration.seed,
    }
    origins = {}
    for detector in detectors:
        two = detector.access == "two models"
        own: dict[str, object] = {"reference": models["reference"].digest if two else None}
        if isinstance(detector.detector, ScoreDefinition) and detector.detector.needs_variants:
            engine = (
                ()
                if (judging.engine, judging.changes) == (DETERMINISTIC, NAMES)
                else (judging.engine, *judging.changes)
            )
            own["names"] = ", ".join((judging.names, judging.rename, *engine))
        if isinstance(detector.detector, FittedDetector) and detector.detector.settings is not None:
            own["settings"] = asdict(configured(detector.detector, judging.settings.get(detector.name, {})))
        origins[detector.name] = combined({**common, **own})
    return origins


def _computed(
    out: Path,
    configuration: Configuration,
    planted: Planted,
    *,
    detectors: Sequence[ComparedDetector],
    models: Mapping[str, "TransformersModel"],
    table: FrequencyTable,
    cache: StatisticsCache,
    progress: Progress | None,
) -> Columns:
    """Return the values of detectors, computed with the models of one checkpoint."""
    fitted = attributes(having(detectors, access="labelled"), "name")
    scored = outside(detectors, "access", ("labelled",))
    scorers: dict[ModelRole, TokenScorer] = {"target": CachedScorer(models["target"], cache)}
    if having(scored, access="two models"):
        scorers["reference"] = CachedScorer(models["reference"], cache)
    generator = cached_generator(models["target"], cache, digest=models["target"].generation_digest)
    judging, seed = configuration.judging, configuration.seed
    writing = bool(having(scored, access="black"))
    supervised = supervised_values(planted, fitted, generator=generator, judging=judging, seed=seed)
    with opened_rewriter(out, judging, generator) as rewriter:
        return supervised | values_of(
            planted,
            scored,
            models=scorers,
            table=table,
            judging=judging,
            generator=generator if writing else None,
            rewriter=rewriter,
            progress=progress,
        )


def values_of(
    planted: Planted,
    detectors: Sequence[ComparedDetector],
    models: Mapping[ModelRole, TokenScorer],
    table: FrequencyTable,
    judging: EvaluationSettings,
    *,
    generator: Generator | None = None,
    rewriter: Rewriter | None = None,
    progress: Progress | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Return detector → float64 [texts]; NaN where a text is unscorable or skipped (`unseen_one_pass`)."""
    skipped = (part_column(planted.samples) == "unseen") & judging.unseen_one_pass
    values = {detector.name: np.full(len(planted.samples), np.nan) for detector in detectors}
    one_pass = among(detectors, "request.definition.passes", (1,))
    # `unseen_one_pass`: texts that only measure false positives get no variants, which cost most of the time
    for mask, requested in ((~skipped, detectors), (skipped, one_pass)):
        if mask.any() and requested:
            samples = list(compress(planted.samples, mask))
            chosen_scores = attributes(requested, "request")
            scoring = plan(chosen_scores, models, table, generator=generator, rewriter=rewriter)
            for name, column in score_samples(samples, scoring, progress=progress).values.items():
                values[name][mask] = column
    return values


def open_checkpoint(out: Path, configuration: Configuration, epoch: int) -> "TransformersModel":
    """Open the model after an epoch; epoch 0 is the base model.

    Raises:
        DataError: that epoch was not trained.
        ModelError: the model cannot be opened.
    """
    name, adapter, revision = configuration.model, None, configuration.revision
    if epoch:
        folder = checkpoint_folder(out / TRAIN, epoch)
        if not folder.is_dir():
            raise DataError(f"{folder} is missing: expected that checkpoint; run `assay lab testbed train {out}`")
        if configuration.training.method == "full":
            name, revision = str(folder), None
        else:
            adapter = str(folder)
    judging = configuration.judging
    return open_local(name, revision=revision, adapter=adapter, device=judging.device, dtype=judging.dtype)


def frequencies(out: Path, configuration: Configuration) -> FrequencyTable:
    """Return token frequencies for the model's tokenizer: the shipped table if it fits, else counts of general text."""
    tokenizer = open_tokenizer(configuration.model, revision=configuration.revision)
    shipped = FrequencyTable.load(builtin_folder("small") / FREQUENCIES)
    if shipped.tokenizer_digest == tokenizer.digest:
        return shipped
    texts = list(islice(general_texts(configuration.mix, 0), FREQUENCY_TEXTS))
    source = f"{len(texts)} texts of {configuration.mix.corpus} (SHA-256 {combined(texts)[:16]})"
    path = out / FREQUENCIES
    if path.exists():
        stored = FrequencyTable.load(path)
        if (stored.tokenizer_digest, stored.source) == (tokenizer.digest, source):
            return stored
    table = FrequencyTable.count(
        tokenizer.token_ids(texts),
        vocabulary_size=tokenizer.vocabulary_size,
        tokenizer_digest=tokenizer.digest,
        source=source,
    )
    table.save(path)
    return table


def passes_filter(base: ScoreColumns) -> NDArray[np.bool_] | None:
    """Return, for each text, whether it passes the paper's filter: the base model finds a variant at least as easy.

    Returns:
        bool [texts]; a text without variants does not pass. None where the base model was not scored.
    """
    # a run may have the filter's score with several numbers of variants: the paper's filter has the largest
    name = max((n for n in base if n.split(":")[0] == FILTER), key=_variants_of, default=None)
    if name is None:
        return None
    # NaN is not below 0
    return base[name] < 0


def filter_verdicts(
    out: Path, configuration: Configuration, samples: Sequence[Sample], progress: Progress | None = None
) -> list[bool | None]:
    """Return, for each candidate text, whether the base model finds it easier than all its variants.

    None where a text has too few variants to decide.
    """
    name = f"{FILTER}:n={configuration.judging.variants}"
    model = open_checkpoint(out, configuration, 0)
    with opened_rewriter(out, configuration.judging, model) as rewriter:
        scoring = plan([request(name)], {"target": model}, rewriter=rewriter)
        values = score_samples(samples, scoring, progress=progress).values[name]
    return [None if np.isnan(value) else bool(value >= 0) for value in values]


def _sizes(planted: Planted, kept: NDArray[np.bool_]) -> dict[str, int]:
    """Return part → chosen texts of it."""
    return {part: int(_part(planted, kept, part).sum()) for part in PARTS}


def _part(planted: Planted, kept: NDArray[np.bool_], part: str) -> NDArray[np.bool_]:
    chosen_part = part_column(planted.samples) == part
    return np.logical_and(kept, np.array(chosen_part, np.bool_))


def _variants_of(name: str) -> int:
    return chosen([name])[0].request.variants
