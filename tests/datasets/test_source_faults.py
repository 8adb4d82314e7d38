"""Bad input ends in one clear line that names the file."""

import bz2
import csv
import gzip
import io
import json
import lzma
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay import load
from assay.datasets import read_rows
from assay.errors import DataError


def fault_of(path: Path | str, **options) -> str:
    """The message of the error, which is always one line that begins with the file."""
    with pytest.raises(DataError) as caught:
        load(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message


def parquet(rows: int = 1000) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"text": [f"text {k}" for k in range(rows)]}), out)
    return out.getvalue()


def test_a_missing_file_is_named(tmp_path):
    assert "No such file" in fault_of(tmp_path / "absent.jsonl")


@pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_refused(content, written):
    assert "empty file" in fault_of(written(content))


def test_white_space_alone_is_refused(written):
    assert "white space" in fault_of(written(b" \n\n"))


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.txt", "rows.py", "rows"])
@pytest.mark.parametrize("content", [bytes(range(256)) * 40, b"\x7fELF\x02\x01\x01" + b"\0" * 60])
def test_binary_content_is_refused_under_every_name(content, name, written):
    assert "binary" in fault_of(written(content, name))


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.txt"])
def test_garbage_without_a_nul_byte_is_refused(name, written):
    fault_of(written(bytes(range(1, 32)) + bytes(range(127, 256)) + b"\xfe\x01\x02", name))


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"PK\x03\x04rest", "zip archive"),
        (b"BZh91AY", "bzip2"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b"SQLite format 3\0", "SQLite"),
    ],
)
def test_a_foreign_format_is_called_by_its_name(content, form, written):
    assert form in fault_of(written(content))


def test_broken_json_lines_say_the_line(written):
    path = written(b'{"text": "a"}\n\n{"text": "b"}\n{"text": "c\n')
    assert "broken JSON in line 4" in fault_of(path)


def test_a_broken_first_line_is_the_one_that_is_named(written):
    assert "broken JSON in line 1" in fault_of(written(b'{"text": "a"\n{"text": "b"}\n'))


def test_a_broken_array_says_the_line(written):
    assert "broken JSON in line 3" in fault_of(written(b'[\n {"text": "a"},\n {"text": }\n]'))


def test_a_json_file_that_was_cut_off_is_refused(written):
    whole = json.dumps([{"text": "a" * 50}] * 10, indent=1).encode()
    assert "broken JSON" in fault_of(written(whole[:-200]))


@pytest.mark.parametrize("content", [b"[1, 2]", b'{"text": "a"}\n[1]\n', b'[{"text": "a"}, "b"]'])
def test_json_that_holds_no_objects_is_refused(content, written):
    assert "expected" in fault_of(written(content))


def test_brackets_nested_too_deep_are_refused(written):
    assert "cannot be read" in fault_of(written(b'{"text": "a"}\n{"text": ' + b"[" * 200_000 + b"\n"))


def test_a_number_of_thousands_of_digits_is_refused(written):
    digits = b"9" * (sys.get_int_max_str_digits() + 1)
    assert "cannot be read in line 2" in fault_of(written(b'{"text": "a"}\n{"text": "b", "n": ' + digits + b"}\n"))


def test_a_nul_byte_far_inside_says_the_line(written):
    path = written(b"id,text\n" + b"1,abc\n" * 20_000 + b"2,a\0c\n", "rows.csv")
    assert "NUL byte in line 20002" in fault_of(path)


def test_a_name_that_promises_rows_must_hold_rows(written):
    assert "named .jsonl but begins with 'hello world'" in fault_of(written(b"hello world\n"))


def test_a_record_with_too_few_fields_says_the_line(written):
    assert "in line 3 has 1 fields, expected 2" in fault_of(written(b"id,text\n1,a\n2\n", "rows.csv"))


def test_a_quote_that_never_ends_is_refused(written):
    assert "broken CSV" in fault_of(written(b'id,text\n1,"abc\n', "rows.csv"))


def test_a_header_with_one_name_twice_is_refused(written):
    assert "'text' stands twice" in fault_of(written(b"text,text\na,b\n", "rows.csv"))


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'{"id": 1, "text": "a", "text": "b"}\n{"id": 2, "text": "c"}\n', 1),
        (b'{"id": 1, "text": "a"}\n{"id": 2, "more": {"text": "c", "text": "d"}}\n', 2),
        (b'{"text": ["a"], "text": ["b"]}', 1),
        (b'[{"text": "a"},\n {"text": "b", "text": "c"}]', 1),
        (b'{\n "id": 1,\n "text": "a",\n "text": "b"\n}', 1),
    ],
)
def test_a_row_of_json_with_one_name_twice_is_refused(content, line, written):
    assert f"in the JSON of line {line} the field 'text' stands twice" in fault_of(written(content, "rows.json"))


def test_a_header_alone_has_no_rows(written):
    assert "no rows" in fault_of(written(b"id,text\n", "rows.csv"))


PACKERS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda raw: pa.compress(raw, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("form", PACKERS)
def test_a_truncated_or_damaged_compressed_file_is_refused(form, written):
    packed = PACKERS[form](b"".join(b'{"text": "%d"}\n' % k for k in range(100_000)))
    assert f"truncated {form} file" in fault_of(written(packed[: len(packed) // 2]))
    damaged = bytearray(packed)
    damaged[len(packed) // 3 : len(packed) // 3 + 40] = bytes(40)
    assert fault_of(written(bytes(damaged)))


@pytest.mark.parametrize(("form", "suffix"), [*zip(PACKERS, ("gz", "bz2", "xz", "zst"), strict=True)])
def test_every_compression_is_read_by_its_content(form, suffix, tmp_path):
    (tmp_path / "plain.jsonl").write_bytes(b'{"text": "y = 2"}\n')
    for name in (f"rows.jsonl.{suffix}", "rows"):
        (tmp_path / name).write_bytes(PACKERS[form](b'{"text": "x = 1"}\n' * 3))
        assert len(load(tmp_path / name)) == 3
    # in a folder the packed file counts as well: it was left out without a word
    assert len(load(tmp_path)) == 4


@pytest.mark.parametrize("kept", [8, 2000, -4])
def test_a_truncated_parquet_file_is_refused(kept, written):
    assert "expected a whole Parquet file" in fault_of(written(parquet()[:kept], "rows.parquet"))


def test_a_truncated_arrow_stream_is_refused(written):
    table, out = pa.table({"text": ["text"] * 5000}), io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    assert "expected a whole Arrow file" in fault_of(written(out.getvalue()[:3000], "rows.arrow"))


@pytest.mark.parametrize("state", ["{", "[]", "{}"])
def test_a_saved_folder_with_a_broken_table_of_contents_is_refused(state, tmp_path):
    (tmp_path / "state.json").write_text(state, encoding="utf-8")
    with pytest.raises(DataError, match=r"state.json: broken, expected the JSON that save_to_disk writes"):
        load(tmp_path)


def test_a_saved_folder_whose_data_are_gone_is_refused(tmp_path):
    (tmp_path / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}', encoding="utf-8")
    with pytest.raises(DataError, match=r"data\.arrow: No such file"):
        load(tmp_path)


def test_a_false_utf16_mark_is_refused(written):
    assert "not utf-16" in fault_of(written(b"\xff\xfe{\0}\0\n\0\xd8\xd8\xd8\xd8", "rows.jsonl"))


def test_permission_denied_is_said(written, monkeypatch):
    path = written(b'{"text": "a"}\n')

    def refuse(self, *_args, **_options):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    assert "Permission denied" in fault_of(path)


def test_an_unreadable_folder_is_said(tmp_path, monkeypatch):
    def refuse(folder):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("os.scandir", refuse)
    assert "Permission denied" in fault_of(tmp_path)


def test_a_folder_without_any_readable_file_is_refused(tmp_path):
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    assert "none of them readable" in fault_of(tmp_path)


def test_a_device_is_no_data_set():
    assert "neither a file nor a folder" in fault_of("/dev/null")


def test_a_path_that_no_system_has_is_refused():
    assert "expected" in fault_of("a\0b/c.jsonl")


def test_one_line_of_fifty_megabytes_is_read(written):
    size = 50 * 2**20
    path = written(b'{"text": "' + b"x" * size + b'"}\n')
    (row,) = read_rows(path, print)
    assert len(row["text"]) == size


def test_a_csv_field_of_a_megabyte_is_read(written):
    assert len(load(written(b"id,text\n1," + b"x" * 2**20 + b"\n", "rows.csv")).samples[0].text) == 2**20


def test_bytes_that_are_not_utf8_are_read_as_latin1_and_noted(written):
    dataset = load(written('{"text": "na\xefve"}\n{"text": "plain"}\n'.encode("latin-1")))
    assert [sample.text for sample in dataset.samples] == ["na\xefve", "plain"]
    assert dataset.notes == ("rows.jsonl: 1 line not UTF-8, read as Latin-1",)


def test_the_process_wide_csv_limit_is_only_ever_raised(written):
    before = csv.field_size_limit()
    load(written(b"id,text\n1,a\n", "rows.csv"))
    assert csv.field_size_limit() >= before


def test_a_csv_file_with_bare_carriage_returns_is_refused(written):
    assert "broken CSV in line 1" in fault_of(written(b"id,text\r1,a\r2,b\r", "rows.csv"))
