"""Export of a training run of `builtin:control`: weights, tokenizer, training texts, and how well it predicts."""

import json
import math
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from assay.errors import DataError
from assay.ground_truth import SKETCH, read_manifest
from assay.models import builtin_folder
from assay.training import LOG
from assay_lab.builtin.base_tokenizer import load_tokenizer
from assay_lab.builtin.build_control_command import CORPUS_FOLDER
from assay_lab.builtin.exporting import VERSIONED, WEIGHTS, digests, exported_llama, read_llama
from assay_lab.builtin.prepared import MANIFEST, documents
from assay_lab.builtin.train_control import ControlTraining, bits_per_byte, held_out_texts, load_phase, rows_of
from assay_lab.builtin.training_record import versions, write_record
from assay_lab.columns import attributes
from assay_lab.result_rows import mean_of
from assay_lab.training.packing import TokenIds

FREQUENCY_TEXTS = "the training texts of builtin:control, each once"
RIVAL = "small"
POSITIONS = ((0, 256), (256, 512), (512, 1024), (1024, 2048))
"""Ranges of positions whose losses are compared: a later token has more text before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRecord:
    """The facts of a training run of the control, as `training.json` holds them.

    Attributes:
        phase: name of the exported phase.
        steps: done, the constant phase included.
        parameters: of the model, tied weights once.
        tokens: trained on, repeated ones included.
        tokens_of_corpus: in one pass over the corpus.
        train_loss: mean over the last 20 steps, in nats a token.
        bits_per_byte: language → on text of held-out packages.
        bits_per_byte_of_small: the same of `builtin:small`, whose context is shorter.
        held_out_characters: of each language, at most.
        loss_by_position: "first-last" → mean loss of the tokens at these positions of long held-out rows, in nats.
        hours: of training.
        hardware: a description.
        versions: of Python and the packages that determine the numbers.
        recipe: of model and training.
        corpus: counts of the training texts.
        weights_sha256: of the weights file.
        manifest_sha256: of the uncompressed manifest.
    """

    phase: str
    steps: int
    parameters: int
    tokens: int
    tokens_of_corpus: int
    train_loss: float
    bits_per_byte: Mapping[str, float]
    bits_per_byte_of_small: Mapping[str, float]
    held_out_characters: int
    loss_by_position: Mapping[str, float]
    hours: float
    hardware: str
    versions: Mapping[str, str]
    recipe: ControlTraining
    corpus: Mapping[str, object]
    weights_sha256: str
    manifest_sha256: str


def export_control(
    out: Path, phase: Path, folder: Path, recipe: ControlTraining, *, hardware: str, characters: int = 50_000
) -> ControlRecord:
    """Write model, tokenizer, manifest, sketch, token frequencies and training record of a phase.

    Weights are rounded to bfloat16; all figures are those of the rounded weights, computed in float32.

    Args:
        out: folder of the run.
        phase: folder of the exported phase in it.
        folder: of the exported files; files of these names in it are replaced.
        recipe: of the run.
        hardware: a description of the machine that trained it, for the record.
        characters: most held-out text of each language that is measured.

    Raises:
        DataError: `out` holds no run of this recipe, or the phase has no state.
    """
    model, step, seconds = load_phase(out, phase, recipe)
    corpus = out / CORPUS_FOLDER
    exported = exported_llama(model, corpus, folder, frequencies_of=FREQUENCY_TEXTS)
    shutil.copyfile(corpus / SKETCH, folder / SKETCH)
    small = read_llama(builtin_folder(RIVAL))
    texts = held_out_texts(out, characters=characters)
    tokenizer, other = load_tokenizer(folder), load_tokenizer(builtin_folder(RIVAL))
    context = small.config.max_position_embeddings
    log = list(map(json.loads, (phase / LOG).read_text("utf-8").splitlines()))
    own_bits = partial(bits_per_byte, exported, tokenizer, context=recipe.context)
    other_bits = partial(bits_per_byte, small, other, context=context)
    record = ControlRecord(
        phase=phase.name,
        steps=step,
        parameters=exported.num_parameters(),
        tokens=step * recipe.step_tokens,
        tokens_of_corpus=sum(attributes(read_manifest(corpus / MANIFEST).entries, "tokens")),
        train_loss=round(mean_of(log[-20:], "loss"), 4),
        bits_per_byte={language: round(own_bits(own), 4) for language, own in texts.items()},
        bits_per_byte_of_small={language: round(other_bits(own), 4) for language, own in texts.items()},
        held_out_characters=characters,
        loss_by_position=loss_by_position(exported, held_out_rows(tokenizer, texts, recipe.context)),
        hours=round(seconds / 3600, 3),
        hardware=hardware,
        versions=versions(*VERSIONED),
        recipe=recipe,
        corpus=corpus_counts(folder / MANIFEST),
        **digests(folder, WEIGHTS),
    )
    write_record(folder, asdict(record))
    return record


def held_out_rows(tokenizer: PreTrainedTokenizerFast, texts: Mapping[str, list[str]], context: int) -> TokenIds:
    """Return rows of `context` predictions from the held-out texts of every language, one text after the other.

    Raises:
        DataError: the texts are too short for a row.
    """
    rows = [rows_of(np.concatenate(documents(tokenizer, own)), context) for own in texts.values() if own]
    joined: TokenIds = np.concatenate(rows) if rows else np.empty((0, context + 1), np.uint16)
    if not len(joined):
        raise DataError(f"held-out text is too short for a row of {context} tokens")
    return joined


def loss_by_position(model: LlamaForCausalLM, rows: TokenIds) -> dict[str, float]:
    """Return the mean loss of each range of positions, in nats a token."""
    total: NDArray[np.float64] = np.zeros(rows.shape[1] - 1)
    with torch.no_grad():
        for row in rows:
            ids = torch.from_numpy(row.astype(np.int64))[None]
            logits = model(input_ids=ids[:, :-1]).logits.float()
            losses = torch.nn.functional.cross_entropy(logits[0], ids[0, 1:], reduction="none")
            total += losses.double().numpy()
    mean = total / len(rows)
    ranges = [(first, last) for first, last in POSITIONS if last <= len(mean)]
    return {f"{first}-{last - 1}": round(float(mean[first:last].mean()), 4) for first, last in ranges}


def corpus_counts(manifest: Path) -> dict[str, object]:
    """Return counts of the texts in a manifest, by language and by licence."""
    entries = read_manifest(manifest).entries
    characters: Counter[str] = Counter()
    for entry in entries:
        characters[entry.language] += entry.characters
    return {
        "packages": len({(entry.registry, entry.package) for entry in entries}),
        "files": len(entries),
        "characters_per_language": dict(sorted(characters.items())),
        "files_per_licence": dict(Counter(attributes(entries, "licence")).most_common()),
    }


def is_of_use(record: ControlRecord, *, python_factor: float = 1.1, others_factor: float = 0.9) -> bool:
    """Return whether the control predicts Python about as well as `builtin:small`, and other languages clearly better.

    Args:
        record: of the control.
        python_factor: largest ratio of its bits per byte to those of `builtin:small` on Python.
        others_factor: largest ratio on each other language.
    """
    ratios = {
        language: bits / record.bits_per_byte_of_small[language] for language, bits in record.bits_per_byte.items()
    }
    python = ratios.pop("python", math.inf)
    return python <= python_factor and all(ratio <= others_factor for ratio in ratios.values())
