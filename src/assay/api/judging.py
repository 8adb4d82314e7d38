"""`assay.judge_dataset`: a verdict on a whole benchmark."""

import shutil
from collections.abc import Callable
from pathlib import Path

from assay.api.auditing import PAGE, Texts, begun, dataset_of, run_folder
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
    RunFolder,
    TuningOptions,
    cost_sentence,
    judge_benchmark,
    judging_cost,
    judging_preview,
    power_sentences,
    without,
    write_judgement,
)
from assay.models import ModelSettings, open_model
from assay.reports import write_html
from assay.scores import FrequencyTable, dataset_requests, headline_score, request, requests
from assay.scoring import plan
from assay.types import LogProbScorer

TUNING = "fine-tuning"
FEWEST_SAMPLES = 2
LARGEST_RATE = 1e6
"""Learning rate above which weights are no longer finite after a few steps, whatever the model."""


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
    before: Callable[[str], None] | None = None,
    out: Path | str | RunFolder | None = None,
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
        before: called with a sentence on the cost before any text is scored, and with one on the smallest detectable
            shares before the methods run.
        out: write the run folder, with the report, here; an unfinished run with the same settings is continued, with
            the state of its fine-tuning. A `RunFolder` may be numbered, and brings its own `force`.
        force: replace a finished run in `out`, or one with other settings.

    Raises:
        AssayError: bad input; one line says what was received and what was expected.
    """
    watch = Stopwatch()
    if rate is not None and not 0 < rate <= LARGEST_RATE:
        raise DataError(f"--rate {rate:g}: expected a number above 0 and at most {LARGEST_RATE:g}")
    chosen = request(score).name if score else headline_score("gray").name
    judging = JudgingSettings(
        score=chosen, requests=dataset_requests(methods), seed=seed, allow_confounded=allow_confounded
    )
    opener = Opener(settings or ModelSettings(), cache)
    opener.check(model, named_control(control))
    folder = run_folder(out, force=force)
    if folder:
        folder.refuse_finished()
    table = None if frequencies is None else FrequencyTable.load(frequencies)
    dataset = dataset_of(benchmark)
    if len(dataset.samples) < FEWEST_SAMPLES:
        raise DataError(f"{dataset.name}: 1 sample; a verdict on a data set needs at least {FEWEST_SAMPLES}")
    fresh, overlap = _unseen(unseen, dataset)
    identity = {
        "model": model,
        "settings": opener.settings.deciding(),
        "data": dataset.digest,
        "unseen": fresh and fresh.digest,
        "methods": [entry.name for entry in judging.requests],
        "score": chosen,
        "control": control,
        "rate": rate,
        "seed": seed,
        "frequencies": frequencies and str(frequencies),
        "allow_confounded": allow_confounded,
    }
    if folder:
        folder.check(identity)
    target = _scorer(model, opener)
    saw_neither, control_notes = (
        opened_control(control, model, ScoreSelection(scores=chosen), opener) if fresh else (None, ())
    )
    store = opener.open_cache()
    with begun(folder, identity) as continues:
        if folder and not continues:  # the state of another run is of no use
            shutil.rmtree(folder.path / TUNING, ignore_errors=True)
        tuning = TuningOptions(rate=rate, seed=seed, folder=folder.path / TUNING if folder else None)
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
            expected = _previewed(measured, judging, before)
            result = judge_benchmark(
                measured,
                judging,
                benchmark=dataset.name,
                unseen_source=fresh.source if fresh else "",
                control=saw_neither,
                expected=expected,
                notes=(*dataset.notes, *(fresh.notes if fresh else ()), *overlap, *control_notes),
            )
    if folder:
        recorded = {
            "methods": [entry.name for entry in judging.requests],
            "control": saw_neither and saw_neither.plan.name,
            "rate": measured.rate_used,
            "seed": seed,
            "unseen": fresh and fresh.source,
        }
        work = plan(requests(chosen), {"target": target})
        record = manifest(work, dataset, watch, recorded)
        write_judgement(folder.path, result, record)
        folder.finish()
        shutil.rmtree(folder.path / TUNING, ignore_errors=True)  # the state of a fine-tuning that is done
        write_html(result.describe(), folder.path / PAGE)
    return result


def _previewed(model: MeasuredModel, settings: JudgingSettings, before: Callable[[str], None] | None) -> JudgingPreview:
    """Return cost and power; state each as soon as it is known, because the power needs all of the unseen text."""
    cost = judging_cost(model, settings)
    if before:
        before(f"Cost: {cost_sentence(cost)}")
    expected = judging_preview(model, settings, cost)
    if before:
        for sentence in power_sentences(expected):
            before(sentence)
    return expected


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
