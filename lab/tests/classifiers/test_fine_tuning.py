"""Fine-tuned classifiers learn the classes, keep the best epoch, and are tested on groups they did not train on."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from assay.errors import DataError, ModelError
from assay_lab.classifiers.fine_tuning import PARTS, fine_tune, fine_tuning_data
from assay_lab.classifiers.fine_tuning_report import describe_fine_tuning, fine_tuning_card
from assay_lab.classifiers.sequence_training import ClassifierSettings, fine_tune_classifier
from assay_lab.classifiers.sequences import load_sequence_classifier
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_test_part_of_one_class_is_refused_before_anything_is_trained(encoder):
    data = labelled(40, 2)
    people = np.flatnonzero(data.human)
    kept = np.concatenate([people, np.flatnonzero(~data.human)[:1]])
    with pytest.raises(DataError, match=r"all of the class human; macro F1 and accuracy need two of the classes"):
        fine_tune(data.take(kept), encoder, replace(QUICK, split="paper"))


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
