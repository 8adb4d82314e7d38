"""Labelled code from tables, and classifiers in folders: fitted, written and measured."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from assay.authorship import Classifier
from assay.datasets import DataSelection, read_dataset
from assay.files import check_new_folder
from assay.types import Sample
from assay_lab.classifiers.describing import model_card
from assay_lab.classifiers.evaluating import Transfer, leave_out, measure_collections
from assay_lab.classifiers.fitting import fit_classifier
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
            copy = replace(sample, id=f"{path}#{sample.id}", metadata={})
            collections[copy.id] = collection
            samples.append(copy)
    return LabelledCode.of(samples, lambda sample: collections[sample.id], chosen.human)


def train_classifier(
    labelled: LabelledCode, out: Path, settings: FitSettings | None = None, *, evaluate: bool = True
) -> tuple[Classifier, Transfer | None]:
    """Fit a classifier and write it with its model card.

    Args:
        labelled: texts of people and of generators.
        out: folder that is written.
        settings: of the fit.
        evaluate: measure the quality on left-out collections for the card.

    Raises:
        DataError: the folder exists, or too few texts are of one class.
    """
    check_new_folder(out)
    transfer = leave_out(labelled, settings) if evaluate else None
    classifier = fit_classifier(labelled, settings)
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
    settings = settings or FitSettings()
    if classifier is not None:
        return measure_collections(labelled, Classifier.load(classifier), formatted=formatted, seed=settings.seed)
    return leave_out(labelled, settings, by=by, formatted=formatted)
