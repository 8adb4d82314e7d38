"""Tables of the page on releases, made from the files in lab/results/release."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from assay_lab.pages.table_cells import File, estimate, number, table
from assay_lab.result_rows import where

Heads = Mapping[str, str]
"""Key of a row → heading of its column."""


def cell(value: Any) -> str:  # noqa: ANN401  whatever JSON holds
    """Return a share with its interval, a number, or text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return estimate(value)
    return number(value) if isinstance(value, int | float) else str(value)


def rows_table(rows: Sequence[Mapping[str, Any]], heads: Heads) -> str:
    """Return a table of some values of each row."""
    return table(list(heads.values()), [list(map(cell, itemgetter(*heads)(row))) for row in rows])


def _all_values(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of all values of each row, under their own names."""
    return rows_table(rows, dict(zip(rows[0], rows[0], strict=True)))


def release_null(file: File) -> str:
    """Return the share of lots that are rejected where no model knows the lot."""
    heads = {"model": "model", "copies": "copies", "covariate": "parent", "tasks": "tasks"}
    return rows_table(file["results"], heads | {"p ≤ 0.05": "p ≤ .05", "p ≤ 0.01": "p ≤ .01"})


def release_statistic(file: File) -> str:
    """Return z of each candidate, and what taking off other values does to it."""
    return _by_taken_off(file["results"])


def release_statistic_pretrained(file: File) -> str:
    """Return the same of a model of others, for the statistic that was chosen."""
    return _by_taken_off(where(file["results"], values="whole text"))


def _by_taken_off(rows: Sequence[Mapping[str, Any]]) -> str:
    off = list(dict.fromkeys(map(itemgetter("taken off"), rows)))
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        line = lines.setdefault((row["copies"], row["values"]), {"copies": row["copies"], "values": row["values"]})
        share = row["evidence p ≤ 0.01"]["value"]
        line[row["taken off"]] = f"{row['z evidence']:.1f} ({row['z mean']:.1f}), {round(share * row['lots'])}"
    heads = {"copies": "copies", "values": "log-likelihood of"} | dict(zip(off, off, strict=True))
    return rows_table(list(lines.values()), heads)


def release_power(file: File) -> str:
    """Return how often a plant is found, with and without a parent."""
    heads = {"dose": "times", "tasks": "tasks seen", "others": "not seen", "copies": "copies", "parent": "parent"}
    heads |= {"evidence p ≤ 0.05": "p ≤ .05", "evidence p ≤ 0.01": "p ≤ .01", "z evidence": "z"}
    return rows_table(
        file["results"], heads | {"known at least": "known, at least", "mid_pit AUROC": "AUROC of `mid_pit`"}
    )


def release_pretrained(file: File) -> str:
    """Return how often a plant in a pretrained model is found."""
    heads = {"names": "names", "tasks": "tasks", "others": "other functions", "method": "trained", "parent": "parent"}
    heads |= {"evidence p ≤ 0.05": "p ≤ .05", "evidence p ≤ 0.01": "p ≤ .01", "z evidence": "z"}
    return rows_table(file["results"], heads | {"known at least": "known, at least"})


def release_twins(file: File) -> str:
    """Return how many tasks a comparison of twins needs."""
    return _all_values(file["results"])


def release_difficulty(file: File) -> str:
    """Return how alike published and secret copies are."""
    return _all_values(file["results"])


def release_cost(file: File) -> str:
    """Return what making and testing cost."""
    return _all_values(file["results"])


def release_harnesses(file: File) -> str:
    """Return what harnesses say of a release and of its original."""
    heads = {"harness": "harness", "version": "version", "benchmark": "benchmark", "tasks": "tasks"}
    heads |= {"copies": "with copies", "original, right": "original, references", "public, right": "public, references"}
    return rows_table(
        file["results"], heads | {"original, broken": "original, broken", "public, broken": "public, broken"}
    )


def release_black_box(file: File) -> str:
    """Return how often text alone, and log-likelihoods of the same lot, find a model that was trained."""
    heads = {"exposures": "exposures", "asked for": "asked for", "tasks": "tasks", "lots": "lots"}
    heads |= {"p ≤ 0.05": "p ≤ .05", "p ≤ 0.001": "p ≤ .001", "z": "z", "ranks first": "ranks first"}
    return rows_table(file["results"], heads)


def release_harm(file: File) -> str:
    """Return what copies of each kind cost a model."""
    heads = {"model": "model", "kind": "change", "tasks": "tasks", "whole text, nats": "nats, whole text"}
    heads |= {
        "whole text, share": "share",
        "solution, nats": "nats, solution",
        "solution, share": "share of the solution",
    }
    return rows_table(file["results"], heads)
