"""A fine-tuned folder as a detector: calibrated log-odds of a sequence classifier, and abstention on foreign texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from safetensors import SafetensorError
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from assay.authorship.classifier import Prediction
from assay.authorship.comments import without_comments
from assay.authorship.domain import Domain, outline_of
from assay.authorship.heads import read_arrays
from assay.authorship.normalising import Code
from assay.authorship.open_set import CALIBRATION, HUMAN, OpenSet
from assay.authorship.units import LONGEST_TEXT
from assay.errors import DataError, ModelError, plain_reason
from assay.files import parse_json
from assay.models import (
    check_folder,
    check_vocabulary,
    combined,
    files_digest,
    located,
    one_line,
    quiet,
    resolve_device,
    right_padded,
    tokenizer_digest,
)
from assay.types import BooleanArray, Float64Array, Int64Array

# Sequence classifiers: any model that transformers can load with a classification head.

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

    def truncates(self, texts: Sequence[str]) -> BooleanArray:
        """Return True for each text that has more tokens than are read, bool [n]."""
        encoded = self.tokenizer(list(texts), truncation=True, max_length=self.context + 1)["input_ids"]
        return np.array([len(ids) > self.context for ids in encoded], np.bool_)

    def logits(self, rows: Sequence[Int64Array]) -> Float64Array:
        """Return one row of logits per text, float64 [n, classes]."""
        result = np.zeros((len(rows), len(self.classes)))
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))  # similar lengths: little padding
        training = self.model.training
        self.model.train(mode=False)
        with torch.inference_mode():
            for start in range(0, len(order), ROWS_PER_PASS):
                part = order[start : start + ROWS_PER_PASS]
                result[part] = self.forward([rows[row] for row in part]).double().cpu().numpy()
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
    with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []), quiet(), one_line(name):
        torch.manual_seed(seed or 0)
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local)
        model, loading = AutoModelForSequenceClassification.from_pretrained(
            source,
            local_files_only=local,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            id2label=dict(enumerate(classes)),
            label2id={name: place for place, name in enumerate(classes)},
            dtype=torch.float32,
        )
        read = min(context or 2**30, _positions(model), int(tokenizer.model_max_length))
    if seed is None and (loading["missing_keys"] or loading["mismatched_keys"]):
        raise ModelError(f"{name}: no trained head for {len(classes)} classes; expected a fine-tuned model")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    model.config.pad_token_id = tokenizer.pad_token_id  # the head of a causal model reads the last token before it
    return SequenceClassifier(model.to(place).eval(), tokenizer, tuple(classes), read)


def _positions(model: PreTrainedModel) -> int:
    """Return the longest input of a model; RoBERTa's positions start behind that of the padding token."""
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions is None:
        return 2**30
    modules = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    padding = [module.padding_idx for module in modules if getattr(module, "padding_idx", None) is not None]
    return int(positions) - (padding[0] + 1 if padding else 0)


MODEL, RESULT, DOMAIN = "model", "result.json", "domain.safetensors"
"""Parts of the folder beside the calibration: the network, how it was fine-tuned, the outline of its texts."""


@dataclass(frozen=True, slots=True, eq=False)
class FineTunedClassifier:
    """A folder of `assay lab authorship fine-tune`, opened.

    Attributes:
        network: model, head and tokenizer.
        calibration: of its logits; "human" is among the classes.
        domain: the texts that it was fine-tuned on, in outline.
        comments: False where comments are removed before a text is read.
        digest: of all that can change a log-odds.
    """

    network: SequenceClassifier
    calibration: OpenSet
    domain: Domain
    comments: bool
    digest: str

    def predict(self, texts: Sequence[str], codes: Sequence[Code]) -> Prediction:
        """Return the answers for texts; of each only the beginning is read that the context holds.

        Args:
            texts: as they are written.
            codes: their tokens, for the language and the abstention.
        """
        logits = self.network.logits(self.network.rows(self._texts(texts, codes)))
        return Prediction(
            self.calibration.log_odds_against(HUMAN, logits),
            {},
            self.domain.outside(outline_of(codes)),
            self.calibration.attribute(logits) if len(self.calibration.classes) > 2 else None,  # noqa: PLR2004  see there
        )

    def truncates(self, texts: Sequence[str], codes: Sequence[Code]) -> BooleanArray:
        """Return True for each text whose end is not read, bool [n]."""
        return self.network.truncates(self._texts(texts, codes))

    def _texts(self, texts: Sequence[str], codes: Sequence[Code]) -> list[str]:
        beginnings = [text[:LONGEST_TEXT] for text in texts]
        if self.comments:
            return beginnings
        return [without_comments(text, code.language) for text, code in zip(beginnings, codes, strict=True)]

    @classmethod
    def load(cls, folder: Path, device: str = "auto") -> Self:
        """Read a folder of `assay lab authorship fine-tune`.

        Raises:
            DataError: a file is missing or damaged, or people are no class of it.
            ModelError: the model cannot be loaded.
        """
        try:
            content = parse_json((folder / CALIBRATION).read_text("utf-8"))
            calibration = OpenSet.restored(content)
            settings = parse_json((folder / RESULT).read_text("utf-8"))
            context, comments = int(settings["context"]), bool(settings["comments"])
            if context < 1:
                raise ValueError(f"context {context}, expected 1 or more")  # noqa: TRY301  one line for all
            domain = Domain.restored(read_arrays(folder / DOMAIN))
        except (OSError, ValueError, LookupError, TypeError, ArithmeticError, SafetensorError) as error:
            raise DataError(
                f"{folder}: expected a folder of `assay lab authorship fine-tune` ({plain_reason(error)})"
            ) from error
        if HUMAN not in calibration.classes:
            classes = ", ".join(calibration.classes)
            raise DataError(f"{folder}: fine-tuned on {classes}; expected {HUMAN!r} among the classes")
        network = load_sequence_classifier(str(folder / MODEL), calibration.classes, context=context, device=device)
        weights, tokenizer = files_digest([folder / MODEL]), tokenizer_digest(network.tokenizer)
        digest = combined([weights, tokenizer, content["classes"], calibration.temperature, comments, context])
        return cls(network, calibration, domain, comments, digest[:16])
