"""`assay score`."""

import csv
import json
import math

import pyarrow.parquet as pq
import pytest

from assay.cli import ScoreRow, write_scores
from assay.errors import DataError
from assay.scores import SCORES


def rows_of(text):
    return [json.loads(line) for line in text.splitlines()]


def test_one_line_per_sample_in_input_order(assay, texts, golden):
    done = assay("score", golden / "model", texts, "--scores", "loss,lrr,ngram_accuracy:n=200")
    assert done.code == 0, done.err
    found = rows_of(done.out)
    assert [row["id"] for row in found] == [f"t{i}" for i in range(24)]
    assert set(found[0]["scores"]) == {"loss", "lrr"}
    assert found[0]["unscorable"] == {"ngram_accuracy:n=200": "fewer than 200 scored tokens"}


def test_what_an_interrupted_run_has_computed_is_not_computed_again(assay, texts, golden):
    first = assay("score", golden / "model", texts, "--scores", "loss", "--limit", "10")
    info = json.loads(assay("cache", "info", "--json").out)
    assert info["entries"] == 10
    assert assay("score", golden / "model", texts, "--scores", "loss").out.startswith(first.out)
    assert json.loads(assay("cache", "info", "--json").out)["entries"] == 24


def test_the_list_names_every_score_with_what_it_needs(assay):
    done = assay("score", "--list")
    assert done.code == 0
    for name, found in SCORES.items():
        assert name in done.out
        assert found.reference.split(",")[0].split()[0] in done.out


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "csv"])
def test_every_format_holds_the_same_numbers(tmp_path, suffix):
    rows = [
        ScoreRow("a", {"loss": -1 / 3, "lrr": 2.0}, {}),
        ScoreRow("b", {"loss": -math.pi}, {"lrr": "every rank is 1"}),
    ]
    path = tmp_path / f"out.{suffix}"
    write_scores(iter(rows), path, ["loss", "lrr"])
    if suffix == "jsonl":
        found = [(row["id"], row["scores"].get("loss"), row["scores"].get("lrr")) for row in rows_of(path.read_text())]
    elif suffix == "parquet":
        found = [(row["id"], row["loss"], row["lrr"]) for row in pq.read_table(path).to_pylist()]
    else:
        table = csv.DictReader(path.read_text().splitlines())
        found = [(row["id"], float(row["loss"]), float(row["lrr"]) if row["lrr"] else None) for row in table]
    assert found == [("a", -1 / 3, 2.0), ("b", -math.pi, None)]


def test_a_file_appears_under_its_name_only_when_it_is_whole(tmp_path):
    def breaking():
        yield ScoreRow("a", {"loss": 1.0}, {})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_scores(breaking(), tmp_path / "out.jsonl", ["loss"])
    assert not list(tmp_path.iterdir())


def test_a_full_disk_gets_one_clear_line(tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        write_scores(iter([]), tmp_path / "no" / "such" / "out.jsonl", ["loss"])


def test_variants_add_the_scores_that_compare_rewritings(assay, texts, golden):
    done = assay("score", golden / "model", texts, "--scores", "loss", "--variants", "3", "--limit", "2")
    assert done.code == 0, done.err
    (row, _) = rows_of(done.out)
    assert set(row["scores"]) | set(row["unscorable"]) == {
        "loss",
        "sr_gray:n=3",
        "sr_z:n=3",
        "sr_rank:n=3",
        "sr_shared:n=3",
        "sr_names:n=3",
        "sr_ratio:n=3",
        "sr_mid_pit:n=3",
    }
