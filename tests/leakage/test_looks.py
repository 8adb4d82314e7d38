"""Looks at a part of an audit: together they have the level of one test, and a clear answer ends the audit."""

import random
from dataclasses import replace

import pytest

from assay.leakage import ComparisonData, DecisionSettings, in_turn, looks_at
from assay.leakage.auditing import audit_until_clear
from assay.leakage.inputs import AuditInputs, AuditLabels
from assay.models import StatisticsCache, cached_scorer
from assay.scores import requests
from assay.scoring import plan
from assay.types import Sample, Verdict
from support.table_model import TableModel

WORDS = [f"w{at}" for at in range(300)]


def text(seed: int) -> str:
    return " ".join(random.Random(f"text {seed}").choices(WORDS, k=30))


@pytest.mark.parametrize(
    ("count", "parts"), [(39, []), (50, []), (60, [40]), (164, [40, 80]), (500, [40, 80, 160, 320])]
)
def test_looks_double_and_their_levels_add_up(count, parts):
    *first, last = looks_at(count, 0.05)
    assert [look.texts for look in first] == parts
    assert last.texts == count
    assert sum(look.level for look in (*first, last)) == pytest.approx(0.05)


def test_each_part_has_as_many_groups_as_it_can():
    groups = [*"aaaaaabbbbcc", *"defg"]
    order = in_turn(groups, seed=1)
    assert sorted(order) == list(range(16))
    assert {groups[place] for place in order[:7]} == set("abcdefg")
    assert {groups[place] for place in order[7:10]} == set("abc")
    assert order != in_turn(groups, seed=2)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """An audit of 120 texts that the model was trained on, against 120 that it was not, of the same form."""

    def samples(first: int) -> tuple[Sample, ...]:
        return tuple(Sample(f"s{at}", text(at), group=f"g{at // 2}") for at in range(first, first + 120))

    model = TableModel.trained([*(sample.text for sample in samples(0)), *WORDS], order=3)
    cached = cached_scorer(model, StatisticsCache(tmp_path_factory.mktemp("cache") / "statistics.sqlite"))
    return AuditInputs(
        samples=samples(0),
        plan=plan(requests("mid_pit"), {"target": cached}),
        benchmark="words",
        comparison=ComparisonData(unseen=samples(200), unseen_source="other words", same_form=True),
        decision=DecisionSettings(resamples=100),
        labels=AuditLabels(),
    )


def test_a_clear_answer_ends_an_audit_and_the_rest_is_scored_on_request(inputs):
    early, whole = (
        audit_until_clear(inputs),
        audit_until_clear(replace(inputs, decision=replace(inputs.decision, whole=True))),
    )
    assert early.decision.verdict is whole.decision.verdict is Verdict.CONTAMINATED
    assert (len(early.samples), early.left_out, len(whole.samples), whole.left_out) == (40, 80, 120, 0)
    assert "--whole" in early.notes[0]
    assert early.deciding.level < 0.01


def test_a_clean_benchmark_is_scored_whole(inputs):
    fresh = tuple(replace(sample, text=text(int(sample.id[1:]) + 500)) for sample in inputs.samples)
    result = audit_until_clear(replace(inputs, samples=fresh))
    assert result.decision.verdict not in (Verdict.CONTAMINATED, Verdict.FAMILIAR)
    assert (len(result.samples), result.left_out) == (120, 0)


def test_progress_is_that_of_all_looks_and_begins_with_what_the_cache_lacks(inputs):
    """Each look has the texts of those before it, and a run that goes on has those of the first run."""
    fresh = tuple(replace(sample, text=text(int(sample.id[1:]) + 900)) for sample in inputs.samples)
    model = inputs.plan.models["target"]
    list(model.completed([sample.text for sample in fresh[:30]]))
    texts = [sample.text for sample in (*fresh, *inputs.comparison.unseen)]
    missing = len(model.missing(texts))
    reports = []
    audit_until_clear(replace(inputs, samples=fresh, progress=lambda *report: reports.append(report)))
    done = [report[0] for report in reports]
    assert 90 <= missing < len(texts)
    assert {total for _, total in reports} == {missing}
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, missing)
    reports.clear()
    audit_until_clear(replace(inputs, samples=fresh, progress=lambda *report: reports.append(report)))
    assert reports[-1] == (len(texts), len(texts))  # nothing is left to run: the parts are reported as they are
