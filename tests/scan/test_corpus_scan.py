"""A scan finds tasks in every shape of training data, counts what it cannot read, and writes the rest."""

import bz2
import gzip
import json
import lzma
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import DataError
from assay.scan import CorpusScan, ScanWorkers, read_evidence, scan_corpus

PROMPT = '''def overlapping_towers(heights: list, window: int) -> int:
    """Count the towers whose shadow covers the entrance of an older neighbour during the evening of midsummer.
    >>> overlapping_towers([3, 1, 2], 2)
    1
    """
'''
SOLUTION = """    shadows = 0
    for place, height in enumerate(heights):
        nearest = heights[max(0, place - window):place]
        if nearest and height * 3 > sum(nearest) + 7:
            shadows += max(nearest) % 5
    return shadows
"""
TASK = {
    "task_id": "Tower/0",
    "prompt": PROMPT,
    "canonical_solution": SOLUTION,
    "entry_point": "overlapping_towers",
    "test": "assert overlapping_towers([3, 1, 2], 2) == 1\n",
}
OTHER = "def area(width, height):\n    return width * height\n"
DOCSTRING = PROMPT.split('"""')[1].split("\n", maxsplit=1)[0]
RENAMED = SOLUTION.replace("shadows", "aa").replace("place", "bb").replace("height", "cc").replace("nearest", "dd")


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(TASK) + "\n")
    return f"humaneval={path}"


def scanned(tasks: str, *corpora: Path, **options: object) -> CorpusScan:
    return scan_corpus(list(map(str, corpora)), [tasks], **options)  # type: ignore[arg-type]


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


WHOLE = PROMPT + SOLUTION
HTML = f"<p>Look:</p><pre><span class='k'>x</span>{WHOLE.replace('>', '&gt;')}</pre>"


@pytest.mark.parametrize(
    "row",
    [
        {"text": WHOLE},
        {"messages": [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": SOLUTION}]},
        {"conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": WHOLE}]},
        {"instruction": PROMPT, "input": "", "output": SOLUTION},
        {"prompt": PROMPT, "completion": "later"},
        {"chosen": [{"role": "user", "content": WHOLE}], "rejected": "no"},
        {"content": HTML, "lang": "HTML"},
        {"cells": [{"cell_type": "code", "source": WHOLE.splitlines(keepends=True)}]},
    ],
)
def test_a_task_is_found_in_every_shape_of_row(tmp_path: Path, tasks: str, row: object) -> None:
    result = scanned(tasks, lines(tmp_path / "corpus.jsonl", {"text": OTHER}, row))
    (task,) = result.tasks("found")
    assert {place.row for place in task.places} == {2}
    assert (result.evidence.compared, result.unread) == (2, {})


@pytest.mark.parametrize(
    ("text", "part", "how"),
    [
        (WHOLE, "task", "word for word"),
        (WHOLE.replace(" * 3 ", "*3").replace("\n    ", "\n\t"), "task", "reformatted"),
        ("Ask: " + "\n".join(DOCSTRING.split(" ", 9)), "docstring", "rewrapped"),
        (RENAMED, "solution", "renamed"),
    ],
)
def test_the_evidence_says_which_part_and_how(tmp_path: Path, tasks: str, text: str, part: str, how: str) -> None:
    result = scanned(tasks, lines(tmp_path / "corpus.jsonl", {"text": f"{OTHER}\n{text}\n{OTHER}"}))
    (task,) = result.tasks("found")
    assert (part, how) in {(place.part, place.how) for place in task.places}
    first = min(place.first_line for place in task.places)
    assert first >= OTHER.count("\n") + 1


def test_ordinary_code_holds_no_task(tmp_path: Path, tasks: str) -> None:
    result = scanned(tasks, lines(tmp_path / "corpus.jsonl", {"text": OTHER * 50}))
    assert [task.status for task in result.evidence.tasks] == ["not found"]
    assert result.describe().answer.verdict == "Not found"


def test_a_task_of_a_few_common_words_is_too_short_to_tell(tmp_path: Path) -> None:
    path = lines(tmp_path / "short.jsonl", {"id": "a", "text": "return the sum of the list"})
    result = scan_corpus([str(lines(tmp_path / "c.jsonl", {"text": OTHER}))], [str(path)])
    assert [task.status for task in result.evidence.tasks] == ["too short to tell"]


def test_what_cannot_be_read_is_counted_and_the_rest_is_read(tmp_path: Path, tasks: str) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    good = json.dumps({"text": WHOLE}) + "\n"
    (folder / "a.jsonl").write_text(f'{good}not json\n{{"text": 3}}\n["a list"]\n')
    packed = gzip.compress((good * 2000 + json.dumps({"text": OTHER}) + "\n").encode())
    (folder / "cut.jsonl.gz").write_bytes(packed[:-20])
    (folder / "empty.jsonl").write_text("")
    (folder / "picture.bin").write_bytes(bytes(range(256)) * 10)
    result = scanned(tasks, folder)
    assert result.unread["not a JSON object"] == 2
    assert result.unread["no text in the columns"] == 1
    assert (result.shapes["empty"], result.unread["binary"]) == (1, 1)
    assert result.first["not a JSON object"] == f"{folder / 'a.jsonl'} row 2"
    assert any(reason.startswith("broken or cut off") for reason in result.unread)
    assert len(result.tasks("found")) == 1
    assert result.evidence.compared > 1000


def test_nothing_read_is_an_error(tmp_path: Path, tasks: str) -> None:
    (tmp_path / "bad.jsonl").write_text("no json\n")
    with pytest.raises(DataError, match="no text was read: not a JSON object"):
        scanned(tasks, tmp_path / "bad.jsonl")
    with pytest.raises(DataError, match="no text in the column prose"):
        scanned(tasks, lines(tmp_path / "a.jsonl", {"text": WHOLE}), columns=("prose",))


PACKED = {"jsonl.gz": gzip.compress, "jsonl.xz": lzma.compress, "jsonl.bz2": bz2.compress}


def written(folder: Path, kind: str) -> Path:
    rows = [{"text": OTHER}, {"text": WHOLE}, {"text": "last"}]
    path = folder / f"corpus.{kind}"
    if kind in PACKED:
        path.write_bytes(PACKED[kind]("".join(json.dumps(row) + "\n" for row in rows).encode()))
    elif kind == "json":
        path.write_text(json.dumps(rows))
    elif kind == "jsonl.zst":
        with pa.output_stream(str(path), compression="zstd") as out:
            out.write("".join(json.dumps(row) + "\n" for row in rows).encode())
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, compression="zstd")
    elif kind == "arrow":
        table = pa.Table.from_pylist(rows)
        with pa.ipc.new_stream(str(path), table.schema) as out:
            out.write_table(table)
    elif kind == "csv":
        path.write_text("text\n" + "".join(f'"{row["text"].replace(chr(34), chr(34) * 2)}"\n' for row in rows))
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for number, row in enumerate(rows):
                archive.writestr(f"{number}.py", row["text"])
    else:
        with tarfile.open(path, "w:gz") as archive:
            for number, row in enumerate(rows):
                (folder / f"{number}.txt").write_text(row["text"])
                archive.add(folder / f"{number}.txt", f"{number}.txt")
                (folder / f"{number}.txt").unlink()
    return path


@pytest.mark.parametrize("kind", [*PACKED, "json", "jsonl.zst", "parquet", "arrow", "csv", "zip", "tar.gz"])
def test_the_corpus_is_written_without_the_rows_that_hold_a_task(tmp_path: Path, tasks: str, kind: str) -> None:
    path = written(tmp_path, kind)
    result = scanned(tasks, path, clean=tmp_path / "clean")
    assert (result.rows, len(result.tasks("found"))) == (1, 1)
    answer = result.describe().answer
    assert answer is not None
    assert answer.because.endswith(f"{tmp_path / 'clean'} has the corpus without them.")
    assert answer.next_step == "-o FILE keeps the evidence"
    again = scanned(tasks, tmp_path / "clean" / path.name)
    assert (again.rows, again.evidence.compared, again.unread) == (0, 2, {})


def test_a_scan_that_was_killed_continues_and_says_the_same(tmp_path: Path, tasks: str) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(4):
        lines(folder / f"{number}.jsonl", {"text": OTHER}, {"text": WHOLE})
    out = tmp_path / "evidence.jsonl"

    class KilledError(Exception):
        pass

    def kill(done: int, _total: int) -> None:
        if done == 2:
            raise KilledError

    with pytest.raises(KilledError):
        scanned(tasks, folder, out=out, progress=kill)
    stored = sorted((tmp_path / ".evidence.jsonl.run" / "state").glob("*.json"))
    assert len(stored) == 2
    continued = scanned(tasks, folder, out=out)
    assert continued.evidence == scanned(tasks, folder).evidence
    assert read_evidence(out) == continued.evidence
    assert not (tmp_path / ".evidence.jsonl.run").exists()


def test_two_processes_say_the_same_as_one(tmp_path: Path, tasks: str) -> None:
    paths = [lines(tmp_path / f"{number}.jsonl", {"text": OTHER}, {"text": WHOLE}) for number in range(3)]
    corpora = list(map(str, paths))
    assert scan_corpus(corpora, [tasks], workers=ScanWorkers(jobs=2)).evidence == scan_corpus(corpora, [tasks]).evidence


def test_an_empty_text_was_read_and_changes_no_answer(tmp_path: Path, tasks: str) -> None:
    result = scanned(tasks, lines(tmp_path / "a.jsonl", {"text": ""}, {"text": OTHER}, {"text": 7}))
    assert result.shapes["empty texts"] == 1
    assert result.unread == {"no text in the columns": 1}


def test_the_share_says_where_marks_differ(tmp_path: Path, tasks: str) -> None:
    changed = WHOLE.replace("(", "{").replace(")", "}")
    black = WHOLE.replace("height * 3", "height*3").replace("[3, 1, 2]", "[3, 1, 2,]")
    rows = [{"text": text} for text in (changed, black)]
    (task,) = scanned(tasks, lines(tmp_path / "corpus.jsonl", *rows)).tasks("found")
    (other, same) = (next(place for place in task.places if place.row == row) for row in (1, 2))
    assert (other.part, other.how, same.how, same.share) == ("task", "reformatted", "reformatted", 1.0)
    assert 0.7 < other.share < 0.97


TRAINING = Path(__file__).parents[3] / "shared" / "data" / "field-cases" / "training"
HUMANEVAL = TRAINING.parents[1] / "humaneval"


@pytest.mark.skipif(not (TRAINING.exists() and HUMANEVAL.exists()), reason="needs the shared data")
def test_prompts_alone_are_found_and_paraphrases_are_not(tmp_path: Path) -> None:
    def found(name: str) -> set[str]:
        result = scan_corpus([str(TRAINING / name)], [f"humaneval={HUMANEVAL}"])
        return {task.task_id for task in result.tasks("found")}

    assert found("promptonly.jsonl") - {"HumanEval/10"} == {"HumanEval/0", "HumanEval/3", "HumanEval/15"}
    assert found("para.jsonl") == set()
    for name in ("sft_messages_with_source.jsonl", "sft_sharegpt.jsonl", "sft_text_min.jsonl"):
        assert found(name) == set()
    cut = scan_corpus([str(TRAINING / "truncated.jsonl.gz")], [f"humaneval={HUMANEVAL}"])
    assert [reason for reason in cut.unread if reason.startswith("broken or cut off")]


def test_a_place_of_a_chat_names_the_message_and_the_line_in_it(tmp_path: Path, tasks: str) -> None:
    talk = [{"role": "user", "content": "Hello.\nHow are you?"}, {"role": "assistant", "content": f"So:\n\n{WHOLE}"}]
    (task,) = scanned(tasks, lines(tmp_path / "corpus.jsonl", {"id": "a\nb", "messages": talk})).tasks("found")
    (place,) = task.places
    lines_of_task = (3, 2 + WHOLE.rstrip().count("\n") + 1)
    assert (place.field, place.first_line, place.last_line) == ("messages.1.content", *lines_of_task)


def test_columns_lead_into_lists(tmp_path: Path, tasks: str) -> None:
    path = lines(tmp_path / "corpus.jsonl", {"text": WHOLE, "messages": [{"content": OTHER}]})
    result = scanned(tasks, path, columns=("messages.content",))
    assert (result.rows, result.evidence.compared, result.unread) == (0, 1, {})


def test_a_task_that_resembles_the_one_that_is_there_is_not_accused(tmp_path: Path) -> None:
    sister = {**TASK, "task_id": "Tower/1", "prompt": PROMPT.replace("older", "younger").replace("midsummer", "winter")}
    sister["canonical_solution"] = SOLUTION.replace("+ 7", "+ 9").replace("% 5", "% 3")
    path = lines(tmp_path / "tasks.jsonl", TASK, sister)
    result = scan_corpus([str(lines(tmp_path / "c.jsonl", {"text": WHOLE}))], [f"humaneval={path}"])
    (task,) = result.tasks("found")
    assert task.task_id == "Tower/0"
    assert {place.shared_with for place in task.places} == {"Tower/1"}
    other = sister["prompt"] + sister["canonical_solution"]
    both = scan_corpus([str(lines(tmp_path / "d.jsonl", {"text": WHOLE + OTHER + other}))], [f"humaneval={path}"])
    assert len(both.tasks("found")) == 2


def test_a_clean_copy_goes_into_an_empty_folder_and_no_file_onto_another(tmp_path: Path, tasks: str) -> None:
    corpus = lines(tmp_path / "corpus.jsonl", {"text": WHOLE}, {"text": OTHER})
    scanned(tasks, corpus, clean=tmp_path / "clean")
    with pytest.raises(DataError, match="holds files; expected a new or empty folder"):
        scanned(tasks, corpus, clean=tmp_path / "clean")
    (tmp_path / "sub").mkdir()
    sister = lines(tmp_path / "sub" / "corpus.jsonl", {"text": OTHER})
    with pytest.raises(DataError, match="2 files would become"):
        scanned(tasks, corpus, sister, clean=tmp_path / "new")


def test_a_benchmark_that_is_not_there_names_the_option_of_this_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match="--for gitbug-java=PATH"):
        scan_corpus([str(lines(tmp_path / "c.jsonl", {"text": OTHER}))], ["gitbug-java"])


def test_a_benchmark_with_an_empty_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--for humaneval=: received no path behind ="):
        scan_corpus([str(lines(tmp_path / "c.jsonl", {"text": OTHER}))], ["humaneval="])
