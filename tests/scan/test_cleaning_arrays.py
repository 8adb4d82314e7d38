"""An array of rows is cleaned as an array, tables of any type as tables; a document goes as a whole."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import DataError
from assay.scan.cleaning import write_clean
from assay.scan.reading import FileReader, array_items


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_of_rows_stays_one(tmp_path, indent):
    rows = [{"text": f"row {at}", "more": [at]} for at in range(4)]
    source, target = tmp_path / "rows.json", tmp_path / "clean" / "rows.json"
    source.write_text(json.dumps(rows, indent=indent))
    write_clean(str(source), target, {2, 4})
    assert json.loads(target.read_text()) == [rows[0], rows[2]]


def test_an_array_is_read_item_by_item_and_cut_off_where_it_is_broken(tmp_path):
    rows = [{"text": "ü" * 30_000, "at": at} for at in range(9)] + [["a", "list"], "a text", 12, 3.5]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows, ensure_ascii=False))
    with path.open("rb") as stream:
        assert [item for item, _ in array_items(stream)] == rows
    path.write_bytes(path.read_bytes()[:-700])
    target = tmp_path / "clean" / "rows.json"
    with path.open("rb") as stream, pytest.raises(DataError, match="cut off"):
        list(array_items(stream))
    write_clean(str(path), target, {2}, is_cut=True)
    assert json.loads(target.read_text()) == [rows[0], *rows[2:8]]


def test_a_document_that_holds_a_task_is_left_out(tmp_path):
    source, target = tmp_path / "rows.json", tmp_path / "clean.json"
    source.write_text('{\n"text": "a task"\n}\n')
    write_clean(str(source), target, {""})
    assert not target.exists()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_an_array_of_wide_characters_loses_its_rows_and_no_lines(tmp_path, encoding):
    source, target = tmp_path / "rows.json", tmp_path / "clean.json"
    source.write_text(json.dumps([{"text": word} for word in ("one", "two", "three")], indent=1), encoding)
    write_clean(str(source), target, {2})
    assert json.loads(target.read_bytes()) == [{"text": "one"}, {"text": "three"}]


def test_rows_that_end_with_a_carriage_return_are_left_out_one_by_one(tmp_path):
    source, target = tmp_path / "rows.json", tmp_path / "clean.json"
    source.write_bytes(b'{"text": "one"}\r{"text": "two"}\r{"text": "three"}\r')
    write_clean(str(source), target, {2})
    assert target.read_bytes() == b'{"text": "one"}\r{"text": "three"}\r'


def test_items_that_stay_keep_their_bytes(tmp_path):
    items = [
        r'{"text": "\u00fc\ud800 \/", "n": 1.10}',
        '{"a task": 1}',
        '{ "n" : 1e400, "big": 12345678901234567890.5 }',
        "1E5",
        "-0",
    ]
    source, target = tmp_path / "rows.json", tmp_path / "clean.json"
    source.write_bytes(f"[\n {', '.join(items)} ]".encode() + b"\n")
    write_clean(str(source), target, {2})
    kept = [items[0], *items[2:]]
    assert target.read_bytes() == b"[" + ",\n".join(kept).encode() + b"]\n"


def test_a_line_without_an_end_ends_the_file_and_its_copy(tmp_path, monkeypatch):
    """A sparse file of a terabyte is not read to its end."""
    for limit, value in (("LONGEST_LINE", 2**20), ("ENDLESS_LINE", 3 * 2**20)):
        monkeypatch.setattr(f"assay.guard.{limit}", value)
    rows, target = tmp_path / "rows.jsonl", tmp_path / "clean.jsonl"
    with rows.open("wb") as file:
        file.write(b'{"text": "a row of its own"}\n')
        file.truncate(2**40)
    reader = FileReader(str(rows))
    assert [text.row for text in reader.texts()] == [1]
    reason = "broken or cut off: a line of more than 3 MiB, expected shorter ones"
    assert (reader.unread, reader.skipped) == ({"line too long": 1, reason: 1}, {2})
    write_clean(str(rows), target, reader.skipped, is_cut=reader.is_cut)
    assert target.read_bytes() == b'{"text": "a row of its own"}\n'


WORDS = ["one", "a text that is a task, and too long to be stored inside of a view", "three"]
COLUMNS = {
    "string_view": pa.array(WORDS, pa.string_view()),
    "binary_view": pa.array(list(map(str.encode, WORDS)), pa.binary_view()),
    "large_string": pa.array(WORDS, pa.large_string()),
    "dictionary": pa.array(WORDS).dictionary_encode(),
    "dictionary of views": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(WORDS, pa.string_view())),
    "dictionary in a list": pa.array([[word] for word in WORDS], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "dictionary in a struct": pa.array([{"a": x} for x in WORDS], pa.struct({"a": pa.dictionary(pa.int8(), "string")})),
    "ordered": pa.DictionaryArray.from_arrays(pa.array([2, 0, 1], pa.uint8()), [WORDS[1], *WORDS[::-2]], ordered=True),
    "list_view": pa.array([[word] for word in WORDS], pa.list_view(pa.string())),
    "list of views": pa.array([[word] for word in WORDS], pa.list_(pa.string_view())),
    "struct": pa.array([{"a": word} for word in WORDS], pa.struct([("a", pa.string_view())])),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(WORDS[1:])),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_column_of_any_type_loses_a_row_and_its_bytes(tmp_path, name, form):
    table = pa.table({"n": [1, 2, 3], "text": COLUMNS[name]})
    source, target = tmp_path / f"rows.{form}", tmp_path / "clean" / f"rows.{form}"
    if form == "arrow":
        with pa.ipc.new_file(source, table.schema) as out:
            out.write_table(table)
    elif name in {"dictionary of views", "runs"}:
        pytest.skip("Parquet has no such column")
    else:
        pq.write_table(table, source)
    reader = FileReader(str(source))
    assert (len(list(reader.texts())), dict(reader.unread)) == (3, {})
    write_clean(str(source), target, {2})
    clean = pq.read_table(target) if form == "parquet" else pa.ipc.open_file(target).read_all()
    values = table["text"].to_pylist()
    assert (clean["n"].to_pylist(), clean["text"].to_pylist()) == ([1, 3], [values[0], values[2]])
    assert clean.schema.types == (pq.read_schema(source) if form == "parquet" else table.schema).types
    # the row before has the same text in a run
    if name != "runs":
        assert WORDS[1].encode() not in target.read_bytes()


@pytest.mark.parametrize("form", ["file", "stream", "parquet"])
def test_a_dictionary_loses_the_words_of_rows_that_are_removed(tmp_path, form):
    """Nothing of their bytes is left, in files of many batches too; order, null and the type stay."""
    words = [f"word {at:04}" for at in range(3000)]
    order = [f"rank {at}" for at in (2, 0, 1)]
    table = pa.table(
        {
            "n": range(6000),
            "text": pa.array([None, *words, *words[:0:-1]]).dictionary_encode(),
            "rank": pa.DictionaryArray.from_arrays(pa.array([2, 1, 0] * 2000, pa.int8()), order, ordered=True),
        }
    )
    source, target = tmp_path / "rows", tmp_path / "clean" / "rows"
    if form == "parquet":
        pq.write_table(table, source, row_group_size=1000, compression="none")
    else:
        with {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}[form](source, table.schema) as out:
            out.write_table(table, max_chunksize=700)
    removed = {row for row, text in enumerate(table["text"].to_pylist(), 1) if text and text.endswith("7")}
    write_clean(str(source), target, removed)
    read = {"file": pa.ipc.open_file, "stream": pa.ipc.open_stream}
    clean = pq.read_table(target) if form == "parquet" else read[form](target).read_all()
    kept = [row for number, row in enumerate(table.to_pylist(), 1) if number not in removed]
    assert clean.to_pylist() == kept
    assert clean.schema.types == (pq.read_schema(source) if form == "parquet" else table.schema).types
    assert list(clean["rank"].to_pandas().cat.categories) == order
    left = {b"%04d" % at for at in range(3000) if at % 10 != 7}
    assert set(re.findall(rb"word (\d{4})", target.read_bytes())) == left


def test_words_that_cannot_be_selected_are_refused_in_a_line(tmp_path):
    words = pa.array([[word] for word in WORDS])
    table = pa.table({"text": pa.array([0, 1, 2]), "d": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), words)})
    with pa.ipc.new_file(tmp_path / "rows", table.schema) as out:
        out.write_table(table)
    with pytest.raises(DataError, match="expected columns of texts"):
        write_clean(str(tmp_path / "rows"), tmp_path / "clean", {2})
    assert not (tmp_path / "clean").exists()
