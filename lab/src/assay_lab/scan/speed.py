"""Speed and memory of a scan beside the floor: the same files read and decoded alone, in turns, one process, CPU time.

Tasks stand in rows of code of packages. Beside it the n-gram filter of datatrove on the first rows, and two workers
beside two scans of half of the files each that know nothing of each other.
"""

import gzip
import json
import lzma
import multiprocessing
import random
import shutil
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assay.scan import FileReader, FileWork, Matcher, ScannedTask, ScanWorkers, file_results, read_tasks, scan_file
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import MEBIBYTE, fresh, high_water, interleaved, rates, ratios
from assay_lab.scan.recall import CHOSEN_ON, CONFIRMED_ON, LEAST_WORDS

EVERY = 20
"""Rows of code from one that holds a task to the next."""
LARGEST = 300_000
FILES = 8
"""Files of the corpus that two workers read."""
PACKED: Mapping[str, Callable[[Path], Any]] = {
    "zst": lambda path: pa.output_stream(str(path), compression="zstd"),
    "gz": partial(gzip.GzipFile, mode="wb", compresslevel=6),
    "xz": partial(lzma.LZMAFile, mode="wb", preset=1),
}
WAYS = {"words alone": False, "words and tokens": True}

Rows = Sequence[Mapping[str, object]]


def run(scale: tuple[int, int, int], seed: int, data: Data) -> Result:
    """Megabytes of decoded JSON lines of code that a scan reads each second, and what it finds, beside others."""
    size, small, repeats = scale
    named = [f"{name}={data[name]}" for name in (*CHOSEN_ON, *CONFIRMED_ON) if name in data]
    tasks = read_tasks(named)
    corpus = list(_rows(data["packages"], tasks, draw=random.Random(seed), size=size))  # noqa: S311  a draw of an experiment
    # the floor is for ordinary code; rows with a task are for what is found
    paths = _files([row for row in corpus if row["planted"] is None], data["work"])
    matchers = {way: Matcher(tasks, blind=blind) for way, blind in WAYS.items()}
    rows = [*_formats(paths, matchers, repeats)]
    shown = list(islice(corpus, sum(1 for _ in _first(corpus, small))))
    rows += _beside_datatrove(shown, tasks, matchers=matchers, data=data)
    rows += _workers(paths["plain"], matchers["words and tokens"], data["work"])
    tables = sorted(map(str, data["tables"].iterdir())) if "tables" in data else []
    rows.append(fresh(_memory, [*named, *tables], str(paths["zst"])))
    return Result(rows, [f"{len(tasks):,} tasks of {len({task.benchmark for task in tasks})} benchmarks are held"])


def _rows(packages: Path, tasks: Sequence[ScannedTask], draw: random.Random, size: int) -> Iterator[Mapping[str, Any]]:
    """Yield rows of code; each `EVERY`th has a task at a random line, and its position among the tasks."""
    long_enough = [at for at, task in enumerate(tasks) if len(_whole(task).split()) >= LEAST_WORDS]
    total = 0
    for number, text in enumerate(_sources(packages), 1):
        total += len(text)
        row: dict[str, Any] = {"content": text, "planted": None}
        if number % EVERY == 0:
            planted = draw.choice(long_enough)
            at = text.rfind("\n", 0, draw.randrange(len(text))) + 1
            row = {"content": f"{text[:at]}{_whole(tasks[planted])}\n{text[at:]}", "planted": planted}
        yield row
        if total > size:
            return


def _whole(task: ScannedTask) -> str:
    return task.parts[0].text if task.parts else ""


def _sources(packages: Path) -> Iterator[str]:
    for path in sorted(packages.glob("*.whl")):
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.filename.endswith(".py") and 0 < entry.file_size < LARGEST:
                    yield archive.read(entry).decode("utf-8", "replace")


def _first(rows: Rows, size: int) -> Iterator[Mapping[str, object]]:
    """Yield the first rows, up to a size."""
    total = 0
    for row in rows:
        total += len(str(row["content"]))
        if total > size:
            return
        yield row


def _files(rows: Rows, folder: Path) -> dict[str, Path]:
    """Write the rows in each form; return the paths."""
    paths = {"plain": folder / "speed.jsonl"}
    paths["plain"].write_bytes(b"".join(json.dumps({"content": row["content"]}).encode() + b"\n" for row in rows))
    for form, opened in PACKED.items():
        paths[form] = folder / f"speed.jsonl.{form}"
        with paths["plain"].open("rb") as raw, opened(paths[form]) as out:
            shutil.copyfileobj(raw, out, 1 << 20)
    paths["Parquet"] = folder / "speed.parquet"
    pq.write_table(pa.table({"content": list(map(itemgetter("content"), rows))}), paths["Parquet"], compression="zstd")
    return paths


def _formats(paths: Mapping[str, Path], matchers: Mapping[str, Matcher], repeats: int) -> Iterator[dict[str, object]]:
    decoded = paths["plain"].stat().st_size / 1e6
    for form, path in paths.items():
        ways: dict[str, Callable[[], object]] = {"rows read alone": partial(_read, path)}
        if form != "Parquet":
            ways["unpacked alone"] = partial(_unpack, path)
        for way, matcher in matchers.items():
            ways[way] = partial(scan_file, str(path), matcher)
        seconds = interleaved(ways, repeats, time.process_time)
        for way, spent in seconds.items():
            yield {
                "file": form,
                "way": way,
                "megabytes": decoded,
                "megabytes_per_second": rates(decoded, spent),
                "of_rows_read": ratios(seconds["rows read alone"], spent),
                "of_unpacking": ratios(seconds["unpacked alone"], spent) if form != "Parquet" else None,
            }


def _memory(benchmarks: Sequence[str], path: str) -> dict[str, object]:
    """Return the memory of a process that holds benchmarks and scans a file, of all that it does."""
    matcher = Matcher(read_tasks(benchmarks))
    scan_file(path, matcher)
    return {
        "file": "zst",
        "way": f"memory, {len(benchmarks)} benchmarks",
        "megabytes": Path(path).stat().st_size / 1e6,
        "tasks": len(matcher.tasks),
        "memory_mib": high_water() / MEBIBYTE,
    }


def _read(path: Path) -> int:
    """Read and decode all rows, and do nothing with them."""
    return sum(1 for _ in FileReader(str(path)).texts())


def _unpack(path: Path) -> int:
    openers = {".gz": gzip.open, ".xz": lzma.open, ".zst": partial(pa.input_stream, compression="zstd")}
    opened: Any = openers.get(path.suffix, partial(open, mode="rb"))
    with opened(str(path)) as stream:
        return sum(map(len, iter(partial(stream.read, 1 << 20), b"")))


def _beside_datatrove(
    rows: Rows, tasks: Sequence[ScannedTask], matchers: Mapping[str, Matcher], data: Data
) -> Iterator[dict[str, object]]:
    """Yield speed, planted rows that are found and other rows that are, of a scan and of the filter of datatrove."""
    corpus, asked = data["work"] / "beside.jsonl", data["work"] / "asked.jsonl"
    corpus.write_text("".join(json.dumps({"content": row["content"]}) + "\n" for row in rows))
    asked.write_text("".join(json.dumps(_query_and_text(task)) + "\n" for task in tasks))
    planted = {number for number, row in enumerate(rows, 1) if row["planted"] is not None}

    def row_of(way: str, seconds: float, accused: set[int]) -> dict[str, object]:
        size = corpus.stat().st_size / 1e6
        return {
            "file": "beside datatrove",
            "way": way,
            "megabytes": size,
            "megabytes_per_second": rates(size, [seconds]),
            "planted": len(planted),
            "planted_found": len(planted & accused),
            "other_rows": len(rows) - len(planted),
            "other_rows_accused": len(accused - planted),
        }

    for way, matcher in matchers.items():
        began = time.process_time()
        result = scan_file(str(corpus), matcher)
        yield row_of(f"scan, {way}", time.process_time() - began, {row for row in result.rows if isinstance(row, int)})
    if "datatrove" not in data:
        return
    script = Path(__file__).with_name("datatrove_filter.py")
    for way, is_query_indexed in (("datatrove", "0"), ("datatrove, prompts indexed too", "1")):
        command = [str(data["datatrove"] / "bin" / "python"), str(script), str(asked), str(corpus), is_query_indexed]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  our own script
        # the last line is ours, whatever the library prints before
        printed = json.loads(done.stdout.splitlines()[-1])
        yield row_of(way, printed["seconds"], set(printed["rows"]))


def _query_and_text(task: ScannedTask) -> dict[str, str]:
    """Return the prompt and the answer of a task, as the indexer of datatrove takes them."""
    texts = {part.name: part.text for part in task.parts}
    return {"query": texts.get("prompt", texts.get("issue", "")), "text": texts.get("solution", _whole(task))}


def _workers(path: Path, matcher: Matcher, folder: Path) -> Iterator[dict[str, object]]:
    """Yield the time of one scan with two workers, and that of two scans of half of the files side by side."""
    files = [folder / f"part-{number}.jsonl" for number in range(FILES)]
    lines = path.read_bytes().splitlines(keepends=True)
    for number, part in enumerate(files):
        part.write_bytes(b"".join(lines[number::FILES]))
    names = list(map(str, files))
    work = FileWork(matcher)
    context = multiprocessing.get_context("forkserver")
    seconds = {}
    # wall time: the work is done in other processes
    began = time.perf_counter()
    list(file_results(names, work, ScanWorkers(jobs=2)))
    seconds["two workers"] = time.perf_counter() - began
    began = time.perf_counter()
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        list(pool.map(_scan_each, [names[::2], names[1::2]], [work, work]))
    seconds["two independent scans"] = time.perf_counter() - began
    size = path.stat().st_size / 1e6
    for way, spent in seconds.items():
        yield {
            "file": f"{FILES} files",
            "way": way,
            "megabytes": size,
            "megabytes_per_second": rates(size, [spent]),
            "of_independent": seconds["two independent scans"] / spent,
        }


def _scan_each(files: Sequence[str], work: FileWork) -> int:
    return sum(len(work(path).rows) for path in files)


EXPERIMENTS = (
    Experiment(
        name="scan/speed",
        run=run,
        scales={"smoke": (300_000, 100_000, 1), "full": (30_000_000, 3_000_000, 5)},
        columns=("file", "way", "megabytes", "megabytes_per_second", "of_rows_read", "of_unpacking", "planted_found"),
        needs={"packages": "a folder of wheels"},
        takes={
            **{name: f"files of {name}" for name in (*CHOSEN_ON, *CONFIRMED_ON)},
            "datatrove": "the folder of an environment with datatrove[processing] 0.10",
            "tables": "a folder of further tables of tasks, for the memory of twenty benchmarks",
        },
        stored="scan/speed",
    ),
)
