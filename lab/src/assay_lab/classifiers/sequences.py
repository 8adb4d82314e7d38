"""Sequence classifiers: any model that transformers can load with a classification head."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from assay.errors import ModelError
from assay.models import check_folder, check_vocabulary, located, one_line, quiet, resolve_device, right_padded
from assay.types import Float64Array, Int64Array
from assay_lab.columns import at_places, present
from assay_lab.mappings import numbered

ROWS_PER_PASS = 8


@dataclass(frozen=True, slots=True, eq=False)
class SequenceClassifier:
    """A model with a classification head, and its tokenizer.

    Attributes:
        model: in evaluation mode.
        tokenizer: of the model; it has a padding token.
        classes: names, in the order of the logits.
        context: tokens of a text that are read.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    classes: tuple[str, ...]
    context: int

    def rows(self, texts: Sequence[str]) -> list[Int64Array]:
        """Return the token ids of texts, cut at the context; a text without a token becomes one padding token."""
        encoded = self.tokenizer(list(texts), truncation=True, max_length=self.context)["input_ids"]
        return [np.array(ids or [self.tokenizer.pad_token_id], np.int64) for ids in encoded]

    def logits(self, rows: Sequence[Int64Array]) -> Float64Array:
        """Return one row of logits per text, float64 [n, classes]."""
        result = np.zeros((len(rows), len(self.classes)))
        # similar lengths: little padding
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        training = self.model.training
        self.model.train(mode=False)
        with torch.inference_mode():
            for start in range(0, len(order), ROWS_PER_PASS):
                part = order[start : start + ROWS_PER_PASS]
                result[part] = self.forward(at_places(rows, part)).double().cpu().numpy()
        # the mode of the model is left as it was
        self.model.train(training)
        return result

    def forward(self, rows: Sequence[Int64Array]) -> torch.Tensor:
        """Return the logits of one batch, float32 [rows, classes]."""
        inputs, mask = right_padded(rows, int(self.tokenizer.pad_token_id or 0))
        device = self.model.device
        logits: torch.Tensor = self.model(input_ids=inputs.to(device), attention_mask=mask.to(device)).logits
        return logits.float()


def load_sequence_classifier(
    name: str, classes: Sequence[str], *, context: int | None = None, device: str = "auto", seed: int | None = None
) -> SequenceClassifier:
    """Return a model with a classification head for these classes.

    A head that the model does not have, or of another number of classes, starts from random weights of the seed.

    Args:
        name: `builtin:NAME`, a model folder or a hub id.
        classes: names, in the order of the logits.
        context: tokens of a text that are read; None for the model's own context.
        device: "auto", "cpu" or "cuda".
        seed: of the new weights; None for a model that has all its weights, the head's among them.

    Raises:
        ModelError: the model cannot be loaded, or has no head for these classes and there is no seed.
    """
    source = located(name)
    check_folder(source)
    check_vocabulary(source)
    local = Path(source).is_dir()
    place = resolve_device(device)
    # the seed of the head leaves the generator of the caller alone
    with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []), quiet(), one_line(name):
        torch.manual_seed(seed or 0)
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local)
        model, loading = AutoModelForSequenceClassification.from_pretrained(
            source,
            local_files_only=local,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            id2label=dict(enumerate(classes)),
            label2id=numbered(classes),
            dtype=torch.float32,
        )
        read = min(context or 2**30, _positions(model), int(tokenizer.model_max_length))
    if seed is None and (loading["missing_keys"] or loading["mismatched_keys"]):
        raise ModelError(f"{name}: no trained head for {len(classes)} classes; expected a fine-tuned model")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    # the head of a causal model reads the last token before it
    model.config.pad_token_id = tokenizer.pad_token_id
    return SequenceClassifier(model=model.to(place).eval(), tokenizer=tokenizer, classes=tuple(classes), context=read)


def _positions(model: PreTrainedModel) -> int:
    """Return the longest input of a model; RoBERTa's positions start behind that of the padding token."""
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions is None:
        return 2**30
    modules = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    padding = present(map(getattr, modules, repeat("padding_idx"), repeat(None)))
    return int(positions) - (padding[0] + 1 if padding else 0)
