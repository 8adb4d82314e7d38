"""Classifiers from their folders, light and fine-tuned, and the models whose hidden states they need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.api.opening import Opener
from assay.authorship import (
    Classifier,
    CodeUnit,
    LabelledCode,
    Prediction,
    Scored,
    Transfer,
    Vectors,
    by_classifier,
    by_fine_tuned,
    classifier_name,
    codes_of,
    is_fine_tuned,
    measure_collections,
)
from assay.errors import MissingCapability
from assay.models import open_model
from assay.retrieval import BUILTIN_PREFIX, holds_encoder, open_encoder
from assay.scoring import Progress
from assay.types import Embedder

if TYPE_CHECKING:
    from assay.authorship import FineTunedClassifier

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


def classifier_in(folder: Path, opener: Opener) -> OpenDetector:
    """Open the classifier in a folder as a detector, whose scores are log-odds.

    Raises:
        AssayError: the folder holds no classifier, or its model cannot be opened.
    """
    if is_fine_tuned(folder):
        tuned = _fine_tuned(folder, opener)
        return OpenDetector(
            classifier_name(tuned.digest), lambda units, _: by_fine_tuned(units, codes_of(units), tuned)
        )
    light = Classifier.load(folder)
    vectors = _vectors(light, opener)
    return OpenDetector(
        classifier_name(light.digest), lambda units, _: by_classifier(units, codes_of(units), light, vectors)
    )


def measured_folder(
    labelled: LabelledCode, folder: Path, opener: Opener, *, formatted: bool = False, seed: int = 0
) -> Transfer:
    """Return the quality of the classifier in a folder on each collection, and on its texts as a formatter writes them.

    Raises:
        AssayError: the folder holds no classifier, or its model cannot be opened.
    """
    if is_fine_tuned(folder):
        predict = partial(_predicted, _fine_tuned(folder, opener))
        return measure_collections(labelled, predict, formatted=formatted, seed=seed)
    light = Classifier.load(folder)
    vectors = _vectors(light, opener)
    return measure_collections(
        labelled, lambda part: light.predict(part.codes, vectors), light.kinds, formatted=formatted, seed=seed
    )


def vectors_named(name: str, opener: Opener | None = None) -> Vectors:
    """Return the model whose hidden states are evidence: an encoder, or a language model with weights.

    A folder of sentence-transformers, of an exported encoder, or of an architecture that generates no text is opened as
    an encoder.

    Raises:
        ModelError: the model cannot be opened.
        MissingCapability: the model does not show its hidden states.
    """
    if name == BUILTIN_ENCODER or holds_encoder(Path(name)):
        return open_encoder(name)
    model = open_model(name, (opener or Opener()).settings)
    if not isinstance(model, Embedder):
        raise MissingCapability(
            f"{name} does not show its hidden states, expected a model with weights or {BUILTIN_ENCODER}"
        )
    return model


def _vectors(light: Classifier, opener: Opener) -> Vectors | None:
    return vectors_named(light.hidden_model, opener) if light.hidden_model else None


def _fine_tuned(folder: Path, opener: Opener) -> "FineTunedClassifier":
    from assay.authorship import FineTunedClassifier  # noqa: PLC0415  needs torch

    return FineTunedClassifier.load(folder, opener.settings.device)


def _predicted(classifier: "FineTunedClassifier", labelled: LabelledCode) -> Prediction:
    return classifier.predict([sample.text for sample in labelled.samples], labelled.codes)
