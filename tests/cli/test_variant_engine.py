"""Rewritings by a language model, from the command line: the same scores, counted rejections."""

import json
import re

import pytest

from assay.code import variants
from support.openai_server import answer, served

CODE = re.compile(r"snippet: (.*)\nTask: ", re.DOTALL)


@pytest.fixture
def server():
    """A model that renames well, behind one version that changes what the code does."""

    def reply(_path, request):
        code = CODE.search(request["messages"][0]["content"])[1]
        made = [variant.text for variant in variants(code, 5, seed=request["seed"]).variants]
        return answer(json.dumps([code.replace("return", "yield"), *made]))

    with served(reply) as (played, url):
        played.url = url
        yield played


def test_a_model_rewrites_and_what_does_not_count_is_told(assay, texts, server):
    engine = f"openai-chat:m@{server.url}"
    done = assay("score", "builtin:small", texts, "--limit", "4", "--scores", "sr_gray:n=4", "--variant-engine", engine)
    assert done.code == 0
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert all(row["scores"]["sr_gray:n=4"] is not None for row in rows)
    assert len(server.asked) == 4
    assert f"rewritings by {engine}: 4 rejected: a name changed that may not" in done.err


def scored(assay, texts, server, *options):
    engine = ("--variant-engine", f"openai-chat:m@{server.url}", "--model-option", "concurrency=1")
    return assay("score", "builtin:small", texts, "--limit", "4", "--scores", "sr_gray:n=4", *engine, *options)


def test_a_killed_run_pays_for_no_reply_twice(assay, texts, server):
    first = server.reply
    server.reply = lambda *asked: (
        first(*asked) if len(server.asked) <= 3 else (500, {"error": "out of order"}, {"retry-after": "999"})
    )
    assert scored(assay, texts, server).code == 2
    server.reply = first
    before = len(server.asked)
    whole = scored(assay, texts, server)
    assert whole.code == 0
    assert len(server.asked) == before + 1
    again = scored(assay, texts, server)
    assert len(server.asked) == before + 1
    assert again.out == whole.out
    assert "4 rejected: a name changed that may not" in again.err


@pytest.mark.slow
def test_without_the_cache_a_model_is_asked_again(assay, texts, server):
    for _ in range(2):
        assert scored(assay, texts, server, "--model-option", "cache=false").code == 0
    assert len(server.asked) == 8


def test_the_manifest_names_who_rewrote(assay, texts, server, tmp_path):
    engine = f"openai-chat:m@{server.url}"
    options = ("--limit", "4", "--scores", "sr_gray:n=4", "--variant-engine", engine, "--out", tmp_path / "run")
    assert assay("audit", "builtin:small", texts, "--describe", *options).code == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))
    assert manifest["settings"]["variant_engine"] == engine


@pytest.mark.slow
def test_a_calibration_by_another_engine_is_refused(assay, texts, server, tmp_path):
    engine = ("--variant-engine", f"openai-chat:m@{server.url}", "--scores", "sr_gray:n=4")
    assert assay("calibrate", "builtin:small", texts, *engine, "-o", tmp_path / "c.json").code == 0
    options = ("--scores", "sr_gray:n=4", "--calibration", tmp_path / "c.json")
    refused = assay("audit", "builtin:small", texts, "--describe", *options)
    assert refused.code == 2
    assert f"compares rewritings by openai-chat:m@{server.url}, expected deterministic" in refused.err
    assert assay("audit", "builtin:small", texts, "--describe", *options, *engine, "--force").code == 0


def test_an_engine_that_is_not_there_is_told(assay, texts):
    done = assay("score", "builtin:small", texts, "--variants", "2", "--variant-engine", "openai:m@nowhere")
    assert done.code == 2
    assert "expected openai:MODEL@http://host:port/v1" in done.err
