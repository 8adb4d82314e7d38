"""Tables of the page on releases, made from the files in lab/results/release."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay_lab.pages.table_cells import File, number, table

Heads = Mapping[str, str]
"""Key of a row → heading of its column."""


def cell(value: Any) -> str:  # noqa: ANN401  whatever JSON holds
    """Return a share with its interval, a number, or text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return f"{value['value']:.3f} ({value['low']:.3f}–{value['high']:.3f})"
    return number(value) if isinstance(value, int | float) else str(value)


def rows_table(rows: Sequence[Mapping[str, Any]], heads: Heads) -> str:
    """Return a table of some values of each row."""
    return table(list(heads.values()), [[cell(row[key]) for key in heads] for row in rows])


def release_null(file: File) -> str:
    """Return the share of lots that are rejected where no model knows the lot."""
    heads = {"model": "model", "copies": "copies", "covariate": "parent", "tasks": "tasks"}
    return rows_table(file["results"], heads | {"p ≤ 0.05": "p ≤ .05", "p ≤ 0.01": "p ≤ .01"})


def release_power(file: File) -> str:
    """Return how often a plant is found, with and without a parent."""
    heads = {"dose": "seen", "tasks": "tasks", "copies": "copies", "parent": "parent", "evidence p ≤ 0.05": "p ≤ .05"}
    heads |= {
        "evidence p ≤ 0.01": "p ≤ .01",
        "z evidence": "z",
        "z mean": "z of the mean",
        "ranks first": "ranks first",
    }
    return rows_table(
        file["results"], heads | {"known at least": "known, at least", "mid_pit AUROC": "AUROC of `mid_pit`"}
    )


def release_twins(file: File) -> str:
    """Return how many tasks a comparison of twins needs."""
    return rows_table(file["results"], {key: key for key in file["results"][0]})


def release_difficulty(file: File) -> str:
    """Return how alike published and secret copies are."""
    return rows_table(file["results"], {key: key for key in file["results"][0]})


def release_cost(file: File) -> str:
    """Return what making and testing cost."""
    return rows_table(file["results"], {key: key for key in file["results"][0]})
