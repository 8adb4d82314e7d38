"""Table 1 of DECo: our numbers beside the printed ones, whose sums hold."""

import json

import pytest

from assay.errors import DataError
from assay.reports.wording import as_text
from assay_lab.experiments import Bench, experiment_named
from assay_lab.experiments.describing import described_table
from assay_lab.papers.deco.data_sets import PAPER, counts_beside_paper
from assay_lab.rewrites import SetCounts, read_counts


@pytest.mark.parametrize("name", ["binary", "multi"])
def test_rows_and_columns_of_the_printed_table_sum_up(name):
    rows = PAPER.tables["table-1"].rows(name)
    assert all(sum(row[:-1]) == row[-1] for row in rows.values())
    total = rows["Total"]
    assert [sum(column) - n for column, n in zip(zip(*rows.values(), strict=True), total, strict=True)] == total


def test_a_built_folder_stands_beside_the_paper(tmp_path):
    table = {
        name: {"authors": ["human", "m"], "languages": {"python": [3, 2], "go": [1, 0]}, "total": [4, 2]}
        for name in ("binary", "multi")
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"table_1": table}))
    assert read_counts(tmp_path)["binary"].total == (4, 2)
    bench = Bench(tmp_path, (), (0,), {"deco": tmp_path}, scale="paper")
    binary, _ = experiment_named("deco/table-1").run(bench).tables
    rows = {row.name: row.values for row in binary.rows}
    assert rows["Python"] == (3, 2, 5, 21545, 5699, 13789, 13796, 11101, 65930)
    assert rows["Go"] == (1, 0, 1, *[None] * 6)
    assert rows["C"][:4] == (None, None, None, 25907)
    assert binary.rows[-1].values[:3] == (4, 2, 6)


def test_large_numbers_are_printed_whole():
    table = described_table(counts_beside_paper("binary", SetCounts(("human",), {"c": (12345,)})))
    assert as_text(table).rows[0][:4] == ("C", "12,345", "12,345", "25,907")


def test_the_scale_of_the_paper_needs_a_data_set(tmp_path):
    with pytest.raises(DataError, match="--data deco=FOLDER"):
        experiment_named("deco/table-1").run(Bench(tmp_path, (), (0,), scale="paper"))
    with pytest.raises(DataError, match=r"manifest\.json: expected the manifest"):
        experiment_named("deco/table-1").run(Bench(tmp_path, (), (0,), {"deco": tmp_path}))


def test_a_data_set_without_texts_has_a_total():
    table = counts_beside_paper("multi", SetCounts(("human", "m"), {}))
    assert table.rows[-1].values[:3] == (0, 0, 0)
