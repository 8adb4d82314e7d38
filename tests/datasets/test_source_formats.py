"""The same rows are the same samples, whatever form they are stored in and whatever the file is called."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay import load

Rows = list[dict[str, str]]

ROWS: Rows = [
    {"id": "a", "text": "def f():\r\n\treturn 'é'\n", "label": "member"},
    {"id": "b", "text": 'x = "1,2"\rend', "label": "nonmember"},
    {"id": "c", "text": "", "label": "member"},
]


def as_jsonl(rows: Rows) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def as_jsonl_crlf(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\r\n\r\n" for row in rows).encode()


def as_array(rows: Rows) -> bytes:
    return json.dumps(rows).encode()


def as_indented_array(rows: Rows) -> bytes:
    return json.dumps(rows, indent=2).encode()


def as_columns(rows: Rows) -> bytes:
    return json.dumps({name: [row[name] for row in rows] for name in rows[0]}, indent=1).encode()


def as_columns_by_index(rows: Rows) -> bytes:
    return json.dumps({name: {str(k): row[name] for k, row in enumerate(rows)} for name in rows[0]}).encode()


def as_wrapped(rows: Rows) -> bytes:
    return json.dumps({"data": rows}).encode()


def delimited(rows: Rows, delimiter: str) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def as_csv(rows: Rows) -> bytes:
    return delimited(rows, ",")


def as_tsv(rows: Rows) -> bytes:
    return delimited(rows, "\t")


def as_csv_with_mark(rows: Rows) -> bytes:
    return b"\xef\xbb\xbf" + as_csv(rows)


def as_parquet(rows: Rows) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def as_arrow_stream(rows: Rows) -> bytes:
    table, out = pa.Table.from_pylist(rows), io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def as_arrow_file(rows: Rows) -> bytes:
    table, out = pa.Table.from_pylist(rows), io.BytesIO()
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def as_utf16(rows: Rows) -> bytes:
    return as_jsonl(rows).decode().encode("utf-16")


FORMS = [
    as_jsonl, as_jsonl_crlf, as_array, as_indented_array, as_columns, as_columns_by_index, as_wrapped, as_csv, as_tsv,
    as_csv_with_mark, as_parquet, as_arrow_stream, as_arrow_file, as_utf16,
]  # fmt: skip
NAMES = ["rows.jsonl", "rows.json", "rows.csv", "rows.parquet", "rows.arrow", "rows.txt", "rows"]


def contents(path: Path) -> list[tuple[str, str, str | None]]:
    return [(sample.id, sample.text, sample.label) for sample in load(path).samples]


EXPECTED = [(row["id"], row["text"], row["label"]) for row in ROWS]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_content_and_not_the_name_decides_how_a_file_is_read(form: Callable[[Rows], bytes], name: str, tmp_path: Path):
    path = tmp_path / name
    path.write_bytes(form(ROWS))
    assert contents(path) == EXPECTED


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.gz", "rows"])
def test_every_form_may_be_gzipped_under_any_name(form: Callable[[Rows], bytes], name: str, tmp_path: Path):
    path = tmp_path / name
    path.write_bytes(gzip.compress(form(ROWS)))
    assert contents(path) == EXPECTED


def test_a_saved_arrow_folder_is_read_without_the_datasets_package(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    (tmp_path / "data-00000-of-00002.arrow").write_bytes(as_arrow_stream(ROWS[:2]))
    (tmp_path / "data-00001-of-00002.arrow").write_bytes(as_arrow_stream(ROWS[2:]))
    files = [{"filename": f"data-0000{k}-of-00002.arrow"} for k in (0, 1)]
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": files}), encoding="utf-8")
    (tmp_path / "dataset_info.json").write_text("{}", encoding="utf-8")
    assert contents(tmp_path) == EXPECTED


@pytest.mark.slow
def test_saved_folders_of_several_splits_keep_the_split(tmp_path: Path):
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}', encoding="utf-8")
    for split, rows in (("train", ROWS[:1]), ("test", ROWS[1:])):
        (tmp_path / split).mkdir()
        (tmp_path / split / "data.arrow").write_bytes(as_arrow_stream(rows))
        state = {"_data_files": [{"filename": "data.arrow"}]}
        (tmp_path / split / "state.json").write_text(json.dumps(state), encoding="utf-8")
    assert contents(tmp_path) == EXPECTED
    assert [sample.id for sample in load(tmp_path, split="test").samples] == ["b", "c"]


def test_a_folder_of_shards_is_their_rows_in_order(tmp_path: Path):
    (tmp_path / "part-0.parquet").write_bytes(as_parquet(ROWS[:2]))
    (tmp_path / "part-1.jsonl.gz").write_bytes(gzip.compress(as_jsonl(ROWS[2:])))
    (tmp_path / "README.md").write_text("about", encoding="utf-8")
    assert contents(tmp_path) == EXPECTED


# no surrogates: UTF-8 cannot hold them; no NUL: CSV cannot
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=60)


@pytest.mark.slow
@given(texts=st.lists(TEXTS, min_size=1, max_size=8))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_survives_every_form_unchanged(texts: list[str], tmp_path: Path):
    rows = [{"id": str(k), "text": text, "label": "member"} for k, text in enumerate(texts)]
    path = tmp_path / "rows"
    for form in FORMS:
        for packed in (lambda raw: raw, gzip.compress):
            path.write_bytes(packed(form(rows)))
            assert [sample.text for sample in load(path).samples] == texts, form.__name__
