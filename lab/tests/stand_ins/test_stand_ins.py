"""Stand-ins open by the ids of the hub, and nothing that is made with them can be mistaken for a result."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import DataError
from assay_lab.experiments import Bench, Finding
from assay_lab.experiments.describing import write_finding
from assay_lab.experiments.papers import all_hub_ids
from assay_lab.pages import rendering
from assay_lab.stand_ins.home import MARKER, check_no_stand_ins, check_same_kind, is_marked, mark, variables
from assay_lab.stand_ins.texts import LANGUAGES, invented

PATHS = {"PYTHONPATH": os.pathsep.join(sys.path)}
OPENED = """
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, AutoTokenizer
from assay.datasets import DataSelection, read_dataset
for name, kind in (
    ("Qwen/Qwen2.5-7B", AutoModelForCausalLM), ("bigcode/starcoder2-7b", AutoModelForCausalLM),
    ("Salesforce/codegen-6B-multi", AutoModelForCausalLM), ("google/gemma-2-2b", AutoModelForCausalLM),
    ("google-t5/t5-large", AutoModelForSeq2SeqLM), ("microsoft/codebert-base", AutoModelForSequenceClassification),
):
    ids = AutoTokenizer.from_pretrained(name)("def f(x): return x", return_tensors="pt")["input_ids"]
    model = kind.from_pretrained(name)
    print(name, type(model).__name__, model.get_input_embeddings()(ids).shape[-1])
for name in ("apps", "humaneval", "mbpp", "bigcodebench", "wikimia", "bookmia", "arxivtection", "swe-bench-lite"):
    print(name, len(read_dataset(name).samples))
print("refinedweb", len(read_dataset("hf:tiiuae/falcon-refinedweb", DataSelection(text="content", limit=5)).samples))
"""


def assay(*words, **variables_of_process):
    """Run the command line in a process of its own: the packages of the hub read their variables once."""
    command = [sys.executable, "-m", "assay", "lab", *map(str, words)]
    environment = {**os.environ, **PATHS, **variables_of_process}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """All stand-ins, laid down once."""
    folder = tmp_path_factory.mktemp("stand-ins") / "home"
    done = assay("stand-ins", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_models_and_tables_open_offline_by_their_ids(home):
    done = subprocess.run(
        [sys.executable, "-c", OPENED],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **PATHS, **variables(home)},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "Salesforce/codegen-6B-multi CodeGenForCausalLM 32" in lines
    assert "google-t5/t5-large T5ForConditionalGeneration 32" in lines
    assert "wikimia 24" in lines
    assert "refinedweb 5" in lines


@pytest.mark.slow
def test_each_folder_of_stand_ins_has_the_marker(home):
    models = sorted(path.name for path in (home / "hub").iterdir() if path.is_dir())
    assert models == sorted(f"models--{name.replace('/', '--')}" for name in all_hub_ids())
    places = [home, *(home / "data").iterdir(), *(home / "hub").glob("models--*/snapshots/*")]
    places += [path for path in (home / "datasets").iterdir() if path.is_dir()]
    assert [place for place in places if place.is_dir() and not (place / MARKER).is_file()] == []


REHEARSED = ("kds/table-2", "bugs/table-5")


@pytest.mark.slow
@pytest.mark.parametrize("name", REHEARSED)
def test_a_table_of_each_paper_is_rehearsed_and_says_stand_in(name, home, tmp_path):
    done = assay("rehearse", name, "--stand-ins", home, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out" / name
    content = json.loads((folder / "finding.json").read_text("utf-8"))
    assert content["stand_in"] is True
    assert content["scale"] == "paper"
    assert all(table["title"].startswith(MARKER) for table in content["tables"])
    assert MARKER in (folder / "finding.md").read_text("utf-8")
    assert MARKER in (folder / "finding.html").read_text("utf-8")


@pytest.mark.slow
def test_a_hub_home_of_stand_ins_gives_no_measurement(home, tmp_path):
    done = assay("run", "statistics/set_power", "--scale", "smoke", "--out", tmp_path / "x.json", HF_HOME=str(home))
    assert done.returncode == 2
    assert "received stand-ins" in done.stderr


def test_a_finding_on_a_stand_in_says_so_in_its_file(tmp_path):
    model = mark(tmp_path / "model")
    bench = Bench.of_scale("smoke", tmp_path, (0,), models=(str(model),))
    assert bench.is_rehearsal
    write_finding(tmp_path / "a", Finding(name="a", title="A", tables=(), notes=(), seeds=()), bench)
    assert json.loads((tmp_path / "a" / "finding.json").read_text("utf-8"))["stand_in"] is True
    assert not Bench.of_scale("smoke", tmp_path, (0,)).is_rehearsal


def test_results_of_stand_ins_are_not_rendered(monkeypatch, tmp_path):
    (tmp_path / "table.json").write_text(json.dumps({"title": f"{MARKER}: a table"}), "utf-8")
    monkeypatch.setattr(rendering, "RESULTS", tmp_path)
    with pytest.raises(DataError, match=r"table.json: received results of stand-ins"):
        list(rendering.rendered_pages())


def test_results_of_both_kinds_are_not_mixed_in_a_folder(tmp_path):
    check_same_kind(tmp_path / "new", is_rehearsal=True)
    assert is_marked(tmp_path / "new")
    with pytest.raises(DataError, match="received real models for a folder of stand-ins"):
        check_same_kind(tmp_path / "new", is_rehearsal=False)
    with pytest.raises(DataError, match="received stand-ins for a folder of real models"):
        check_same_kind(tmp_path, is_rehearsal=True)


def test_a_marker_above_a_place_counts(tmp_path):
    inner = mark(tmp_path / "home") / "data" / "x.jsonl"
    inner.parent.mkdir()
    inner.write_text("{}", "utf-8")
    with pytest.raises(DataError, match="probe: received stand-ins"):
        check_no_stand_ins([inner], "probe")
    check_no_stand_ins([Path("hf:owner/name"), "builtin:small"], "probe")


def test_a_link_to_a_stand_in_is_one(tmp_path):
    inner = mark(tmp_path / "home") / "data" / "x.jsonl"
    inner.parent.mkdir()
    inner.write_text("{}", "utf-8")
    for name, place in (("file.jsonl", inner), ("folder", inner.parent)):
        (tmp_path / name).symlink_to(place)
        assert is_marked(tmp_path / name)
    assert not is_marked(tmp_path)


@pytest.mark.parametrize("variable", ["HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HOME"])
def test_a_stand_in_that_was_copied_into_a_cache_of_real_models_is_found(variable, monkeypatch, tmp_path):
    """Also in the cache that no variable names; and if the markers above it were removed."""
    for name in ("HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv(variable, str(tmp_path))
    below = {"HF_HOME": "hub", "XDG_CACHE_HOME": "huggingface/hub", "HOME": ".cache/huggingface/hub"}
    cache = tmp_path / below.get(variable, ".")
    (cache / "models--real--model").mkdir(parents=True)
    check_no_stand_ins(["real/model"], "probe")
    mark(cache / "models--owner--name")
    with pytest.raises(DataError, match=r"received stand-ins in .*models--owner--name"):
        check_no_stand_ins(["real/model"], "probe")


@pytest.mark.parametrize("language", LANGUAGES)
def test_authors_of_an_invented_task_differ(language):
    assert len({invented(language, 1, author) for author in range(5)}) == 5
    assert invented(language, 1, 2) == invented(language, 1, 2)
