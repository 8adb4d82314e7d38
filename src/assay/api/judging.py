"""`assay.judge_dataset`: a verdict on a whole benchmark."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path

from assay.api.auditing import PAGE, Texts, dataset_of
from assay.api.control import named_control, opened_control
from assay.api.manifest import Stopwatch, manifest
from assay.api.opening import Opener
from assay.api.progress import progress_bar
from assay.api.selection import ScoreSelection, frequencies_for
from assay.datasets import Dataset
from assay.errors import DataError, MissingCapability
from assay.leakage import (
    DatasetJudgement,
    JudgingPreview,
    JudgingSettings,
    MeasuredModel,
    TuningOptions,
    judge_benchmark,
    judging_preview,
    refuse_finished,
    without,
    write_judgement,
)
from assay.models import ModelSettings, open_model
from assay.reports import write_html
from assay.scores import FrequencyTable, dataset_requests, headline_score, request, requests
from assay.scoring import plan
from assay.types import LogProbScorer

TUNING = "fine-tuning"


def judge_dataset(
    model: str,
    benchmark: Texts,
    *,
    unseen: Texts | None = None,
    methods: str = "default",
    score: str | None = None,
    control: str | None = None,
    rate: float | None = None,
    seed: int = 0,
    allow_confounded: bool = False,
    frequencies: Path | None = None,
    settings: ModelSettings | None = None,
    cache: bool = True,
    progress: bool = True,
    before: Callable[[JudgingPreview], None] | None = None,
    out: Path | str | None = None,
    force: bool = False,
) -> DatasetJudgement:
    """Judge whether a benchmark was in the training data of a model, as a whole.

    Args:
        model: `builtin:small`, a folder, a hub id, or another model that gives token probabilities.
        benchmark: what is judged.
        unseen: text of the same kind that the model has certainly not seen; without it there is no verdict.
        methods: names with commas between them, parameters behind colons, `default` or `all`.
        score: sample-level score that carries the verdict; None for the declared one.
        control: negative control, a model that saw neither the benchmark nor the unseen text. None for
            `builtin:control`, "none" for no control.
        rate: learning rate of a fine-tuning; None finds that of the model on the unseen text.
        seed: of every random draw.
        allow_confounded: decide although the texts that are compared may differ.
        frequencies: table of token frequencies for `dc_pdd`.
        settings: how the model is opened.
        cache: read and write the statistics cache.
        progress: show a progress bar on a terminal.
        before: called with the cost and the smallest detectable shares before the methods run.
        out: write the run folder, with the report, here; a killed fine-tuning continues from it.
        force: replace a finished run in `out`.

    Raises:
        AssayError: bad input; one line says what was received and what was expected.
    """
    watch = Stopwatch()
    if rate is not None and not (math.isfinite(rate) and rate > 0):
        raise DataError(f"--rate {rate:g}: expected a number above 0")
    chosen = request(score).name if score else headline_score("gray").name
    judging = JudgingSettings(
        score=chosen, requests=dataset_requests(methods), seed=seed, allow_confounded=allow_confounded
    )
    opener = Opener(settings or ModelSettings(), cache)
    opener.check(model, named_control(control))
    if out is not None:
        refuse_finished(Path(out), force=force)
    table = None if frequencies is None else FrequencyTable.load(frequencies)
    dataset = dataset_of(benchmark)
    fresh, overlap = _unseen(unseen, dataset)
    target = _scorer(model, opener)
    saw_neither, control_notes = (
        opened_control(control, model, ScoreSelection(scores=chosen), opener) if fresh else (None, ())
    )
    store = opener.open_cache()
    tuning = TuningOptions(rate=rate, seed=seed, folder=None if out is None else Path(out) / TUNING)
    with progress_bar(f"judging {dataset.name}", shown=progress) as report:
        measured = MeasuredModel(
            target,
            dataset.samples,
            fresh.samples if fresh else (),
            tuning=tuning,
            cache=store,
            frequencies=frequencies_for(target, table),
            progress=report,
        )
        expected = judging_preview(measured, judging)
        if before:
            before(expected)
        result = judge_benchmark(
            measured,
            judging,
            benchmark=dataset.name,
            unseen_source=fresh.source if fresh else "",
            control=saw_neither,
            expected=expected,
            notes=(*dataset.notes, *(fresh.notes if fresh else ()), *overlap, *control_notes),
        )
    if out is not None:
        folder = Path(out)
        recorded = {
            "methods": [entry.name for entry in judging.requests],
            "control": saw_neither and saw_neither.plan.name,
            "rate": measured.rate_used,
            "seed": seed,
            "unseen": fresh and fresh.source,
        }
        work = plan(requests(chosen), {"target": target})
        record = manifest(work, dataset, watch, recorded)
        write_judgement(folder, result, record)
        shutil.rmtree(folder / TUNING, ignore_errors=True)  # the state of a fine-tuning that is done
        write_html(result.describe(), folder / PAGE)
    return result


def _unseen(unseen: Texts | None, dataset: Dataset) -> tuple[Dataset | None, tuple[str, ...]]:
    """Return the unseen texts that are not in the benchmark, and a note where any are."""
    if unseen is None:
        return None, ()
    fresh = dataset_of(unseen)
    kept, overlap = without(fresh.samples, dataset.samples)
    return Dataset.of(fresh.name, kept, source=fresh.source, notes=fresh.notes), overlap


def _scorer(model: str, opener: Opener) -> LogProbScorer:
    """Open a model, without the cache in front, since its weights may be needed.

    Raises:
        MissingCapability: it only generates text.
    """
    opened = open_model(model, opener.settings)
    if not isinstance(opened, LogProbScorer):
        raise MissingCapability(f"{model} only generates text: expected a model with token probabilities")
    return opened
