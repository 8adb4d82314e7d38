"""Fine-tuning of sequence classifiers: any model that transformers can load with a classification head."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import AutoTokenizer
from transformers.utils.hub import cached_file

from assay.models import check_folder, combined, files_digest, located, one_line, quiet, tokenizer_digest
from assay.training import Batches, Ids, Processes, Training, TrainingProgress, accumulate, adamw, train, trapezoid
from assay.types import Int64Array
from assay_lab.classifiers.sequences import ROWS_PER_PASS, SequenceClassifier
from assay_lab.columns import at_places


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


@dataclass(frozen=True, slots=True)
class FineTuned:
    """The course of one fine-tuning.

    Attributes:
        best_epoch: whose weights were kept, from 1.
        validation: score after each epoch, higher = better.
    """

    best_epoch: int
    validation: tuple[float, ...]


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
        # a file of the hub's cache lies in a folder called as its commit
        return Path(str(cached_file(source, "config.json"))).parent.name


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
        gradient=_Gradient(classifier=classifier, rows=rows, targets=targets, batches=batches),
        steps=steps,
        schedule=trapezoid(steps, decay=steps),
        clip=1.0,
        seed=seed,
        after_step=after_step,
    )
    train(training, processes=Processes(model.device), progress=progress)
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
        # texts of like length together: little padding; the sum of the parts is the gradient of the whole step
        batch = sorted(self.batches(step).tolist(), key=lambda row: len(self.rows[row]))
        parts = [batch[start : start + ROWS_PER_PASS] for start in range(0, len(batch), ROWS_PER_PASS)]
        return accumulate(lambda part: self._loss(part) / len(batch), parts, self.classifier.model.device)

    def _loss(self, part: Sequence[int]) -> torch.Tensor:
        logits = self.classifier.forward(at_places(self.rows, part))
        targets = torch.from_numpy(self.targets[list(part)]).to(logits.device)
        return torch.nn.functional.cross_entropy(logits, targets, reduction="sum")


def save_network(classifier: SequenceClassifier, folder: Path) -> None:
    """Write model and tokenizer as `save_pretrained` does."""
    with quiet():
        classifier.model.save_pretrained(folder)
        classifier.tokenizer.save_pretrained(folder)
