"""The pipeline from repositories to data sets, with a real model behind a real server, and with awkward replies."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import open_model
from assay.corpora import Document, Origin
from assay.errors import DataError, ModelError
from assay.models import ModelSettings, builtin_folder
from assay.provenance import CodeIndex
from assay.types import Rejected, Sample
from assay.unseen import Period
from assay_lab.classifiers.making import read_labelled
from assay_lab.rewrites import (
    AssemblyRequest,
    Collected,
    CollectionRequest,
    RewritesRequest,
    RewritingRequest,
    assemble,
    build_rewrites,
    prompt_for,
    rewritten_by,
)
from assay_lab.rewrites.building import split_samples
from assay_lab.rewrites.collecting import collect
from assay_lab.rewrites.rules import RemovalRule
from support.dated_repository import DatedRepository
from support.openai_server import answer, served

SOURCES = [Path(__file__).resolve().parents[3] / name for name in ("src", "lab/src")]
MIT = """MIT License

Copyright (c) 2019 A

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
VERBS = ("add", "scale", "clip", "fold", "weigh", "trim", "rank", "shift", "join", "sort")


def function_of(verb, n):
    """Return a function that shares few 5-grams with those of other verbs."""
    return (
        f"def {verb}_{n}({verb}_items, {verb}_limit):\n"
        f"    # ask {verb}@example.org\n"
        f"    {verb}_sum = {n}\n"
        f"    for {verb}_item in {verb}_items:\n"
        f"        if {verb}_item > {verb}_limit * {n}:\n"
        f"            {verb}_sum += {verb}_item - {verb}_limit\n"
        f"    return {{'{verb}': {verb}_sum, 'n{n}': len({verb}_items)}}\n"
    )


def renamed(sample_text, word):
    """Return a rewriting as a model could write it: other names."""
    return sample_text.replace("_items", f"_{word}").replace("_limit", f"_{word}_max").replace("ask ", "")


@pytest.fixture(scope="module")
def repositories(tmp_path_factory):
    """Two repositories of 2019 that went on to change in 2024."""
    root = tmp_path_factory.mktemp("repositories")
    paths = []
    for name, verbs in (("first", VERBS[:5]), ("second", VERBS[5:])):
        repository = DatedRepository(root / name)
        files = {f"{verb}.py": function_of(verb, n) for n, verb in enumerate(verbs, 2)}
        repository.commit("2019-05-01", {"LICENSE": MIT, **files})
        repository.commit("2024-05-01", {f"{verbs[0]}.py": "x = 1\n", "new.py": function_of("modern", 9)})
        paths.append(str(repository.path))
    return paths


def chat(reply_to):
    """Return a server's reply from a function of the code in the prompt."""

    def reply(_, request):
        return answer(reply_to(request["messages"][0]["content"].partition("to modify.\n\n")[2]))

    return reply


def request(**options):
    return RewritesRequest(rewriting=RewritingRequest(temperature=0.0), **options)


def test_a_past_day_gives_the_old_text_of_files_that_changed(repositories):
    collected = collect(repositories, CollectionRequest())
    assert len(collected.samples) == 10
    assert {sample.metadata["date"] for sample in collected.samples} == {"2019-05-01"}
    assert {sample.metadata["licence"] for sample in collected.samples} == {"MIT"}
    assert {sample.group for sample in collected.samples} == {"first", "second"}
    assert collected.read == 10
    assert collected.skipped["other language"] == 2  # the licences


def test_every_text_stays_or_is_counted_once(repositories, tmp_path):
    other = DatedRepository(tmp_path / "gpl")
    other.commit(
        "2018-05-01",
        {
            "LICENSE": MIT,
            "copy.py": function_of("add", 2),
            "foreign.py": "# SPDX-License-Identifier: GPL-3.0-only\n" + function_of("merge", 3),
            "short.py": "x = 1\n",
            "odd.py": function_of("mêler", 3),
            "bad.py": function_of("split", 3).replace("for", "for for"),
        },
    )
    young = DatedRepository(tmp_path / "young")
    young.commit("2023-01-01", {"a.py": function_of("late", 3)})
    wanted = CollectionRequest(per_repository=3)
    collected = collect([*repositories, str(other.path), str(young.path)], wanted)
    assert collected.removed == Counter(
        {
            RemovalRule.LICENCE: 1,
            RemovalRule.TOO_FEW_TOKENS: 1,
            RemovalRule.NOT_ASCII: 1,
            RemovalRule.UNPARSABLE: 1,
            RemovalRule.COPY: 1,
            RemovalRule.NOT_DRAWN: 4,
        }
    )
    assert collected.read == len(collected.samples) + collected.removed.total()
    assert collected.skipped["repository without a commit that old"] == 1
    after = collect(
        [*repositories, str(other.path)],
        CollectionRequest(period=Period(date(2019, 1, 1), date(2020, 1, 1))),
    )
    assert after.removed[RemovalRule.ANOTHER_TIME] == 5


def test_functions_of_files_and_documents_of_an_index(repositories, tmp_path):
    functions = collect(repositories[:1], CollectionRequest(unit="function"))
    assert "first/add.py:1 add_2" in {sample.id for sample in functions.samples}
    origin = Origin(repositories[0], "clip.py", "owner/first", licence="MIT")
    gone = Origin("gone", "b.py", licence="BSD-3-Clause")
    with CodeIndex.create(tmp_path / "index") as index:
        index.add([Document(function_of("clip", 4), "python", "file", None, (origin,))])
        index.add([Document(function_of("gone", 4), "python", "file", None, (gone,))])
        index.commit()
        with pytest.raises(DataError, match="--released"):
            collect([], CollectionRequest(), index)
        both = collect([], CollectionRequest(released=date(2018, 1, 1)), index).samples
        late = collect([], CollectionRequest(released=date(2022, 1, 1)), index)
    assert {(s.group, s.metadata["date"]) for s in both} == {("owner/first", "2019-05-01"), ("gone", "2018-01-01")}
    assert late.removed[RemovalRule.ANOTHER_TIME] == 1


def test_the_prompt_is_figure_1_with_language_and_code():
    prompt = prompt_for(Sample("s", "int x;\n", "cpp"))
    assert prompt.startswith("I will give you a code snippet written in C++.\nPlease modify this code snippet")
    assert "add\n``` C++ ``` at the start.\n" in prompt
    assert prompt.endswith("The following code snippet is the one you need to modify.\n\nint x;\n")


def test_a_real_model_behind_a_real_server(repositories, tmp_path):
    """Whatever a small model replies, every reply is kept, has an outcome, and is counted."""
    model = open_model("builtin:small")
    lock = threading.Lock()

    def reply(_, body):
        with lock:
            (text,) = model.generate([body["messages"][0]["content"][-400:]], max_new_tokens=24)
        return answer(text)

    with served(reply) as (played, url):
        generators = {"tiny": f"openai-chat:small@{url}"}
        built = build_rewrites(repositories, generators, tmp_path / "set", request=request(), progress=False)
        assert len(played.asked) == 10
        again = build_rewrites(repositories, generators, tmp_path / "set", request=request(), progress=False)
        assert len(played.asked) == 10
    rows = [json.loads(line) for line in (tmp_path / "set" / "replies.jsonl").read_text().splitlines()]
    assert len(rows) == 10
    assert all(isinstance(row["reply"], str) for row in rows)
    counts = built.manifest["generators"]["tiny"]
    assert counts["replies"] == counts["kept"] + sum(counts["removed"].values()) == 10
    assert built.manifest["models"]["tiny"]["requests"] == 10
    assert built.manifest["files"] == again.manifest["files"]


def test_a_local_model_rewrites_what_fits_into_its_context(repositories, tmp_path):
    built = build_rewrites(
        repositories[:1], {"small": str(builtin_folder("small"))}, tmp_path / "set", request=request(), progress=False
    )
    assert built.sets.replies("small") == 5
    long = Collected((Sample("l", "x = 1\n" * 600, "python", "human", "g", {"source": "l"}),), Counter(), 1, Counter())
    (reply,) = rewritten_by(open_model("builtin:small"), long.samples, RewritingRequest())
    assert reply == Rejected(RemovalRule.TOO_LONG)
    assert assemble(long, {"small": [reply]}, AssemblyRequest()).removed("small") == {RemovalRule.TOO_LONG: 1}


PROSE = "This function scales all of the given items and returns a dictionary of them."
JAVA = "public class Clip { public static int clip(int a, int b) { return a < b ? a : b; } }"
AWKWARD = {
    "add": (lambda code: f"```python\n{renamed(code, 'rows')}```", None),
    "scale": (lambda _: PROSE, "prose"),
    "clip": (lambda _: JAVA, "another language"),
    "fold": (lambda code: f"Sure!\n```python\n{code}", "broken code fence"),
    "weigh": (lambda code: code + "    return 0\n" * 60, "repeats itself"),
    "trim": (lambda _: "", "empty reply"),
    "rank": (lambda code: f"```python\n{code}```\n\n```python\n{code}```", "several code blocks"),
    "shift": (lambda code: code.replace("'shift'", "'shift"), "unbalanced quotes"),
    "join": (lambda code: code.replace("len(join_items)", "len(join_items"), "unbalanced brackets"),
    "sort": (lambda _: "def sort_11(a):\n    return {}\n", "too short beside the original"),
}
"""First word of a function → the reply to it, and the rule that removes the reply."""


def test_awkward_replies_are_removed_each_by_its_rule(repositories, tmp_path):
    def reply_to(code):
        verb = code.split("_")[0].removeprefix("def ")
        return AWKWARD[verb][0](code)

    with served(chat(reply_to)) as (_, url):
        built = build_rewrites(
            repositories, {"odd": f"openai-chat:m@{url}"}, tmp_path / "set", request=request(), progress=False
        )
    expected = Counter(rule for _, rule in AWKWARD.values() if rule) + Counter(["too similar to the original"])
    assert Counter(built.manifest["generators"]["odd"]["removed"]) == expected


def test_a_server_that_refuses_long_prompts_is_counted(repositories, tmp_path):
    def reply(_, body):
        content = body["messages"][0]["content"]
        if "fold_" in content:
            return 400, {"error": {"message": "maximum context length is 100 tokens"}}, {}
        return answer(renamed(content.partition("to modify.\n\n")[2], "rows"))

    with served(reply) as (_, url):
        built = build_rewrites(
            repositories, {"g": f"openai-chat:m@{url}"}, tmp_path / "set", request=request(), progress=False
        )
    assert built.manifest["generators"]["g"]["removed"]["refused by the generator"] == 1


@pytest.fixture
def two_generators(repositories, tmp_path):
    """A data set of two generators that rewrite well."""
    words = {"one": ("rows", "cells"), "two": ("parts", "pieces")}

    def reply(_, body):
        code = body["messages"][0]["content"].partition("to modify.\n\n")[2]
        near = sum(map(ord, code)) % 3 == 0
        word = words[body["model"]][near]
        return answer(f"```python\n{renamed(code, word)}# {word}\n```" if near else renamed(code, word))

    with served(reply) as (_, url):
        models = {name: f"openai-chat:{name}@{url}" for name in words}
        return build_rewrites(repositories, models, tmp_path / "set", request=request(), progress=False)


def test_binary_and_multi_are_tables_that_authorship_reads(two_generators):
    built = two_generators
    assert built.manifest["human"]["kept"] == 10
    sources = {sample.metadata["source"] for sample in built.sets.multi}
    assert sources
    for source in sources:
        labels = [sample.label for sample in built.sets.multi if sample.metadata["source"] == source]
        assert labels == ["human", "one", "two"]
    tables = [str(path) for path in sorted((built.folder / "binary").glob("*.jsonl")) if path.stat().st_size]
    read = read_labelled(tables)
    assert len(read) == len(built.sets.binary)
    assert set(read.generators) == {"human", "one", "two"}
    assert set(read.groups) == {"group first", "group second"}
    assert {sample.language for sample in read.samples} == {"python"}
    assert not any("@example.org" in sample.text for sample in read.samples)
    assert built.manifest["anonymised"]["human"] == 10


def test_the_report_prints_table_1_and_what_was_removed(two_generators):
    report = two_generators.describe()
    binary, multi, removed, *_ = report.tables
    python, total = binary.rows
    assert python.cells[0] == "Python"
    assert python.cells[1:] == total.cells[1:]
    assert python.cells[-1] == len(two_generators.sets.binary)
    assert multi.rows[-1].cells[-1] == len(two_generators.sets.multi)
    assert removed.rows[0].cells == ("texts and replies", 10, 10, 10)
    for column in (1, 2, 3):
        numbers = [row.cells[column] for row in removed.rows[:-1]]
        assert numbers[0] == sum(numbers[1:])


SAMPLES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["human", "a", "b"])), unique=True, max_size=60
).map(lambda rows: [Sample(f"{r}/{s}/{a}", "x", "python", a, f"r{r}", {"source": f"r{r}/{s}"}) for r, s, a in rows])


@given(SAMPLES, st.sampled_from(["repository", "source", "paper"]), st.integers(0, 3))
def test_a_split_keeps_every_sample_once_and_cuts_no_group(samples, kind, seed):
    parts = split_samples(samples, kind, seed)
    together = [sample for part in parts.values() for sample in part]
    assert sorted(sample.id for sample in together) == sorted(sample.id for sample in samples)
    assert {sample.id: sample.group for sample in together} == {sample.id: sample.group for sample in samples}
    if kind != "paper":
        for name in ("source",) if kind == "source" else ("source", "group"):
            owners = [
                {sample.metadata["source"] if name == "source" else sample.group for sample in part}
                for part in parts.values()
            ]
            assert sum(map(len, owners)) == len(set().union(*owners))
    else:
        assert abs(len(parts["train"]) - 0.8 * len(samples)) <= 0.5


@pytest.mark.slow
def test_a_build_that_is_killed_asks_only_for_what_is_missing(repositories, tmp_path):
    """The process is killed while the server still works on replies; those that came are kept."""
    answered = threading.Event()
    count = [0]

    def reply(_, body):
        count[0] += 1
        if count[0] > 6 and not answered.is_set():
            answered.wait(30)
        return answer(body["messages"][0]["content"].partition("to modify.\n\n")[2])

    with served(reply) as (played, url):
        command = [
            sys.executable, "-m", "assay", "lab", "build-authorship", *repositories,
            "--generator", f"m=openai-chat:m@{url}",
            "--model-option", "concurrency=1", "--temperature", "0", "-o", str(tmp_path / "set"),
        ]  # fmt: skip
        process = subprocess.Popen(
            command,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, SOURCES))},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while len(played.asked) < 7 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        answered.set()
        first = len(played.asked)
        built = build_rewrites(
            repositories, {"m": f"openai-chat:m@{url}"}, tmp_path / "set", request=request(), progress=False
        )
    assert first == 7
    assert len(played.asked) - first in {4, 5}  # the sixth may have arrived without being kept yet
    assert built.sets.replies("m") == 10


def test_a_second_generator_leaves_the_replies_of_the_first(repositories, tmp_path):
    with served(chat(lambda code: code)) as (played, url):
        models = {"a": f"openai-chat:a@{url}"}
        build_rewrites(repositories, models, tmp_path / "set", request=request(), progress=False)
        models["b"] = f"openai-chat:b@{url}"
        build_rewrites(repositories, models, tmp_path / "set", request=request(), progress=False)
    assert Counter(body["model"] for _, body in played.asked) == {"a": 10, "b": 10}


def test_limits_hold_for_all_generators_together(repositories, tmp_path, capsys):
    with served(chat(lambda code: code)) as (played, url):
        models = {name: f"openai-chat:{name}@{url}" for name in ("a", "b")}
        limited = request(settings=ModelSettings(max_requests=15))
        with pytest.raises(ModelError, match=r"nothing was sent: the estimate is 20 requests, max-requests 15"):
            build_rewrites(repositories, models, tmp_path / "set", request=limited, progress=False)
        assert not played.asked
        priced = request(settings=ModelSettings(price=2.0, max_cost=0.5))
        built = build_rewrites(repositories, models, tmp_path / "set", request=priced, progress=False)
    printed = capsys.readouterr().err
    assert "a: at most about 10 requests" in printed
    assert "replies in the folder cost nothing" in printed
    facts = built.manifest["models"]["b"]
    assert facts["cost"] == pytest.approx(facts["tokens"] * 2.0 / 1e6)


def test_bad_input_is_refused_before_anything_is_read(repositories, tmp_path):
    with pytest.raises(DataError, match="label of people"):
        build_rewrites(repositories, {"Human": "builtin:small"}, tmp_path / "set")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("x")
    local = {"m": str(builtin_folder("small"))}
    with pytest.raises(DataError, match="holds other files"):
        build_rewrites(repositories, local, tmp_path / "full")
    with pytest.raises(DataError, match=r"no text of a person is left: repository without a commit that old 2"):
        build_rewrites(
            repositories,
            local,
            tmp_path / "set",
            request=request(collection=CollectionRequest(period=Period(before=date(2001, 1, 1)))),
        )
    assert not (tmp_path / "set").exists()
