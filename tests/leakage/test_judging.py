"""The verdict on a whole benchmark: what it rests on, what stands in its way, and what is stored."""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.errors import DataError, MissingCapability
from assay.evaluation import TOP, BlindBaseline, ContaminatedShare, Estimate, MeanGradient, flag_rate, rank_score
from assay.leakage import (
    JudgingSettings,
    MeasuredModel,
    NegativeControl,
    describe_judgement,
    describe_judgements,
    describe_statement,
    judge_benchmark,
    judging_cost,
    judging_preview,
    read_judgement,
    statement_schema,
    write_judgement,
)
from assay.leakage.dataset_level.judging import MARGIN, Compared, VerdictEvidence, verdict_on
from assay.leakage.dataset_level.results import BOUND_AT, TIMES_SEEN, GradientGate
from assay.leakage.dataset_level.statement import statement_data
from assay.models import TableModel
from assay.reports import Missing, render_html, render_latex, render_markdown
from assay.scores import dataset_requests
from assay.types import Sample, Undecided, Verdict

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")


def texts(seed: int, count: int, prefix: str) -> tuple[Sample, ...]:
    random = np.random.default_rng(seed)
    return tuple(
        Sample(f"{prefix}{i}", " ".join(random.choice(WORDS, 12)), group=f"{prefix}{i // 2}") for i in range(count)
    )


BENCHMARK, UNSEEN = texts(1, 60, "b"), texts(2, 80, "u")
OTHER = [" ".join(np.random.default_rng(3).choice(WORDS, 200))]
SETTINGS = JudgingSettings(score="mid_pit", requests=dataset_requests("permutation_test,mean:loss,codec"))


def judged(trained_on, **options):
    model = TableModel.trained([*OTHER, *trained_on], order=6, smoothing=0.5)
    return judge_benchmark(MeasuredModel(model, BENCHMARK, UNSEEN), SETTINGS, benchmark="words", **options)


@pytest.fixture(scope="module")
def seen():
    return judged([sample.text for sample in BENCHMARK] * 4)


@pytest.fixture(scope="module")
def clean():
    return judged([])


def test_a_benchmark_that_the_model_was_trained_on_is_contaminated(seen):
    assert seen.decision.verdict is Verdict.CONTAMINATED
    assert seen.share.estimate.low > 0.3
    assert seen.p_value < 0.01
    assert {result.name: result.score.called for result in seen.methods}["permutation_test"] is True


def test_a_benchmark_that_it_never_saw_is_not(clean):
    assert clean.decision.verdict is not Verdict.CONTAMINATED
    assert clean.share.estimate.value < 0.4
    assert clean.p_value > 0.05


def test_the_test_behind_the_verdict_and_the_method_of_that_name_have_one_p_value(clean):
    single = [tuple(replace(sample, group=None) for sample in side) for side in (BENCHMARK, UNSEEN)]
    model = MeasuredModel(TableModel.trained(OTHER, order=4, smoothing=0.5), *single)
    for result in (clean, judge_benchmark(model, SETTINGS, benchmark="words")):
        (method,) = (each for each in result.methods if each.name == "permutation_test")
        assert method.score.p_value == result.p_value
        rows = describe_judgement(result).tables[1].rows
        assert [row.cells[2] for row in rows if row.cells[0] == "permutation test by group"] == [
            "mid_pit; the same test as permutation_test above"
        ]


def test_before_the_run_cost_and_power_are_stated():
    model = MeasuredModel(TableModel.trained(OTHER), BENCHMARK, UNSEEN)
    expected = judging_preview(model, SETTINGS)
    assert expected.cost.texts == 60 * 3 + 80 * 3
    assert list(expected.detectable) == [1, 2, 4, 8]
    assert expected.detectable[1] > expected.detectable[8] > 0
    assert judging_preview(MeasuredModel(TableModel.trained(OTHER), BENCHMARK), SETTINGS).detectable == {}


def test_the_cost_is_known_before_the_unseen_text_is_scored():
    scored = []
    model = MeasuredModel(
        TableModel.trained(OTHER), BENCHMARK, UNSEEN, progress=lambda done, total: scored.append((done, total))
    )
    cost = judging_cost(model, SETTINGS)
    assert scored == []
    assert judging_preview(model, SETTINGS, cost).cost is cost
    assert scored[-1] == (80, 80)


def test_statistics_of_other_texts_are_reported_as_progress():
    seen = []
    model = MeasuredModel(TableModel.trained(OTHER), BENCHMARK, progress=lambda done, total: seen.append((done, total)))
    assert len(list(model.statistics(["a = 1\n", "b = 2\n"]))) == 2
    assert seen == [(1, 2), (2, 2)]


def test_a_model_without_weights_is_refused_before_anything_runs():
    model = MeasuredModel(TableModel.trained(OTHER), BENCHMARK, UNSEEN)
    with pytest.raises(MissingCapability, match="neither hidden states nor weights"):
        judging_preview(model, replace(SETTINGS, requests=dataset_requests("kds")))


def test_a_single_sample_is_no_data_set():
    with pytest.raises(DataError, match="1 samples"):
        judge_benchmark(MeasuredModel(TableModel.trained(OTHER), BENCHMARK[:1]), SETTINGS, benchmark="one")


def evidence(p_value=0.5, value=0.0, upper=MARGIN / 2, **changes) -> VerdictEvidence:
    random = np.random.default_rng(0)
    truths = np.arange(80) < 40
    ranking = rank_score("bag", random.normal(size=80), truths, [None] * 80, resamples=50)
    top = TIMES_SEEN[BOUND_AT].top
    reached = Estimate(TOP, 0.0, TOP + upper * (top - TOP), 0.9, (40, 40))
    share = ContaminatedShare(Estimate(value, 0.0, upper, 0.9, (40, 40)), reached, 40, 40, "storey")
    blind = BlindBaseline(replace(ranking, auroc=Estimate(0.5, 0.4, 0.58)), "bag", False, (ranking,))
    base = VerdictEvidence("mid_pit", 40, p_value, p_value, share, None, blind, None)
    return replace(base, **changes)


def control(rate: float) -> NegativeControl:
    return NegativeControl("control", flag_rate(np.where(np.arange(400) < rate * 400, 0.01, 0.5), unseen=200))


def separating() -> BlindBaseline:
    blind = evidence().blind
    return replace(blind, separates=True, ranking=replace(blind.ranking, auroc=Estimate(0.9, 0.85, 0.95)))


@pytest.mark.parametrize(
    ("measured", "verdict", "reason"),
    [
        (evidence(), Verdict.NO_EVIDENCE, None),
        (evidence(p_value=0.001, value=0.5, upper=0.6), Verdict.CONTAMINATED, None),
        (evidence(p_value=0.001, p_beyond=0.2), Verdict.CANNOT_TELL, Undecided.FAMILIAR_PROJECTS),
        (evidence(p_value=0.001, p_beyond=math.nan), Verdict.CONTAMINATED, None),
        (evidence(upper=2 * MARGIN), Verdict.CANNOT_TELL, Undecided.TOO_FEW),
        (evidence(share=None), Verdict.CANNOT_TELL, Undecided.NO_UNSEEN_TEXT),
        (evidence(scored=0), Verdict.CANNOT_TELL, Undecided.NOT_MEASURED),
        (evidence(score="loss"), Verdict.CANNOT_TELL, Undecided.UNFIT_SCORE),
        (evidence(p_value=0.001, blind=separating()), Verdict.CANNOT_TELL, Undecided.NOT_MEASURED),
        (evidence(p_value=0.001, control=control(0.3)), Verdict.CANNOT_TELL, Undecided.CONTROL_NOT_FLAT),
        (evidence(p_value=0.001, blind=separating(), control=control(0.05)), Verdict.CONTAMINATED, None),
    ],
)
def test_what_stands_in_the_way_of_a_verdict_comes_first(measured, verdict, reason):
    result = verdict_on(measured, "words", "model")
    assert (result.verdict, result.reason) == (verdict, reason)


def test_texts_that_may_differ_can_be_compared_on_request():
    different = evidence(p_value=0.001, blind=separating())
    assert verdict_on(different, "words", "model", allow_confounded=True).verdict is Verdict.CONTAMINATED


def test_a_difference_that_other_texts_of_the_projects_explain_can_be_judged_on_request():
    explained = evidence(p_value=0.001, p_beyond=0.2)
    assert "same projects" in verdict_on(explained, "words", "model").explanation
    assert verdict_on(explained, "words", "model", allow_confounded=True).verdict is Verdict.CONTAMINATED


def shifted(by: float, groups: str = "", unseen_groups: str = "unseen ") -> Compared:
    """A benchmark that scores higher by so many standard deviations; 60 texts a side, of 30 groups."""
    random = np.random.default_rng(3)
    names = [[f"{kind}{at // 2}" for at in range(60)] for kind in (groups, unseen_groups)]
    return Compared(random.normal(by, 1, 60), random.normal(0, 1, 60), *names)


def test_an_allowance_is_made_for_projects_that_the_model_may_know():
    weak, strong = shifted(0.6), shifted(2.0)
    assert weak.p_value() <= 0.05 < weak.p_beyond()
    assert weak.p_beyond(0.1) <= 0.05
    assert max(strong.p_value(), strong.p_beyond()) <= 0.05


def test_no_allowance_is_made_where_the_unseen_text_is_of_the_same_projects():
    texts = shifted(0.6, unseen_groups="")
    assert texts.allowance() == 0.0
    assert texts.p_value() <= 0.05
    assert math.isnan(texts.p_beyond())
    few = texts._replace(unseen_groups=[f"other {at}" for at in range(52)] + texts.unseen_groups[:8])
    assert few.allowance() > 0


def test_a_judgement_is_read_back_as_it_was_written(seen, tmp_path):
    gate = GradientGate(MeanGradient(0.1, 0.2, 8), MeanGradient(3.0, 0.2, 8))
    stored = replace(seen, gate=gate, control=control(0.05))
    again, manifest = read_judgement(write_judgement(tmp_path / "run", stored, {"seed": 0}))
    assert manifest == {"seed": 0}
    assert describe_judgement(again).data == describe_judgement(stored).data
    assert (again.decision, again.gate) == (stored.decision, gate)
    assert again.gate.is_open


def test_a_folder_without_a_whole_judgement_is_refused(seen, tmp_path):
    folder = write_judgement(tmp_path / "run", seen, {})
    (folder / "judgement.json").write_text('{"schema": 1}')
    with pytest.raises(DataError, match="not a whole judgement"):
        read_judgement(folder)
    (folder / "judgement.json").write_text("[")
    with pytest.raises(DataError, match="not a JSON file"):
        read_judgement(folder)


def test_the_report_states_verdict_bound_methods_and_conditions(seen):
    report = describe_judgement(seen)
    assert report.statement.startswith("Verdict: contaminated.")
    assert "seen 4 times or more" not in " ".join(report.details)  # a bound beside an estimate confuses
    assert "0.5 standard deviations higher" in " ".join(report.details)
    assert any(row.cells[0] == "the same test with an allowance" for row in report.tables[1].rows)
    assert [table.name for table in report.tables] == ["methods", "conditions"]
    page, text = render_html(report), render_markdown(report)
    assert all(result.name in text for result in seen.methods)
    assert "permutation_test" in page


def test_what_was_set_aside_is_said_in_report_and_statement():
    model = MeasuredModel(TableModel.trained([*OTHER, *(s.text for s in BENCHMARK)], order=6, smoothing=0.5), BENCHMARK)
    model.unseen = UNSEEN
    loss = replace(SETTINGS, score="loss")
    strict = judge_benchmark(model, loss, benchmark="words")
    assert (strict.decision.reason, strict.set_aside) == (Undecided.UNFIT_SCORE, None)
    decided = judge_benchmark(model, replace(loss, allow_confounded=True), benchmark="words")
    assert decided.decision.verdict is Verdict.CONTAMINATED
    assert decided.set_aside == strict.decision.explanation
    details = " ".join(describe_judgement(decided).details)
    assert "Conditions were set aside (--allow-confounded)" in details
    assert "The verdict and the lower end of the share allow for that" not in details
    assert strict.decision.explanation in describe_statement([(decided, {})]).statement


def test_a_closed_gate_is_a_note(clean):
    gate = GradientGate(MeanGradient(3.0, 0.2, 8), MeanGradient(3.0, 0.2, 8))
    assert "may be reversed" in " ".join(describe_judgement(replace(clean, gate=gate)).notes)


def test_the_rows_of_a_judgement_are_its_methods(seen):
    assert seen.to_arrow().column("method").to_pylist() == [result.name for result in seen.methods]
    assert "contaminated" in repr(seen)


def test_judgements_stand_side_by_side_by_model_and_benchmark(seen, clean):
    other = replace(clean, model="other")
    report = describe_judgements({"a": seen, "b": other})
    assert [row.cells[0] for row in report.tables[0].rows] == ["table", "other"]
    assert [table.name for table in report.tables] == ["verdict", "share", "flagged", "agreement"]
    with pytest.raises(DataError, match="expected one run of each"):
        describe_judgements({"a": seen, "b": clean})


def test_without_a_verdict_neither_report_nor_statement_nor_comparison_states_a_share(seen):
    unclear = replace(seen, decision=verdict_on(evidence(p_value=0.001, blind=separating()), "words", "model"))
    assert unclear.share is not None  # measured, and kept in the run folder
    assert "Share that looks trained on" not in {fact.name for fact in describe_judgement(unclear).facts}
    (entry,) = statement_data([(unclear, {})])["entries"]
    assert (entry["share"], entry["upper_bound"]) == (None, None)
    tables = {table.name: table for table in describe_judgements({"run": unclear}).tables}
    assert isinstance(tables["share"].rows[0].cells[1], Missing)


def conforms(value, schema) -> bool:
    """Return whether a value is as a schema of the kinds that we publish says."""
    if "const" in schema:
        return value == schema["const"]
    if "enum" in schema:
        return value in schema["enum"]
    kinds = {
        "null": type(None), "boolean": bool, "integer": int, "number": (int, float), "string": str, "object": dict,
        "array": list,
    }  # fmt: skip
    listed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, kinds[kind]) for kind in listed):
        return False
    if isinstance(value, dict):
        properties = schema["properties"]
        return value.keys() == set(schema["required"]) and all(conforms(value[key], properties[key]) for key in value)
    return all(conforms(item, schema["items"]) for item in value) if isinstance(value, list) else True


def test_a_statement_is_as_its_published_schema_says(seen, clean):
    manifest = {"models": {"target": {"digest": "0" * 64}}, "data": {"digest": "1" * 64}, "began": "2026-11-22"}
    nothing = replace(clean, share=None, flagged=None, blind=None, p_value=float("nan"))
    data = describe_statement([(seen, manifest), (nothing, {})]).data
    assert conforms(data, statement_schema())
    assert not conforms(data | {"format": "other"}, statement_schema())


def test_a_statement_can_say_that_nobody_can_tell(seen, clean):
    open_case = replace(clean, decision=verdict_on(evidence(share=None), "words", "model"))
    none = replace(clean, decision=verdict_on(evidence(), "words", "model"))
    sentences = [entry["sentence"] for entry in statement_data([(seen, {}), (open_case, {}), (none, {})])["entries"]]
    assert "was probably in the training data" in sentences[0]
    assert "We cannot tell whether words" in sentences[1]
    assert "no evidence" in sentences[2]
    assert "At most" in sentences[2] or "All of the texts" in sentences[2]
    assert "\\toprule" in render_latex(describe_statement([(seen, {})]))
    with pytest.raises(DataError, match="no run"):
        statement_data([])


def test_with_too_few_groups_nothing_is_called_clear_and_the_reader_is_told_what_is_needed():
    few = [replace(sample, group=str(place % 8)) for place, sample in enumerate(UNSEEN)]
    own = [replace(sample, group=str(place)) for place, sample in enumerate(BENCHMARK)]
    model = MeasuredModel(TableModel.trained(OTHER, order=4, smoothing=0.5), own, few)
    result = judge_benchmark(model, SETTINGS, benchmark="words")
    assert result.decision.reason is Undecided.TOO_FEW
    assert "at least 10 groups on each side" in result.decision.explanation
    (blind,) = (row for row in describe_judgement(result).tables[1].rows if row.cells[0] == "blind baseline (AUROC)")
    assert blind.cells[2] == "not known"
