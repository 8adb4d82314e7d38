"""Every detector on every checkpoint of a run: scored once, kept, judged.

Scores lie in `scores/epoch-N.parquet`; a run that was killed scores what is missing, and within a checkpoint goes on
where its statistics stop.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.errors import DataError
from assay.models import CachedScorer, StatisticsCache, builtin_folder, cached_generator, open_local, open_tokenizer
from assay.scores import FrequencyTable, Role, flagged, request
from assay.scoring import Progress, plan, score_samples
from assay.testbed.configuration import Configuration, Judging
from assay.testbed.detectors import ComparedDetector, chosen, with_variants
from assay.testbed.evaluation_result import Blind, Cell, Contest, Evaluation, View
from assay.testbed.judge import blind, cells, contests
from assay.testbed.plant import PARTS, Planted
from assay.testbed.sources import general_texts
from assay.testbed.supervised import supervised_values
from assay.training import TRAIN, checkpoint_folder
from assay.types import Generator, Sample, TokenScorer

if TYPE_CHECKING:  # torch is imported where a model is opened
    from assay.models import TransformersModel

SCORES = "scores"
FREQUENCIES = "frequencies.npz"
STATISTICS = "statistics.sqlite"
FREQUENCY_TEXTS = 5000
"""General texts that a table of token frequencies is counted on where none ships for the tokenizer."""

Values = Mapping[str, NDArray[np.float64]]


def evaluate(
    out: Path, configuration: Configuration, planted: Planted, *, progress: Progress | None = None
) -> Evaluation:
    """Score every checkpoint with every detector, and judge them.

    Args:
        out: the run folder, trained.
        configuration: of the run.
        planted: its texts.
        progress: told after every batch, see `assay.scoring.run`.

    Raises:
        DataError: a checkpoint is missing.
        AssayError: a model cannot be run, or a detector cannot be computed.
    """
    epochs = (0, *configuration.training.checkpoints)
    detectors = with_variants(chosen(configuration.judging.detectors), configuration.judging.variants)
    scored = {
        epoch: checkpoint_scores(out, configuration, planted, detectors, epoch=epoch, progress=progress)
        for epoch in epochs
    }
    (out / SCORES / STATISTICS).unlink(missing_ok=True)
    return judged(configuration, planted, detectors, scored)


def judged(
    configuration: Configuration,
    planted: Planted,
    detectors: Sequence[ComparedDetector],
    scored: Mapping[int, Values],
) -> Evaluation:
    """What the values of all checkpoints are worth."""
    draws = {"resamples": configuration.judging.resamples, "seed": configuration.seed}
    views: dict[View, NDArray[np.bool_]] = {"all": np.ones(len(planted.samples), np.bool_)}
    passed = passes_filter(scored[0])
    notes = list(planted.notes)
    if passed is not None and not configuration.data.filter:
        views["filtered"] = passed
    found: list[Cell] = []
    compared: list[Contest] = []
    blinds: list[Blind] = []
    for view, kept in views.items():
        if any(not _part(planted, kept, part).any() for part in ("member", "nonmember")):
            notes.append(f"No {view} view: a class is empty.")
            continue
        for epoch, values in scored.items():
            here = [one for one in detectors if one.name in values]
            found += cells(planted, values, here, epoch=epoch, view=view, kept=kept, **draws)
            compared += contests(planted, values, epoch=epoch, view=view, kept=kept, **draws)
        if (baseline := blind(planted, view=view, kept=kept, **draws)) is not None:
            blinds.append(baseline)
    everything = views["all"]
    return Evaluation(
        name=configuration.name,
        model=configuration.model,
        seed=configuration.seed,
        parts={part: int(_part(planted, everything, part).sum()) for part in PARTS},
        passed_filter={} if passed is None else {part: int(_part(planted, passed, part).sum()) for part in PARTS},
        cells=tuple(found),
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
) -> Values:
    """The values of every detector on one checkpoint, from its file where they stand there."""
    # at epoch 0 there is no model from before
    wanted = [one for one in detectors if epoch or one.access != "two models"]
    path, judging = out / SCORES / f"epoch-{epoch}.parquet", configuration.judging
    ids = [sample.id for sample in planted.samples]
    known = read_scores(path, ids) if path.exists() else {}
    missing = [one for one in wanted if one.name not in known]
    if missing:
        path.parent.mkdir(parents=True, exist_ok=True)
        with StatisticsCache(path.with_name(STATISTICS)) as cache:
            model = open_checkpoint(out, configuration, epoch)
            models: dict[Role, TokenScorer] = {"target": CachedScorer(model, cache)}
            taught = [one.name for one in missing if one.access == "labelled"]
            asked = [one for one in missing if one.access != "labelled"]
            generator = cached_generator(model, cache, digest=model.digest)
            spare, seed = judging.unseen_one_pass, configuration.seed
            if any(one.access == "two models" for one in missing):
                models["reference"] = CachedScorer(open_checkpoint(out, configuration, 0), cache)
            known = {
                **known,
                **supervised_values(planted, taught, generator, spare_unseen=spare, seed=seed),
                **values_of(
                    planted,
                    asked,
                    models,
                    frequencies(out, configuration),
                    judging,
                    generator=generator if any(one.access == "black" for one in asked) else None,
                    progress=progress,
                ),
            }
            cache.clear(models["target"].digest if epoch else None)
        write_scores(path, ids, known)
    return {one.name: known[one.name] for one in wanted}


def values_of(
    planted: Planted,
    detectors: Sequence[ComparedDetector],
    models: Mapping[Role, TokenScorer],
    table: FrequencyTable,
    judging: Judging,
    *,
    generator: Generator | None = None,
    progress: Progress | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Detector → float64 [texts]; NaN where unscorable, and where a clean text was to be spared."""
    spared = np.array([s.metadata["part"] == "unseen" and judging.unseen_one_pass for s in planted.samples])
    values = {one.name: np.full(len(planted.samples), np.nan) for one in detectors}
    cheap = [one for one in detectors if one.request.definition.passes == 1]
    for here, asked in ((~spared, detectors), (spared, cheap)):
        if here.any() and asked:
            samples = [sample for sample, wanted in zip(planted.samples, here, strict=True) if wanted]
            todo = plan([one.request for one in asked], models, table, generator=generator)
            for name, column in score_samples(samples, todo, progress=progress).values.items():
                values[name][here] = column
    return values


def open_checkpoint(out: Path, configuration: Configuration, epoch: int) -> "TransformersModel":
    """The model after an epoch; epoch 0 is the base model.

    Raises:
        DataError: that epoch was not trained.
        ModelError: the model cannot be opened.
    """
    name, adapter, revision = configuration.model, None, configuration.revision
    if epoch:
        folder = checkpoint_folder(out / TRAIN, epoch)
        if not folder.is_dir():
            raise DataError(f"{folder} is missing: expected that checkpoint; run `assay testbed train {out}`")
        if configuration.training.method == "full":
            name, revision = str(folder), None
        else:
            adapter = str(folder)
    judging = configuration.judging
    return open_local(name, revision=revision, adapter=adapter, device=judging.device, dtype=judging.dtype)


def frequencies(out: Path, configuration: Configuration) -> FrequencyTable:
    """Token frequencies of the model's tokenizer: the shipped ones where they are its own, else of the general text."""
    tokenizer = open_tokenizer(configuration.model, revision=configuration.revision)
    shipped = FrequencyTable.load(builtin_folder("small") / FREQUENCIES)
    if shipped.tokenizer_digest == tokenizer.digest:
        return shipped
    path = out / FREQUENCIES
    if not path.exists():
        texts = [text for _, text in zip(range(FREQUENCY_TEXTS), general_texts(configuration.mix, 0), strict=False)]
        table = FrequencyTable.count(
            tokenizer.token_ids(texts),
            vocabulary_size=tokenizer.vocabulary_size,
            tokenizer_digest=tokenizer.digest,
            source=f"{len(texts)} texts of {configuration.mix.corpus}",
        )
        table.save(path)
    return FrequencyTable.load(path)


def passes_filter(base: Values) -> NDArray[np.bool_] | None:
    """Whether a text passes the paper's filter: under the base model one of its variants is at least as easy.

    None where the base model was not asked. A text without variants does not pass: the filter cannot look at it.
    """
    rule = flagged("filter")[0]
    name = max((n for n in base if n.split(":")[0] == rule), key=_variants_of, default=None)
    if name is None:
        return None
    return np.array([value < 0 for value in base[name]], np.bool_)  # NaN is not below 0


def filter_verdicts(
    configuration: Configuration, samples: Sequence[Sample], progress: Progress | None = None
) -> list[bool | None]:
    """For each text that is to be planted whether the base model finds it easier than all its variants.

    None where it has too few variants for that to be told.
    """
    rule = flagged("filter")[0]
    name = f"{rule}:n={configuration.judging.variants}"
    todo = plan([request(name)], {"target": open_checkpoint(Path(), configuration, 0)})
    values = score_samples(samples, todo, progress=progress).values[name]
    return [None if np.isnan(value) else bool(value >= 0) for value in values]


def write_scores(path: Path, ids: Sequence[str], values: Values) -> None:
    """One row a text, one column a detector; null where unscorable."""
    columns = {name: pa.array(column, pa.float64(), from_pandas=True) for name, column in values.items()}
    partial = path.with_name(path.name + ".partial")
    pq.write_table(pa.table({"id": list(ids), **columns}), partial)
    partial.replace(path)


def read_scores(path: Path, ids: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """What `write_scores` wrote, NaN where unscorable.

    Raises:
        DataError: the file is of other texts, or no such file.
    """
    try:
        table = pq.read_table(path)
        if table.column("id").to_pylist() != list(ids):
            raise DataError(
                f"{path} holds scores of other texts; expected those of this run: remove it, or take a new folder"
            )
        return {n: table.column(n).to_numpy(zero_copy_only=False) for n in table.column_names if n != "id"}
    except (OSError, pa.ArrowException, KeyError) as error:
        raise DataError(f"{path}: expected scores that `assay testbed evaluate` wrote") from error


def _part(planted: Planted, kept: NDArray[np.bool_], part: str) -> NDArray[np.bool_]:
    chosen_part = [sample.metadata["part"] == part for sample in planted.samples]
    return np.logical_and(kept, np.array(chosen_part, np.bool_))


def _variants_of(name: str) -> int:
    return chosen([name])[0].request.variants
