"""Linear mixed-effects model of the averages of a study: do larger models, or models with more training, remember more?

The value of a model on a data set is a fixed effect of the model's parameters and of its training tokens, plus a random
intercept of the data set and one of the tokenizer. The random intercepts are crossed: every tokenizer meets every data
set. Fitted by restricted maximum likelihood (REML) with statsmodels, as variance components of a single group.

Source: Ramos et al. 2025, "Are Large Language Models Memorizing Bug Benchmarks?", section III-D.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from assay.errors import DataError, require
from assay.types import Float64Array
from assay_lab.columns import attributes

INTERCEPT, PARAMETERS, BUDGET = "intercept", "parameters", "training budget"


@dataclass(frozen=True, slots=True)
class Average:
    """The average of one measure for one model on one data set.

    Attributes:
        value: of the measure.
        parameters: of the model, in billions.
        tokens: that the model was trained on, in trillions.
        dataset: name.
        tokenizer: name of the tokenizer, or of its family.
    """

    value: float
    parameters: float
    tokens: float
    dataset: str
    tokenizer: str


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One fixed effect.

    Attributes:
        value: change of the measure by one unit (a billion parameters, a trillion tokens); or the intercept.
        error: standard error.
        p_value: two-sided, of Wald's z.
    """

    value: float
    error: float
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class MixedModel:
    """A fitted model.

    Attributes:
        coefficients: `INTERCEPT`, `PARAMETERS` and `BUDGET` → the fixed effect.
        variances: "dataset", "tokenizer" and "residual" → variance.
        fitted: float64 [averages], the values that the model predicts.
        residuals: float64 [averages], value minus fitted value.
        converged: whether the optimiser reports success.
        warnings: what statsmodels warned of, word for word, without repetition.
    """

    coefficients: Mapping[str, Coefficient]
    variances: Mapping[str, float]
    fitted: Float64Array
    residuals: Float64Array
    converged: bool
    warnings: tuple[str, ...]


def fit_mixed_model(averages: Sequence[Average], *, parameters_at: float = 0.0, tokens_at: float = 0.0) -> MixedModel:
    """Fit the model.

    Args:
        averages: one for each model and data set.
        parameters_at: billions of parameters at which the intercept is taken.
        tokens_at: trillions of training tokens at which the intercept is taken.

    Raises:
        MissingExtra: statsmodels is not installed.
        DataError: fewer than two data sets, or too few models to tell parameters from training tokens.
    """
    require("statsmodels", purpose="a regression with random effects")
    import pandas as pd  # noqa: PLC0415  an extra
    import statsmodels.formula.api as smf  # noqa: PLC0415  an extra

    frame = pd.DataFrame(map(asdict, averages), columns=attributes(fields(Average), "name"))
    data_sets, models = frame["dataset"].nunique(), len(frame[["parameters", "tokens"]].drop_duplicates())
    if data_sets < 2 or models < 4:  # noqa: PLR2004  three coefficients need a fourth model for a residual
        raise DataError(
            f"received {data_sets} data sets and {models} models of different size or training; expected at least 2 "
            "and 4"
        )
    frame = frame.assign(
        parameters=frame["parameters"] - parameters_at, tokens=frame["tokens"] - tokens_at, everything=1
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # random intercepts are crossed, so both are variance components of one group that holds everything
        result = smf.mixedlm(
            "value ~ parameters + tokens",
            frame,
            groups="everything",
            vc_formula={"dataset": "0 + C(dataset)", "tokenizer": "0 + C(tokenizer)"},
        ).fit(reml=True)
    coefficients = {}
    for name, key in ((INTERCEPT, "Intercept"), (PARAMETERS, "parameters"), (BUDGET, "tokens")):
        coefficients[name] = Coefficient(float(result.params[key]), float(result.bse[key]), float(result.pvalues[key]))
    components = dict(zip(("dataset", "tokenizer"), map(float, result.vcomp), strict=True))
    return MixedModel(
        coefficients=coefficients,
        variances={**components, "residual": float(result.scale)},
        fitted=result.fittedvalues.to_numpy(),
        residuals=result.resid.to_numpy(),
        converged=bool(result.converged),
        warnings=tuple(dict.fromkeys(map(str, attributes(caught, "message")))),
    )
