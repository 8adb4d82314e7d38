"""A model behind a server, from the command line."""

import json

import pytest

from assay.models.openai_http import SHORT, SHORT_TOO
from support.openai_server import served, table_replies, with_context
from support.table_model import TableModel


@pytest.fixture
def server():
    table = TableModel.trained([f"def f{i}(x):\n    return x + {i * i}\n" for i in range(24)], order=2)
    with served(table_replies(table)) as (played, url):
        played.url = url
        yield played


def test_scores_that_need_no_more_come_from_log_probabilities(assay, texts, server):
    done = assay("score", f"openai:m@{server.url}", texts, "--model-option", "concurrency=2")
    assert done.code == 0
    rows = [json.loads(line) for line in done.out.splitlines()]
    scored = [
        request for _, request in server.asked if request.get("echo") and request["prompt"] not in (SHORT, SHORT_TOO)
    ]
    assert len(rows) == len(scored) == 24
    assert {"loss", "min_k", "perplexity", "zlib"} <= set(rows[0]["scores"])
    assert "mid_pit was left out: the model gives no whole distributions." in done.err
    assert "rank was left out: the model gives no ranks." in done.err


def test_an_audit_of_a_server_ends_with_a_report(assay, texts, server, tmp_path):
    done = assay(
        "audit", f"openai:m@{server.url}", texts, "--describe", "--scores", "loss,min_k", "--out", tmp_path / "run"
    )
    assert done.code == 0
    manifest = (tmp_path / "run" / "manifest.json").read_text("utf-8")
    assert server.url in manifest
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.parametrize("access", ["gray", "black"])
def test_a_text_beyond_the_context_is_unscored_with_its_reason_and_the_audit_goes_on(assay, server, tmp_path, access):
    rows = [{"text": f"def f{i}(x):\n    y = x + {i}\n    return y\n"} for i in range(6)]
    rows[2]["text"] = "def long(x):\n" + "    x = x + 1\n" * 60 + "    return x\n"
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    server.reply = with_context(server.reply, 200)
    score = {"gray": "sr_gray:n=2", "black": "sr_black:n=2"}[access]
    out = tmp_path / "run"
    done = assay(
        "audit", f"openai:m@{server.url}", data, "--describe", "--scores", score, "--access", access, "--out", out
    )
    assert done.code == 0, done.err
    (summary,) = json.loads((out / "summary.json").read_text("utf-8"))["summaries"]
    assert (summary["scored"], summary["total"]) == (5, 6)
    ((reason, count),) = summary["unscorable"].items()
    assert reason.startswith("refused by the server: HTTP 400: This model's maximum context length is … tokens")
    assert count == 1
    assert "refused by the server" in (out / "report.html").read_text("utf-8")


def test_the_key_stands_in_no_manifest(assay, texts, server, tmp_path):
    done = assay(
        "audit", f"openai:m@{server.url}", texts, "--describe", "--scores", "loss", OPENAI_API_KEY="sk-very-secret"
    )
    assert done.code == 0
    assert server.headers[0]["Authorization"] == "Bearer sk-very-secret"
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if b"sk-very-secret" in path.read_bytes()]


def test_a_score_that_needs_more_is_told_before_a_request(assay, texts, server):
    done = assay("score", f"openai:m@{server.url}", texts, "--scores", "min_k_plus_plus")
    assert done.code == 2
    assert "min_k_plus_plus needs whole distributions" in done.err
    assert server.asked == []


@pytest.mark.parametrize("table", [[], ["--frequencies", "table.npz"]])
def test_a_score_of_the_tokenizer_says_in_one_line_that_a_server_shows_none(assay, texts, server, table):
    assert assay("frequencies", "builtin:small", texts, "-o", "table.npz").code == 0
    done = assay("score", f"openai:m@{server.url}", texts, "--scores", "dc_pdd", *table)
    assert done.code == 2
    assert "does not show its own: expected the model opened from its weights, or scores" in done.err
    assert "--frequencies" not in done.err
    assert done.err.count("\n") == 1
    listed = assay("score", f"openai:m@{server.url}", texts, *table)
    assert "dc_pdd was left out: the model does not show its tokenizer." in listed.err


def test_a_chat_model_gives_no_probabilities(assay, texts, server):
    done = assay("score", f"openai-chat:m@{server.url}", texts)
    assert done.code == 2
    assert "only generates text" in done.err


@pytest.mark.parametrize("access", ["gray", "black"])
def test_an_audit_is_estimated_before_it_and_a_limit_stops_it_before_anything_is_sent(assay, texts, server, access):
    scores = {"gray": "loss", "black": "ngram_generation"}[access]
    command = ("audit", f"openai:m@{server.url}", texts, "--describe", "--scores", scores, "--access", access)
    done = assay(*command, "--model-option", "max-requests=5", "--out", "refused")
    assert (done.code, "nothing was sent" in done.err, len(server.asked)) == (2, True, 0)
    done = assay(*command, "--model-option", "price=2", "--out", "run")
    assert done.code == 0, done.err
    (line,) = [line for line in done.err.splitlines() if "requests and" in line]
    estimate = int(line.split("about ")[1].split(" ")[0].replace(",", ""))
    assert len(server.asked) <= estimate + 4  # short texts are sent to find out what the server can do
    assert "a cost of about 0." in line
