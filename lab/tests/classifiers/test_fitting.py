"""Classifiers separate two manners of writing in collections that they were not fitted on."""

import json
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from assay.authorship.classifier import Classifier, Prediction
from assay.authorship.normalising import code_of
from assay.authorship.open_set import UNKNOWN, GeneratorModel
from assay.errors import DataError
from assay.evaluation import auroc
from assay.types import Sample
from assay_lab.classifiers.evaluating import Transfer, leave_out, measure_part
from assay_lab.classifiers.fitting import balanced_weights, fit_classifier, subsample
from assay_lab.classifiers.generators import fit_generators
from assay_lab.classifiers.heads import fit_linear, fit_trees
from assay_lab.classifiers.labelled import LabelledCode, related_groups, solution_method
from assay_lab.classifiers.settings import FitSettings
from support.authorship_texts import labelled, spelled, terse


@pytest.fixture(scope="module")
def data():
    return labelled()


@pytest.fixture(scope="module")
def classifier(data):
    return fit_classifier(data)


def test_a_left_out_collection_is_ranked(data):
    transfer = leave_out(data, FitSettings(evidence=("names", "layout", "wording")))
    assert [part.name for part in transfer.parts] == ["collection 0", "collection 1", "collection 2"]
    assert transfer.mean_auroc > 0.95


def test_the_realised_rate_after_calibration_is_small(data):
    transfer = leave_out(labelled(120, 2), FitSettings(evidence=("names", "wording")))
    for part in transfer.parts:
        assert part.calibrated is not None
        assert part.calibrated.false_positives is not None
        assert part.calibrated.false_positives.rate.value <= 0.1


def test_evidence_that_the_reference_shows_does_not_count_in_the_ranking_after_calibration():
    """All people and half of the generated texts document: the sign points the wrong way here."""
    texts = labelled(100, 1)
    documented = np.array([person or row % 4 == 0 for row, person in enumerate(texts.human)])
    margins = np.where(texts.human, 0.0, 1.0)
    parts = {"wording": margins, "documentation": np.where(documented, 3.0, 0.0)}
    prediction = Prediction(margins + parts["documentation"], parts, np.zeros(len(texts), np.bool_))
    part = measure_part("c", texts, prediction)
    assert part.ranking.auroc.value < 0.5
    assert part.calibrated.left_out == ("documentation",)
    assert part.calibrated.ranking.auroc.value == 1.0
    assert Transfer("collection", (), (part,)).mean_calibrated_auroc == 1.0


def test_probabilities_order_the_two_manners(classifier):
    codes = [code_of(text, "python") for text in (terse(9001), spelled(9001))]
    human, machine = classifier.predict(codes).probabilities
    assert human < 0.5 < machine


def test_a_classifier_survives_its_folder(classifier, tmp_path):
    codes = [code_of(text(seed), "python") for text in (terse, spelled) for seed in range(9000, 9005)]
    classifier.save(tmp_path / "c", "card")
    read = Classifier.load(tmp_path / "c")
    assert read.digest == classifier.digest
    np.testing.assert_allclose(read.predict(codes).margins, classifier.predict(codes).margins)
    with pytest.raises(DataError, match="exists already"):
        classifier.save(tmp_path / "c", "card")


@pytest.mark.parametrize("content", [None, "{}", "x"])
def test_other_folders_are_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "classifier.json").write_text(content)
    with pytest.raises(DataError, match="expected a classifier"):
        Classifier.load(tmp_path)


def _forge(folder, changes):
    """Change numbers of a stored classifier: path in the description, or name of an array → its new value."""
    content, arrays = json.loads((folder / "classifier.json").read_text()), load_file(folder / "classifier.safetensors")
    for name, change in changes.items():
        if name in arrays:
            arrays[name] = np.ascontiguousarray(change(arrays[name]))
        else:
            *outer, last = name.split(".")
            reduce(dict.__getitem__, outer, content)[last] = change
    (folder / "classifier.json").write_text(json.dumps(content))
    save_file(arrays, folder / "classifier.safetensors")


@pytest.mark.parametrize(
    "changes",
    [
        {"bias": "x"},
        {"bias": float("nan")},
        {"bias": 10**400},
        {"heads": []},
        {"heads.names": None},
        {"heads.names.spread": 0},
        {"heads": {}},
        {"record": []},
        {"record.hidden": "openai:a@http://127.0.0.1:1"},
        {"format": [9] * 9999},
        {"names/weights": lambda array: array * np.nan},
        {"names/weights": lambda array: array[:-1]},
        {"names/means": lambda array: array[None]},
        {"names/weights": lambda array: array[:, None]},
        {"names/scales": lambda array: array * 0},
        {"names/bias": lambda array: array[:0]},
        {"wording/weights": lambda array: array * 0 + 1e30},
        {"domain/centres": lambda array: array[:, 1:]},
        {"domain/radius": lambda array: array[:0]},
        {"structure/left": lambda array: array * 0},
        {"structure/right": lambda array: array + len(array)},
        {"structure/columns": lambda array: np.where(np.arange(len(array)) == 5, 10**6, array)},
        {"structure/roots": lambda array: -array - 1},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_forged_classifier_is_refused_in_one_line(classifier, tmp_path, changes):
    classifier.save(tmp_path / "c", "card")
    _forge(tmp_path / "c", changes)
    with pytest.raises(DataError, match="expected a classifier") as ended:
        Classifier.load(tmp_path / "c")
    assert "\n" not in str(ended.value)
    assert len(str(ended.value)) < 500


def test_trees_give_the_same_margins_as_the_library():
    from sklearn.ensemble import HistGradientBoostingClassifier

    draw = np.random.default_rng(0)
    table = draw.normal(size=(400, 5))
    table[draw.random(table.shape) < 0.1] = np.nan
    truth = np.nan_to_num(table[:, 0]) + np.nan_to_num(table[:, 1]) ** 2 > 0.5
    head = fit_trees(table, truth, np.ones(400))
    model = HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.06, max_leaf_nodes=12, min_samples_leaf=40, l2_regularization=5.0,
        max_features=0.3, early_stopping=False, random_state=0,
    ).fit(table, truth, sample_weight=np.ones(400))  # fmt: skip
    np.testing.assert_allclose(head.margins(table), model.decision_function(table), rtol=1e-9)


def test_a_missing_feature_counts_as_average():
    table = np.array([[0.0], [1.0], [2.0], [3.0]] * 10)
    head = fit_linear(table, table[:, 0] > 1, np.ones(40), c=1.0)
    assert head.margins(np.array([[np.nan]]))[0] == pytest.approx(head.margins(np.array([[1.5]]))[0])


def test_environments_of_one_class_are_left_out(data):
    lone = [Sample(f"lone/{i}", terse(i), "python", "model-9") for i in range(40)]
    mixed = LabelledCode.of(
        [*data.samples, *lone], lambda sample: "lone" if sample.id.startswith("lone") else sample.id.split("/")[0]
    )
    assert "lone" not in fit_classifier(mixed, FitSettings(evidence=("names",))).record["collections"]


def test_classes_of_environments_have_the_same_weight(data):
    rows = np.concatenate([np.flatnonzero(data.human), np.flatnonzero(~data.human)[:10]])
    weights = balanced_weights(data, rows)
    first = [row for row, chosen in enumerate(rows) if data.collections[chosen] == "collection 0"]
    human = data.human[rows][first]
    assert weights[first][human].sum() == pytest.approx(weights[first][~human].sum())


def test_a_subsample_keeps_every_class_of_every_environment(data):
    chosen = data.take(subsample(data, 5))
    assert len(chosen) == 5 * 2 * 3


def test_one_class_only_is_refused(data):
    with pytest.raises(DataError, match="expected at least 20 of each"):
        fit_classifier(data.take(np.flatnonzero(data.human)))


def test_collections_of_the_same_tasks_are_fitted_by_group():
    data = labelled(30, 2)
    same = replace(data, groups=tuple(sample.id.split("/")[1] for sample in data.samples))
    fitted = fit_classifier(same, FitSettings(evidence=("names",)))
    human, machine = fitted.predict([code_of(text, "python") for text in (terse(9001), spelled(9001))]).probabilities
    assert human < 0.5 < machine


@pytest.mark.parametrize("groups", [lambda human: "all" if not human else None, lambda _: "all"])
def test_generated_texts_of_one_group_are_refused(groups):
    data = labelled(20, 1)
    own = [groups(human) or group for human, group in zip(data.human, data.groups, strict=True)]
    with pytest.raises(DataError, match="expected more of each: texts of one group are never both fitted and tested"):
        fit_classifier(replace(data, groups=tuple(own)), FitSettings(evidence=("names",)))


def test_groups_join_tasks_by_slug_and_by_method():
    python = "class Solution:\n    def twoSum(self, nums, target):\n        return []\n"
    java = "class Solution {\n    public int[] twoSum(int[] nums, int target) { return null; }\n}\n"
    samples = [
        Sample("a", python, "python", "human", "two-sum"),
        Sample("b", java, "java", "m", None),
        Sample("c", "x = 1", "python", "m", "two-sum"),
        Sample("d", "x = 1", "python", "m", None),
    ]
    groups = related_groups(samples)
    assert groups[0] == groups[1] == groups[2] != groups[3]
    assert solution_method(java) == "twosum"


def test_generators_are_told_apart_and_unknown_ones_refused():
    data = labelled(200, 1)
    marked = LabelledCode.of(
        [
            Sample(
                s.id,
                s.text + ("    # x\n    yield total_count\n" * 3 if s.label == "model-1" else ""),
                s.language,
                s.label,
                s.group,
            )
            for s in data.samples
        ],
        lambda _: "one",
    )
    model = fit_generators(marked)
    assert set(model.classes) == {"human", "model-0", "model-1"}
    result = model.attribute(marked.codes)
    truth = marked.generators
    assert np.mean([a == b for a, b in zip(result.answers, truth, strict=True)]) > 0.85
    assert model.accuracy > 0.85
    with pytest.raises(ValueError, match="3 generators with arrays of"):
        GeneratorModel.restored(model.content(), model.arrays() | {"biases": model.biases[1:]})
    restored = GeneratorModel.restored(json.loads(json.dumps(model.content())), model.arrays())
    assert restored.attribute(marked.codes[:9]).answers == result.answers[:9]
    foreign = [code_of("SELECT a FROM b WHERE c ORDER BY d; " * 5, "python") for _ in range(5)]
    assert UNKNOWN in model.attribute(foreign, alpha=0.2).answers
    np.testing.assert_allclose(result.probabilities.sum(1), 1)


def test_a_generator_with_three_samples_is_left_out():
    data = labelled(40, 1)
    few = [Sample(f"few/{i}", spelled(i), "python", "rare") for i in range(3)]
    model = fit_generators(LabelledCode.of([*data.samples, *few], lambda _: "one"))
    assert "rare" in model.left_out


def test_margins_rank_the_training_texts(classifier, data):
    assert auroc(classifier.predict(data.codes).margins, ~data.human) > 0.95
