"""Classifiers separate two manners of writing in collections that they were not fitted on."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from assay.authorship import Classifier, code_of
from assay.errors import DataError
from assay.evaluation import auroc
from assay.types import Sample
from assay_lab.classifiers.evaluating import leave_out
from assay_lab.classifiers.fitting import balanced_weights, fit_classifier, subsample
from assay_lab.classifiers.labelled import LabelledCode, related_groups, solution_method
from support.authorship_texts import labelled, spelled, terse


def scores_of(classifier, *texts):
    return classifier.scores(texts, [code_of(text, "python") for text in texts])


@pytest.fixture(scope="module")
def data():
    return labelled()


@pytest.fixture(scope="module")
def classifier(data):
    return fit_classifier(data)


def test_a_left_out_collection_is_ranked(data):
    transfer = leave_out(data)
    assert [part.name for part in transfer.parts] == ["collection 0", "collection 1", "collection 2"]
    assert transfer.mean_auroc > 0.95


def test_the_realised_rate_after_calibration_is_small():
    transfer = leave_out(labelled(120, 2))
    for part in transfer.parts:
        assert part.calibrated is not None
        assert part.calibrated.false_positives is not None
        assert part.calibrated.false_positives.rate.value <= 0.1


def test_scores_order_the_two_manners(classifier):
    human, machine = scores_of(classifier, terse(9001), spelled(9001))
    assert human < machine


def test_white_space_is_seen_though_the_tokens_are_the_same(classifier):
    one, two = scores_of(classifier, "x = 1\n", "x  =  1\n")
    assert one != two


def test_a_classifier_survives_its_folder(classifier, tmp_path):
    texts = [text(seed) for text in (terse, spelled) for seed in range(9000, 9005)]
    classifier.save(tmp_path / "c", "card")
    read = Classifier.load(tmp_path / "c")
    assert read.digest == classifier.digest
    np.testing.assert_array_equal(scores_of(read, *texts), scores_of(classifier, *texts))
    with pytest.raises(DataError, match="exists already"):
        classifier.save(tmp_path / "c", "card")


@pytest.mark.parametrize("content", [None, "{}", "x"])
def test_other_folders_are_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "classifier.json").write_text(content)
    with pytest.raises(DataError, match="expected a classifier"):
        Classifier.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [lambda w: w * np.nan, lambda w: w * 0 + 1e30, lambda w: w[:-1], lambda w: w[:, None]],
    ids=["nan", "huge", "short", "flat"],
)
def test_forged_weights_are_refused_in_one_line(classifier, tmp_path, change):
    classifier.save(tmp_path / "c", "card")
    save_file({"weights": np.ascontiguousarray(change(classifier.weights))}, tmp_path / "c" / "classifier.safetensors")
    with pytest.raises(DataError, match="expected a classifier") as ended:
        Classifier.load(tmp_path / "c")
    assert "\n" not in str(ended.value)


@pytest.mark.parametrize("changes", [{"record": 1}, {"format": [9] * 9999}, {"format": 1}], ids=str)
def test_a_forged_description_is_refused_in_one_line(classifier, tmp_path, changes):
    classifier.save(tmp_path / "c", "card")
    place = tmp_path / "c" / "classifier.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | changes))
    with pytest.raises(DataError, match="expected a classifier") as ended:
        Classifier.load(tmp_path / "c")
    assert len(str(ended.value)) < 500


def test_environments_of_one_class_are_left_out(data):
    lone = [Sample(f"lone/{i}", terse(i), "python", "model-9") for i in range(40)]
    mixed = LabelledCode.of(
        [*data.samples, *lone], lambda sample: "lone" if sample.id.startswith("lone") else sample.id.split("/")[0]
    )
    assert "lone" not in fit_classifier(mixed).record["collections"]


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


def test_scores_rank_the_training_texts(classifier, data):
    assert auroc(scores_of(classifier, *(sample.text for sample in data.samples)), ~data.human) > 0.95
