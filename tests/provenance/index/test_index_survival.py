"""What happens to an index when processes die, disks fill, files break, and two processes meet."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import CorpusIndexError
from assay.provenance import CodeIndex
from assay.provenance.index import Repair
from provenance.index.crashing_writer import document

ROOT = Path(__file__).resolve().parents[3]
DEATHS = 24


def python(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])}
    return subprocess.Popen([sys.executable, *map(str, arguments)], env=environment, text=True, **options)


def expected_numbers(batches):
    return {number for number in range(10 * batches) if number % 10}


def assert_whole(index, numbers):
    """Catalogue and postings hold these documents and nothing else."""
    texts = {document(number).text for number in numbers}
    assert {entry.text for entry in index.documents(index.ids())} == texts
    assert len(index) == len(numbers)
    index.check()
    for number in list(numbers)[::7]:
        text = document(number).text
        found = index.candidates_by_fingerprints(text, "python")["characters"]
        assert index.document(int(found.documents[0])).text == text
        assert found.containment[0] == 1


@pytest.fixture(scope="module")
def graveyard(tmp_path_factory):
    """Folders of indexes whose writer was killed, each a little later."""
    folder = tmp_path_factory.mktemp("graveyard")
    writer = python(ROOT / "tests" / "provenance" / "index" / "crashing_writer.py", folder, DEATHS)
    assert writer.wait() == 0
    return folder


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a matter of POSIX")
@pytest.mark.parametrize("death", range(1, DEATHS + 1))
def test_a_writer_that_is_killed_loses_nothing_it_had_committed(graveyard, death):
    told = graveyard / f"{death}.committed"
    committed = int(told.read_text()) if told.exists() else 0
    with CodeIndex.open(graveyard / str(death)) as reader:
        # killed between the commit and telling of it, the commit counts
        batches = committed + (reader.info().documents > 9 * committed)
        assert_whole(reader, expected_numbers(batches))
    with CodeIndex.open(graveyard / str(death), writable=True) as writer:
        assert_whole(writer, expected_numbers(batches))
        writer.add([document(77)])
        writer.commit()
        assert_whole(writer, {*expected_numbers(batches), 77})


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a matter of POSIX")
def test_the_deaths_are_spread_over_all_of_the_work(graveyard):
    told = [graveyard / f"{death}.committed" for death in range(1, DEATHS + 1)]
    assert {int(entry.read_text()) if entry.exists() else 0 for entry in told} == {0, 1, 2, 3}


READER = """
import sys
from assay.provenance import CodeIndex
with CodeIndex.open(sys.argv[1]) as index:
    print("ready", flush=True)
    for line in sys.stdin:
        with index.snapshot():
            ids = index.ids()
            texts = [one.text for one in index.documents(ids)]
            found = [index.candidates_by_fingerprints(text, "python")["characters"] for text in texts]
            whole = [one.documents[0] == number and one.containment[0] == 1 for one, number in zip(found, ids)]
            print(len(index), len(texts), all(whole), flush=True)
"""


@pytest.mark.slow
def test_two_readers_see_whole_states_while_one_process_writes(tmp_path):
    folder = tmp_path / "index"
    with CodeIndex.create(folder) as index:
        readers = [python("-c", READER, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
        try:
            assert [reader.stdout.readline() for reader in readers] == ["ready\n"] * 2
            asked = 0
            for batch in range(12):
                index.add(document(number) for number in range(5 * batch, 5 * batch + 5))
                for reader in readers:  # they answer while the next lines commit, merge and delete
                    print(file=reader.stdin, flush=True)
                index.commit()
                index.remove_documents([5 * batch + 1])
                index.compact()
                asked += 1
            for reader in readers:
                reader.stdin.close()
                answers = [line.split() for line in reader.stdout]
                assert len(answers) == asked
                for held, read, whole in answers:
                    assert held == read
                    assert whole == "True"
                assert int(answers[-1][0]) >= 4 * 11
        finally:
            for reader in readers:
                reader.kill()
                reader.wait()
                reader.stdout.close()


FILLING = """
import resource, sys
from assay.errors import CorpusIndexError
from assay.provenance import CodeIndex
from provenance.index.crashing_writer import document
with CodeIndex.open(sys.argv[1], writable=True) as index:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    try:
        index.add(document(number) for number in range(1000, 6000))
        index.commit()
    except CorpusIndexError as error:
        print(error)
    index.roll_back()
    print(len(index))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are a matter of POSIX")
@pytest.mark.parametrize("room", [1 << 16, 1 << 20])
def test_a_disk_that_fills_is_told_in_one_line_and_the_last_commit_stands(tmp_path, room):
    folder = tmp_path / "index"
    with CodeIndex.create(folder) as index:
        index.add(document(number) for number in range(10))
        index.commit()
    told, _ = python("-c", FILLING, folder, room, stdout=subprocess.PIPE).communicate()
    message, held = told.splitlines()
    assert str(folder) in message
    assert held == "10"
    with CodeIndex.open(folder, writable=True) as index:
        assert_whole(index, set(range(10)))
        index.add([document(99)])
        index.commit()
        assert_whole(index, {*range(10), 99})


@pytest.mark.parametrize("name", ["postings", "vectors"])
def test_what_is_damaged_is_named_and_made_anew_from_the_stored_texts(tmp_path, name, letter_encoder):
    folder = tmp_path / "index"
    with CodeIndex.create(folder, encoder=letter_encoder) as index:
        for batch in range(3):
            index.add(document(number) for number in range(10 * batch, 10 * batch + 10))
            index.commit()
    damaged = sorted(path for path in (folder / name).iterdir() if path.suffix in {".segment", ".vectors"})[1]
    data = bytearray(damaged.read_bytes())
    data[100] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(CorpusIndexError, match=rf"{damaged.name}: .*damaged"):
        CodeIndex.open(folder)
    assert CodeIndex.repair(folder, encoder=letter_encoder) == Repair(10, 0, read_again=False)
    with CodeIndex.open(folder, encoder=letter_encoder) as index:
        assert_whole(index, set(range(30)))
        assert index.info().vectors == 30
        assert index.candidates_by_vector(document(15).text, 1)[1][0] > 0.99


@pytest.mark.parametrize("name", ["postings", "vectors"])
def test_a_file_in_the_place_of_a_part_is_damage_and_is_repaired(tmp_path, name, letter_encoder):
    folder = tmp_path / "index"
    with CodeIndex.create(folder, encoder=letter_encoder) as index:
        index.add(map(document, range(10)))
        index.commit()
    shutil.rmtree(folder / name)
    (folder / name).write_text("no folder")
    with pytest.raises(CorpusIndexError, match=f"{name}: no "):
        CodeIndex.open(folder, encoder=letter_encoder)
    assert CodeIndex.repair(folder, encoder=letter_encoder).computed == 10
    with CodeIndex.open(folder, encoder=letter_encoder) as index:
        assert_whole(index, set(range(10)))


def test_a_half_written_segment_is_named(tmp_path):
    with CodeIndex.create(tmp_path / "index") as index:
        index.add([document(1)])
        index.commit()
    (segment,) = (tmp_path / "index" / "postings").glob("*.segment")
    segment.write_bytes(segment.read_bytes()[:-100])
    with pytest.raises(CorpusIndexError, match=rf"{segment.name}.*half-written"):
        CodeIndex.open(tmp_path / "index")
    segment.unlink()
    with pytest.raises(CorpusIndexError, match=rf"{segment.name}.*cannot be read"):
        CodeIndex.open(tmp_path / "index")


def test_a_catalogue_that_is_none_is_refused(tmp_path):
    folder = tmp_path / "index"
    CodeIndex.create(folder).close()
    (folder / "catalogue.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(CorpusIndexError, match=r"catalogue.sqlite: file is not a database"):
        CodeIndex.open(folder)
    (folder / "catalogue.sqlite").unlink()
    with pytest.raises(CorpusIndexError, match="the catalogue of the index is missing"):
        CodeIndex.open(folder)


def test_segments_of_another_version_are_refused(tmp_path):
    folder = tmp_path / "index"
    CodeIndex.create(folder).close()
    (manifest,) = (folder / "postings").glob("manifest-*.json")
    content = json.loads(manifest.read_text("utf-8").partition("\n")[2])
    content["version"] = 1
    from assay.retrieval.generations import publish

    publish(folder / "postings", 0, content)
    with pytest.raises(CorpusIndexError, match=r"postings of format 1, .* expected format 2.*verify --repair"):
        CodeIndex.open(folder)
