"""The scores of a set of texts as a table."""

from dataclasses import dataclass

import pyarrow as pa

from assay.reports import Column, Report, Row, Table, TabularResult, number_of
from assay.types import Score

SHOWN = 20
"""Samples in the table of a report; `to_arrow` has all of them."""


@dataclass(frozen=True, slots=True, repr=False)
class Scores(TabularResult):
    """Scores of samples under one model; higher = member.

    Attributes:
        model: what the user called it.
        dataset: name of the data set.
        names: of the scores.
        ids: of the samples, in input order.
        rows: one tuple of scores per sample, in the order of `names`.
    """

    model: str
    dataset: str
    names: tuple[str, ...]
    ids: tuple[str, ...]
    rows: tuple[tuple[Score, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def to_arrow(self) -> pa.Table:
        """Return one row per sample: `id`, a float64 column per score (null where unscorable), and the reasons."""
        columns: dict[str, pa.Array] = {"id": pa.array(self.ids, pa.string())}
        values: dict[str, list[float | None]] = {name: [] for name in self.names}
        reasons: list[list[tuple[str, str]]] = []
        for row in self.rows:
            reasons.append([])
            for score in row:
                if score.reason is None:
                    values[score.name].append(score.value)
                    continue
                values[score.name].append(None)
                reasons[-1].append((score.name, score.reason))
        # null and not NaN: readers of Arrow count nulls, and a mean over NaN is NaN
        for name, cells in values.items():
            columns[name] = pa.array(cells, pa.float64())
        columns["unscorable"] = pa.array(reasons, pa.map_(pa.string(), pa.string()))
        return pa.table(columns)

    def describe(self) -> Report:
        """Return a report with the scores of the first samples."""
        cells = []
        for name, row in zip(self.ids[:SHOWN], self.rows[:SHOWN], strict=True):
            cells.append(Row((name, *map(_shown, row))))
        columns = (Column("sample", "name"), *(Column(name, "number") for name in self.names))
        shown = [f"The first {SHOWN} of {len(self):,} samples."] * (len(self) > SHOWN)
        return Report(
            title=f"Scores of {self.dataset} under {self.model}",
            statement=f"{number_of(len(self), 'sample')}, {number_of(len(self.names), 'score')}; higher = member.",
            tables=(Table(name="scores", title="Scores", columns=columns, rows=tuple(cells), caption=tuple(shown)),),
            data={"model": self.model, "dataset": self.dataset, "scores": self.to_arrow().to_pylist()},
        )


def _shown(score: Score) -> float | str:
    """Return the value of a score, or why there is none."""
    if score.reason is None:
        return score.value
    return score.reason
