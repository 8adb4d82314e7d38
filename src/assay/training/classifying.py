"""Fine-tuning of sequence classifiers: any model that transformers can load with a classification head."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from assay.errors import ModelError
from assay.models import (
    check_folder,
    check_vocabulary,
    combined,
    files_digest,
    located,
    one_line,
    quiet,
    resolve_device,
    tokenizer_digest,
)
from assay.training.loop import Batches, Training, accumulate, adamw, train, trapezoid
from assay.training.processes import Processes
from assay.training.resuming import TrainingProgress
from assay.training.rows import Ids
from assay.types import BooleanArray, Float64Array, Int64Array

ROWS_PER_PASS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierSettings:
    """Settings of one fine-tuning.

    Attributes:
        rate: highest learning rate; it falls to 0 linearly.
        batch: texts in one optimiser step.
        epochs: passes over the texts; the best one on the validation texts is kept.
        weight_decay: of AdamW.
        context: tokens of a text that are read; None for the model's own context.
        device: "auto", "cpu" or "cuda".
    """

    rate: float = 2e-5
    batch: int = 16
    epochs: int = 10
    weight_decay: float = 0.01
    context: int | None = 512
    device: str = "auto"


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

    def rows(self, texts: Sequence[str]) -> list[Ids]:
        """Return the token ids of texts, cut at the context; a text without a token becomes one padding token."""
        encoded = self.tokenizer(list(texts), truncation=True, max_length=self.context)["input_ids"]
        return [np.array(ids or [self.tokenizer.pad_token_id], np.int64) for ids in encoded]

    def truncates(self, texts: Sequence[str]) -> BooleanArray:
        """Return True for each text that has more tokens than are read, bool [n]."""
        encoded = self.tokenizer(list(texts), truncation=True, max_length=self.context + 1)["input_ids"]
        return np.array([len(ids) > self.context for ids in encoded], np.bool_)

    def logits(self, rows: Sequence[Ids]) -> Float64Array:
        """Return one row of logits per text, float64 [n, classes]."""
        result = np.zeros((len(rows), len(self.classes)))
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))  # similar lengths: little padding
        training = self.model.training
        self.model.eval()
        with torch.inference_mode():
            for start in range(0, len(order), ROWS_PER_PASS):
                part = order[start : start + ROWS_PER_PASS]
                result[part] = self.forward([rows[row] for row in part]).double().cpu().numpy()
        self.model.train(training)
        return result

    def forward(self, rows: Sequence[Ids]) -> torch.Tensor:
        """Return the logits of one batch, float32 [rows, classes]."""
        inputs = torch.full((len(rows), max(map(len, rows))), int(self.tokenizer.pad_token_id or 0))
        mask = torch.zeros_like(inputs)
        for place, row in enumerate(rows):
            inputs[place, : len(row)] = torch.from_numpy(row)
            mask[place, : len(row)] = 1
        device = self.model.device
        logits: torch.Tensor = self.model(input_ids=inputs.to(device), attention_mask=mask.to(device)).logits
        return logits.float()

    def save(self, folder: Path) -> None:
        """Write model and tokenizer as `save_pretrained` does."""
        with quiet():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)


@dataclass(frozen=True, slots=True)
class FineTuned:
    """The course of one fine-tuning.

    Attributes:
        best_epoch: whose weights were kept, from 1.
        validation: score after each epoch, higher = better.
    """

    best_epoch: int
    validation: tuple[float, ...]


def load_sequence_classifier(
    name: str, classes: Sequence[str], settings: ClassifierSettings, *, seed: int | None
) -> SequenceClassifier:
    """Return a model with a classification head for these classes.

    A head that the model does not have, or of another number of classes, starts from random weights of the seed.

    Args:
        name: `builtin:NAME`, a model folder or a hub id.
        classes: names, in the order of the logits.
        settings: context and device.
        seed: of the new weights; None for a model that has all its weights, the head's among them.

    Raises:
        ModelError: the model cannot be loaded, or has no head for these classes and there is no seed.
    """
    source = located(name)
    check_folder(source)
    check_vocabulary(source)
    local = Path(source).is_dir()
    device = resolve_device(settings.device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), quiet(), one_line(name):
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
        context = min(settings.context or 2**30, _positions(model), int(tokenizer.model_max_length))
    if seed is None and (loading["missing_keys"] or loading["mismatched_keys"]):
        raise ModelError(f"{name}: no trained head for {len(classes)} classes; expected a fine-tuned model")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    model.config.pad_token_id = tokenizer.pad_token_id  # the head of a causal model reads the last token before it
    return SequenceClassifier(model.to(device).eval(), tokenizer, tuple(classes), context)


def weights_identity(name: str) -> str:
    """Return what tells a model from others: a SHA-256 of weights and tokenizer in a folder, or a commit on the hub.

    Raises:
        ModelError: the model cannot be found.
    """
    source = located(name)
    check_folder(source)
    if Path(source).is_dir():
        with quiet(), one_line(name):
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True)
        return combined([files_digest([Path(source)]), tokenizer_digest(tokenizer)])
    with quiet(), one_line(name):
        return str(AutoConfig.from_pretrained(source)._commit_hash)  # noqa: SLF001  no public name for it


def fine_tune_classifier(
    classifier: SequenceClassifier,
    rows: Sequence[Ids],
    targets: Int64Array,
    validate: Callable[[SequenceClassifier], float],
    settings: ClassifierSettings,
    *,
    seed: int,
    progress: TrainingProgress | None = None,
) -> FineTuned:
    """Train in place with AdamW; the classifier ends with the weights of the best epoch, the first one of equals.

    Args:
        classifier: all its weights are trained.
        rows: token ids of the texts.
        targets: int64 [n], place of the class of each text.
        validate: score of the classifier, higher = better; called after each epoch.
        settings: rate, batch and epochs.
        seed: of the order and of dropout.
        progress: called after each step.
    """
    model = classifier.model
    batches = Batches(len(rows), settings.batch, seed)
    steps = batches.per_epoch * settings.epochs
    scores: list[float] = []
    best: dict[str, torch.Tensor] = {}

    def after_step(step: int) -> Mapping[str, float]:
        if step % batches.per_epoch:
            return {}
        scores.append(validate(classifier))
        if len(scores) == 1 or scores[-1] > max(scores[:-1]):
            best.update({name: value.detach().cpu().clone() for name, value in model.state_dict().items()})
        return {"validation": scores[-1]}

    training = Training(
        model=model,
        optimisers=[adamw(model, rate=settings.rate, weight_decay=settings.weight_decay)],
        gradient=_Gradient(classifier, rows, targets, batches),
        steps=steps,
        schedule=trapezoid(steps, decay=steps),
        clip=1.0,
        seed=seed,
        after_step=after_step,
    )
    train(training, processes=Processes("cpu", alone=model.device), progress=progress)
    model.load_state_dict(best)
    model.eval()
    return FineTuned(int(np.argmax(scores)) + 1, tuple(scores))


@dataclass(frozen=True, slots=True, eq=False)
class _Gradient:
    """Gradient of the mean cross-entropy of a step's texts."""

    classifier: SequenceClassifier
    rows: Sequence[Ids]
    targets: Int64Array
    batches: Batches

    def __call__(self, step: int) -> torch.Tensor:
        """Add the gradient of a step; return its loss."""
        batch = sorted(self.batches(step).tolist(), key=lambda row: len(self.rows[row]))
        parts = [batch[start : start + ROWS_PER_PASS] for start in range(0, len(batch), ROWS_PER_PASS)]
        return accumulate(lambda part: self._loss(part) / len(batch), parts, self.classifier.model.device)

    def _loss(self, part: Sequence[int]) -> torch.Tensor:
        logits = self.classifier.forward([self.rows[row] for row in part])
        targets = torch.from_numpy(self.targets[list(part)]).to(logits.device)
        return torch.nn.functional.cross_entropy(logits, targets, reduction="sum")


def _positions(model: PreTrainedModel) -> int:
    """Return the longest input of a model; RoBERTa's positions start behind that of the padding token."""
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions is None:
        return 2**30
    modules = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    padding = [module.padding_idx for module in modules if getattr(module, "padding_idx", None) is not None]
    return int(positions) - (padding[0] + 1 if padding else 0)
