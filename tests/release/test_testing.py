"""Tests of models: exact, logged, and careful with what they say and send."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from assay.errors import DataError, MissingCapability
from assay.models import StatisticsCache, cached_scorer
from assay.release import evidence_of_release, read_secret, rotate
from assay.release import test as run_test
from assay.release.secret_file import write_secret
from release.conftest import FakeModel, published_texts


def words_of(result) -> str:
    report = result.describe()
    return " ".join((*report.first_lines, *report.notes))


@pytest.mark.slow
def test_a_model_that_knows_nothing_is_not_accused(secret_path):
    p_values = [run_test(FakeModel(salt=str(turn)), secret_path).versions[0].names.p_value for turn in range(60)]
    assert int((np.array(p_values) <= 0.05).sum()) <= binom.ppf(0.999, 60, 0.05)


def test_a_model_that_saw_the_publication_is_found(secret, secret_path):
    result = run_test(FakeModel(published_texts(secret)), secret_path)
    assert result.strongest.names.p_value < 1e-5
    assert result.strongest.first == result.tasks == 10
    assert result.strongest.memorised >= 7
    words = words_of(result)
    assert "in the training data" in words
    assert "if the publisher drew honestly" in words
    assert "distillation" in words


def test_not_rejecting_is_never_called_evidence(secret_path):
    result = run_test(FakeModel(), secret_path)
    words = words_of(result)
    assert "no evidence that the model has not seen it" in words
    assert "training data" not in words
    assert "clean" not in words.lower()


def test_the_copies_are_asked_in_an_order_that_ignores_the_lot(secret, secret_path):
    seen = set(published_texts(secret))
    model = FakeModel()
    run_test(model, secret_path)
    (asked,) = model.asked
    places = [place for place, text in enumerate(asked) if text in seen]
    assert len(places) == 10
    assert asked != sorted(asked)
    again = FakeModel()
    run_test(again, secret_path)
    assert again.asked == model.asked


def test_a_parent_is_taken_off(secret, secret_path, monkeypatch):
    noise = FakeModel(gain=0.0)
    noise.digest = "older"
    noise.value = lambda text: 100 * FakeModel.value(noise, text)
    child = FakeModel(published_texts(secret), gain=8.0)
    child.value = lambda text: noise.value(text) + FakeModel.value(child, text)
    monkeypatch.setattr("assay.release.testing.open_model", lambda *_: noise)
    assert run_test(child, secret_path).versions[0].names.p_value > 1e-4
    result = run_test(child, secret_path, parent=("older",))
    assert result.versions[0].names.p_value < 1e-5
    assert "parent or child" in words_of(result)
    noise.digest = child.digest
    with pytest.raises(DataError, match="--parent older is the tested model itself"):
        run_test("by name", secret_path, parent=("older",))


@pytest.mark.usefixtures("sandbox")  # without one there is no lot of the content
def test_every_test_is_logged_and_p_is_adjusted(secret, secret_path):
    first = run_test(FakeModel(salt="a"), secret_path)
    seen = run_test(FakeModel(published_texts(secret), gain=0.3), secret_path)
    assert first.logged == 2  # names and content
    assert seen.logged == 4
    best = seen.strongest
    assert best.adjusted == pytest.approx(min(1.0, 4 * best.names.p_value)) or best.adjusted >= best.names.p_value
    assert len(read_secret(secret_path).tests) == 4
    placebo = run_test(FakeModel(salt="old"), secret_path, placebo=True)
    assert placebo.placebos
    assert "lacebo" in placebo.describe().headline
    assert run_test(FakeModel(salt="b"), secret_path).logged == 6  # placebos do not count


def test_each_test_prints_what_to_publish_of_the_log(secret_path, capsys):
    result = run_test(FakeModel(), secret_path)
    log = read_secret(secret_path).log_state
    assert result.log == log
    words = f"Entries in the log: {log.entries}, the last with digest {log.digest}."
    assert words in words_of(result)
    evidence_of_release(FakeModel(), secret_path)
    log = read_secret(secret_path).log_state
    printed = " ".join(capsys.readouterr().err.split())
    assert f"Entries in the log: {log.entries}, the last with digest {log.digest}." in printed


def test_a_log_whose_last_test_was_removed_is_not_full(secret, secret_path):
    run_test(FakeModel(), secret_path)
    value = read_secret(secret_path)
    write_secret(secret_path, replace(value, tests=value.tests[:-1]))
    for _ in range(2):
        result = run_test(FakeModel(published_texts(secret)), secret_path)
        assert result.strongest.adjusted is None
        assert "unadjusted" in words_of(result)


def test_without_a_full_log_p_is_called_unadjusted(secret, secret_path):
    run_test(FakeModel(), secret_path)
    text = secret_path.read_text()
    start = text.index('"tests": [')
    secret_path.write_text(text.replace('"model": "fake"', '"model": "fame"', 1) if start else text)
    result = run_test(FakeModel(published_texts(secret)), secret_path)
    assert result.strongest.adjusted is None
    words = words_of(result)
    assert "unadjusted" in words
    assert "was in the training data" not in words


@pytest.mark.slow
def test_single_tasks_are_named(secret, secret_path):
    known = published_texts(secret)[:4]
    result = run_test(FakeModel(known, gain=2.0), secret_path, tasks=True)
    names = {task.id for task in result.named}
    assert names >= {f"HumanEval/{number}" for number in range(4)}
    assert len(names) <= 7  # the key is drawn anew, and a false name among the others is allowed for
    assert len(result.single) == 10
    smallest = min(task.p_value for task in result.single)
    assert 1 / 1001 <= smallest < 0.002


def test_the_audit_gets_evidence(secret, secret_path):
    found = evidence_of_release(FakeModel(published_texts(secret), gain=2.0), secret_path)
    assert found.p_value < 1e-5
    assert found.adjusted_p_value is not None
    assert len(found.named) == 10
    assert found.memorised >= 7
    assert (found.valid, found.has_beacon) == (True, False)


@pytest.mark.slow
def test_an_audit_that_is_continued_logs_its_test_once(secret, secret_path, tmp_path):
    model, kept = FakeModel(published_texts(secret), gain=2.0), tmp_path / "state" / "release.json"
    first = evidence_of_release(model, secret_path, kept=kept)
    logged = len(read_secret(secret_path).tests)
    assert evidence_of_release(model, secret_path, kept=kept) == first
    assert len(read_secret(secret_path).tests) == logged > 0
    evidence_of_release(model, secret_path)
    assert len(read_secret(secret_path).tests) == 2 * logged


def test_a_leak_is_dated_by_its_version(secret, secret_path, tmp_path):
    rotate(secret_path, tmp_path / "two.jsonl")
    later = read_secret(secret_path)
    for number, other in ((1, 2), (2, 1)):
        result = run_test(FakeModel(published_texts(later, number)), secret_path)
        by_number = {version.number: version for version in result.versions}
        assert by_number[number].names.p_value < 1e-4
        assert by_number[other].names.p_value > 1e-3
        assert result.strongest.number == number


def test_a_server_is_sent_nothing_secret_without_spend(secret_path, monkeypatch):
    def fail(*_):
        raise AssertionError("a model was opened")

    monkeypatch.setattr("assay.release.testing.open_model", fail)
    with pytest.raises(DataError, match=r"gets secret copies of 10 tasks, .* expected --spend"):
        run_test("openai:m@http://localhost:1/v1", secret_path)
    with pytest.raises(DataError, match="expected --spend"):  # a parent is sent the copies too
        run_test(FakeModel(), secret_path, parent=("openai:m@http://localhost:1/v1",))
    with pytest.raises(DataError, match="expected a model on this machine"):
        run_test("openai:m@http://localhost:1/v1", secret_path, tasks=True, spend=True)
    assert read_secret(secret_path).spent == ()
    assert read_secret(secret_path).tests == ()


def test_what_is_sent_is_spent_before_it_is_sent_and_fresh_the_next_time(secret, secret_path, monkeypatch):
    models = [FakeModel(), FakeModel()]
    opened = iter(models)
    monkeypatch.setattr("assay.release.testing.open_model", lambda *_: next(opened))
    verified = {secret.scored(task, index, 0) for task in secret.committed.tasks for index in range(10)}
    for _ in models:
        result = run_test("openai:m@http://localhost:1/v1", secret_path, spend=True)
    assert [entry.tranche for entry in read_secret(secret_path).spent] == [1, 2]
    assert "tranche 2 is spent" in words_of(result)
    public = set(published_texts(secret))
    sent = [set(model.asked[0]) - public for model in models]
    assert not sent[0] & sent[1]
    assert not (sent[0] | sent[1]) & (verified - public)
    monkeypatch.setattr("assay.release.testing.open_model", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_test("openai:m@http://localhost:1/v1", secret_path, spend=True)
    assert len(read_secret(secret_path).spent) == 3  # an interrupted test has spent its copies too


def test_a_model_without_probabilities_is_one_line(secret_path):
    class Writer:
        name = "writer"

        def generate(self, prompts, **_):
            return iter(prompts)

    with pytest.raises(MissingCapability, match="only generates text"):
        run_test(Writer(), secret_path)


def test_a_text_that_the_model_rejects_takes_its_task_out_whatever_the_lot(secret, secret_path):
    task = secret.committed.tasks[0]
    long = secret.scored(task, secret.set_of(task, 1)[0], secret.content_lot(task.cluster, 1))

    class Short(FakeModel):
        def completed(self, texts):
            from assay.types import Rejected

            for batch in super().completed(texts):
                yield [(i, Rejected("too long") if texts[i] == long else reply) for i, reply in batch]

    result = run_test(Short(), secret_path)
    assert result.tasks == 9
    assert result.refused == 1


@pytest.mark.parametrize("value", [float("nan"), -float("inf")])
def test_a_model_without_a_number_for_published_copies_names_no_task(secret, secret_path, value):
    model, public = FakeModel(), set(published_texts(secret)[:5])
    model.value = lambda text: value if text in public else FakeModel.value(model, text)
    result = run_test(model, secret_path, tasks=True)
    assert (result.tasks, result.refused, len(result.single)) == (5, 5, 5)
    model.value = lambda _: value
    with pytest.raises(DataError, match="0 of 10 tasks could be scored"):
        run_test(model, secret_path)


def test_a_version_that_was_changed_after_its_publication_is_no_test(secret, secret_path):
    changed = replace(secret, versions=(replace(secret.versions[0], beacon="later"),))
    write_secret(secret_path, changed)
    with pytest.raises(DataError, match="version 1 was changed, expected it as it was published"):
        run_test(FakeModel(), secret_path)


def test_an_audit_leaves_no_secret_copy_in_its_cache(secret_path, tmp_path):
    with StatisticsCache(tmp_path / "cache.sqlite") as cache:
        evidence_of_release(cached_scorer(FakeModel(), cache), secret_path)
        assert cache.info().entries == 0


def test_a_killed_test_goes_on_and_counts_once(secret_path, monkeypatch, capsys):
    class Stopped(FakeModel):
        def completed(self, texts):
            for number, batch in enumerate(super().completed(texts)):
                if number == 30:
                    raise KeyboardInterrupt
                yield batch

    kept = secret_path.with_name(".secret.json.scores")
    monkeypatch.setattr("assay.release.testing.open_model", lambda *_: Stopped())
    with pytest.raises(KeyboardInterrupt):
        run_test("path/to/model", secret_path)
    assert kept.stat().st_mode & 0o777 == 0o700
    assert not read_secret(secret_path).tests
    whole, rest = FakeModel(), FakeModel()
    alone = run_test(whole, secret_path)
    monkeypatch.setattr("assay.release.testing.open_model", lambda *_: rest)
    note = "an earlier test was cut short: what it computed is not computed again"
    assert note not in " ".join(capsys.readouterr().err.split())
    again = run_test("path/to/model", secret_path)
    assert note in " ".join(capsys.readouterr().err.split())
    assert len(rest.asked[0]) == len(whole.asked[0]) - 30
    assert again.strongest.names == alone.strongest.names
    assert again.logged == 2 * alone.logged
    assert not kept.exists()


def test_scores_of_a_test_are_not_written_through_a_link(secret_path, monkeypatch, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    secret_path.with_name(".secret.json.scores").symlink_to(elsewhere)
    monkeypatch.setattr("assay.release.testing.open_model", lambda *_: FakeModel())
    with pytest.raises(DataError, match=r"scores is a link; expected a folder of this test, or nothing"):
        run_test("path/to/model", secret_path)
    assert not list(elsewhere.iterdir())
