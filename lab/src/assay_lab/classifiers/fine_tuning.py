"""The protocol of "Gotta Catch'em All!" (section 4.5) for fine-tuned classifiers, with any sequence classifier.

Learning rate and batch size are chosen by accuracy on validation texts, among all pairs of the grid, with the first
seed. The pair is then trained with every seed; each run keeps the epoch with the best validation accuracy and is
measured once on the test texts. Finished runs are kept beside the folder of the classifier until that is written, so
that a killed fine-tuning continues. Departure: parts are split by group unless `split` is "paper", so that no task is
both trained on and tested.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product, repeat
from pathlib import Path
from typing import Literal, Self

import numpy as np
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from assay.authorship import without_comments
from assay.errors import DataError
from assay.files import atomic_folder, check_new_folder, parse_json, write_json, write_text
from assay.training import TrainingProgress
from assay.types import Int64Array
from assay_lab.classifiers.labelled import HUMAN, LabelledCode
from assay_lab.classifiers.sequence_training import (
    ClassifierSettings,
    fine_tune_classifier,
    save_network,
    weights_identity,
)
from assay_lab.classifiers.sequences import SequenceClassifier, load_sequence_classifier
from assay_lab.classifiers.settings import Protocol
from assay_lab.columns import at_places, without
from assay_lab.mappings import map_values, numbered
from assay_lab.training.recipes import keep_recipe

GENERATED = "generated"
MODEL, RESULT, CARD = "model", "result.json", "MODEL_CARD.md"
PARTS: Mapping[str, float] = {"train": 0.8, "validation": 0.1, "test": 0.1}
RECIPE, COURSE = "fine-tuning.json", "course.json"
"""Files of finished runs: what is fine-tuned, and the course of a run."""


@dataclass(frozen=True, slots=True)
class Quality:
    """Quality on some test texts.

    Attributes:
        texts: of a class that was trained on.
        macro_f1: mean over the classes of F1.
        accuracy: share of texts with the right class.
    """

    texts: int
    macro_f1: float
    accuracy: float


@dataclass(frozen=True, slots=True, eq=False)
class FineTunedRun:
    """One seed.

    Attributes:
        seed: of the new head, the order and dropout.
        best_epoch: whose weights were kept, from 1.
        validation: accuracy after each epoch.
        quality: "overall" and each language → quality on the test texts.
        confusion: int64 [classes, classes], rows are the truth.
    """

    seed: int
    best_epoch: int
    validation: tuple[float, ...]
    quality: Mapping[str, Quality]
    confusion: Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class FineTunedRuns:
    """All runs of one model under one protocol.

    Attributes:
        model: name.
        protocol: see there.
        classes: names.
        sizes: part → number of texts.
        grid: (rate, batch) → validation accuracy of the best epoch, with the first seed.
        chosen: the best pair; the first one of equals.
        runs: one per seed.
    """

    model: str
    protocol: Protocol
    classes: tuple[str, ...]
    sizes: Mapping[str, int]
    grid: Mapping[tuple[float, int], float]
    chosen: tuple[float, int]
    runs: tuple[FineTunedRun, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """Languages of the test texts, then "overall"."""
        names = self.runs[0].quality
        return (*sorted(without(names, ("overall",))), "overall")

    def spread(self, part: str, metric: Literal["macro_f1", "accuracy"]) -> tuple[float, float]:
        """Return mean and standard deviation over the seeds of a metric; the deviation of one seed is 0."""
        values = [float(getattr(run.quality[part], metric)) for run in self.runs]
        return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Texts:
    """Texts, classes and parts.

    Attributes:
        texts: as they are read.
        languages: of each.
        classes: names of the training texts' classes.
        targets: int64 [n], place of the class; -1 for a class that is not trained on.
        rows: part → rows.
    """

    texts: tuple[str, ...]
    languages: tuple[str, ...]
    classes: tuple[str, ...]
    targets: Int64Array
    rows: Mapping[str, Int64Array]

    def of(self, part: str) -> list[str]:
        """Return the texts of a part."""
        return list(map(self.texts.__getitem__, self.rows[part]))


def fine_tune(
    labelled: LabelledCode,
    model: str,
    protocol: Protocol | None = None,
    *,
    rows: Mapping[str, Int64Array] | None = None,
    out: Path | None = None,
    card: "Callable[[FineTunedRuns], str] | None" = None,
    progress: TrainingProgress | None = None,
) -> FineTunedRuns:
    """Fine-tune a model with the grid and all seeds, and measure it on the test texts.

    Args:
        labelled: texts of people and of generators.
        model: `builtin:NAME`, a model folder or a hub id that transformers can give a classification head.
        protocol: see there; None for that of the paper.
        rows: part → its rows; None for the split of the protocol.
        out: new folder for the network of the seed with the best validation accuracy, the results and the model card.
            A fine-tuning that was killed continues after its last finished run.
        card: text of the model card.
        progress: called after each step of each run.

    Raises:
        DataError: a part is empty, there are fewer than two classes, `out` exists, or another fine-tuning began there.
        ModelError: the model cannot be loaded.
    """
    protocol = protocol or Protocol()
    if out is not None:
        check_new_folder(out)
    texts = _prepared(labelled, protocol, _parts(labelled, protocol) if rows is None else dict(rows))
    store = _RunStore.of(out, texts, model, protocol=protocol)

    def run(pair: tuple[float, int], seed: int) -> _Trained:
        settings = _settings(protocol, pair)
        return store.run(
            f"{pair[0]:g}-{pair[1]}-{seed}",
            lambda: _trained(texts, model, settings, seed=seed, progress=progress),
            lambda folder: load_sequence_classifier(
                str(folder), texts.classes, context=settings.context, device=settings.device
            ),
        )

    # the first seed searches the grid; the others run with the pair that it chose
    first, *more_seeds = protocol.seeds
    best: dict[tuple[float, int], _Trained] = {}
    for pair in product(protocol.rates, protocol.batches):
        best[pair] = run(pair, first)
        _forget_all_but_best(best)
    grid = {pair: max(trained.validation) for pair, trained in best.items()}
    chosen = max(grid, key=lambda pair: grid[pair])
    others = list(map(partial(run, chosen), more_seeds))
    everything = [best[chosen], *others]
    result = FineTunedRuns(
        model=model,
        protocol=protocol,
        classes=texts.classes,
        sizes=map_values(len, texts.rows),
        grid=grid,
        chosen=chosen,
        runs=tuple(map(partial(_measured, texts), everything)),
    )
    if out is not None:
        kept = max(range(len(everything)), key=lambda place: max(everything[place].validation))
        with atomic_folder(out) as unfinished:
            save_network(everything[kept].network, unfinished / MODEL)
            write_json(unfinished / RESULT, fine_tuning_data(result))
            write_text(unfinished / CARD, card(result) if card else "")
        store.remove()
    return result


def fine_tuning_data(result: FineTunedRuns) -> dict[str, object]:
    """Return all figures of a result for JSON."""
    protocol = result.protocol
    return {
        "model": result.model,
        "task": protocol.task,
        "comments": protocol.comments,
        "split": protocol.split,
        "leave_out": list(protocol.left_out) if protocol.left_out else None,
        "epochs": protocol.epochs,
        "context": protocol.context,
        "classes": list(result.classes),
        "sizes": dict(result.sizes),
        "grid": [{"rate": rate, "batch": batch, "accuracy": value} for (rate, batch), value in result.grid.items()],
        "chosen": {"rate": result.chosen[0], "batch": result.chosen[1]},
        "runs": list(map(_run_data, result.runs)),
    }


def _run_data(run: FineTunedRun) -> dict[str, object]:
    return {
        "seed": run.seed,
        "best_epoch": run.best_epoch,
        "validation": list(run.validation),
        "test": map_values(asdict, run.quality),
        "confusion": run.confusion.tolist(),
    }


@dataclass(slots=True, eq=False)
class _Trained:
    """A classifier after one run; a pair of the grid that is not the best one keeps no weights."""

    seed: int
    best_epoch: int
    validation: tuple[float, ...]
    classifier: SequenceClassifier | None

    @property
    def network(self) -> SequenceClassifier:
        """The classifier of a run whose weights are kept.

        Raises:
            DataError: the weights were dropped.
        """
        if self.classifier is None:
            raise DataError("the weights of this run were dropped, expected the best one of the grid")
        return self.classifier


@dataclass(frozen=True, slots=True)
class _RunStore:
    """Finished runs on the disk, until the folder of the classifier is written.

    Attributes:
        folder: of the runs; None keeps nothing.
    """

    folder: Path | None

    @classmethod
    def of(cls, out: Path | None, texts: _Texts, model: str, protocol: Protocol) -> Self:
        """Return the runs beside the folder of a classifier.

        Raises:
            DataError: they are those of another fine-tuning, or cannot be written.
            ModelError: the model cannot be found.
        """
        if out is None:
            return cls(None)
        folder = out.with_name(f".{out.name}.runs")
        digest = hashlib.sha256("\0".join(texts.texts).encode("utf-8", "surrogatepass"))
        for numbers in (texts.targets, *at_places(texts.rows, PARTS)):
            digest.update(numbers.tobytes())
        recipe = asdict(replace(protocol, device="auto")) | {
            "model": model,
            "weights": weights_identity(model),
            "texts": digest.hexdigest(),
        }
        keep_recipe(folder / RECIPE, recipe)
        return cls(folder)

    def run(self, name: str, train: Callable[[], _Trained], load: Callable[[Path], SequenceClassifier]) -> _Trained:
        """Return a finished run, with the classifier that `load` reads, or train it and keep it."""
        if self.folder is None:
            return train()
        place = self.folder / name
        if place.exists():
            course = parse_json((place / COURSE).read_text("utf-8"))
            return _Trained(
                seed=course["seed"],
                best_epoch=course["best_epoch"],
                validation=tuple(course["validation"]),
                classifier=load(place / MODEL),
            )
        trained = train()
        with atomic_folder(place) as unfinished:
            save_network(trained.network, unfinished / MODEL)
            course = {"seed": trained.seed, "best_epoch": trained.best_epoch, "validation": list(trained.validation)}
            write_json(unfinished / COURSE, course)
        return trained

    def remove(self) -> None:
        """Remove the runs."""
        if self.folder is not None:
            shutil.rmtree(self.folder)


def _forget_all_but_best(runs: Mapping[tuple[float, int], _Trained]) -> None:
    """Drop the weights of every run but the best one: a grid would not fit into memory."""
    best = max(runs, key=lambda pair: max(runs[pair].validation))
    for pair, trained in runs.items():
        if pair != best:
            trained.classifier = None


def _prepared(labelled: LabelledCode, protocol: Protocol, rows: dict[str, Int64Array]) -> _Texts:
    names = np.array(labelled.generators, object)
    if protocol.task == "binary":
        names = np.where(names == HUMAN, HUMAN, GENERATED)
    classes = tuple(sorted(set(names[rows["train"]].tolist())))
    if len(classes) < 2:  # noqa: PLR2004  one class needs no classifier
        raise DataError(f"{len(classes)} classes in the training part, expected two or more")
    places = numbered(classes)
    targets = np.array(list(map(places.get, names.tolist(), repeat(-1))), np.int64)
    rows["validation"] = rows["validation"][targets[rows["validation"]] >= 0]
    for name, part in rows.items():
        if not (targets[part] >= 0).any():
            raise DataError(f"the {name} part has no text of the classes {', '.join(classes)}; expected more groups")
    tested = set(at_places(classes, targets[rows["test"]][targets[rows["test"]] >= 0].tolist()))
    if len(tested) < 2:  # noqa: PLR2004  a classifier that always answers the one class would be right on every text
        raise DataError(
            f"the test part has {len(rows['test'])} texts, all of the class {min(tested)}; macro F1 and accuracy need "
            f"two of the classes {', '.join(classes)}: expected more groups"
        )
    texts: Iterable[str] = labelled.texts
    if not protocol.comments:
        texts = map(without_comments, labelled.texts, labelled.languages)
    return _Texts(
        texts=tuple(texts), languages=tuple(map(str, labelled.languages)), classes=classes, targets=targets, rows=rows
    )


def _parts(labelled: LabelledCode, protocol: Protocol) -> dict[str, Int64Array]:
    """Return the rows of training, validation and test."""
    if protocol.left_out is None:
        return labelled.parted(PARTS, by_group=protocol.split == "group")
    by, name = protocol.left_out
    choices = labelled.rows_of(by)
    if name not in choices:
        raise DataError(f"no {by} {name!r}, expected one of {', '.join(choices)}")
    test = choices[name]
    groups = np.array(labelled.groups, object)
    rest = np.flatnonzero(~np.isin(groups, groups[test]))
    parts = labelled.take(rest).parted({"train": 0.9, "validation": 0.1})
    # texts of people of the same groups are tested beside those of the generator
    if by == "generator":
        test = np.flatnonzero(np.isin(groups, groups[test]) & (labelled.human | np.isin(np.arange(len(groups)), test)))
    return {"train": rest[parts["train"]], "validation": rest[parts["validation"]], "test": test}


def _settings(protocol: Protocol, pair: tuple[float, int]) -> ClassifierSettings:
    return ClassifierSettings(
        rate=pair[0], batch=pair[1], epochs=protocol.epochs, context=protocol.context, device=protocol.device
    )


def _trained(
    texts: _Texts, model: str, settings: ClassifierSettings, *, seed: int, progress: TrainingProgress | None
) -> _Trained:
    classifier = load_sequence_classifier(
        model, texts.classes, context=settings.context, device=settings.device, seed=seed
    )
    truths = texts.targets[texts.rows["validation"]]
    shown = classifier.rows(texts.of("validation"))

    def accuracy(current: SequenceClassifier) -> float:
        return float((current.logits(shown).argmax(1) == truths).mean())

    course = fine_tune_classifier(
        classifier,
        classifier.rows(texts.of("train")),
        targets=texts.targets[texts.rows["train"]],
        validate=accuracy,
        settings=settings,
        seed=seed,
        progress=progress,
    )
    return _Trained(seed=seed, best_epoch=course.best_epoch, validation=course.validation, classifier=classifier)


def _measured(texts: _Texts, trained: _Trained) -> FineTunedRun:
    network = trained.network
    logits = network.logits(network.rows(texts.of("test")))
    targets = texts.targets[texts.rows["test"]]
    # a class that was not trained on cannot be answered
    trained_on = targets >= 0
    truths, answers = targets[trained_on], logits.argmax(1)[trained_on]
    languages = np.array(texts.languages, object)[texts.rows["test"]][trained_on]
    labels = range(len(texts.classes))
    quality = {"overall": _quality(truths, answers, labels)}
    for language in sorted(set(languages.tolist())):
        own = languages == language
        quality[language] = _quality(truths[own], answers[own], labels)
    return FineTunedRun(
        seed=trained.seed,
        best_epoch=trained.best_epoch,
        validation=trained.validation,
        quality=quality,
        confusion=confusion_matrix(truths, answers, labels=list(labels)).astype(np.int64),
    )


def _quality(truth: Int64Array, predicted: Int64Array, labels: Sequence[int]) -> Quality:
    # a class that the test texts of a language lack does not count in its mean
    present = [label for label in labels if (truth == label).any()]
    macro = float(f1_score(truth, predicted, labels=present, average="macro", zero_division=0))
    return Quality(len(truth), macro, float(accuracy_score(truth, predicted)))
