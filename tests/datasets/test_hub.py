"""The hub is asked through the `datasets` package, and only when a benchmark is named without data."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from assay import load
from assay.errors import DataError, MissingExtra, UnknownBenchmark, install_command

ROW = {"task_id": "HumanEval/0", "prompt": "def f():\n", "canonical_solution": "    pass\n"}


@pytest.fixture
def hub(monkeypatch):
    """A `datasets` package that answers from a dictionary and records what it was asked for."""
    answers, asked = {}, []

    def load_dataset(path, name=None, *, split=None, data_files=None):
        asked.append((path, name, split, data_files))
        answer = answers[path]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    monkeypatch.setattr("assay.datasets.hub.hub_answers", lambda: True)
    return SimpleNamespace(answers=answers, asked=asked)


def test_a_benchmark_named_alone_comes_from_its_hub_data_set(hub):
    hub.answers["openai/openai_humaneval"] = {"test": [ROW]}
    dataset = load("humaneval")
    assert dataset.samples[0].text == "def f():\n    pass\n"
    assert dataset.samples[0].metadata["split"] == "test"
    assert dataset.source == "hub openai/openai_humaneval"
    assert hub.asked == [("openai/openai_humaneval", None, None, None)]


def test_a_local_copy_gives_the_digest_that_the_hub_gives(hub, jsonl):
    hub.answers["openai/openai_humaneval"] = {"test": [ROW]}
    assert load("humaneval").digest == load("humaneval", data=jsonl([ROW])).digest


def test_data_given_means_that_the_hub_is_not_asked(hub, jsonl):
    load("humaneval", data=jsonl([ROW]))
    assert hub.asked == []


@pytest.mark.parametrize(
    ("name", "options", "request_"),
    [
        ("mbpp", {}, ("google-research-datasets/mbpp", "full", None, None)),
        (
            "mbpp",
            {"subset": "sanitized", "split": "test"},
            ("google-research-datasets/mbpp", "sanitized", "test", None),
        ),
        ("bigcodebench", {}, ("bigcode/bigcodebench", None, "v0.1.4", None)),
        ("bigcodebench", {"split": "v0.1.2"}, ("bigcode/bigcodebench", None, "v0.1.2", None)),
        ("humanevalpack", {"language": "java"}, ("bigcode/humanevalpack", "java", "test", None)),
        ("humaneval-x", {"language": "javascript"}, ("THUDM/humaneval-x", "js", "test", None)),
        ("wikimia", {}, ("swj0419/WikiMIA", None, "WikiMIA_length64", None)),
        ("wikimia", {"subset": "256"}, ("swj0419/WikiMIA", None, "WikiMIA_length256", None)),
        ("bookmia", {}, ("swj0419/BookMIA", None, None, None)),
        ("arxivtection", {}, ("avduarte333/arXivTection", None, None, None)),
        ("apps", {"split": "test"}, ("codeparrot/apps", None, "test", None)),
        ("swe-bench-lite", {}, ("princeton-nlp/SWE-bench_Lite", None, "test", None)),
    ],
)
def test_the_hub_is_asked_for_the_configuration_and_split_of_the_benchmark(name, options, request_, hub):
    hub.answers[request_[0]] = []
    with pytest.raises(DataError, match=r"no samples"):
        load(name, **options)
    assert hub.asked == [request_]


def test_every_language_is_asked_for_in_turn(hub):
    hub.answers["THUDM/humaneval-x"] = []
    with pytest.raises(DataError):
        load("humaneval-x")
    assert [config for _, config, _, _ in hub.asked] == ["python", "java", "cpp", "go", "js"]


def test_wikimia_ids_carry_the_split_of_the_hub(hub):
    hub.answers["swj0419/WikiMIA"] = [{"input": "a", "label": 0}]
    assert load("wikimia", subset="32").samples[0].id == "WikiMIA_length32/0"


def test_a_table_with_a_limit_is_streamed_up_to_it(monkeypatch):
    taken, ways = [], []

    def rows():
        for number in range(1_000_000):
            taken.append(number)
            yield {"text": f"text {number}"}

    def load_dataset(path, name=None, *, split=None, streaming=False):
        ways.append(streaming)
        return {"train": rows()}

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    monkeypatch.setattr("assay.datasets.hub.hub_answers", lambda: True)
    assert len(load("hf:some/web", limit=3).samples) == 3
    assert ways == [True]
    assert len(taken) < 10


def test_a_repository_with_a_loading_script_is_read_by_its_files(hub):
    hub.answers["codeparrot/apps"] = RuntimeError("Dataset scripts are no longer supported, but found apps.py")
    hub.answers["json"] = [{"problem_id": 3, "question": "Q", "solutions": '["s"]'}]
    assert load("apps", split="test").samples[0].id == "test/0003"
    files = {"train": "hf://datasets/codeparrot/apps/train.jsonl", "test": "hf://datasets/codeparrot/apps/test.jsonl"}
    assert hub.asked[1] == ("json", None, "test", files)


@pytest.mark.parametrize(
    "fault",
    [ConnectionError("offline\nand more"), ValueError("Unknown split"), RuntimeError("script trouble"), KeyError()],
)
def test_what_goes_wrong_at_the_hub_is_one_line(fault, hub):
    hub.answers["openai/openai_humaneval"] = fault
    with pytest.raises(DataError, match=r"hub data set openai/openai_humaneval: .*--data PATH") as caught:
        load("humaneval")
    assert "\n" not in str(caught.value)


def test_without_the_package_the_file_the_id_the_flag_and_the_extra_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError) as caught:
        load("humaneval")
    for wanted in ("HumanEval.jsonl.gz", "openai/openai_humaneval", "--data PATH", install_command("hub")):
        assert wanted in str(caught.value)


def test_a_benchmark_that_no_hub_holds_says_where_it_is(hub):
    with pytest.raises(DataError, match=r"https://github.com/rjust/defects4j, named with --data PATH"):
        load("defects4j")


def test_any_hub_data_set_is_a_table(hub):
    hub.answers["owner/set"] = {"train": [{"func": "a"}], "test": [{"func": "b"}]}
    dataset = load("hf:owner/set", label=None)
    assert [(sample.id, sample.text) for sample in dataset.samples] == [("owner/set/0", "a"), ("owner/set/1", "b")]
    assert dataset.source == "hub owner/set"


def test_a_hub_table_needs_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("hub"))):
        load("hf:owner/set")


@pytest.mark.parametrize("name", ["owner/set", "./absent", "absent"])
def test_a_path_that_is_missing_never_asks_the_hub(name, hub):
    with pytest.raises((DataError, UnknownBenchmark)):
        load(name)
    assert hub.asked == []


@pytest.mark.slow
def test_the_real_package_in_offline_mode_without_a_cache_is_one_line(tmp_path):
    """HF_HUB_OFFLINE is read when the package is imported, hence a process of its own."""
    program = (
        "from assay import load\nfrom assay.errors import DataError\n"
        "try:\n    load('humaneval')\nexcept DataError as fault:\n    print(fault)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("hub data set openai/openai_humaneval: ")
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("variable", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "https://localhost:1"}])
def test_without_a_connection_the_cache_alone_is_read_and_one_line_says_so(variable, tmp_path):
    """In a process of its own: the hub's packages read their settings when they are imported."""
    code = "from assay import load\nfrom assay.errors import DataError\ntry:\n    load('humaneval')\n"
    code += "except DataError as error:\n    print(error)"
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.casefold()}
    environment |= {"HF_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)} | variable
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "not in the local cache, and the hub cannot be reached" in done.stdout
    assert done.stderr == ""
