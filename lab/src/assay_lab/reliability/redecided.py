"""The rule of the verdict as it is now, on benchmarks whose scores are stored: the grid as a regression test.

The folder `STORED` has what a verdict rests on, for each text of the pools of some seeds: role, project as a number,
the declared score under each model, that of the negative control; and the blind baselines. It has no texts. From it
every benchmark of the grid is drawn and decided again, without packages and without training, in minutes.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress
from operator import attrgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.errors import DataError
from assay.evaluation import BlindBaseline, Estimate, Ranking
from assay.files import atomic_path
from assay.types import Sample
from assay_lab.columns import among, attributes, group_column, label_column
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, ValueRow, ValueTable
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.measuring import RESULTS
from assay_lab.papers.printed import value_table
from assay_lab.reliability.grid_methods import DECLARED, evidence_on_draw, product
from assay_lab.reliability.planted_pools import BASE, CONTROLS, CONVERGED, PlantedPool, pools
from assay_lab.reliability.pool_settings import SOURCES, PoolSettings, pool_settings_of
from assay_lab.reliability.reliability import (
    GridCell,
    GridRecord,
    Sources,
    blind_on_pool,
    cell_name,
    cell_table,
    drawn,
    grid_cells,
    intervals_hold,
    share_errors,
    shares_of,
    sources_of,
)

STORED = RESULTS / "dataset" / "pools"
FIRST = RESULTS / "dataset" / "reliability-packages.json"
"""What the grid gave when the rule was chosen, over three seeds."""
DRAWS = PoolSettings().draws
_BLIND = b"blind"
OF_LIBRARY = {CONVERGED, CONTROLS[CONVERGED]}
"""Pools of functions of the standard library; the others are of packages."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredPools:
    """What verdicts on benchmarks of one seed rest on.

    Attributes:
        seed: of the pools.
        own: plant → its pool, and those of the controls; texts are empty, and only the declared score is there.
        blind: (plant, kind of benchmark) → the blind baseline.
    """

    seed: int
    own: Mapping[str, PlantedPool]
    blind: Mapping[tuple[str, str], BlindBaseline]

    def records(self, draws: int = DRAWS, only: Sequence[str] = ()) -> Iterator[GridRecord]:
        """Yield the verdict on every benchmark.

        Args:
            draws: of each cell.
            only: names of the cells that are decided; empty for all.
        """
        for plant, kind, bare in sources_of(self.own, self.seed):
            sources = replace(bare, blind=self.blind[plant, kind])
            for cell in grid_cells(plant, kind, sources):
                if not only or cell_name(cell) in only:
                    for turn in range(draws):
                        yield decided(cell, sources, self.seed * 1000 + turn)


def decided(cell: GridCell, sources: Sources, seed: int) -> GridRecord:
    """Return the verdict of `assay audit` on one benchmark."""
    draw = drawn(cell, sources, seed)
    test = evidence_on_draw(draw).test
    if test is None:
        raise DataError(f"{cell}: no unseen text; expected some in every pool")
    return GridRecord(cell, chooses=False, verdicts={"assay": product(draw)}, values={}, share=test.share)


def redecided(bench: Bench) -> Finding:
    """The rule of the verdict as it is now, on the stored scores of the grid.

    With `--data sources=DIR` the scores of the seeds are computed first, and stored in the folder of the experiments.
    """
    folder = STORED
    if SOURCES in bench.data:
        folder = bench.out / "pools" / "stored"
        folder.mkdir(parents=True, exist_ok=True)
        for seed in bench.seeds:
            own = pools(bench, seed, context=False)
            blind = {(plant, kind): blind_on_pool(each, seed) for plant, kind, each in sources_of(own, seed)}
            store(StoredPools(seed, own, blind), folder)
    stored = list(map(read, sorted(folder.glob("seed-*.parquet"))))
    if not stored:
        raise DataError(f"{folder}: received no stored scores; expected files seed-N.parquet")
    draws = pool_settings_of(bench).draws if SOURCES in bench.data else DRAWS
    records = []
    for each in stored:
        bench.watchers.begin(f"grid, seed {each.seed}")
        records += list(each.records(draws))
    cells = list(dict.fromkeys(attributes(records, "cell")))
    seeds = tuple(attributes(stored, "seed"))
    return Finding(
        name="assay/redecided",
        title="Verdicts on the grid by the rule as it is now",
        tables=(goal_table(records), cell_table(records, cells)),
        notes=(
            f"{len(records)} benchmarks of {len(cells)} cells, drawn from the stored scores of seeds {list(seeds)}.",
            f'The column "when the rule was chosen" is of the same cells in {FIRST.name}, over three seeds.',
            "Installed packages give a part of the texts, so the pools of one seed differ between machines.",
        ),
        seeds=seeds,
    )


def goal_table(records: Sequence[GridRecord]) -> ValueTable:
    """Return the goals now, and in the same cells of the committed grid."""
    tables = {table["name"]: table["rows"] for table in json.loads(FIRST.read_text("utf-8"))["tables"]}
    first: dict[str, list[float]] = {row["name"]: row["values"] for row in tables["cells"]}
    clean = among(records, "cell.share", (0,))
    measurable = list(filter(attrgetter("cell.is_measurable"), records))
    parts: dict[str, tuple[Sequence[GridRecord], int]] = {
        "wrong": (records, 1),
        "false alarms": (clean, 1),
        "right at λ ≥ .2, n ≥ 164": (measurable, 0),
        "cannot tell": (records, 2),
    }
    rows = []
    for name, (chosen, place) in parts.items():
        names = map(cell_name, dict.fromkeys(attributes(chosen, "cell")))
        before = [first[cell][place] for cell in names if cell in first]
        rows.append(ValueRow(name, (shares_of(chosen, "assay")[place], float(np.mean(before)) if before else None)))
    holds = intervals_hold(records)
    rows.append(ValueRow("median error of the share", (float(np.median(share_errors(records))), None)))
    rows.append(ValueRow("intervals that contain the share", (wilson(sum(holds), len(holds)), None)))
    title = f"The goals, over {len(records)} benchmarks"
    columns = ("now", "when the rule was chosen")
    return value_table("goals", title, head="measure", columns=columns, rows=rows, unit="percent")


def store(stored: StoredPools, folder: Path) -> None:
    """Write one seed: a row for each text, a column for each model."""
    of_packages, of_library = stored.own[BASE].samples, stored.own[CONVERGED].samples
    samples = [*of_packages, *of_library]
    groups = list(map(str, group_column(samples)))
    # numbers in the order of the names, because the bootstrap and the permutations go through the groups in that order
    numbers = {name: f"{at:04d}" for at, name in enumerate(sorted(set(groups)))}
    is_library = np.arange(len(samples)) >= len(of_packages)
    columns: dict[str, pa.Array] = {
        "library": pa.array(is_library),
        "role": pa.array(label_column(samples)).dictionary_encode(),
        "group": pa.array(list(map(numbers.__getitem__, groups))).dictionary_encode(),
    }
    for name, pool in stored.own.items():
        column = np.full(len(samples), np.nan)
        # the pools of packages and of the library share one table: each model has values for its own rows alone
        column[is_library == (name in OF_LIBRARY)] = pool.scores[DECLARED]
        columns[name] = pa.array(column, from_pandas=True)
    blind = {f"{plant}|{kind}": described(baseline) for (plant, kind), baseline in stored.blind.items()}
    table = pa.table(columns).replace_schema_metadata({_BLIND: json.dumps(blind)})
    with atomic_path(folder / f"seed-{stored.seed}.parquet") as unfinished:
        pq.write_table(table, unfinished, compression="zstd")


def read(path: Path) -> StoredPools:
    """Return one seed."""
    table = pq.read_table(path)
    seed = int(path.stem.removeprefix("seed-"))
    is_library = table["library"].to_numpy()
    samples = []
    for at, (role, group) in enumerate(zip(table["role"].to_pylist(), table["group"].to_pylist(), strict=True)):
        samples.append(Sample(str(at), "", label=role, group=group))
    own = {}
    for name in table.column_names[3:]:
        in_pool = is_library == (name in OF_LIBRARY)
        values = table[name].to_numpy(zero_copy_only=False).astype(np.float64)[in_pool]
        own[name] = PlantedPool(name, seed, samples=tuple(compress(samples, in_pool)), scores={DECLARED: values})
    blind = {}
    for key, entry in json.loads(table.schema.metadata[_BLIND]).items():
        plant, _, kind = key.partition("|")
        blind[plant, kind] = baseline_of(entry)
    return StoredPools(seed, own, blind)


def described(baseline: BlindBaseline) -> dict[str, object]:
    """Return of a blind baseline what a verdict reads."""
    area = baseline.ranking and asdict(baseline.ranking.auroc)
    return {"auroc": area, "separates": baseline.separates, "reason": baseline.reason}


def baseline_of(entry: Mapping[str, object]) -> BlindBaseline:
    """Return a blind baseline that has what a verdict reads, and NaN elsewhere."""
    area, separates, reason = entry["auroc"], bool(entry["separates"]), entry["reason"]
    if not isinstance(area, dict):
        without_area = None if reason is None else str(reason)
        return BlindBaseline(ranking=None, kind=None, separates=separates, all=(), reason=without_area)
    auroc = Estimate(**{**area, "groups": tuple(area["groups"])})
    ranking = Ranking(
        name="stored",
        **dict.fromkeys(("positives", "negatives", "unscorable_positives", "unscorable_negatives", "groups"), 0),
        auroc=auroc,
        auprc=Estimate(math.nan, math.nan, math.nan),
        auprc_chance=math.nan,
        tpr_at_fpr={},
        fpr=np.zeros(0),
        tpr=np.zeros(0),
    )
    return BlindBaseline(ranking=ranking, kind=ranking.name, separates=separates, all=(ranking,))


EXPERIMENTS = (Reproduction("assay", "redecided", redecided),)
