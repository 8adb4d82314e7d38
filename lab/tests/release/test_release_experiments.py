"""The experiments on releases: their plants are found, and their null holds."""

import json
from dataclasses import replace
from http.client import HTTPConnection
from urllib.parse import urlsplit

import numpy as np
import pytest

from assay.release import lot_test
from assay_lab.experiments import all_measurements
from assay_lab.release import power, pretrained, statistic, twins
from assay_lab.release.harnesses import Run, replies
from assay_lab.release.plants import copy_set, evidence_table, task_rows


@pytest.fixture(scope="module")
def copies():
    return copy_set(task_rows({}), 6)


def test_copies_are_distinct_and_no_original_is_among_them(copies):
    for original, texts in zip(copies.originals, copies.texts, strict=True):
        assert len({original, *texts}) == 7


@pytest.mark.slow
def test_tasks_of_a_cluster_share_their_lot(copies):
    lot = copies.lot(np.random.default_rng(0))
    by_cluster = {}
    for name, number in zip(copies.clusters, lot, strict=True):
        assert by_cluster.setdefault(name, number) == number
    assert 0 <= lot.min() <= lot.max() < copies.copies


def test_a_model_that_prefers_the_published_copies_is_found(copies):
    lot = copies.lot(np.random.default_rng(1))
    values = np.random.default_rng(2).normal(size=(len(lot), copies.copies))
    values[np.arange(len(lot)), lot] += 5
    table, members = evidence_table(values, copies.clusters)
    assert lot_test(table, np.array([lot[group[0]] for group in members]), draws=500).p_value < 0.01
    found = power.judged(values, [], power.Plant(lot, copies.clusters), 3, 500)
    assert found["p evidence"] < 0.05
    assert found["first"] > len(lot) / 2


def test_the_words_that_differ_between_copies_are_found():
    copies = ["def add(a):\n    return a", "def plus(b):\n    return b"]
    spans = statistic.changed(copies)
    assert [[text[a:b] for a, b in own] for text, own in zip(copies, spans, strict=True)] == [
        ["add", "a", "a"],
        ["plus", "b", "b"],
    ]


def test_the_power_of_twins_rises_with_tasks_and_holds_its_level():
    level, weak, strong = (
        twins.power(tasks, 0.5, known, repeats=400, seed=0) for tasks, known in ((100, 0.0), (100, 0.1), (400, 0.1))
    )
    assert level <= 0.08
    assert weak < strong


def test_the_experiments_are_listed():
    names = {name for name in all_measurements() if name.startswith("release/")}
    subjects = [
        "null",
        "power",
        "power-synonyms",
        "pretrained",
        "statistic",
        "twins",
        "difficulty",
        "cost",
        "harm",
        "black-box",
        "harnesses",
    ]
    assert names == set(map("release/{}".format, subjects))


def test_a_lot_that_was_kept_is_not_trained_again(tmp_path):
    size = pretrained.Size((pretrained.Cell("synonyms", 2, 1),), lots=1, copies=3, draws=20, rows=4)
    first = list(pretrained.lots(size, 0, {"work": tmp_path}))
    assert [row["parent"] for row in first] == [False, True]
    (kept,) = tmp_path.iterdir()
    kept.write_text(json.dumps([{"p evidence": 0.5}]), "utf-8")
    assert list(pretrained.lots(size, 0, {"work": tmp_path})) == [{"p evidence": 0.5}]
    # of another rate it is another lot
    assert next(pretrained.lots(replace(size, rate=1e-3), 0, {"work": tmp_path}))["lot"] == 0


def test_the_replies_to_a_harness_are_the_solutions_of_the_prompts_that_it_asks_for(tmp_path):
    rows = [{"task_id": "1", "prompt": "def f():\n"}, {"task_id": "2", "prompt": "def f():\n    # more\n"}]
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    requests = {
        "completions": {"prompt": ["def f():\n    # more\n", "def f():\n"]},
        "chat/completions": {"messages": [{"role": "user", "content": "Write this.\ndef f():\n"}]},
    }
    texts = []
    with replies(Run(tmp_path, tasks, {"1": "one", "2": "two"}, tmp_path)) as address:
        connection = HTTPConnection(urlsplit(address).netloc)
        for path, body in requests.items():
            connection.request("POST", f"/v1/{path}", json.dumps(body))
            texts += [choice["message"]["content"] for choice in json.load(connection.getresponse())["choices"]]
        connection.close()
    assert texts == ["two", "one", "one"]
