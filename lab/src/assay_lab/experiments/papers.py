"""The values that a paper prints, read from the `paper.toml` of its package."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Unit = Literal["percent", "number", "count"]


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """One table of a paper, as printed.

    Attributes:
        source: its number and subject.
        unit: of its values.
        columns: their headings: epochs, ratios or names.
        values: row → one number for each column; rows may be nested by measure and model.
    """

    source: str
    unit: Unit
    columns: tuple[int | str, ...]
    values: Mapping[str, Any]

    def rows(self, *path: str) -> Mapping[str, Any]:
        """Return the rows under some keys, from the outside in; empty where the table does not have them."""
        rows: Any = self.values
        for key in path:
            rows = rows.get(key, {})
        return rows if isinstance(rows, dict) else {}

    def value(self, *path: str, column: int | str) -> float | None:
        """Return one value, a share where the paper prints per cent; None where the table does not have it.

        Args:
            path: keys of the row, from the outside in.
            column: one of `columns`.
        """
        *outer, last = path
        row: Any = self.rows(*outer).get(last)
        if not row or column not in self.columns:
            return None
        value = float(row[self.columns.index(column)])
        return value / 100 if self.unit == "percent" else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper whose tables and figures are reproduced; this project's own experiments count as one.

    Attributes:
        title: short, with its authors.
        models: those of its main tables.
        tables: by number, as "table-1".
        methods: row of its tables → our method, as in a request.
        hub_models: model of the paper → its id on the hub (an encoder of ours where the paper's is not published).
        sizes: model of the paper → its parameters in billions, where its name does not say so.
        data: names of its data, as `--data` takes them.
        roles: what a model does beside the main ones → its id, as `--score-model` takes it.
        classifiers: row of its tables → id of the encoder that is fine-tuned.
        audited: model whose benchmarks are audited without training → its id.
        absent: sentences on what no command reproduces here.
    """

    title: str
    models: tuple[str, ...] = ()
    tables: Mapping[str, PrintedTable] = field(default_factory=dict)
    methods: Mapping[str, str] = field(default_factory=dict)
    hub_models: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    classifiers: Mapping[str, str] = field(default_factory=dict)
    audited: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()


PAPERS = ("srdetection", "kds", "hst", "deco", "bugs")
FAMILIES = ("kds", "hst", "deco", "bugs")
"""Papers whose sizes are a table of their own in a configuration file; the other keys are of the testbed."""


def hub_models_of(name: str) -> tuple[str, ...]:
    """Return the ids of the models of a paper; none where the scale has a configuration for each."""
    return tuple(dict.fromkeys(paper(name).hub_models.values()))


def all_hub_ids() -> frozenset[str]:
    """Return the ids of all models that the papers name, without the kind before them."""
    ids: set[str] = set()
    for each in map(paper, PAPERS):
        for table in (each.hub_models, each.roles, each.classifiers, each.audited):
            ids.update(name.rpartition(":")[2] for name in table.values() if not name.startswith("builtin:"))
    return frozenset(ids)


@cache
def paper(name: str) -> Paper:
    """Return the paper of a package of experiments.

    Args:
        name: of the package, as "srdetection"; "assay" for our own experiments on reliability.
    """
    folder = files("assay_lab.reliability") if name == "assay" else files("assay_lab.papers").joinpath(name)
    content = tomllib.loads(folder.joinpath("paper.toml").read_text("utf-8"))
    tables = {}
    # popped, so that what is left are the fields of `Paper`
    for key, table in content.pop("tables", {}).items():
        tables[key] = PrintedTable(
            source=table["source"], unit=table["unit"], columns=tuple(table["columns"]), values=table["values"]
        )
    return Paper(tables=tables, **content)
