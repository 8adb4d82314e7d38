"""Rows become files, in the columns of The Stack or in those that the user names."""

import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.corpora.blocks import view_of
from assay.corpora.entry import Entry, Facts, Skipped
from assay.corpora.rows import Stream, TableFile, is_table
from assay.errors import DataError

V1 = {
    "hexsha": "a" * 40, "lang": "Python", "content": "x = 1\n", "max_stars_repo_name": "o/r",
    "max_stars_repo_path": "src/a.py", "max_stars_repo_head_hexsha": "c" * 40,
    "max_stars_repo_licenses": ["mit", "Apache-2.0"],
}  # fmt: skip
V2 = {
    "blob_id": "b" * 40, "repo_name": "o/r", "path": "/src/a.go", "detected_licenses": ["GPL-3.0-only"],
    "license_type": "no_license", "src_encoding": "koi8-r", "language": "Go", "content": "// я\n".encode("koi8-r"),
    "revision_id": "d" * 40,
}  # fmt: skip


def lines(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read(file, /, **columns):
    return list(TableFile(file, "t", columns).files())


def write(path, rows):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(lines(*rows) if path.suffix == ".jsonl" else gzip.compress(lines(*rows)))
    return path


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.parquet"])
def test_the_stack_v1(tmp_path, name):
    path = write(tmp_path / name, [V1])
    assert is_table(path)
    (entry,) = read(path)
    assert (entry.path, entry.stamp, entry.content.read(99)) == ("o/r/src/a.py", "a" * 40, "x = 1\n")
    assert entry.facts == Facts(metadata="MIT AND Apache-2.0", repository="o/r", commit="c" * 40, language="python")


def test_the_stack_v2_says_its_encoding(tmp_path):
    (entry,) = read(write(tmp_path / "t.parquet", [V2]))
    assert (entry.path, entry.content.read(99)) == ("o/r/src/a.go", "// я\n")
    assert entry.facts == Facts(metadata="GPL-3.0-only", repository="o/r", commit="d" * 40, language="go")


def test_the_stack_v2_without_contents_says_what_to_do(tmp_path):
    row = {key: value for key, value in V2.items() if key != "content"}
    with pytest.raises(DataError, match="download its contents first"):
        read(write(tmp_path / "t.parquet", [row]))


def test_columns_of_ones_own(tmp_path):
    path = write(tmp_path / "t.jsonl", [{"body": "x", "where": "a/b.c", "terms": "BSD"}])
    (entry,) = read(path, text="body", path="where", licence="terms")
    assert (entry.path, entry.facts.metadata) == ("a/b.c", "BSD-3-Clause")
    with pytest.raises(DataError, match="columns body, terms, where: expected a column of texts"):
        read(path)
    with pytest.raises(DataError, match="expected a column of texts, 'nope'"):
        read(path, text="nope")


def test_rows_without_a_path_are_known_by_their_number(tmp_path):
    assert [file.path for file in read(write(tmp_path / "t.parquet", [{"text": "x"}, {"text": "y"}]))] == [
        "t.parquet:1", "t.parquet:2",
    ]  # fmt: skip


def test_a_broken_or_half_written_line_is_counted_and_the_rest_is_read(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"content": "a"}\n{"content": \n\n[1]\n\xff\n{"other": 1}\n{"content": "b"}\n{"content": "c')
    found = read(path)
    assert [entry.content.read(9) for entry in found if isinstance(entry, Entry)] == ["a", "b"]
    assert [(entry.path, entry.reason) for entry in found if isinstance(entry, Skipped)] == [
        ("t.jsonl:2", "broken row"), ("t.jsonl:4", "broken row"), ("t.jsonl:5", "broken row"),
        ("t.jsonl:6", "no text in the row"), ("t.jsonl:8", "broken row"),
    ]  # fmt: skip


def test_a_line_without_end_is_not_held_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.guard.LONGEST_LINE", 100)
    path = tmp_path / "t.jsonl"
    path.write_bytes(lines({"content": "a"}, {"content": "x" * 950}, {"content": "b"}))
    found = read(path)
    assert [getattr(entry, "reason", "entry") for entry in found] == ["entry", "too large", "entry"]


def test_a_bomb_is_refused_after_a_part_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.datasets.sources.stream.RATIO_FROM", 100_000)
    bomb = write(tmp_path / "t.jsonl.gz", [{"content": "x = 1\n"}] * 20_000)
    rows = TableFile(bomb, "t").files()
    with pytest.raises(DataError, match="unpacks to more than 200 times its size"):
        assert sum(isinstance(row, Entry) for row in rows) < 0


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl.gz"])
def test_a_truncated_table_is_one_line(tmp_path, name):
    path = write(tmp_path / name, [{"content": f"x = {i}\n" * 50} for i in range(1000)])
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"truncated|whole Parquet"):
        read(path)


def stream(raw, **options):
    return list(Stream(io.BytesIO(raw), "stdin", 10**6, **options).files())


def test_a_stream_is_rows_where_its_first_line_is_a_json_object():
    assert [entry.content.read(9) for entry in stream(lines({"content": "a"}, {"content": "b"}))] == ["a", "b"]


def test_any_other_stream_is_one_file():
    (entry,) = stream(b"def f():\n    return 1\n", path="f.py")
    assert (entry.path, entry.content.read(8)) == ("f.py", b"def f():")


def test_the_form_can_be_told():
    (entry,) = stream(lines({"content": "a"}), form="file")
    assert entry.content.read(99) == lines({"content": "a"})
    assert stream(b"no json\n", form="table") == [Skipped("stdin:1", "broken row")]


@pytest.mark.parametrize("content", [b"x = 1\n", b'{"a": 1', b""])
def test_what_is_no_table(tmp_path, content):
    (tmp_path / "a.py").write_bytes(content)
    assert not is_table(tmp_path / "a.py")


@pytest.mark.parametrize("field", ["path", "lang", "author", "blob_id", "license", "repo_name", "encoding"])
@pytest.mark.parametrize("value", [["a"], {"a": [1]}, [[]], 1e300, "\ud800", "[" * 5_000, "a\0b"], ids=repr)
def test_a_cell_of_another_kind_is_passed_over(tmp_path, field, value):
    (entry,) = read(write(tmp_path / "t.jsonl", [{"content": "x = 1\n", field: value}]))
    assert entry.content.read(9) == "x = 1\n"


@pytest.mark.parametrize("encoding", ["rot13", "a\0b", "no such", "utf-16", "idna", "punycode", "\ud800", "x" * 10**6])
def test_a_binary_cell_is_decoded_or_passed_over_whatever_its_encoding(tmp_path, encoding):
    cells = pa.array([b"\xff\xfe\0", b"x = 1\n"])
    table = pa.table({"content": cells, "encoding": [encoding.replace("\ud800", "?")] * 2})
    pq.write_table(table, tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet")
    assert [getattr(entry, "reason", "entry") for entry in found] == ["undecodable", "entry"]


def test_a_line_of_a_patch_that_begins_with_plus_signs_is_code():
    patch = "--- a/x.c\n+++ b/x.c\n@@ -1,2 +1,3 @@\n int f(void) {\n+++ i;\n }\n"
    assert view_of("x.patch", patch, None).text == "\n\n\nint f(void) {\n++ i;\n}\n"


def test_a_program_under_the_suffix_of_another_language_is_read_as_what_it_is():
    program = "def own(rows):\n    # of all\n    return [row.name for row in rows if row]\n"
    (block,) = view_of("a.for", program, "fortran").blocks
    assert (block.text, block.language) == (program, "python")
    fortran = "      subroutine own(a, n)\n      real a(n)\n      a(1) = 1.0d0\n      end\n"
    assert not view_of("a.for", fortran, "fortran").blocks
