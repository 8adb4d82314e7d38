"""Fine-tuned classifiers learn the classes, keep the best epoch, and are tested on groups they did not train on."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from assay.authorship.detecting import by_fine_tuned
from assay.authorship.fine_tuned import FineTunedClassifier, load_sequence_classifier
from assay.authorship.normalising import code_of
from assay.authorship.open_set import UNKNOWN, OpenSet
from assay.authorship.units import CodeUnit
from assay.errors import DataError, ModelError
from assay.evaluation import auroc
from assay_lab.classifiers.evaluating import measure_collections
from assay_lab.classifiers.fine_tuning import PARTS, fine_tune, fine_tuning_data
from assay_lab.classifiers.fine_tuning_report import describe_fine_tuning, fine_tuning_card
from assay_lab.classifiers.generators import calibrated_open_set
from assay_lab.classifiers.sequence_training import ClassifierSettings, fine_tune_classifier
from assay_lab.classifiers.settings import Protocol
from support.authorship_texts import labelled
from support.small_roberta import save_small_roberta

QUICK = Protocol(task="binary", rates=(5e-3,), batches=(8,), seeds=(0,), epochs=4, context=32, device="cpu")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return save_small_roberta(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def data():
    return labelled(40, 2)


def test_a_small_encoder_learns_the_classes_and_leaves_a_folder(encoder, data, tmp_path):
    out = tmp_path / "classifier"
    result = fine_tune(data, encoder, QUICK, out=out, card=fine_tuning_card)
    assert result.spread("overall", "accuracy")[0] > 0.9
    assert result.classes == ("generated", "human")
    assert int(result.runs[0].confusion.sum()) == result.runs[0].quality["overall"].texts
    again = load_sequence_classifier(str(out / "model"), result.classes, device="cpu", seed=0)
    texts = [sample.text for sample in data.samples[:20]]
    predicted = again.logits(again.rows(texts)).argmax(1)
    assert np.mean([result.classes[place] == "human" for place in predicted] == data.human[:20]) > 0.9
    assert json.loads((out / "result.json").read_text())["chosen"] == {"rate": 5e-3, "batch": 8}
    assert "no proof of misconduct" in (out / "MODEL_CARD.md").read_text()
    with pytest.raises(DataError, match="exists already"):
        fine_tune(data, encoder, QUICK, out=out)


def test_a_killed_fine_tuning_continues_after_its_last_finished_run(encoder, data, tmp_path):
    model, out = shutil.copytree(encoder, tmp_path / "model"), tmp_path / "new" / "out"
    protocol = Protocol(
        task="binary", rates=(1e-3, 3e-3), batches=(16,), seeds=(0,), epochs=1, context=16, device="cpu"
    )
    steps = []
    whole = fine_tune(data, str(model), protocol, progress=lambda *_: steps.append("whole"))

    def kill(*_):
        steps.append("killed")
        if steps.count("killed") == steps.count("whole") // 2 + 1:  # the first step of the second run
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fine_tune(data, str(model), protocol, out=out, progress=kill)
    with pytest.raises(DataError, match="of another recipe, different in epochs"):
        fine_tune(data, str(model), replace(protocol, epochs=2), out=out)
    save_small_roberta(model, seed=1)
    with pytest.raises(DataError, match="of another recipe, different in weights"):
        fine_tune(data, str(model), protocol, out=out)
    shutil.copytree(encoder, model, dirs_exist_ok=True)
    again = fine_tune(data, str(model), protocol, out=out, progress=lambda *_: steps.append("again"))
    assert 2 * steps.count("again") == steps.count("whole")  # one run of two
    assert fine_tuning_data(again) == fine_tuning_data(whole)
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.fixture(scope="module")
def folders(encoder, data, tmp_path_factory):
    """Fine-tuned folders by task."""
    parent = tmp_path_factory.mktemp("folders")
    for task in ("binary", "multi"):
        protocol = replace(QUICK, task=task, comments=task == "binary", epochs=4 if task == "binary" else 1)
        fine_tune(data, encoder, protocol, out=parent / task)
    return parent


def test_a_fine_tuned_folder_detects_with_the_digest_calibration_and_abstention_of_a_classifier(folders, data):
    classifier = FineTunedClassifier.load(folders / "binary", "cpu")
    texts = [sample.text for sample in data.samples]
    prediction = classifier.predict(texts, data.codes)
    assert auroc(prediction.margins, ~data.human) > 0.9
    assert prediction.attribution is None
    assert prediction.outside.mean() < 0.1
    foreign = "SELECT a FROM b WHERE c ORDER BY d; " * 20
    assert classifier.predict([foreign], [code_of(foreign, "python")]).outside.all()
    units = [CodeUnit("a.py", text, "python") for text in texts[:6]] + [CodeUnit("long.py", "x = 1\n" * 99, "python")]
    scored = by_fine_tuned(units, [code_of(unit.text, "python") for unit in units], classifier)
    assert scored.detector == f"classifier {FineTunedClassifier.load(folders / 'binary', 'cpu').digest}"
    assert scored.detector != f"classifier {FineTunedClassifier.load(folders / 'multi', 'cpu').digest}"
    (words,) = scored.counts
    assert "longer than 32 tokens" in words[1]
    assert 1 <= scored.counts[words] <= len(units)
    transfer = measure_collections(data, lambda part: classifier.predict([s.text for s in part.samples], part.codes))
    assert transfer.mean_auroc > 0.9


def test_log_odds_against_people_are_those_of_the_calibrated_probabilities(folders, data):
    classifier = FineTunedClassifier.load(folders / "multi", "cpu")
    prediction = classifier.predict([sample.text for sample in data.samples[:8]], data.codes[:8])
    attribution = prediction.attribution
    assert attribution is not None
    assert set(attribution.classes) == {"human", "model-0", "model-1"}
    human = attribution.probabilities[:, attribution.classes.index("human")]
    np.testing.assert_allclose(prediction.probabilities, 1 - human, atol=1e-9)


def test_comments_are_removed_where_the_classifier_was_trained_without_them(folders):
    classifier = FineTunedClassifier.load(folders / "multi", "cpu")
    texts = ["x = 1\ny = 2\n", "# a remark\nx = 1\ny = 2  # another\n"]
    margins = classifier.predict(texts, [code_of(text, "python") for text in texts]).margins
    assert margins[0] == pytest.approx(margins[1], abs=1e-5)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("calibration.json", "{}", "expected a folder of `assay lab authorship fine-tune`"),
        ("calibration.json", '{"classes": ["a", "b"], "temperature": 0, "conformity": [[], []]}', "temperature"),
        ("calibration.json", '{"classes": ["a", "b"], "temperature": 1, "conformity": [[], []]}', "'human' among"),
        ("calibration.json", '{"classes": ["a", 1], "temperature": 1, "conformity": [[], []]}', "different names"),
        ("calibration.json", '{"classes": ["a", "b"], "temperature": 1, "conformity": [[], [2]]}', "probabilities"),
        ("calibration.json", '{"classes": ["a", "b"], "temperature": 1e-320, "conformity": [[], []]}', "temperature"),
        ("result.json", '{"context": -1, "comments": true}', "context -1"),
        ("result.json", '{"context": 1e999, "comments": true}', "infinity"),
        ("domain.safetensors", "x", "expected a folder of `assay lab authorship fine-tune`"),
        ("result.json", "[]", "expected a folder of `assay lab authorship fine-tune`"),
    ],
)
def test_a_damaged_folder_is_one_line(folders, tmp_path, file, content, message):
    shutil.copytree(folders / "binary", tmp_path / "c")
    (tmp_path / "c" / file).write_text(content)
    with pytest.raises(DataError, match=message) as ended:
        FineTunedClassifier.load(tmp_path / "c")
    assert "\n" not in str(ended.value)


def test_a_head_that_is_not_trained_is_refused(encoder):
    with pytest.raises(ModelError, match="no trained head for 3 classes"):
        load_sequence_classifier(encoder, ("a", "b", "c"), device="cpu")


def test_the_grid_is_searched_with_the_first_seed_and_every_seed_runs(encoder, data):
    result = fine_tune(data, encoder, Protocol(task="multi", rates=(1e-9, 3e-3), batches=(16,), seeds=(3, 4), epochs=1,
                                              context=32, device="cpu"))  # fmt: skip
    assert set(result.grid) == {(1e-9, 16), (3e-3, 16)}
    assert result.grid[result.chosen] == max(result.grid.values())
    assert [run.seed for run in result.runs] == [3, 4]
    report = describe_fine_tuning([result])
    assert report.tables[0].rows[-1].cells[0] == "overall"
    assert "±" in report.statement
    single = describe_fine_tuning([replace(result, runs=result.runs[:1])])
    assert "±" not in f"{single.statement} {single.tables[0]} {fine_tuning_card(replace(result, runs=result.runs[:1]))}"
    assert "One seed, so the spread" in single.tables[0].caption[0]


def test_the_weights_of_the_best_epoch_are_kept(encoder):
    settings = ClassifierSettings(rate=1e-3, batch=2, epochs=3, device="cpu")
    classifier = load_sequence_classifier(encoder, ("a", "b"), device="cpu", seed=0)
    rows, scores, seen = classifier.rows(["x = 1", "y = 2", "z"]), iter([0.1, 0.7, 0.7]), []

    def validate(current):
        seen.append(current.logits(rows))
        return next(scores)

    course = fine_tune_classifier(classifier, rows, np.array([0, 1, 0]), validate, settings, seed=1)
    assert course.best_epoch == 2
    np.testing.assert_array_equal(classifier.logits(rows), seen[1])


def test_padding_changes_no_logit(encoder):
    classifier = load_sequence_classifier(encoder, ("a", "b"), device="cpu", seed=0)
    rows = classifier.rows(["x", "def f(a, b):\n    return a + b\n", ""])
    together = classifier.logits(rows)
    alone = np.vstack([classifier.logits([row]) for row in rows])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_a_causal_model_gets_a_head(data):
    classifier = load_sequence_classifier("builtin:small", ("a", "b", "c"), context=16, device="cpu", seed=0)
    assert classifier.logits(classifier.rows(["x = 1", "y"])).shape == (2, 3)


def test_no_group_is_in_two_parts_unless_the_split_is_that_of_the_paper(data):
    groups = np.array(data.groups, object)
    parts = data.parted(PARTS)
    assert sum(map(len, parts.values())) == len(data)
    assert not set(groups[parts["train"]]) & set(groups[parts["test"]])
    naive = data.parted(PARTS, by_group=False)
    assert set(groups[naive["train"]]) & set(groups[naive["test"]])


def test_a_left_out_collection_is_the_test_part_and_an_unknown_one_is_named(encoder, data):
    protocol = Protocol(
        task="binary", rates=(3e-3,), batches=(16,), seeds=(0,), epochs=1, context=16, device="cpu",
        leave_out="collection=collection 1",
    )  # fmt: skip
    assert fine_tune(data, encoder, protocol).sizes["test"] == 80
    with pytest.raises(DataError, match="collection 0"):
        fine_tune(data, encoder, Protocol(leave_out="collection=absent"))


def test_a_text_unlike_its_class_is_of_an_unknown_generator():
    generator = np.random.default_rng(0)
    truth = np.repeat([0, 1], 100)
    logits = np.where(truth[:, None] == [0, 1], 4.0, 0.0) + generator.normal(size=(200, 2))
    calibration = OpenSet.restored(calibrated_open_set(("a", "b"), logits, truth).content())
    answers = calibration.attribute(np.array([[4.0, 0.0], [0.1, 0.0]])).answers
    assert answers == ("a", UNKNOWN)
