"""Export of a training run to the folder that ships as `builtin:small`."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from assay.files import write_text
from assay.ground_truth import PACKAGE_FILE, known_dose_functions, read_manifest
from assay.training import LOG
from assay_lab.builtin import prepared
from assay_lab.builtin.base_tokenizer import load_tokenizer
from assay_lab.builtin.exporting import VERSIONED, WEIGHTS, digests, exported_llama
from assay_lab.builtin.train_base import CORPUS, TrainingRecipe, load_trained, mean_loss, step_count
from assay_lab.builtin.training_record import CURVE, loss_curve, versions, write_record
from assay_lab.columns import attributes, having, text_column
from assay_lab.result_rows import column

Floats = NDArray[np.float64]

FREQUENCY_TEXTS = "package files that builtin:small was trained on or that were held out, each once"


@dataclass(frozen=True, slots=True)
class DoseResponse:
    """Likelihood that the trained model gives to the functions of one dose.

    Attributes:
        dose: number of times that each was trained on.
        functions: their number.
        mean_nll: mean over functions of the mean negative log-likelihood a token, in nats.
        auroc: of the mean log-likelihood against the functions never seen; 0.5 for these themselves.
    """

    dose: int
    functions: int
    mean_nll: float
    auroc: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecord:
    """The facts of a training run, as `training.json` holds them.

    Attributes:
        finished: true after the last step.
        steps: done.
        steps_planned: of the whole run.
        parameters: of the model, tied weights once.
        tokens: trained on.
        train_loss: mean over the last half per cent of the steps, in nats a token.
        validation_loss: of the shipped weights on package files held out, in nats a token.
        hours: of training.
        hardware: a description.
        versions: of Python and the packages that determine the numbers.
        recipe: all choices.
        corpus: counts of the training texts.
        weights_sha256: of the weights file.
        manifest_sha256: of the uncompressed manifest.
        dose_response: by dose, ascending.
    """

    finished: bool
    steps: int
    steps_planned: int
    parameters: int
    tokens: int
    train_loss: float
    validation_loss: float
    hours: float
    hardware: str
    versions: dict[str, str]
    recipe: TrainingRecipe
    corpus: dict[str, object]
    weights_sha256: str
    manifest_sha256: str
    dose_response: tuple[DoseResponse, ...]


def export_base(out: Path, folder: Path, recipe: TrainingRecipe, *, hardware: str) -> TrainingRecord:
    """Write model, tokenizer, manifest, token frequencies, loss curve and training record of a run.

    Weights are rounded to bfloat16; the validation loss and the dose response are those of the rounded weights,
    computed in float32.

    Args:
        out: a folder that `train_base` has written.
        folder: of the exported files; files of these names in it are replaced.
        recipe: of the run.
        hardware: a description of the machine that trained it, for the record.

    Returns:
        The training record, as written to `training.json`.

    Raises:
        DataError: `out` holds no run of this recipe with a checkpoint.
    """
    model, step, seconds = load_trained(out, recipe)
    corpus = out / CORPUS
    exported = exported_llama(model, corpus, folder, frequencies_of=FREQUENCY_TEXTS)
    curve = loss_curve(out / LOG, unit="tokens", judged="validation_loss")
    write_text(folder / CURVE, json.dumps(curve) + "\n")
    validation = np.load(corpus / prepared.VALIDATION)
    record = TrainingRecord(
        finished=step == step_count(out, recipe),
        steps=step,
        steps_planned=step_count(out, recipe),
        parameters=exported.num_parameters(),
        tokens=int(curve["tokens"][-1]),
        train_loss=curve["loss"][-1],
        validation_loss=round(mean_loss(exported, validation, device=torch.device("cpu")), 4),
        hours=round(seconds / 3600, 3),
        hardware=hardware,
        versions=versions(*VERSIONED),
        recipe=recipe,
        corpus=corpus_counts(folder / prepared.MANIFEST),
        **digests(folder, WEIGHTS),
        dose_response=dose_response(exported, folder),
    )
    write_record(folder, asdict(record))
    return record


def corpus_counts(manifest: Path) -> dict[str, object]:
    """Return counts of the texts in a manifest, in all and by licence."""
    listed = read_manifest(manifest)
    files = having(listed.entries, kind=PACKAGE_FILE)
    return {
        "packages": len(set(attributes(files, "package"))),
        "package_files": len(files),
        "package_characters": sum(attributes(files, "characters")),
        "package_tokens": sum(attributes(files, "tokens")),
        "files_per_licence": dict(Counter(attributes(files, "licence")).most_common()),
        "functions": sum(1 for _ in listed.functions()),
        "function_tokens_trained": listed.header["function_tokens_trained"],
    }


def dose_response(model: LlamaForCausalLM, folder: Path) -> tuple[DoseResponse, ...]:
    """Return, for each dose, the likelihood of the functions of the manifest in `folder`."""
    samples = known_dose_functions(folder / prepared.MANIFEST).samples
    losses: Floats = np.array(mean_nll(model, load_tokenizer(folder), text_column(samples)))
    doses = np.array(column(attributes(samples, "metadata"), "dose"))
    responses = []
    for dose in np.unique(doses):
        own = losses[doses == dose]
        area = round(auroc(-own, -losses[doses == 0]), 4) if dose else 0.5
        nll = round(float(own.mean()), 4)
        responses.append(DoseResponse(dose=int(dose), functions=len(own), mean_nll=nll, auroc=area))
    return tuple(responses)


def mean_nll(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, texts: Sequence[str]) -> list[float]:
    """Return the mean negative log-likelihood per token of each text, in nats; texts fit the context."""
    losses = []
    with torch.no_grad():
        for text in texts:
            ids = torch.tensor([tokenizer(text)["input_ids"]])
            losses.append(float(model(input_ids=ids, labels=ids).loss))
    return losses


def auroc(members: Floats, others: Floats) -> float:
    """Return the share of (member, other) pairs in the right order, ties half: Mann-Whitney's U over the pairs."""
    return float(mannwhitneyu(members, others).statistic) / (len(members) * len(others))
