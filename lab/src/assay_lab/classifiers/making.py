"""Labelled code from tables, and classifiers in folders: fitted, written and measured."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from assay.authorship.classifier import Classifier, is_fine_tuned
from assay.authorship.evidence import HIDDEN
from assay.authorship.fine_tuned import FineTunedClassifier
from assay.authorship.opening import vectors_named
from assay.datasets import DataSelection, read_dataset
from assay.files import check_new_folder
from assay.types import Sample
from assay_lab.classifiers.describing import model_card
from assay_lab.classifiers.evaluating import Transfer, leave_out, measure_collections
from assay_lab.classifiers.fitting import fit_classifier, subsample
from assay_lab.classifiers.generators import fit_generators
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.classifiers.settings import FitSettings, LabelledSelection

COLLECTION = "collection"
"""Column that names the collection of a row; without it the file's name does."""


def read_labelled(paths: Iterable[str], selection: LabelledSelection | None = None) -> LabelledCode:
    """Return the texts of tables; a column `collection`, or the name of the file, names the collection.

    Raises:
        DataError: a table cannot be read, or a text has no label.
    """
    chosen = selection or LabelledSelection()
    columns = DataSelection(
        text=chosen.text, label=chosen.label, labels="as-is", language=chosen.language, group=chosen.group
    )
    samples: list[Sample] = []
    collections: dict[str, str] = {}
    for path in paths:
        dataset = read_dataset(path, columns)
        for sample in dataset.samples:
            collection = str(sample.metadata.get(COLLECTION) or dataset.name)
            copy = Sample(f"{path}#{sample.id}", sample.text, sample.language, sample.label, sample.group)
            collections[copy.id] = collection
            samples.append(copy)
    return LabelledCode.of(samples, lambda sample: collections[sample.id], chosen.human)


def train_classifier(
    labelled: LabelledCode,
    out: Path,
    settings: FitSettings | None = None,
    *,
    evaluate: bool = True,
    generators: bool = False,
) -> tuple[Classifier, Transfer | None]:
    """Fit a classifier and write it with its model card.

    Args:
        labelled: texts of people and of generators.
        out: folder that is written.
        settings: of the fit.
        evaluate: measure the quality on left-out collections for the card.
        generators: also fit a model that names the generator that a text is most like.

    Raises:
        DataError: the folder exists, or too few texts are of one class.
    """
    check_new_folder(out)
    settings = with_hidden(settings)
    vectors = vectors_named(settings.hidden) if settings.hidden else None
    transfer = leave_out(labelled, settings, vectors=vectors) if evaluate else None
    classifier = fit_classifier(labelled, settings, vectors=vectors)
    if generators:
        drawn = labelled.take(subsample(labelled, settings.per_class, settings.seed))
        classifier = replace(classifier, generators=fit_generators(drawn, seed=settings.seed))
    classifier.save(out, model_card(classifier, transfer))
    return classifier, transfer


def evaluate_classifier(
    labelled: LabelledCode,
    settings: FitSettings | None = None,
    *,
    by: str = "collection",
    classifier: Path | None = None,
    formatted: bool = False,
) -> Transfer:
    """Measure classifiers on what they were not fitted on.

    Args:
        labelled: texts of people and of generators.
        settings: of the fits.
        by: "collection", "language" or "generator": what is left out in turn.
        classifier: folder of a classifier that is measured on every collection instead; nothing is fitted then.
        formatted: test the texts as a formatter writes them, too.

    Raises:
        DataError: no classifier in that folder, or too few texts to fit on.
    """
    settings = with_hidden(settings)
    if classifier is not None:
        return measured_folder(labelled, classifier, formatted=formatted, seed=settings.seed)
    vectors = vectors_named(settings.hidden) if settings.hidden else None
    return leave_out(labelled, settings, by=by, vectors=vectors, formatted=formatted)


def with_hidden(settings: FitSettings | None) -> FitSettings:
    """Return settings of a fit; naming a model of hidden states adds that evidence."""
    chosen = settings or FitSettings()
    kinds = dict.fromkeys([*chosen.evidence, *([HIDDEN] if chosen.hidden else [])])
    return replace(chosen, evidence=tuple(kinds))


def measured_folder(labelled: LabelledCode, folder: Path, *, formatted: bool = False, seed: int = 0) -> Transfer:
    """Return the quality of the classifier in a folder on each collection, and on its texts as a formatter writes them.

    Raises:
        AssayError: the folder holds no classifier, or its model cannot be opened.
    """
    if is_fine_tuned(folder):
        tuned = FineTunedClassifier.load(folder)
        return measure_collections(
            labelled,
            lambda part: tuned.predict([sample.text for sample in part.samples], part.codes),
            formatted=formatted,
            seed=seed,
        )
    light = Classifier.load(folder)
    vectors = vectors_named(light.hidden_model) if light.hidden_model else None
    return measure_collections(
        labelled, lambda part: light.predict(part.codes, vectors), light.kinds, formatted=formatted, seed=seed
    )
