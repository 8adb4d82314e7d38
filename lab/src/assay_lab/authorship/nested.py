"""Authorship: evidence and its weights, chosen without the collection that is tested (nested), and parts of texts.

Outer loop: each collection is left out in turn. Inner loop: each of the others is left out as well, heads are fitted on
the rest, and weights are chosen by the mean AUROC of the inner collections, one kind after the other. The outer
collection is scored once, by the weights that were chosen without it. Groups that are tested are never fitted.

Beside it: every kind alone, all kinds with weight 1 (nothing is chosen), code without style, single lines and runs of
ten lines cut from the texts of the left-out collection, and its texts as a formatter writes them (Python that parses,
by `ast.unparse`).

With `hidden`, heads on the hidden states of these models stand beside the other kinds, alone and with style, and
nothing else is measured: neither choices nor parts of texts.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from assay.authorship.classifier import standardised
from assay.authorship.evidence import HIDDEN, evidence_of
from assay.authorship.normalising import Code
from assay.authorship.opening import vectors_named
from assay.evaluation import auroc, rank_score
from assay.types import Float64Array, Int64Array
from assay_lab.authorship.collections import COLLECTIONS, collections
from assay_lab.classifiers.fitting import balanced_weights
from assay_lab.classifiers.formatting import as_formatted
from assay_lab.classifiers.heads import fitted_head
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import with_ends

KINDS = ("names", "layout", "wording", "vocabulary", "bare", "documentation")
STYLE = KINDS[:4]
CHOICES = (0.5, 1.0, 2.0, 3.0)
SMALLEST_GAIN = 0.003
RUN = 10
"""Lines of a run."""

Weights = Mapping[str, float]
Margins = Mapping[tuple[str, ...], Mapping[str, Float64Array]]
"""Collections that were left out → kind → float64 [n], NaN for texts that were fitted."""


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
        parts[name] = {**with_ends(area), "weights": dict(weights[name])}
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
    return {**with_ends(ranking.auroc), "texts": len(valid)}


def _spread_out(values: Float64Array, rows: Int64Array, n: int) -> Float64Array:
    full = np.full(n, np.nan)
    full[rows] = values
    return full


def run(per_class: int, seed: int, data: Data) -> Result:
    """Evidence and its weights, chosen without the collection that is tested (nested), and parts of texts."""
    labelled = collections(data, per_class)
    names = tuple(labelled.rows_of("collection"))
    pieces = {
        "line": cut(labelled, 1),
        "ten lines": cut(labelled, RUN),
        "formatted": list(as_formatted(labelled).codes),
    }
    margins, parts = fitted(labelled, evidence_of(labelled.codes, KINDS).matrices, pieces)
    weightings = {
        **{f"{kind} alone": {kind: 1.0} for kind in KINDS},
        "style, weights 1": dict.fromkeys(STYLE, 1.0),
        "style and documentation, weights 1": dict.fromkeys((*STYLE, "documentation"), 1.0),
    }
    rows: list[dict[str, object]] = [
        {"name": title, **measured(labelled, margins, dict.fromkeys(names, weights))}
        for title, weights in weightings.items()
    ]
    for title, kinds in (("nested, style", STYLE), ("nested, all", KINDS)):
        chosen = {name: choose(labelled, margins, name, kinds) for name in names}
        rows.append({"name": title, **measured(labelled, margins, chosen)})
    for title, scores in parts.items():
        areas = {
            name: _area(labelled, sum_of(scores, dict.fromkeys(STYLE, 1.0)), own)
            for name, own in labelled.rows_of("collection").items()
        }
        rows.append({"name": title, "parts": areas})
    return Result(rows, [f"{len(labelled)} texts, at most {per_class} of a class, collection and language"])


def run_hidden(scale: tuple[int, tuple[str, ...]], seed: int, data: Data) -> Result:
    """Heads on the hidden states of models beside the other kinds of evidence, alone and with style."""
    per_class, models = scale
    labelled = collections(data, per_class)
    names = tuple(labelled.rows_of("collection"))
    states = {
        f"{HIDDEN} {Path(name).name}": evidence_of(labelled.codes, (HIDDEN,), vectors_named(name)).matrices[HIDDEN]
        for name in (*models, *(str(data[name]) for name in ("model",) if name in data))
    }
    margins, _ = fitted(labelled, {**evidence_of(labelled.codes, STYLE).matrices, **states}, {})
    weightings = {
        **{f"{kind} alone": {kind: 1.0} for kind in (*STYLE, *states)},
        "style, weights 1": dict.fromkeys(STYLE, 1.0),
        **{f"style and {kind}, weights 1": dict.fromkeys((*STYLE, kind), 1.0) for kind in states},
    }
    return Result(
        [
            {"name": title, **measured(labelled, margins, dict.fromkeys(names, weights))}
            for title, weights in weightings.items()
        ]
    )


EXPERIMENTS = (
    Experiment(
        name="authorship/nested",
        run=run,
        scales={"smoke": 8, "full": 300},
        columns=("name", "mean"),
        needs=COLLECTIONS,
        stored="authorship/nested",
    ),
    Experiment(
        name="authorship/hidden",
        run=run_hidden,
        scales={"smoke": (8, ("builtin:small",)), "full": (50, ("builtin:fragments", "builtin:small"))},
        columns=("name", "mean"),
        needs=COLLECTIONS,
        takes={"model": "a further model or encoder"},
        stored="authorship/hidden",
    ),
)
