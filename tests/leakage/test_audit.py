"""An audit says what the truth of a model with exact probabilities lets it say, and no more."""

import json
import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from assay import leakage
from assay.errors import AssayError, DataError
from assay.leakage import ComparisonData, DecisionSettings, UnseenScores
from assay.leakage.texts import without
from assay.scores import requests
from assay.scoring import plan
from assay.types import Sample, Undecided
from support.table_model import TableModel

FEW_RESAMPLES = DecisionSettings(resamples=100)
audit = partial(leakage.audit, decision=FEW_RESAMPLES)
WORDS = [f"w{i}" for i in range(300)]


def text(seed, words=30):
    """Random words: members and nonmembers of the same kind."""
    return " ".join(random.Random(f"text {seed}").choices(WORDS, k=words))


def samples(first, count, label=None, dose=None):
    metadata = {} if dose is None else {"dose": dose}
    return [
        Sample(f"s{i}", text(i), label=label, group=f"g{i // 2}", metadata=metadata)
        for i in range(first, first + count)
    ]


SEEN = samples(0, 60, "member", 1)
UNSEEN = samples(100, 60, "nonmember", 0)
FRESH = samples(200, 120)
WITH_FRESH = ComparisonData(unseen=FRESH, unseen_source="other words")


@pytest.fixture(scope="module")
def todo():
    model = TableModel.trained([*(sample.text for sample in SEEN), *WORDS], order=3)
    return plan(requests("loss,min_k,mid_pit,lrr"), {"target": model})


@pytest.fixture(scope="module")
def labelled(todo):
    return audit([*SEEN, *UNSEEN], todo, benchmark="words", comparison=WITH_FRESH)


def test_a_model_that_memorised_is_found_out(labelled):
    assert labelled.summary("loss").ranking.auroc.low > 0.8


def test_the_primary_score_is_declared_not_chosen_by_result(labelled, todo):
    assert labelled.primary == "mid_pit"
    assert audit(SEEN, todo, benchmark="words", decision=replace(FEW_RESAMPLES, primary="lrr")).primary == "lrr"


def test_calibrated_decisions_find_members_and_spare_the_rest(labelled):
    found = labelled.summary("loss").calibration
    assert found.true_positives.rate.value > 0.9
    assert found.false_positives.rate.low <= 0.05
    assert found.unseen == 120
    assert found.by_dose[1] == found.true_positives
    assert found.by_dose[0] == found.false_positives


def test_the_threshold_is_where_p_crosses_alpha(labelled):
    for summary in labelled.summaries:
        values, found = labelled.values[summary.score], summary.calibration
        assert np.array_equal(values >= found.threshold, found.p_values <= found.alpha)


def test_doses_are_held_against_never_seen(labelled):
    (point,) = labelled.summary("loss").doses
    assert point.dose == 1
    assert point.auroc.value == pytest.approx(labelled.summary("loss").ranking.auroc.value)


def test_words_drawn_alike_are_not_told_apart_blindly(labelled):
    assert labelled.blind_compares == "members and non-members"
    assert not labelled.blind.separates


def test_classes_that_differ_in_their_words_are_called_confounded(todo):
    marked = [Sample(s.id, f"{s.text} copyright", label=s.label, group=s.group) for s in SEEN]
    assert audit([*marked, *UNSEEN], todo, benchmark="words").blind.separates


def test_without_labels_the_baseline_compares_benchmark_and_unseen_text(todo):
    bare = [Sample(s.id, f"{s.text} copyright", group=s.group) for s in SEEN]
    found = audit(bare, todo, benchmark="words", comparison=WITH_FRESH)
    assert found.blind_compares == "this benchmark and the unseen text"
    assert found.blind.separates


def test_without_labels_the_benchmark_is_tested_by_every_score_that_may_carry_a_verdict(todo):
    bare = [Sample(s.id, s.text, group=s.group) for s in SEEN]
    found = audit(bare, todo, benchmark="words", comparison=WITH_FRESH)
    tests = {summary.score: summary.test for summary in found.summaries if summary.test is not None}
    assert set(tests) >= {found.primary}
    assert "loss" not in tests
    assert (tests[found.primary].share.samples, tests[found.primary].share.unseen) == (len(SEEN), len(FRESH))
    raw = audit(bare, todo, benchmark="words", comparison=WITH_FRESH, decision=replace(FEW_RESAMPLES, primary="loss"))
    assert raw.test is not None
    assert raw.decision.reason is Undecided.UNFIT_SCORE


def test_labels_decide_where_there_are_any(labelled):
    assert all(summary.test is None for summary in labelled.summaries)
    assert "ranks above" in labelled.decision.explanation


def test_without_labels_and_unseen_text_there_are_distributions_only(todo):
    found = audit(FRESH, todo, benchmark="words")
    (summary, *_) = found.summaries
    assert (summary.ranking, summary.calibration, summary.doses, found.blind) == (None, None, (), None)
    assert summary.distribution.mean == pytest.approx(found.values["loss"].mean())


def test_an_unscorable_sample_keeps_its_row_and_leaves_the_ranking(todo):
    found = audit([*SEEN, *UNSEEN, Sample("empty", "", label="member")], todo, benchmark="words")
    summary = found.summary("loss")
    assert (summary.scored, summary.total) == (120, 121)
    assert summary.unscorable == {"fewer than 2 tokens": 1}
    assert summary.ranking.unscorable_positives == 1
    assert found.reasons["loss"][-1] == "fewer than 2 tokens"


def test_samples_without_a_label_are_scored_but_not_ranked(todo):
    found = audit([*SEEN, *UNSEEN, *FRESH], todo, benchmark="words")
    assert found.summary("loss").ranking.positives == 60
    assert found.summary("loss").scored == 240


def test_unseen_text_that_stands_in_the_benchmark_calibrates_nothing(todo):
    found = audit(SEEN, todo, benchmark="words", comparison=ComparisonData(unseen=[*SEEN[:10], *FRESH]))
    assert found.summary("loss").calibration.unseen == 120
    assert any("10 of 130 unseen texts" in note for note in found.notes)
    with pytest.raises(DataError, match="all 60 unseen texts are in the audited benchmark"):
        audit(SEEN, todo, benchmark="words", comparison=ComparisonData(unseen=SEEN))


@pytest.mark.parametrize("change", [str.upper, lambda t: t.replace("\n", "\r\n"), lambda t: f"{t}# a comment\n"])
def test_unseen_text_that_is_nearly_in_the_benchmark_is_left_out(change):
    text = "def add_all(values):\n    total = 0\n    for value in values:\n        total += value\n    return total\n"
    other = "class Area:\n    def of(self, width, height):\n        return width * height\n"
    audited = [Sample("a", change(text)), Sample("b", "x = 1")]
    unseen = [Sample("u", change(text) + "\n"), Sample("v", other), Sample("w", change(change(text)))]
    kept, notes = without(unseen, audited)
    assert [sample.id for sample in kept] == ["v"]
    assert notes == ("2 of 3 unseen texts are in the benchmark too and were left out.",)


def test_a_small_calibration_set_is_warned_of_and_a_tiny_one_refused(todo):
    found = audit(SEEN, todo, benchmark="words", comparison=ComparisonData(unseen=FRESH[:50]))
    assert any("50 unseen samples" in note for note in found.notes)
    with pytest.raises(AssayError, match="19"):
        audit(SEEN, todo, benchmark="words", comparison=ComparisonData(unseen=FRESH[:19]))


def test_an_empty_benchmark_is_refused(todo):
    with pytest.raises(DataError, match="no samples"):
        audit([], todo, benchmark="words")


def test_the_heat_map_has_the_audited_samples_and_no_calibration_text(labelled):
    assert {tokens.sample_id for tokens in labelled.tokens} == {s.id for s in [*SEEN, *UNSEEN]}


def test_the_heat_map_shows_the_highest_values_first(labelled):
    order = [s.id for s in labelled.samples]
    shown = [labelled.values["mid_pit"][order.index(tokens.sample_id)] for tokens in labelled.tokens]
    assert shown == sorted(shown, reverse=True)


class TestCalibrationFile:
    def test_gives_the_same_decisions_as_the_text_it_was_made_from(self, todo, tmp_path):
        UnseenScores.measure(tuple(FRESH), todo, source="other words").save(tmp_path / "fresh.json")
        known = UnseenScores.load(tmp_path / "fresh.json")
        known.check(todo, tmp_path / "fresh.json")
        from_file = audit(SEEN, todo, benchmark="words", comparison=ComparisonData(calibration=known))
        from_text = audit(SEEN, todo, benchmark="words", comparison=WITH_FRESH)
        for name in from_file.values:
            p_values = from_file.summary(name).calibration.p_values
            assert np.array_equal(p_values, from_text.summary(name).calibration.p_values, equal_nan=True)
        assert from_file.decision.verdict is from_text.decision.verdict
        assert from_file.blind.kind in ("hashed words", "lexical shape")
        assert not any("earlier version" in note for note in from_file.notes)

    def test_of_an_earlier_version_shows_nothing_of_its_texts_and_permits_no_verdict(self, todo, tmp_path):
        measured = UnseenScores.measure(tuple(FRESH), todo, source="other words")
        measured.save(tmp_path / "fresh.json")
        content = json.loads((tmp_path / "fresh.json").read_text())
        del content["groups"], content["blind_features"]
        (tmp_path / "fresh.json").write_text(json.dumps(content | {"format": "assay calibration 1"}))
        old = UnseenScores.load(tmp_path / "fresh.json")
        audited = audit(SEEN, todo, benchmark="words", comparison=ComparisonData(calibration=old))
        assert (old.features, old.groups) == (None, None)
        assert any("run `assay calibrate` again" in note for note in audited.notes)
        assert audited.summary("mid_pit").decision.reason is Undecided.NOT_MEASURED

    def test_holds_no_text(self, todo, tmp_path):
        UnseenScores.measure(tuple(FRESH), todo, source="other words").save(tmp_path / "fresh.json")
        written = (tmp_path / "fresh.json").read_text()
        assert not [word for sample in FRESH for word in sample.text.split() if word in written]

    def test_keeps_the_groups_of_its_texts(self, todo, tmp_path):
        grouped = tuple(replace(sample, group=f"package {i % 12}") for i, sample in enumerate(FRESH))
        UnseenScores.measure(grouped, todo, source="other words").save(tmp_path / "fresh.json")
        stored = UnseenScores.load(tmp_path / "fresh.json")
        audited = audit(SEEN, todo, benchmark="words", comparison=ComparisonData(calibration=stored))
        assert audited.summary("mid_pit").calibration.unseen_groups == 12
        assert not any("of the calibration file have no groups" in note for note in audited.notes)

    def test_of_another_model_is_refused(self, todo, tmp_path):
        known = UnseenScores.measure(tuple(FRESH), todo, source="other words")
        other = plan(todo.requests, {"target": TableModel.uniform(300)})
        with pytest.raises(DataError, match="expected uniform"):
            known.check(other, tmp_path)

    def test_that_lacks_a_score_is_refused(self, todo, tmp_path):
        known = UnseenScores.measure(tuple(FRESH), todo, source="other words")
        with pytest.raises(DataError, match="has no zlib"):
            known.check(plan(requests("loss,zlib"), todo.models), tmp_path)

    @pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "other", "values": {}}', "\x00"])
    def test_that_is_none_gets_one_clear_line(self, tmp_path, content):
        (tmp_path / "file").write_text(content)
        with pytest.raises(DataError, match=r"calibration|format") as caught:
            UnseenScores.load(tmp_path / "file")
        assert "\n" not in str(caught.value)

    def test_keeps_unscorable_texts_as_such(self, todo, tmp_path):
        UnseenScores.measure((*FRESH, Sample("e", "")), todo, source="s").save(tmp_path / "f")
        assert np.isnan(UnseenScores.load(tmp_path / "f").values["loss"][-1])
        assert "NaN" not in json.dumps(json.loads((tmp_path / "f").read_text()))


def test_labels_of_one_class_are_told_and_give_no_ranking(todo):
    found = audit(SEEN, todo, benchmark="words")
    assert found.summary("loss").ranking is None
    assert "All 60 labelled samples are members; AUROC and TPR need both classes." in found.notes


FUNCTION = """\
def total_of(numbers, start=0):
    total = start
    for one in numbers:
        total += one
    return total
"""


def test_the_papers_own_rule_stands_beside_what_it_calls_leaked_where_nothing_leaked():
    seen = [Sample(f"s{i}", FUNCTION.replace("total", f"total{i}"), label="member") for i in range(20)]
    other = [Sample(f"o{i}", FUNCTION.replace("numbers", f"number{i}"), label="nonmember") for i in range(20)]
    fresh = [Sample(f"f{i}", FUNCTION.replace("start", f"start{i}")) for i in range(20)]
    model = TableModel.trained([sample.text for sample in seen], order=3)
    todo = plan(requests("sr_gray:n=4"), {"target": model})
    (note,) = [
        note
        for note in audit([*seen, *other], todo, benchmark="b", comparison=ComparisonData(unseen=fresh)).notes
        if "rule" in note
    ]
    assert "of 20 members" in note
    assert "of 20 non-members" in note
    assert "of 20 unseen texts" in note
    assert "it would be 20 %" in note
    assert "depends on the model and on the names of the variants" in note
    (note,) = [note for note in audit(fresh, todo, benchmark="b").notes if "rule" in note]
    assert "of 20 samples" in note
    assert "measure that with --unseen" in note
