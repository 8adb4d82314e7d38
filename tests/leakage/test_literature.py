"""Methods of the literature stand beside the verdict of an audit; none of them decides."""

import json
from dataclasses import replace
from functools import partial
from importlib.resources import files

import numpy as np
import pytest

from assay import leakage
from assay.errors import DataError, MissingCapability
from assay.evaluation import MeanGradient
from assay.leakage import (
    ComparisonData,
    DecisionSettings,
    GradientGate,
    Literature,
    MeasuredModel,
    describe_audit,
    describe_statement,
    read_run,
    write_run,
)
from assay.leakage.statement import statement_data
from assay.reports import Missing, render_html, render_latex, render_markdown
from assay.scores import dataset_requests, requests
from assay.scoring import plan
from assay.types import Sample, Undecided, Verdict
from support.table_model import TableModel

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")


def texts(seed: int, count: int, prefix: str) -> tuple[Sample, ...]:
    random = np.random.default_rng(seed)
    return tuple(
        Sample(f"{prefix}{i}", " ".join(random.choice(WORDS, 12)), group=f"{prefix}{i // 2}") for i in range(count)
    )


BENCHMARK, UNSEEN = texts(1, 60, "b"), texts(2, 80, "u")
OTHER = [" ".join(np.random.default_rng(3).choice(WORDS, 200))]
METHODS = dataset_requests("permutation_test,mean:loss,codec")


def audit(trained_on=(), unseen=UNSEEN, benchmark=BENCHMARK, methods=METHODS, **decision):
    model = TableModel.trained([*OTHER, *trained_on], order=6, smoothing=0.5)
    literature = Literature(MeasuredModel(model, benchmark, unseen), methods) if methods else None
    return leakage.audit(
        benchmark,
        plan(requests("mid_pit,loss"), {"target": model}),
        benchmark="words",
        comparison=ComparisonData(unseen=unseen, unseen_source="other words", literature=literature),
        decision=DecisionSettings(resamples=100, **decision),
    )


@pytest.fixture(scope="module")
def seen():
    return audit([sample.text for sample in BENCHMARK] * 4)


@pytest.fixture(scope="module")
def clean():
    return audit()


def test_a_benchmark_that_the_model_was_trained_on_is_familiar(seen):
    assert seen.decision.verdict is Verdict.FAMILIAR
    assert seen.share.low > 0.3
    assert seen.test.p_value < 0.01
    assert {result.name: result.score.called for result in seen.methods}["permutation_test"] is True


def test_a_benchmark_that_it_never_saw_is_not(clean):
    assert clean.decision.verdict is not Verdict.FAMILIAR
    assert clean.test.share.estimate.value < 0.4
    assert clean.test.p_value > 0.05


def test_the_test_behind_the_verdict_and_the_method_of_that_name_have_one_p_value(clean):
    single = [tuple(replace(sample, group=None) for sample in side) for side in (BENCHMARK, UNSEEN)]
    for result in (clean, audit(benchmark=single[0], unseen=single[1])):
        (method,) = (each for each in result.methods if each.name == "permutation_test")
        assert method.score.p_value == result.test.p_value


def test_the_work_is_counted_before_it_is_done():
    literature = Literature(MeasuredModel(TableModel.trained(OTHER), BENCHMARK, UNSEEN), METHODS)
    assert literature.passes() == sum(
        work.passes * (60 if work.on == "benchmark" else 80) for work in literature.work()
    )


def test_statistics_of_other_texts_are_reported_as_progress():
    seen = []
    model = MeasuredModel(TableModel.trained(OTHER), BENCHMARK, progress=lambda done, total: seen.append((done, total)))
    assert len(list(model.statistics(["a = 1\n", "b = 2\n"]))) == 2
    assert seen == [(1, 2), (2, 2)]


def test_a_model_without_weights_is_refused_before_anything_runs():
    model = MeasuredModel(TableModel.trained(OTHER), BENCHMARK, UNSEEN)
    with pytest.raises(MissingCapability, match="neither hidden states nor weights"):
        Literature(model, dataset_requests("kds")).work()


def test_an_audit_is_read_back_as_it_was_written(seen, tmp_path):
    gate = GradientGate(MeanGradient(0.1, 0.2, 8), MeanGradient(3.0, 0.2, 8))
    stored = replace(seen, gate=gate)
    again, manifest = read_run(write_run(tmp_path / "run", stored, {"seed": 0}))
    assert manifest == {"seed": 0}
    assert describe_audit(again).data == describe_audit(stored).data
    assert (again.decision, again.gate, again.test) == (stored.decision, gate, stored.test)
    assert again.gate.is_open


def test_the_report_states_share_methods_and_conditions(seen):
    report = describe_audit(seen)
    details = " ".join(report.details)
    assert report.answer.verdict == "Familiar"
    assert "seen 4 times or more" not in details  # a bound beside an estimate confuses
    assert "0.5 standard deviations higher" in details
    # what a run would find is said where a leak may hide
    assert "in 80 % of cases" not in details
    tables = {table.name: table for table in report.tables}
    assert {"methods", "conditions"} <= set(tables)
    assert any(row.cells[0] == "the same test with an allowance" for row in tables["conditions"].rows)
    page, text = render_html(report), render_markdown(report)
    assert all(result.name in text for result in seen.methods)
    assert "permutation_test" in page


def test_methods_are_reported_only_where_they_are_asked_for():
    without = audit(methods=())
    assert "methods" not in {table.name for table in describe_audit(without).tables}


@pytest.mark.slow
def test_what_was_set_aside_is_said_in_report_and_statement():
    trained = partial(audit, [s.text for s in BENCHMARK], primary="loss")
    strict, decided = trained(), trained(allow_confounded=True)
    assert (strict.decision.reason, strict.decision.set_aside) == (Undecided.UNFIT_SCORE, None)
    assert decided.decision.verdict is Verdict.FAMILIAR
    assert decided.decision.set_aside == strict.decision.explanation
    details = " ".join(describe_audit(decided).details)
    assert "Conditions were set aside (--allow-confounded)" in details
    assert "The verdict and the lower end of the share allow for that" not in details
    assert strict.decision.explanation in " ".join(describe_statement([(decided, {})]).details)


def test_a_closed_gate_is_a_note(clean):
    gate = GradientGate(MeanGradient(3.0, 0.2, 8), MeanGradient(3.0, 0.2, 8))
    assert "may be reversed" in " ".join(describe_audit(replace(clean, gate=gate)).notes)


def test_without_a_verdict_neither_report_nor_statement_states_a_share():
    unclear = audit([s.text for s in BENCHMARK], primary="loss")
    assert unclear.test is not None  # measured, and kept in the run folder
    assert "Share that looks trained on" not in {fact.name for fact in describe_audit(unclear).facts}
    (entry,) = statement_data([(unclear, {})])["entries"]
    assert (entry["share"], entry["upper_bound"]) == (None, None)
    table = describe_statement([(unclear, {})]).tables[0]
    assert isinstance(table.rows[0].cells[3], Missing)


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
    nothing = audit(unseen=(), methods=())
    data = describe_statement([(seen, manifest), (nothing, {}), (clean, {})]).data
    schema = json.loads(files("assay.leakage").joinpath("contamination-statement.schema.json").read_text("utf-8"))
    assert conforms(data, schema)
    assert not conforms(data | {"format": "other"}, schema)


def test_a_statement_can_say_that_nobody_can_tell(seen):
    open_case = audit(unseen=(), methods=())
    sentences = [entry["sentence"] for entry in statement_data([(seen, {}), (open_case, {})])["entries"]]
    assert "was probably in the training data" in sentences[0]
    assert "We could not decide whether words" in sentences[1]
    assert "\\toprule" in render_latex(describe_statement([(seen, {})]))
    with pytest.raises(DataError, match="no run"):
        statement_data([])


def test_with_too_few_groups_nothing_is_called_clear_and_the_reader_is_told_what_is_needed():
    few = tuple(replace(sample, group=str(place % 8)) for place, sample in enumerate(UNSEEN))
    own = tuple(replace(sample, group=str(place)) for place, sample in enumerate(BENCHMARK))
    result = audit(unseen=few, benchmark=own)
    assert result.decision.reason is Undecided.TOO_FEW
    assert "at least 10 groups on each side" in result.decision.explanation
    conditions = next(table for table in describe_audit(result).tables if table.name == "conditions")
    (blind,) = (row for row in conditions.rows if row.cells[0] == "texts alone, without the model (AUROC)")
    assert blind.cells[2] == "not known"
