"""Table IV: the regression of Tables V and VI on the models' size and training."""

from collections.abc import Iterator, Mapping

from assay_lab.bugs import Average, MixedModel, fit_mixed_model
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, ValueRow, ValueTable
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.papers.printed import paper_headings, printed_values, value_table

PAPER = paper("bugs")
MEASURES = {"NLL": "table-5", "5-gram accuracy": "table-6"}
"""Measure → the table with its averages."""
REFERENCE = "CodeGen-Multi 6B"
"""The intercept is taken at its parameters and training tokens, as in the paper."""
FAMILIES: Mapping[str, str] = {
    "CodeGen-Multi 6B": "CodeGen",
    "CodeLlama 7B": "LLaMA 2",
    "LLaMA 3.1 8B": "LLaMA 3",
    "LLaMA 3.1 70B": "LLaMA 3",
    "StarCoder 2 7B": "StarCoder 2",
    "CodeGemma 7B": "Gemma",
    "Gemma 2 2B": "Gemma",
    "Gemma 2 27B": "Gemma",
}
"""Model → family of its tokenizer. Mistral is missing: its number of training tokens is not known."""


def regression_table(bench: Bench) -> Finding:
    """Regression of average NLL and 5-gram accuracy on parameters and training tokens.

    From the averages that the paper prints. The second table gives every model a random effect of its own instead of
    one for each family of tokenizers: an analysis of how far the result depends on that choice.
    """
    del bench  # made from printed numbers alone
    own_effects = dict(zip(FAMILIES, FAMILIES, strict=True))
    by_family = {measure: regression_of(measure, FAMILIES) for measure in MEASURES}
    by_model = {measure: regression_of(measure, own_effects) for measure in MEASURES}
    return Finding(
        name="bugs/table-4",
        title="Size and training of a model against its NLL and 5-gram accuracy",
        tables=(
            coefficient_table("families", "Random effect for each family of tokenizers, as in the paper", by_family),
            coefficient_table("models", "Random effect for each model", by_model),
        ),
        notes=(
            f"Fitted on the averages that Tables V and VI print for {len(FAMILIES)} models, without Mistral.",
            f"The intercept is the value for {REFERENCE}: 6 billion parameters, 1 trillion tokens.",
            sign_note(by_family, by_model),
            *convergence_notes("families", by_family),
            *convergence_notes("models", by_model),
        ),
        seeds=(),
    )


def regression_of(measure: str, tokenizers: Mapping[str, str]) -> MixedModel:
    """Return the fitted model of a measure.

    Args:
        measure: a key of `MEASURES`.
        tokenizers: model → name of its random effect.
    """
    values, models = PAPER.tables[MEASURES[measure]], PAPER.tables["table-2"]
    averages = []
    for model, tokenizer in tokenizers.items():
        parameters, tokens = map(printed, printed_values(models, model))
        for column, value in zip(values.columns, printed_values(values, model), strict=True):
            average = Average(
                value=printed(value), parameters=parameters, tokens=tokens, dataset=str(column), tokenizer=tokenizer
            )
            averages.append(average)
    parameters_at, tokens_at = map(printed, printed_values(models, REFERENCE))
    return fit_mixed_model(averages, parameters_at=parameters_at, tokens_at=tokens_at)


def printed(value: float | None) -> float:
    """Return a value that the paper prints.

    Raises:
        KeyError: it does not.
    """
    if value is None:
        raise KeyError("a model or a data set is missing in paper.toml")
    return value


def coefficient_table(name: str, title: str, models: Mapping[str, MixedModel]) -> ValueTable:
    """Return our coefficients beside the paper's."""
    rows = []
    for measure, model in models.items():
        for effect, own in model.coefficients.items():
            theirs = printed_values(PAPER.tables["table-4"], measure, effect)
            rows.append(ValueRow(f"{measure}, {effect}", (own.value, own.error, own.p_value, *theirs)))
    ours = ["coefficient", "standard error"]
    columns = [*ours, "p-value", *paper_headings(ours)]
    return value_table(name, title, head="measure and effect", columns=columns, rows=rows)


def sign_note(by_family: Mapping[str, MixedModel], by_model: Mapping[str, MixedModel]) -> str:
    """Return a sentence on the effects whose sign depends on the random effect."""
    turned = []
    for measure, model in by_family.items():
        for effect, own in model.coefficients.items():
            if own.value * by_model[measure].coefficients[effect].value < 0:
                turned.append(f"{effect} on {measure}")
    if not turned:
        return "No effect changes its sign between the two tables."
    return f"With a random effect for each model these effects change their sign: {', '.join(turned)}."


def convergence_notes(name: str, models: Mapping[str, MixedModel]) -> Iterator[str]:
    """Yield what statsmodels warned of, word for word."""
    for measure, model in models.items():
        for warning in model.warnings:
            yield f"Warning of statsmodels ({name}, {measure}): {warning}"
        if not model.converged:
            yield f"Warning of statsmodels ({name}, {measure}): the optimiser did not converge"


EXPERIMENTS = (Reproduction("bugs", "table-4", regression_table),)
