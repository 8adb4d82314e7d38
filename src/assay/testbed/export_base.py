"""From a training run to the folder that ships as `builtin:small`."""

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

from assay.testbed import prepared
from assay.testbed.doses import known_dose_functions
from assay.testbed.manifest import manifest_digest
from assay.testbed.train_base import CORPUS, LOG, TrainingRecipe, load_checkpoint, mean_loss, step_count

Floats = NDArray[np.float64]

WEIGHTS = "model.safetensors"
RECORD = "training.json"
CURVE = "loss_curve.json"


def export_base(out: Path, folder: Path, recipe: TrainingRecipe, *, hardware: str) -> dict[str, object]:
    """Writes model, tokenizer, manifest, token frequencies, loss curve and training record of the run `out`
    to `folder`.

    Weights are rounded to bfloat16; every loss in the record is that of the rounded weights, computed in
    float32.

    Args:
        out: a folder that `train_base` has written.
        folder: where the files go; files of these names in it are replaced.
        recipe: the run's.
        hardware: what it was trained on, in plain words, for the record.

    Returns:
        The training record, as written to `training.json`.
    """
    model, step, seconds = load_checkpoint(out, recipe)
    folder.mkdir(parents=True, exist_ok=True)
    model.to(torch.bfloat16).save_pretrained(folder)
    corpus = out / CORPUS
    for name in (prepared.MANIFEST, prepared.FREQUENCIES):
        shutil.copyfile(corpus / name, folder / name)
    for file in (corpus / prepared.TOKENIZER).iterdir():
        shutil.copyfile(file, folder / file.name)
    curve = loss_curve(out / LOG)
    (folder / CURVE).write_text(json.dumps(curve) + "\n")
    exported = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    validation = np.load(corpus / prepared.VALIDATION)
    steps = step_count(out, recipe)
    record: dict[str, object] = {
        "finished": step == steps,
        "steps": step,
        "steps_planned": steps,
        "parameters": exported.num_parameters(),
        "tokens": curve["tokens"][-1],
        "train_loss": curve["loss"][-1],
        "validation_loss": round(mean_loss(exported, validation, device=torch.device("cpu")), 4),
        "hours": round(seconds / 3600, 3),
        "hardware": hardware,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "transformers", "tokenizers", "numpy")},
        },
        "recipe": asdict(recipe),
        "weights_sha256": hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest(),
        "manifest_sha256": manifest_digest(folder / prepared.MANIFEST),
        "dose_response": dose_response(folder),
    }
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n")
    for file in folder.iterdir():
        os.chmod(file, 0o644)  # noqa: PTH101
    return record


def loss_curve(log: Path, *, points: int = 200) -> dict[str, list[float]]:
    """The logged losses as means over equal spans of steps, and the validation losses where they were measured."""
    records = [json.loads(line) for line in log.read_text().splitlines()]
    spans = np.array_split(np.arange(len(records)), min(points, len(records)))
    measured = [record for record in records if "validation_loss" in record]
    return {
        "tokens": [records[span[-1]]["tokens"] for span in spans],
        "loss": [round(float(np.mean([records[i]["loss"] for i in span])), 4) for span in spans],
        "validation_tokens": [record["tokens"] for record in measured],
        "validation_loss": [record["validation_loss"] for record in measured],
    }


def dose_response(folder: Path) -> list[dict[str, float]]:
    """For each dose: how many functions, their mean NLL a token, and the AUROC of mean log-likelihood against never seen."""
    samples = known_dose_functions(folder / prepared.MANIFEST).samples
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    losses = np.array(mean_nll(model, tokenizer, [sample.text for sample in samples]))
    doses = np.array([sample.metadata["dose"] for sample in samples])
    return [
        {
            "dose": int(dose),
            "functions": int((doses == dose).sum()),
            "mean_nll": round(float(losses[doses == dose].mean()), 4),
            "auroc": round(_auroc(-losses[doses == dose], -losses[doses == 0]), 4) if dose else 0.5,
        }
        for dose in np.unique(doses)
    ]


def mean_nll(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, texts: Sequence[str]) -> list[float]:
    """Mean negative log-likelihood a token of each text, right after `<bos>`; texts fit the context."""
    losses = []
    with torch.no_grad():
        for text in texts:
            ids = tokenizer(text, return_tensors="pt")["input_ids"]
            losses.append(float(model(input_ids=ids, labels=ids).loss))
    return losses


def _auroc(members: Floats, others: Floats) -> float:
    """Share of (member, other) pairs in the right order, ties half: Mann-Whitney's U over the number of pairs."""
    return float(mannwhitneyu(members, others).statistic) / (len(members) * len(others))
