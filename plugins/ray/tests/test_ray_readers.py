"""Workers of a Ray cluster give what processes of this machine give, whatever dies on the way."""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ray", reason="ray is not installed")


from ray_workers import local_cluster

from assay.corpora.entry import Entry, InMemory
from assay.corpora.open import open_sources
from assay.errors import DataError
from assay.provenance import CodeIndex
from assay.provenance.index.building import build
from assay.provenance.index.reading import IndexSettings
from assay.provenance.index.workers import BATCH_FILES, ProcessReaders
from assay.retrieval import fingerprint_hashes
from assay.scan import ScanWorkers, read_evidence, scan_corpus
from assay_ray.cluster import RayCluster
from assay_ray.readers import RayReaders
from support.commands import run_assay

# the settings of Ray Data warn of themselves when they are made, whoever uses them
pytestmark = pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\.")


@pytest.fixture(scope="module")
def cluster():
    """Three workers."""
    with local_cluster(workers=3):
        yield


def text_of(number):
    body = "".join(f"    total_{line} = values[{number * 31 + line}] * {line + 7} - other\n" for line in range(5))
    return f"def function_{number}(values, other):\n{body}    return sorted(values, key=str)[:{number + 3}]\n"


@dataclass(frozen=True, slots=True)
class KillsOnce:
    """Content that takes down the worker that reads it first."""

    text: str
    flag: Path

    def read(self, _limit):
        if not self.flag.exists():
            self.flag.touch()
            os._exit(1)
        return self.text


@dataclass(frozen=True, slots=True)
class KillsAlways:
    """Content that takes down every worker that reads it."""

    def read(self, _limit):
        os._exit(1)


@dataclass(frozen=True, slots=True)
class Listed:
    """A source of given entries."""

    entries: tuple[Entry, ...]
    name: str = "listed"
    stamp: str | None = None
    whole: bool = True
    indivisible: bool = False

    def files(self):
        yield from self.entries


def entry(number, content=None):
    text = text_of(number) if number % 5 else text_of(1)  # some texts occur in several files
    return Entry(f"{number:03}.py", f"stamp {number}", len(text), content or InMemory(text))


def held(index):
    """Documents, origins and the fingerprints that find them."""
    found = {}
    for document in index.documents(index.ids()):
        (hashes,) = fingerprint_hashes([document.text], document.language, index.profile)
        overlaps = [index.overlap(form, of_form, candidates=1000) for form, of_form in hashes.items()]
        texts = {each.id: each.text for each in index.documents(index.ids())}
        shared = [
            sorted(zip([texts[number] for number in each.documents.tolist()], each.shared.tolist(), strict=True))
            for each in overlaps
        ]
        found[document.text] = (document.kind, document.name, sorted(map(repr, document.origins)), shared)
    return found


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing_of_the_index(cluster, tmp_path):
    """The batch that it had goes to another one; documents, origins and overlaps are those of the embedded builder."""
    files = 2 * BATCH_FILES + 10
    middle = BATCH_FILES + 5
    plain = Listed(tuple(entry(number) for number in range(files)))
    killing = KillsOnce(text_of(middle), tmp_path / "killed")
    kills = Listed(tuple(entry(number, killing if number == middle else None) for number in range(files)))
    with CodeIndex.create(tmp_path / "embedded") as embedded, CodeIndex.create(tmp_path / "ray") as by_ray:
        expected = build([plain], embedded, IndexSettings(), jobs=1)
        counts = build([kills], by_ray, IndexSettings(), readers="ray:local")
        assert killing.flag.exists()
        assert (counts.files, counts.read, counts.documents) == (files, expected.read, expected.documents)
        assert held(by_ray) == held(embedded)
        assert by_ray.seen("listed") == embedded.seen("listed")
        again = build([plain], by_ray, IndexSettings(), readers="ray:local")
        assert (again.unchanged, again.documents) == (files, 0)


@pytest.mark.slow
def test_a_file_that_kills_every_worker_is_passed_over_alone(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("assay_ray.cluster.ATTEMPTS", 1)
    source = Listed((entry(1), entry(2, KillsAlways()), entry(3)))
    with CodeIndex.create(tmp_path / "index") as index:
        counts = build([source], index, IndexSettings(), readers="ray:local")
        assert (counts.read, counts.skipped) == (2, {"crashes the reader": 1})


@pytest.mark.slow
def test_files_vectors_and_what_passes_through_come_in_order(cluster, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.py").write_text(text_of(number))
    (source,) = open_sources([str(tmp_path)])
    work = [(source.name, file, None) for file in source.files()]
    with (
        ProcessReaders(IndexSettings(), encoder="builtin:fragments", jobs=1) as here,
        RayReaders(IndexSettings(), "local", "builtin:fragments") as far,
    ):
        (mine,) = here.read(work)
        passing = mine[1]
        (theirs,) = far.read([work[0], passing, work[2]])
    assert [reading.entry.path for reading in theirs] == ["0.py", "1.py", "2.py"]
    assert theirs[1] is passing
    for of_theirs, of_mine in zip(theirs, mine, strict=True):
        assert np.allclose(of_theirs.vectors, of_mine.vectors, atol=1e-5)  # in other batches rounding differs
    assert [reading.stamp for reading in theirs] == [entry.stamp for entry in mine]


def test_a_cluster_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    def nowhere(**_):
        raise ConnectionError("Could not find any running Ray instance.\nMore of it.")

    monkeypatch.setattr("assay_ray.cluster.ray.is_initialized", lambda: False)
    monkeypatch.setattr("assay_ray.cluster.ray.init", nowhere)
    with pytest.raises(DataError, match=r"^ray:auto: no Ray cluster answers there: Could not find .* instance.$"):
        RayReaders(IndexSettings(), "auto").__enter__()


@pytest.mark.slow
def test_the_command_reads_by_ray(cluster, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in (1, 2):
        (corpus / f"{number}.py").write_text(text_of(number))
    words = ["index", "build", str(corpus), "--index", str(tmp_path / "index"), "--readers", "ray:local", "--json"]
    result = run_assay(*words)
    assert result.code == 0, result.err
    assert json.loads(result.out)["read"] == 2


@pytest.mark.slow
def test_a_cluster_without_address_is_that_of_this_machine():
    assert [RayCluster(address).address for address in ("", "head:6379")] == ["auto", "head:6379"]


@pytest.mark.slow
def test_a_scan_on_the_cluster_says_what_one_machine_says(cluster, tmp_path):
    solution = "".join(f"    shadow_{at} = nearest(heights, {at * 37 % 101}) * tower[{at}]\n" for at in range(12))
    task = {"task_id": "Tower/0", "prompt": "def towers(heights):\n", "canonical_solution": solution}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(5):
        rows = [{"text": text_of(number)}, {"text": text_of(7) + solution * (number % 2)}]
        (corpus / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (corpus / "broken.jsonl").write_text("no json\n")
    benchmark = [f"humaneval={tmp_path / 'tasks.jsonl'}"]
    here = scan_corpus([str(corpus)], benchmark, out=tmp_path / "here.parquet")
    far = scan_corpus([str(corpus)], benchmark, workers=ScanWorkers(readers="ray:local"), out=tmp_path / "far.parquet")
    assert (here.rows, replace(far, out=here.out)) == (2, here)
    assert read_evidence(tmp_path / "far.parquet") == here.evidence
