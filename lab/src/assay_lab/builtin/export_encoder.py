"""Export of a training run to the folder that ships as `builtin:fragments`."""

import json
import shutil
from collections import Counter
from dataclasses import asdict, dataclass
from operator import attrgetter, methodcaller
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from assay.files import atomic_path, write_text
from assay.ground_truth import read_manifest
from assay.retrieval.encoding import BAG_WEIGHTS, open_bag
from assay.training import LOG
from assay_lab.builtin import encoder_corpus
from assay_lab.builtin.exporting import digests
from assay_lab.builtin.train_encoder import CORPUS, BagModel, EncoderRecipe, load_trained, validation_mrr
from assay_lab.builtin.training_record import CURVE, loss_curve, versions, write_record
from assay_lab.columns import attributes
from assay_lab.result_rows import mean_of

MANIFEST = encoder_corpus.MANIFEST
LARGEST = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderRecord:
    """The facts of a training run, as `training.json` holds them.

    Attributes:
        finished: true after the last step.
        steps: done.
        dimensions: of a vector.
        parameters: of the model.
        bytes: of the weights file.
        loss: mean over the last twentieth of the steps, in nats.
        validation_mrr: of the shipped weights, on fragments of held-out functions among all of these.
        validation_functions: number of held-out functions.
        hours: of training.
        hardware: a description.
        versions: of Python and the packages that determine the numbers.
        recipe: all choices.
        corpus: counts of the training texts.
        weights_sha256: of the weights file.
        manifest_sha256: of the uncompressed manifest.
    """

    finished: bool
    steps: int
    dimensions: int
    parameters: int
    bytes: int
    loss: float
    validation_mrr: float
    validation_functions: int
    hours: float
    hardware: str
    versions: dict[str, str]
    recipe: EncoderRecipe
    corpus: dict[str, object]
    weights_sha256: str
    manifest_sha256: str


def export_encoder(out: Path, folder: Path, recipe: EncoderRecipe, *, hardware: str) -> EncoderRecord:
    """Write weights, manifest, loss curve and training record of a run.

    Rows are rounded to eight bits, each with a scale of its own, weights to sixteen; the validation figure is that of
    the rounded weights.

    Args:
        out: a folder that `train_encoder` has written.
        folder: of the exported files; files of these names in it are replaced.
        recipe: of the run.
        hardware: a description of the machine that trained it, for the record.

    Raises:
        DataError: `out` holds no run of this recipe with a checkpoint.
    """
    model, corpus, step, seconds = load_trained(out, recipe)
    folder.mkdir(parents=True, exist_ok=True)
    weights = folder / BAG_WEIGHTS
    with atomic_path(weights) as unfinished:
        save_file(_rounded(model), unfinished)
    shutil.copyfile(out / CORPUS / MANIFEST, folder / MANIFEST)
    log = list(map(json.loads, (out / LOG).read_text().splitlines()))
    curve = loss_curve(out / LOG, unit="pairs", judged="validation_mrr")
    write_text(folder / CURVE, json.dumps(curve) + "\n")
    record = EncoderRecord(
        finished=step == recipe.steps,
        steps=step,
        dimensions=recipe.dimensions,
        # the scale is not shipped
        parameters=sum(map(methodcaller("numel"), model.parameters())) - 1,
        bytes=weights.stat().st_size,
        loss=round(mean_of(log[-max(1, len(log) // 20) :], "loss"), 4),
        validation_mrr=round(validation_mrr(open_bag(folder, name="exported"), corpus, recipe), 4),
        validation_functions=len(corpus.snippets) - corpus.trained,
        hours=round(seconds / 3600, 3),
        hardware=hardware,
        versions=versions("assay", "torch", "numpy", "scipy", "safetensors"),
        recipe=recipe,
        corpus=corpus_counts(folder / MANIFEST),
        **digests(folder, BAG_WEIGHTS),
    )
    write_record(folder, asdict(record))
    return record


def corpus_counts(manifest: Path) -> dict[str, object]:
    """Return counts of the texts in a manifest, in all and by licence."""
    listed = read_manifest(manifest)
    trained = list(filter(attrgetter("dose"), listed.entries))
    return {
        "packages": len(set(attributes(trained, "package"))),
        "package_files": len(trained),
        "functions": listed.header["functions_trained"],
        "functions_per_language": listed.header["functions_per_language"],
        "characters": sum(attributes(trained, "characters")),
        "files_per_licence": dict(Counter(attributes(trained, "licence")).most_common()),
    }


def _rounded(model: BagModel) -> dict[str, NDArray[np.generic]]:
    """Return the weights as they ship: learned rows as int8 with a scale per row, weights as float16."""
    learned = model.learned.detach().numpy()
    scales = np.maximum(np.abs(learned).max(axis=1), np.float32(1e-12)) / LARGEST
    return {
        "rows": np.rint(learned / scales[:, None]).astype(np.int8),
        "scales": scales.astype(np.float32),
        "weights": model.weights.detach().numpy().astype(np.float16),
    }
