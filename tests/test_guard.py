"""A reader of foreign bytes runs in a child process, and ends in one line whatever it does."""

import io
import json
import os
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.datasets.sources.columnar import write_batches
from assay.errors import DataError, ModelError
from assay.guard import child_stream, child_value, json_file, json_value, library_faults

EXPECTED = "a harmless file"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    return tmp_path / "file"


def copy(out, path, times):
    print("a library that prints")  # noqa: T201
    out.write(json.dumps(times * Path(path).read_text()).encode())


def hang(out, path):
    out.write(b"[")
    out.flush()
    while True:
        pass


def sleep(out, path):
    time.sleep(60)


def grow(out, path):
    kept = bytearray()
    while True:
        kept += bytes(2**24)


def crash(out, path):
    out.write(b"[1]")
    out.flush()
    os.abort()


def refuse(out, path):
    raise DataError(f"{path}: received this, expected that")


def fail(out, path):
    raise KeyError("a\nname")


def test_a_value_comes_back_as_data(path):
    assert child_value(copy, path, 3, expected=EXPECTED, in_all=60) == "xxx"


def test_a_stream_may_be_left_before_its_end(path):
    with child_stream(copy, path, 10**6, expected=EXPECTED) as stream:
        assert stream.read(3) == b'"xx'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reader", "reason"),
    [
        (hang, "takes more than 1 s, expected a harmless file"),
        (grow, "needs more than 448 MiB of memory, expected a harmless file"),
        (crash, "ends its reader (status -6), expected a harmless file"),
        (fail, "the field 'a\\nname' is missing, expected a harmless file"),
        (refuse, "received this, expected that"),
    ],
)
def test_each_end_without_a_result_is_one_line(path, reader, reason):
    # only the clock's own case is short: on a busy machine the others need longer to come to their end
    seconds = 1 if reader is hang else 100
    with (
        pytest.raises(ModelError) as refused,
        child_stream(reader, path, expected=EXPECTED, error=ModelError, seconds=seconds) as stream,
    ):
        stream.read()
    assert str(refused.value) == f"{path}: {reason}"


def end_by_the_system(out, path):
    os.kill(os.getpid(), 9)


def test_a_reader_that_the_system_ends_was_not_slow(path):
    with pytest.raises(DataError, match=r"the system ended its reader, as it does where memory runs out, expected"):
        child_value(end_by_the_system, path, expected=EXPECTED, in_all=100)


def test_a_reader_that_waits_is_ended_by_the_clock(path):
    with pytest.raises(DataError, match=r"takes more than 0\.5 s"):
        child_value(sleep, path, expected=EXPECTED, in_all=0.5)


def test_the_child_imports_nothing_from_the_current_folder(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    for name in ("json", "numpy", "assay", "resource", "io"):
        (path.parent / f"{name}.py").write_text("raise SystemExit(99)")
    assert child_value(copy, path, 1, expected=EXPECTED, in_all=60) == "x"


@pytest.mark.parametrize("content", [b"[" * 10**6, b"9" * 10**5, b"\xff", b"{", b""], ids=repr)
def test_json_that_cannot_be_read_is_one_line(path, content):
    with pytest.raises(DataError, match="expected a JSON file"):
        json_value(path, content)


def test_a_json_file_without_end_is_refused_before_it_fills_the_memory(tmp_path):
    (tmp_path / "sparse.json").touch()
    os.truncate(tmp_path / "sparse.json", 10**11)
    for place in (Path("/dev/zero"), tmp_path / "sparse.json"):
        with pytest.raises(ValueError, match="more than 268,435,456 bytes"):
            json_file(place)


def test_every_exception_of_a_library_is_one_line(path):
    for fault in (
        MemoryError(),
        RuntimeError("a\nb"),
        OSError("no number"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, ""),
    ):
        with pytest.raises(DataError, match=f"expected {EXPECTED}$") as refused, library_faults(path, EXPECTED):
            raise fault
        assert "\n" not in str(refused.value)


COMMANDS = {
    "detect": ["detect", "t.parquet"],
    "score": ["score", "builtin:none", "t.parquet"],
    "audit": ["audit", "builtin:none", "t.parquet"],
    "index build": ["index", "build", "t.parquet", "--index", "i", "--jobs", "1"],
    "unseen build": ["unseen", "build", "t.parquet", "--out", "u.jsonl"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_binary_cell_in_a_table_is_one_line_or_passed_over(assay, tmp_path, words):
    table = pa.table({"id": ["a"], "text": pa.array([b"\xff\xfe\0"]), "content": pa.array([b"\xff\xfe\0"])})
    pq.write_table(table, tmp_path / "t.parquet")
    done = assay(*words)
    assert done.code in {0, 2}
    assert done.code == 0 or done.err.splitlines()[-1].startswith("assay: error: ")


def test_sixty_flipped_bytes_of_a_table_are_read_or_refused_in_one_line(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "text": ["x = 1", "y = 2"], "label": [0, 1]}), path)
    sound = path.read_bytes()
    for number in range(60):
        data = bytearray(sound)
        data[number * len(data) // 60] ^= 0xFF
        path.write_bytes(data)
        out = io.BytesIO()
        with suppress(DataError), library_faults(path, EXPECTED):
            write_batches(out, str(path), "Parquet", None)
            assert all(isinstance(row, dict) for row in pa.ipc.open_stream(out.getvalue()).read_all().to_pylist())
