"""Table IV and Figure 10: the regression of average NLL and 5-gram accuracy on the models' size and training.

Of the averages that are measured where benchmarks are given, else of those that Tables V and VI print.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from assay.errors import DataError
from assay.models import combined, open_local
from assay_lab.bugs import Average, MixedModel, fit_mixed_model
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.finding import Finding, Picture, ValueRow, ValueTable
from assay_lab.experiments.matrix import scatter
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.scales import sizes_of
from assay_lab.papers.bugs.averages import OF_AVERAGES, SCALES, TAKEN, averages, models_of
from assay_lab.papers.printed import paper_headings, printed_values, value_table

PAPER = paper("bugs")
BILLION = 1e9
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

    From the averages that are measured on the benchmarks of the bench, or that the paper prints where there are none.
    The second table of these gives every model a random effect of its own instead of one for each family of tokenizers:
    an analysis of how far the result depends on that choice.
    """
    if bench.data:
        return measured_regression(bench)
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


def measured_regression(bench: Bench) -> Finding:
    """Return the regression of measured averages; where it cannot be fitted, the reason. Errors as `averages`."""
    fitted, sizes, notes = measured_models(bench)
    rows = []
    for model, training in sizes.items():
        rows.append(ValueRow(model, tuple(training.values())))
    heads = ("parameters (billions)", "training tokens (trillions)", "tokenizer")
    return Finding(
        name="bugs/table-4",
        title="Size and training of a model against its measured NLL and 5-gram accuracy",
        tables=(
            coefficient_table("families", "Random effect for each tokenizer, on our averages", fitted),
            value_table("training", "Models of the regression", head="model", columns=heads, rows=rows),
        ),
        notes=(
            (
                "Fitted on our averages. The intercept is the value for none of either; that of the paper is for "
                f"{REFERENCE}."
            ),
            *convergence_notes("families", fitted),
            *notes,
        ),
        seeds=(),
    )


ModelSizes = Mapping[str, Mapping[str, float | str]]
"""Label of a model → parameters, tokens and tokenizer."""


def measured_models(bench: Bench) -> tuple[dict[str, MixedModel], ModelSizes, tuple[str, ...]]:
    """Return measure → regression of measured averages, the models behind it, and notes; errors as `averages`.

    A measure whose regression cannot be fitted is left out, and a note says why.
    """
    ours, notes = averages(bench)
    sizes, left_out = training_of(bench)
    fitted: dict[str, MixedModel] = {}
    reasons: list[str] = []
    for measure in MEASURES:
        values: list[Average] = []
        for model, training in sizes.items():
            for data_set, side in ours[model].items():
                value = side.averages[measure].value
                values.append(Average(value=value, dataset=data_set, **training))  # type: ignore[arg-type]  # by name
        try:
            fitted[measure] = fit_mixed_model(values)
        except DataError as reason:
            reasons.append(f"{measure}: no regression, {reason}.")
    return fitted, sizes, (*left_out, *reasons, *notes)


def training_of(bench: Bench) -> tuple[dict[str, dict[str, float | str]], list[str]]:
    """Return label of a model → parameters, tokens and tokenizer, and notes on models of unknown tokens."""
    chosen = sizes_of(bench, "bugs", SCALES)
    printed_models = {hub_id: name for name, hub_id in PAPER.hub_models.items()}
    sizes: dict[str, dict[str, float | str]] = {}
    notes: list[str] = []
    for model in models_of(bench):
        in_paper = PAPER.tables["table-2"].value(printed_models.get(model, ""), column="tokens")
        tokens = chosen.tokens.get(model, in_paper)
        if tokens is None:
            notes.append(
                f"{label_of(model)} is left out: its training tokens are not known. A configuration file states them, "
                f'in trillions: [bugs.tokens] "{model}" = …'
            )
            continue
        opened = open_local(model).checkpoint
        # models with one vocabulary share a tokenizer, whatever its name
        vocabulary = combined(json.dumps(opened.tokenizer.get_vocab(), sort_keys=True))[:8]
        sizes[label_of(model)] = {
            "parameters": opened.model.num_parameters() / BILLION,
            "tokens": float(tokens),
            "tokenizer": chosen.tokenizers.get(model, FAMILIES.get(printed_models.get(model, ""), vocabulary)),
        }
    return sizes, notes


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


def residual_figure(bench: Bench) -> Finding:
    """Residuals of the regressions by fitted value.

    Of the averages that are measured on the benchmarks of the bench, or that the paper prints where there are none.
    """
    notes: tuple[str, ...] = ("The paper's figure is a picture without numbers.",)
    if bench.data:
        fitted, sizes, more = measured_models(bench)
        notes += (f"Fitted on our averages of {len(sizes)} models.", *more)
    else:
        fitted = {measure: regression_of(measure, FAMILIES) for measure in MEASURES}
        notes += ("Fitted on the averages that Tables V and VI print.",)
    rows: list[ValueRow] = []
    pictures: list[Picture] = []
    for measure, model in fitted.items():
        points = np.column_stack([model.fitted, model.residuals])
        spread, largest = float(model.residuals.std()), float(np.abs(model.residuals).max())
        trend = float(np.corrcoef(model.fitted, np.abs(model.residuals))[0, 1])
        rows.append(ValueRow(measure, (float(len(points)), spread, largest, trend)))
        words = f"{len(points)} averages; standard deviation of the residuals {spread:.3f}."
        drawn = partial(scatter, {measure: points}, x="fitted value", y="residual")
        title = f"Residuals by fitted value, {measure}"
        pictures.append(Picture(name=f"residuals-{len(pictures)}", title=title, description=words, draw=drawn))
    heads = ("averages", "standard deviation", "largest", "correlation of size with the fitted value")
    return Finding(
        name="bugs/figure-10",
        title=f"Residuals of the regressions ({PAPER.title}, Figure 10)",
        tables=(value_table("residuals", "Residuals", head="measure", columns=heads, rows=rows),),
        notes=notes,
        seeds=(),
        pictures=tuple(pictures),
    )


OF_REGRESSION = (*OF_AVERAGES, "tokens", "tokenizers")
EXPERIMENTS = (
    Reproduction("bugs", "table-4", regression_table, takes=TAKEN, models=0, seeds=1, keys=OF_REGRESSION),
    Reproduction("bugs", "figure-10", residual_figure, takes=TAKEN, models=0, seeds=1, keys=OF_REGRESSION),
)
