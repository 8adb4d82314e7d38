"""Authorship: evidence and its weights, chosen without the collection that is tested (nested), and parts of texts.

python benchmarks/authorship_nested.py --data DIR [--kinds a,b,…] [--per-class N] [--hidden MODEL …] [--out FILE]

Outer loop: each collection is left out in turn. Inner loop: each of the others is left out as well, heads are fitted on
the rest, and weights are chosen by the mean AUROC of the inner collections, one kind after the other. The outer
collection is scored once, by the weights that were chosen without it. Groups that are tested are never fitted.

Beside it: every kind alone, all kinds with weight 1 (nothing is chosen), code without style, single lines and runs of
ten lines cut from the texts of the left-out collection, and its texts as a formatter writes them (Python that parses,
by `ast.unparse`).

With `--hidden`, heads on the hidden states of these models stand beside the other kinds, alone and with style, and
nothing else is measured: neither choices nor parts of texts.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from authorship_collections import NEEDED, collections

from assay.api import vectors_named
from assay.authorship import HIDDEN, LabelledCode
from assay.authorship.classifier import standardised
from assay.authorship.evidence import evidence_of, fitted_head
from assay.authorship.fitting import balanced_weights
from assay.authorship.formatting import as_formatted
from assay.authorship.normalising import Code
from assay.evaluation import auroc, rank_score
from assay.files import write_json
from assay.types import Float64Array, Int64Array

KINDS = "names,layout,wording,vocabulary,bare,documentation"
CHOICES = (0.5, 1.0, 2.0, 3.0)
SMALLEST_GAIN = 0.003
RUN = 10
"""Lines of a run."""

Weights = Mapping[str, float]
Margins = Mapping[tuple[str, ...], Mapping[str, Float64Array]]
"""Collections that were left out → kind → float64 [n], NaN for texts that were fitted."""


def main() -> int:
    """Measure, print, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--kinds", default=KINDS)
    parser.add_argument("--per-class", type=int, default=300)
    parser.add_argument("--hidden", action="append", default=[], metavar="MODEL")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "authorship" / "nested.json")
    options = parser.parse_args()
    missing = [name for name in NEEDED if options.data is None or not (options.data / name).is_dir()]
    if missing:
        print(f"skipped: --data has no {', '.join(missing)}")
        return 0
    kinds = tuple(options.kinds.split(","))
    labelled = collections(options.data, options.per_class)
    names = tuple(labelled.rows_of("collection"))
    pieces = {
        "line": cut(labelled, 1),
        "ten lines": cut(labelled, RUN),
        "formatted": list(as_formatted(labelled).codes),
    }
    evidence = evidence_of(labelled.codes, kinds)
    states = hidden(labelled, options.hidden)
    margins, parts = fitted(labelled, {**evidence.matrices, **states}, {} if states else pieces)
    style = tuple(kind for kind in kinds if kind not in {"documentation", "bare"})
    weightings = {
        **{f"{kind} alone": {kind: 1.0} for kind in kinds},
        **{f"{kind} alone": {kind: 1.0} for kind in states},
        "style, weights 1": dict.fromkeys(style, 1.0),
        **{f"style and {kind}, weights 1": dict.fromkeys((*style, kind), 1.0) for kind in states},
    }
    if "documentation" in kinds:
        weightings["style and documentation, weights 1"] = dict.fromkeys((*style, "documentation"), 1.0)
    figures: dict[str, object] = {"per_class": options.per_class, "texts": len(labelled), "kinds": list(kinds)}
    for title, weights in weightings.items():
        figures[title] = measured(labelled, margins, dict.fromkeys(names, weights))
        print(title, json.dumps(figures[title]), flush=True)
    for title, chosen in () if states else (("nested, style", style), ("nested, all", kinds)):
        figures[title] = measured(labelled, margins, {name: choose(labelled, margins, name, chosen) for name in names})
        print(title, json.dumps(figures[title]), flush=True)
    for title, scores in parts.items():
        figures[title] = {
            name: _area(labelled, sum_of(scores, dict.fromkeys(style, 1.0)), rows)
            for name, rows in labelled.rows_of("collection").items()
        }
        print(title, json.dumps(figures[title]), flush=True)
    write_json(options.out, figures)
    return 0


def hidden(labelled: LabelledCode, models: Sequence[str]) -> dict[str, Float64Array]:
    """Return the hidden states of all texts by model, under a name that begins with that of the evidence."""
    return {
        f"{HIDDEN} {Path(name).name}": evidence_of(labelled.codes, (HIDDEN,), vectors_named(name)).matrices[HIDDEN]
        for name in models
    }


def fitted(
    labelled: LabelledCode, matrices: Mapping[str, Any], pieces: Mapping[str, Sequence[Code]]
) -> tuple[Margins, dict[str, dict[str, Float64Array]]]:
    """Return the margins of texts that were left out alone or in pairs, and those of the pieces of single ones.

    Pairs serve the choices and are left out without pieces.
    """
    kinds = tuple(matrices)
    cut_evidence = {title: evidence_of(codes, kinds) for title, codes in pieces.items()}
    groups = np.array(labelled.groups, object)
    by_name = labelled.rows_of("collection")
    margins: dict[tuple[str, ...], dict[str, Float64Array]] = {}
    parts = {title: {kind: np.full(len(labelled), np.nan) for kind in kinds} for title in pieces}
    for left_out in [*((name,) for name in by_name), *(combinations(by_name, 2) if pieces else ())]:
        tested = np.sort(np.concatenate([by_name[name] for name in left_out]))
        rest = np.setdiff1d(np.flatnonzero(~np.isin(groups, groups[tested])), tested)
        weights, machine = balanced_weights(labelled, rest), ~labelled.human[rest]
        margins[left_out] = {}
        for kind in kinds:
            head = fitted_head(kind.partition(" ")[0], matrices[kind][rest], machine, weights)
            own = head.margins(matrices[kind][rest])
            centre, spread = float(np.median(own)), max(float(own.std()), 1e-6)
            margins[left_out][kind] = _spread_out(head.margins(matrices[kind][tested]), tested, len(labelled))
            margins[left_out][kind] = standardised(margins[left_out][kind], centre, spread)
            if len(left_out) > 1:
                continue
            for title, part in cut_evidence.items():
                values = head.margins(part.matrices[kind][tested])
                parts[title][kind][tested] = standardised(values, centre, spread)
    return margins, parts


def choose(labelled: LabelledCode, margins: Margins, outer: str, kinds: tuple[str, ...]) -> dict[str, float]:
    """Return the weights with the best mean AUROC over the other collections, each left out beside the outer one."""
    by_name = labelled.rows_of("collection")

    def inner(weights: Weights) -> float:
        areas = []
        for name, rows in by_name.items():
            if name != outer:
                pair = (outer, name) if (outer, name) in margins else (name, outer)
                areas.append(auroc(sum_of(margins[pair], weights)[rows], ~labelled.human[rows]))
        return float(np.mean(areas))

    weights: dict[str, float] = {}
    best = 0.0
    while True:
        options = [{**weights, kind: value} for kind in kinds for value in CHOICES if weights.get(kind) != value]
        value, place = max((inner(option), -place) for place, option in enumerate(options))
        if value <= best + SMALLEST_GAIN:
            return weights
        weights, best = options[-place], value


def measured(labelled: LabelledCode, margins: Margins, weights: Mapping[str, Weights]) -> dict[str, object]:
    """Return the AUROC of each collection by the classifiers that did not see it, with intervals over tasks."""
    parts = {}
    for name, rows in labelled.rows_of("collection").items():
        scores = sum_of(margins[name,], weights[name])[rows]
        groups = [labelled.groups[row] for row in rows]
        area = rank_score("margin", scores, ~labelled.human[rows], groups).auroc
        parts[name] = {"value": area.value, "low": area.low, "high": area.high, "weights": dict(weights[name])}
    return {"mean": float(np.mean([part["value"] for part in parts.values()])), "parts": parts}


def sum_of(margins: Mapping[str, Float64Array], weights: Weights) -> Float64Array:
    """Return the weighted sum of the margins, float64 [n]."""
    return np.asarray(np.sum([weight * margins[kind] for kind, weight in weights.items()], axis=0), np.float64)


def cut(labelled: LabelledCode, lines: int) -> list[Code]:
    """Return a run of lines of each text, drawn at random; the text's tokens of these lines in their places."""
    draw = np.random.default_rng(0)
    pieces = []
    for code in labelled.codes:
        start = int(draw.integers(max(1, len(code.lines) - lines + 1)))
        tokens = tuple(token for line in code.lines[start : start + lines] for token in line)
        pieces.append(Code(tokens, code.language))
    return pieces


def _area(labelled: LabelledCode, scores: Float64Array, rows: Int64Array) -> dict[str, float]:
    valid = rows[~np.isnan(scores[rows])]
    ranking = rank_score("margin", scores[valid], ~labelled.human[valid], [labelled.groups[row] for row in valid])
    area = ranking.auroc
    return {"value": area.value, "low": area.low, "high": area.high, "texts": len(valid)}


def _spread_out(values: Float64Array, rows: Int64Array, n: int) -> Float64Array:
    full = np.full(n, np.nan)
    full[rows] = values
    return full


if __name__ == "__main__":
    sys.exit(main())
