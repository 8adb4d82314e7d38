"""Limits of input: what a file unpacks to, how long a text is, how many rewritings a sample gets."""

import gzip
import json
import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay import guard
from assay.datasets import DataSelection, dataset, read_dataset
from assay.datasets.dataset import LONGEST_TEXT, Dataset
from assay.datasets.sources import json_text, stream, text
from assay.datasets.sources.files import file_rows
from assay.errors import DataError, ScoreError
from assay.scoring import ScoreSelection
from assay.types import Sample


def test_a_small_file_that_unpacks_to_very_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "LARGEST_UNPACKED", 100_000)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "' + b"a" * 10_000_000 + b'"}\n'))
    assert path.stat().st_size < 20_000
    with pytest.raises(DataError, match="unpacks to more than 100,000 bytes"):
        read_dataset(path)


def test_a_line_that_is_too_long_is_a_sample_that_no_score_can_judge(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "LONGEST_LINE", 100)
    monkeypatch.setattr(json_text, "LONGEST_LINE", guard.MiB)
    path = tmp_path / "rows.jsonl"
    long = '{"id": "b", "text": "' + "x" * 450 + '"}'
    path.write_text(
        '{"id": "a", "text": "one", "label": 1}\n' + long + '\n{"id": "c", "text": "two", "label": 0}\n' + long
    )
    read = read_dataset(path)
    assert [(sample.id, sample.text) for sample in read.samples] == [
        ("a", "one"), ("line 2", ""), ("c", "two"), ("line 4", ""),
    ]  # fmt: skip
    assert "rows.jsonl: 2 lines of more than 1 MiB, not read" in read.notes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "' + "x" * 450 + '"}', "line 1 has more than 0 MiB"),
        ('{"text":\n "' + "x" * 450 + '"}', "line 2 has more than 0 MiB"),
        ("id,text\na," + "x" * 450, "line 2 has more than 0 MiB"),
        ('[{"text": "' + "x" * 950 + '"}]', "one JSON value of more than 0 MiB"),
    ],
)
def test_what_can_only_be_read_whole_has_a_limit(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(guard, "LONGEST_LINE", 100)
    for module, name in ((text, "LONGEST_LINE"), (json_text, "LARGEST_JSON")):
        monkeypatch.setattr(module, name, 900)
    path = tmp_path / f"rows.{'csv' if content.startswith('id') else 'json'}"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        read_dataset(path)


def test_a_benchmark_keeps_its_other_tasks_where_a_line_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "LONGEST_LINE", 300)
    row = {"task_id": "HumanEval/0", "prompt": "def f(x):\n", "canonical_solution": "    return x\n"}
    row |= {"entry_point": "f", "test": "def check(f):\n    assert f(1) == 1\n"}
    path = tmp_path / "HumanEval.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {"prompt": "#" * 900}) + "\n")
    read = read_dataset("humaneval", DataSelection(data=path))
    assert [(sample.id, bool(sample.text)) for sample in read.samples] == [("HumanEval/0", True), ("line 2", False)]


def test_a_bomb_is_refused_long_before_the_limit_of_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "RATIO_FROM", 1_000_000)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a"}\n' * 500_000))
    rows = iter(file_rows(path, print))
    with pytest.raises(DataError, match="unpacks to more than 200 times its size"):
        for read, _ in enumerate(rows):  # noqa: B007  the number of rows before the error
            pass
    assert read < 250_000


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dictionary", "parquet", "arrow"])
def test_a_small_table_with_a_value_that_is_repeated_is_refused(tmp_path, form):
    column = pa.array(["a" * 100_000] * 1_000)
    table = pa.table({"text": column.dictionary_encode() if form == "dictionary" else column})
    path = tmp_path / "bomb.data"
    if form == "arrow":
        with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
            file.write_table(table)
    else:
        pq.write_table(table, path, compression="zstd")
    with pytest.raises(DataError, match="unpacks to more than 200 times its size"):
        next(iter(file_rows(path, print)))


def test_more_samples_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr(dataset, "MOST_SAMPLES", 10)
    endless = (Sample(str(number), "x") for number in count())
    with pytest.raises(DataError, match="more than 10 samples; expected fewer: --limit N takes the first N"):
        Dataset.of("d", endless, source="s")


def test_a_file_below_the_limit_is_read_whole(tmp_path):
    path = tmp_path / "texts.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "x = 1"}\n' * 3))
    assert len(read_dataset(path)) == 3


def test_a_text_of_megabytes_is_refused_by_name():
    with pytest.raises(DataError, match=r"sample 'big' has 4,194,305 characters"):
        Dataset.of("d", [Sample("a", "x"), Sample("big", "x" * (LONGEST_TEXT + 1))], source="s")


@pytest.mark.parametrize("selection", [ScoreSelection(variants=1_000_000), ScoreSelection("sr_gray:n=5000")])
def test_a_million_variants_are_refused_before_anything_runs(selection):
    with pytest.raises(ScoreError, match="expected 0 to 1,000"):
        selection.specification()


def test_a_plotting_library_that_cannot_be_imported_costs_the_figures_alone():
    code = (
        "import sys; sys.modules['altair'] = None; "
        "from assay.reports import Figure, Report, Curve, render_html, roc_chart; "
        "import numpy as np; "
        "chart = lambda: roc_chart([Curve('a', np.array([0.0, 1.0]), np.array([0.0, 1.0]))], x='x', y='y'); "
        "print(render_html(Report(title='t', statement='s', figures=(Figure('f', 'f', 'd', chart),))))"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1500:]
    assert "This figure could not be drawn" in done.stdout
