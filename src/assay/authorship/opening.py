"""Classifiers from their folders, light and fine-tuned, and the models whose hidden states they need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.authorship.classifier import Classifier, is_fine_tuned
from assay.authorship.detecting import Scored, by_classifier, by_fine_tuned, classifier_name, codes_of
from assay.authorship.evidence import Vectors
from assay.authorship.units import CodeUnit
from assay.errors import MissingCapability
from assay.models import ModelSettings, open_model
from assay.retrieval import BUILTIN_PREFIX, holds_encoder, open_encoder
from assay.scoring import Progress
from assay.types import Embedder

BUILTIN_ENCODER = f"{BUILTIN_PREFIX}fragments"


@dataclass(frozen=True, slots=True)
class OpenDetector:
    """A loaded detector.

    Attributes:
        name: with its digest, as a reference names it.
        score: returns the scores of pieces of code; its second argument is called after every batch.
    """

    name: str
    score: Callable[[Sequence[CodeUnit], Progress | None], Scored]


def open_classifier(folder: Path, settings: ModelSettings) -> OpenDetector:
    """Open the classifier in a folder as a detector, whose scores are log-odds.

    Args:
        folder: of `assay lab authorship train` or `fine-tune`.
        settings: of the model that it needs, such as its device.

    Raises:
        AssayError: the folder holds no classifier, or its model cannot be opened.
    """
    if is_fine_tuned(folder):
        from assay.authorship.fine_tuned import FineTunedClassifier  # noqa: PLC0415  needs torch

        tuned = FineTunedClassifier.load(folder, settings.device)
        return OpenDetector(
            classifier_name(tuned.digest), lambda units, _: by_fine_tuned(units, codes_of(units), tuned)
        )
    light = Classifier.load(folder)
    vectors = vectors_named(light.hidden_model, settings) if light.hidden_model else None
    return OpenDetector(
        classifier_name(light.digest), lambda units, _: by_classifier(units, codes_of(units), light, vectors)
    )


def vectors_named(name: str, settings: ModelSettings | None = None) -> Vectors:
    """Return the model whose hidden states are evidence: an encoder, or a language model with weights.

    A folder of sentence-transformers, of an exported encoder, or of an architecture that generates no text is opened as
    an encoder.

    Raises:
        ModelError: the model cannot be opened.
        MissingCapability: the model does not show its hidden states.
    """
    if name == BUILTIN_ENCODER or holds_encoder(Path(name)):
        return open_encoder(name)
    model = open_model(name, settings or ModelSettings())
    if not isinstance(model, Embedder):
        raise MissingCapability(
            f"{name} does not show its hidden states, expected a model with weights or {BUILTIN_ENCODER}"
        )
    return model
