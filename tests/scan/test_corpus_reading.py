"""Bad input costs what is bad, is counted with its reason, and a clean copy lacks the rows that hold a task alone."""

import csv
import gzip
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import DataError
from assay.scan import CorpusScan, scan_corpus
from assay.scan.reading import FileReader

SOLUTION = "".join(f"    shadow_{at} = nearest(heights, {at * 37 % 101}) * tower[{at}] + window\n" for at in range(12))
PROMPT = "def towers(heights):\n"
TASK = {"task_id": "Tower/0", "prompt": PROMPT, "canonical_solution": SOLUTION, "entry_point": "towers"}
OTHER = "def area(width, height):\n    return width * height\n"


def scanned(folder: Path, corpus: Path, **options: object) -> CorpusScan:
    (folder / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    return scan_corpus([str(corpus)], [f"humaneval={folder / 'tasks.jsonl'}"], **options)  # type: ignore[arg-type]


def rows_of(path: Path) -> list[int | None]:
    return [text.row for text in FileReader(str(path)).texts()]


def test_a_first_row_that_is_broken_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "broken\n' + json.dumps({"text": OTHER + SOLUTION}) + '\n{"text": "last"}\n')
    result = scanned(tmp_path, path, clean=tmp_path / "clean")
    assert (result.unread, result.rows, result.evidence.compared) == ({"not a JSON object": 1}, 1, 2)
    # what was not read is not known to be clean
    assert (tmp_path / "clean" / "a.jsonl").read_text() == '{"text": "last"}\n'
    again = scanned(tmp_path, tmp_path / "clean")
    assert (again.unread, again.rows) == ({}, 0)


@pytest.mark.parametrize(
    ("row", "compared", "reason"),
    [
        ({"text": [SOLUTION, OTHER]}, 1, None),
        ({"text": [1, 2]}, 0, "no text in the columns"),
        ([SOLUTION], 0, "not a JSON object"),
        ({"text": None}, 0, "no text in the columns"),
        ("only a string", 0, "not a JSON object"),
    ],
)
def test_a_list_in_place_of_text_is_its_texts_or_is_counted(
    tmp_path: Path, row: object, compared: int, reason: str | None
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps({"text": OTHER}) + "\n")
    result = scanned(tmp_path, path)
    assert result.evidence.compared == compared + 1
    assert list(result.unread) == [reason] * (reason is not None)


@pytest.mark.parametrize("place", [0, 2])
def test_a_line_beyond_the_limit_is_counted_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    for module in ("guard", "scan.reading"):
        monkeypatch.setattr(f"assay.{module}.LONGEST_LINE", 2000)
    long = json.dumps({"text": "a" * 5000})
    lines = [json.dumps({"text": OTHER + SOLUTION}), json.dumps({"text": OTHER})]
    lines.insert(place, long)
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines) + "\n")
    result = scanned(tmp_path, path, clean=tmp_path / "clean")
    assert (result.unread, result.evidence.compared, result.rows) == ({"line too long": 1}, 2, 1)
    assert (tmp_path / "clean" / "a.jsonl").read_text() == f"{json.dumps({'text': OTHER})}\n"


def test_a_column_that_only_some_rows_have_is_counted_and_one_that_no_row_has_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"code": OTHER}) + "\n" + json.dumps({"text": OTHER}) + "\n")
    assert scanned(tmp_path, path, columns=("code",)).unread == {"no text in the column code": 1}
    with pytest.raises(DataError, match=r"no text was read: no text in the column prose \(2\)"):
        scanned(tmp_path, path, columns=("prose",))


def test_a_stream_that_is_cut_off_gives_the_rows_before_the_cut_and_a_clean_copy_of_them(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    lines = [json.dumps({"text": f"{OTHER}# {at * 7919}"}) for at in range(4000)]
    lines[1] = json.dumps({"text": SOLUTION})
    path.write_bytes(gzip.compress("\n".join(lines).encode())[:-2000])
    result = scanned(tmp_path, path, clean=tmp_path / "clean")
    (reason,) = result.unread
    assert reason.startswith("broken or cut off")
    clean = gzip.decompress((tmp_path / "clean" / path.name).read_bytes()).decode().splitlines()
    assert result.evidence.compared > 100
    assert result.evidence.compared - 1 == len(clean)
    assert clean[:2] == [lines[0], lines[2]]


CSV = [
    'a 5" pipe,x',
    "",
    f'"{OTHER}",y',
    "too,many,fields",
    f'"{SOLUTION}",z',
    '"last ""row""",w',
]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "tsv"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_record_of_csv_that_does_not_fit_costs_itself(tmp_path: Path, ending: str, codec: str) -> None:
    text = "\n\ntext,more\n" + "\n".join(CSV) + "\n"
    raw = text.encode(codec)
    path = tmp_path / f"a.{ending}"
    opened = {"csv.gz": gzip.open}.get(ending, lambda place, _: pa.output_stream(str(place)))
    with opened(path, "wb") as out:
        out.write(raw)
    result = scanned(tmp_path, path, clean=tmp_path / "clean")
    assert (result.unread, result.first) == (
        {"not the fields of the header": 1},
        {"not the fields of the header": f"{path} row 3"},
    )
    (place,) = {place.row for place in result.evidence.tasks[0].places}
    assert (place, result.evidence.compared) == (4, 4)
    with (gzip.open if ending == "csv.gz" else open)(tmp_path / "clean" / path.name, "rb") as clean:
        expected = text.replace(f"{CSV[3]}\n", "").replace(f"{CSV[4]}\n", "").encode(codec)
        content = clean.read() if ending != "csv.zst" else pa.input_stream(str(clean.name)).read()
        assert content == expected


def test_broken_quotes_in_csv_end_the_file_in_the_row_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'text,more\n"{SOLUTION}",y\n"broken" quotes,z\n{OTHER.splitlines()[0]},w\n')
    result = scanned(tmp_path, path, clean=tmp_path / "clean")
    assert result.unread == {"broken quotes in row 2: it and the rest of the file": 1}
    assert (tmp_path / "clean" / "a.csv").read_text() == "text,more\n"


def shard(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as out:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
    return path


def test_the_members_of_a_webdataset_that_are_sisters_are_one_row_and_leave_together(tmp_path: Path) -> None:
    half = SOLUTION.splitlines(keepends=True)
    path = shard(
        tmp_path / "shard.tar",
        {
            "000000.json": json.dumps({"caption": OTHER}).encode(),
            "000000.txt": b"nothing here",
            "000001.jpg": bytes(range(256)),
            "000001.json": json.dumps({"prompt": PROMPT, "answer": "".join(half)}).encode(),
            "000001.txt": OTHER.encode(),
            "000002.json": b'{"caption": "last"}',
        },
    )
    result = scanned(tmp_path, path, clean=tmp_path / "clean")
    assert result.shapes == {"WebDataset": 3}
    assert result.unread == {"binary": 1}
    assert {place.source for place in result.evidence.tasks[0].places} == {f"{path}!000001.*"}
    with tarfile.open(tmp_path / "clean" / "shard.tar") as clean:
        assert clean.getnames() == ["000000.json", "000000.txt", "000002.json"]


def test_sources_that_share_a_name_are_files_of_their_own(tmp_path: Path) -> None:
    path = shard(tmp_path / "source.tar", {"tower.c": OTHER.encode(), "tower.h": SOLUTION.encode()})
    result = scanned(tmp_path, path, clean=tmp_path / "clean")
    assert result.shapes == {"plain files": 2}
    with tarfile.open(tmp_path / "clean" / "source.tar") as clean:
        assert clean.getnames() == ["tower.c"]


def test_a_data_set_of_the_hub_without_a_connection_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match=r"^hf:no/such: no text was read: hub data set no/such: .*local cache"):
        scanned(tmp_path, Path("hf:no/such"))


def test_an_archive_inside_an_archive_that_holds_a_task_leaves_as_a_whole(tmp_path: Path) -> None:
    inner = shard(tmp_path / "inner.tar", {"deep/tower.py": SOLUTION.encode(), "area.py": OTHER.encode()})
    path = shard(tmp_path / "outer.tar", {"inner.tar": inner.read_bytes(), "more/area.py": OTHER.encode()})
    result = scanned(tmp_path, path, clean=tmp_path / "clean")
    assert {place.source for place in result.evidence.tasks[0].places} == {f"{path}!inner.tar/deep/tower.py"}
    with tarfile.open(tmp_path / "clean" / "outer.tar") as clean:
        assert clean.getnames() == ["more/area.py"]


def test_json_inside_an_archive_is_a_document_an_array_or_a_text(tmp_path: Path) -> None:
    members = {
        "rows.json": json.dumps([{"text": OTHER}, {"text": SOLUTION}], indent=1).encode(),
        "numbers.json": json.dumps(list(range(1000)), indent=1).encode(),
        "settings.json": b'{\n  // how\n  "width": 3\n}\n',
        "lines.json": json.dumps({"text": OTHER}).encode() + b"\nbroken\n",
    }
    result = scanned(tmp_path, shard(tmp_path / "a.tar", members))
    assert result.unread == {"no text in the columns": 1, "not a JSON object": 1}
    assert result.shapes == {"text": 3, "plain files": 1}
    assert {place.row for place in result.evidence.tasks[0].places} == {2}


def test_broken_lines_of_json_lines_inside_an_archive_are_counted(tmp_path: Path) -> None:
    lines = b"[" * 100_000 + b"\n" + b"broken\n" * 11 + json.dumps({"text": SOLUTION}).encode() + b"\n"
    result = scanned(tmp_path, shard(tmp_path / "a.tar", {"rows.jsonl": lines, "bad\n.ndjson": b"x\n"}))
    assert result.unread == {"not a JSON object": 13}
    assert {place.row for place in result.evidence.tasks[0].places} == {13}


TAR_FAULTS: dict[str, Callable[[bytes], bytes]] = {
    "cut off in a header": lambda raw: raw[:1100],
    "a header damaged": lambda raw: raw[:1100] + b"\xff" * 50 + raw[1150:],
    "a size that is wrong": lambda raw: raw.replace(b"%011o" % len(OTHER), b"%011o" % 8_000_000_000, 1),
    "another one behind it": lambda raw: raw + raw,
}


@pytest.mark.parametrize("fault", TAR_FAULTS)
@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_tar_that_ends_too_early_is_never_taken_for_a_whole_one(
    tmp_path: Path, fault: str, packed: Callable[[bytes], bytes]
) -> None:
    """The module tarfile ends in silence at a header that is damaged, cut off or missing."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "other.py").write_text(OTHER)
    raw = shard(tmp_path / "a.tar", {"a.py": OTHER.encode(), "b.py": SOLUTION.encode()}).read_bytes()
    (folder / "a.tar").write_bytes(packed(TAR_FAULTS[fault](raw)))
    result = scanned(tmp_path, folder, clean=tmp_path / "clean")
    assert result.evidence.unread == 1
    assert "corrupt or truncated archive" in next(iter(result.unread))
    assert not (tmp_path / "clean" / "corpus" / "a.tar").exists()


@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_tar_without_an_end_is_read_and_may_have_held_more(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    raw = shard(tmp_path / "a.tar", {"a.py": OTHER.encode(), "b.py": SOLUTION.encode()}).read_bytes()
    (folder / "a.tar").write_bytes(packed(raw[:1024]))
    result = scanned(tmp_path, folder, clean=tmp_path / "clean")
    assert result.unread == {"no end of the archive": 1}
    assert result.evidence.compared == 1
    with tarfile.open(tmp_path / "clean" / "corpus" / "a.tar") as clean:
        assert clean.getnames() == ["a.py"]


def test_a_member_that_leads_outside_is_not_in_a_clean_copy(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    shard(folder / "a.tar", {"../a.py": SOLUTION.encode(), "b.py": OTHER.encode()})
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("../../a.py", SOLUTION)
        archive.writestr("b.py", OTHER)
    result = scanned(tmp_path, folder, clean=tmp_path / "clean")
    assert result.unread == {"path leads outside": 2}
    with tarfile.open(tmp_path / "clean" / "corpus" / "a.tar") as clean:
        assert clean.getnames() == ["b.py"]
    assert zipfile.ZipFile(tmp_path / "clean" / "corpus" / "a.zip").namelist() == ["b.py"]


def test_a_clean_copy_of_a_table_ends_where_the_scan_of_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    batch = pa.record_batch([[OTHER] * 400], names=["text"])
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batch.schema) as written:
        for _ in range(3):
            written.write_batch(batch)
    raw = path.read_bytes()
    middle = raw.index(OTHER.encode(), raw.index(OTHER.encode()) + 401 * len(OTHER))
    path.write_bytes(raw[:middle] + b"\xff\xfe" + raw[middle + 2 :])
    result = scanned(tmp_path, path, clean=tmp_path / "clean")
    assert (result.evidence.compared, result.evidence.unread) == (400, 1)
    with pa.ipc.open_stream((tmp_path / "clean" / "a.arrow").read_bytes()) as clean:
        assert clean.read_all().num_rows == 400


def test_the_first_record_of_csv_without_a_header_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'"{SOLUTION}",1\n"{OTHER}",2\n')
    with pytest.raises(DataError, match="no header: the first record holds a text"):
        scanned(tmp_path, path)


def test_names_of_columns_in_csv_may_have_line_breaks_as_in_a_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'"The\nsolution","Points\n(of 5)"\n"{SOLUTION}",1\n"{OTHER}",2\n')
    result = scanned(tmp_path, path, clean=tmp_path / "clean")
    assert (result.evidence.compared, result.evidence.unread, result.rows) == (2, 0, 1)
    assert (tmp_path / "clean" / "a.csv").read_text() == f'"The\nsolution","Points\n(of 5)"\n"{OTHER}",2\n'


def test_a_folder_with_links_loops_and_pipes_is_read_and_nothing_is_passed_over_in_silence(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    (folder / "deep").mkdir(parents=True)
    (tmp_path / "blob").write_text(SOLUTION)
    (folder / "tower.py").symlink_to(tmp_path / "blob")
    (folder / "gone.py").symlink_to(tmp_path / "nowhere")
    (folder / "deep" / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.jsonl")
    result = scanned(tmp_path, folder, clean=tmp_path / "clean")
    assert result.unread == {"link to a folder": 1, "broken link": 1, "not a plain file": 1}
    assert (result.evidence.compared, result.rows) == (1, 1)
    assert not list((tmp_path / "clean").rglob("*.py"))


@pytest.mark.parametrize(
    ("benchmarks", "corpus", "options", "message"),
    [
        ([], "corpus", {}, "--for: received no benchmark"),
        (["tasks.jsonl"], "corpus", {"out": Path("corpus/evidence.jsonl")}, "-o .*: lies in the corpus corpus"),
        (["tasks.jsonl"], "corpus/a.py", {"out": Path("corpus/a.py")}, "-o .*: lies in the corpus"),
        (["tasks.jsonl"], "corpus", {"clean": Path("corpus/clean")}, "--write-clean .*: lies in the corpus"),
        (["tasks.jsonl"], "https://host/a.jsonl", {}, "an address, expected a file, a folder or hf:OWNER/NAME"),
    ],
)
def test_what_cannot_be_scanned_or_would_be_scanned_next_time_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    benchmarks: list[str],
    corpus: str,
    options: dict[str, Path],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus").mkdir()
    Path("corpus/a.py").write_text(OTHER)
    Path("tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    with pytest.raises(DataError, match=message):
        scan_corpus([corpus], benchmarks, **options)  # type: ignore[arg-type]
    assert [path.name for path in Path("corpus").iterdir()] == ["a.py"]


def test_a_file_that_is_named_in_two_ways_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(OTHER)
    Path("tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    assert scan_corpus(["a.py", "./a.py"], ["tasks.jsonl"]).files == 1


def test_folders_a_thousand_deep_are_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "corpus").mkdir()
    monkeypatch.chdir(tmp_path / "corpus")
    for _ in range(1200):  # each from the last, and back: the path of the last is almost as long as one can be
        os.mkdir("d")  # noqa: PTH102
        os.chdir("d")
    with pytest.raises(DataError):
        scanned(tmp_path, tmp_path / "corpus")
    for _ in range(1200):
        os.chdir("..")
        os.rmdir("d")  # noqa: PTH106


def test_a_row_with_a_broken_character_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(json.dumps({"text": f"caf\xe9 {SOLUTION}"}, ensure_ascii=False).encode("latin-1") + b"\n")
    result = scanned(tmp_path, path)
    assert (result.rows, result.unread) == (1, {})


def arrow(path: Path, columns: list[str]) -> None:
    table = pa.Table.from_arrays([pa.array([OTHER + SOLUTION])] + [pa.array(["a"])] * (len(columns) - 1), names=columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)


def delimited(path: Path, columns: list[str]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, [OTHER + SOLUTION, *["a"] * (len(columns) - 1)]])


def json_object(path: Path, columns: list[str]) -> None:
    texts = [OTHER + SOLUTION, *["a"] * (len(columns) - 1)]
    row = "{" + ", ".join(map("{}: {}".format, map(json.dumps, columns), map(json.dumps, texts))) + "}"
    path.write_text(f"[\n{row}\n]" if path.stem == "array" else f"{row}\n")


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.parquet", arrow),
        ("a.arrow", arrow),
        ("a.csv", delimited),
        ("a.jsonl", json_object),
        ("a.json", json_object),
        ("array.json", json_object),
    ],
)
def test_a_text_behind_another_of_its_name_is_not_taken_for_read(
    tmp_path: Path, name: str, write: Callable[[Path, list[str]], None]
) -> None:
    """A row keeps the last value of a name: a task in the first was not found, and nothing said so."""
    write(tmp_path / name, ["text", "repo"])
    assert scanned(tmp_path, tmp_path / name).rows == 1
    write(tmp_path / name, ["text", "text"])
    with pytest.raises(DataError, match=r"no text was read: .*stands twice"):
        scanned(tmp_path, tmp_path / name)


def test_a_member_of_a_webdataset_with_two_fields_of_a_name_is_not_taken_for_read(tmp_path: Path) -> None:
    twice = f'{{"text": {json.dumps(SOLUTION)}, "text": "last"}}'
    path = shard(tmp_path / "shard.tar", {"0.json": twice.encode(), "0.txt": OTHER.encode(), "1.txt": OTHER.encode()})
    result = scanned(tmp_path, path)
    assert result.shapes == {"WebDataset": 2}
    assert result.unread == {"a field that stands twice": 1}


@pytest.mark.parametrize("names", [("a.py", "b.py"), ("0.txt", "0.cls")])
def test_a_member_with_a_mark_of_utf16_and_half_a_character_is_not_read(tmp_path, names):
    """In a folder of files, and in a row of a WebDataset."""
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, raw in zip(names, (b"\xfe\xff\0a\0", b"b = 1\n"), strict=True):
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw))
    reader = FileReader(str(tmp_path / "a.tar"))
    assert len(list(reader.texts())) == 1
    assert (dict(reader.unread), reader.is_cut) == ({"undecodable": 1}, False)
