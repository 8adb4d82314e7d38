"""The mixed-effects model: the published coefficients follow from the published averages."""

import pytest

from assay.errors import DataError
from assay.experiments.bugs.regression import FAMILIES, MEASURES, regression_of, regression_table
from assay.studies import Average, fit_mixed_model


@pytest.mark.parametrize(
    ("measure", "effect", "value", "error", "digits"),
    [
        ("NLL", "intercept", 0.717, 0.102, 3),
        ("NLL", "parameters", -0.0016, 0.0007, 4),
        ("NLL", "training budget", -0.0140, 0.0046, 4),
        ("5-gram accuracy", "intercept", 0.477, 0.053, 3),
        ("5-gram accuracy", "parameters", 0.0010, 0.0004, 4),
        ("5-gram accuracy", "training budget", 0.0057, 0.0026, 4),
    ],
)
def test_table_4_follows_from_tables_2_5_and_6(measure, effect, value, error, digits):
    coefficient = regression_of(measure, FAMILIES).coefficients[effect]
    # one unit of the last digit: the averages are printed with two digits
    assert coefficient.value == pytest.approx(value, abs=10**-digits)
    assert coefficient.error == pytest.approx(error, abs=10**-digits)


def test_a_random_effect_for_each_model_turns_the_sign_of_the_budget():
    by_model = {model: model for model in FAMILIES}
    for measure in MEASURES:
        family, model = regression_of(measure, FAMILIES), regression_of(measure, by_model)
        assert family.coefficients["training budget"].value * model.coefficients["training budget"].value < 0


def test_the_table_says_what_turned_and_what_statsmodels_warned_of():
    finding = regression_table(None)
    assert [table.name for table in finding.tables] == ["families", "models"]
    assert any("training budget on NLL" in note for note in finding.notes)
    assert any("boundary of the parameter space" in note for note in finding.notes)


def test_fitted_values_and_residuals_add_up_to_the_values():
    averages = [
        Average(1 + 0.1 * size + 0.5 * (dataset == "b"), size, tokens, dataset, tokenizer)
        for size, tokens, tokenizer in [(1, 2, "x"), (2, 1, "x"), (4, 5, "y"), (8, 3, "z")]
        for dataset in "abc"
    ]
    model = fit_mixed_model(averages)
    assert model.fitted + model.residuals == pytest.approx([average.value for average in averages])
    assert model.coefficients["parameters"].value == pytest.approx(0.1, abs=1e-3)


def test_too_few_models_are_refused_in_one_line():
    averages = [Average(0.5, size, 1.0, dataset, "t") for size in (1, 2) for dataset in "ab"]
    with pytest.raises(DataError, match="received 2 data sets and 2 models"):
        fit_mixed_model(averages)
