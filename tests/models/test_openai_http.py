"""An OpenAI-compatible API on loopback: what it says becomes text and log-probabilities, or one plain line."""

import gzip
import logging
import socket
import threading

import numpy as np
import pytest

from assay.errors import AssayError, MissingCapability, ModelError
from assay.models import StatisticsCache, cached_scorer, open_model
from assay.models import endpoint as endpoint_module
from assay.models.endpoint import Endpoint
from assay.models.names import openai_name
from assay.models.openai_http import SHORT, SHORT_TOO, OpenAIChat, OpenAICompletions
from assay.retrying import Patience
from assay.types import Generator, LogProbScorer, Rejected, TokenLogProbs, TokenScorer
from support.openai_server import answer, completion, served, table_replies, with_context
from support.table_model import TableModel

TEXTS = ["alpha beta gamma", "beta beta", "gamma alpha beta alpha"]
KEY = "sk-very-secret"


@pytest.fixture
def table():
    return TableModel.trained(TEXTS * 3, order=2)


@pytest.fixture
def server(table):
    with served(table_replies(table)) as (played, url):
        played.url = url
        yield played


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def model(server, pauses):
    """Completions, without a real wait."""
    endpoint = Endpoint(server.url, key=KEY, patience=Patience(timeout=5), sleep=pauses.append)
    yield OpenAICompletions("m", endpoint)
    endpoint.close()


@pytest.fixture
def chat(server, pauses):
    endpoint = Endpoint(server.url, patience=Patience(timeout=5), sleep=pauses.append)
    yield OpenAIChat("m", endpoint)
    endpoint.close()


def generated(model, prompts=("alpha",), **settings):
    return list(model.generate(prompts, max_new_tokens=4, **settings))


# names


@pytest.mark.parametrize(
    ("name", "way", "called", "url"),
    [
        ("openai:m@http://localhost:8000/v1", "openai", "m", "http://localhost:8000/v1"),
        ("openai:org/m@https://a.example/v1/", "openai", "org/m", "https://a.example/v1"),
        ("openai-chat:m:7b@http://[::1]:11434/v1", "openai-chat", "m:7b", "http://[::1]:11434/v1"),
    ],
)
def test_a_name_says_which_model_is_where(name, way, called, url):
    found = openai_name(name)
    assert (found.way, found.model, found.url) == (way, called, url)


@pytest.mark.parametrize(
    "name", ["openai:", "openai:m", "openai:m@localhost:8000", "openai:@http://h", "openai:m@http://h:port/v1"]
)
def test_a_name_without_model_or_address_is_told_in_one_line(name):
    with pytest.raises(ModelError, match=r"expected openai:MODEL@http://host:port/v1") as told:
        open_model(name)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", ["openai:m@http://me:word@h/v1", "openai:m@https://h/v1?api-key=word"])
def test_secrets_in_an_address_are_refused_and_not_repeated(name):
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as told:
        open_model(name)
    assert "word" not in str(told.value).replace("password", "")


def test_the_kind_of_access_is_the_type(server):
    completions, chat = (open_model(f"{way}:m@{server.url}") for way in ("openai", "openai-chat"))
    assert isinstance(completions, Generator)
    assert isinstance(completions, LogProbScorer)
    assert not isinstance(completions, TokenScorer)
    assert isinstance(chat, Generator)
    assert not isinstance(chat, LogProbScorer)
    assert server.asked == []


def test_settings_of_weights_are_refused(server):
    with pytest.raises(ModelError, match="openai models take no dtype, batch-tokens"):
        open_model(f"openai:m@{server.url}", dtype="float32", batch_tokens=9)


# generation


def test_continuations_come_in_the_order_of_the_prompts(model, table):
    prompts = [text.partition(" ")[0] for text in TEXTS] * 5
    assert generated(model, prompts) == list(table.generate(prompts, max_new_tokens=4))


def test_a_chat_model_is_asked_as_a_user(chat, server, table):
    assert generated(chat) == list(table.generate(["alpha"], max_new_tokens=4))
    ((path, request),) = server.asked
    assert path == "/v1/chat/completions"
    assert request["messages"] == [{"role": "user", "content": "alpha"}]


def test_equal_prompts_have_seeds_of_their_own(model, server):
    generated(model, ["a", "a"], temperature=1.0, seed=3)
    first, second = (request["seed"] for _, request in server.asked)
    assert first != second


def test_what_stands_behind_a_stop_is_cut_even_where_the_server_does_not(model, server):
    server.reply = lambda *_: completion("one\ntwo END three")
    stops = ["1", "2", "3", "4", "END"]
    assert generated(model, stop=stops) == ["one\ntwo "]
    assert server.asked[0][1]["stop"] == stops[:4]


def test_an_answer_without_content_is_empty(chat, server):
    server.reply = lambda *_: answer(None)
    assert generated(chat) == [""]


# log-probabilities


def test_log_probabilities_are_those_of_the_model_behind_the_server(model, table):
    for mine, own in zip(model.token_log_probs(TEXTS), table.token_statistics(TEXTS), strict=True):
        assert mine.log_probs == pytest.approx(own.log_probs)


def echoing(text, logprobs):
    """Replies of a server with `echo`: sound for the short text that is sent first, these for every other."""
    sound = completion(SHORT, {"tokens": ["def f", "(x):"], "token_logprobs": [None, -1.0]})
    return lambda _, request: sound if request["prompt"] == SHORT else completion(text, logprobs)


def test_equal_tokens_have_equal_ids(model):
    (found,) = model.token_log_probs(["x beta beta alpha"])
    ids = found.token_ids.tolist()
    assert ids[1] == ids[3] != ids[5]


def test_an_empty_text_is_not_asked_for(model, server):
    empty, full = model.token_log_probs(["", "alpha beta"])
    assert (len(empty), len(full)) == (0, 2)
    echoed = [(request["prompt"], request["max_tokens"]) for _, request in server.asked if request.get("echo")]
    assert echoed == [(SHORT, 1), (SHORT_TOO, 1), (SHORT, 0), ("alpha beta", 0)]


def test_a_server_of_prompt_logprobs_is_understood_with_its_own_ids(model, server):
    def reply(_path, request):
        if request.get("echo"):
            return completion(request["prompt"])
        return completion("!", prompt_logprobs=[None, {"7": {"logprob": -0.5}}, {"9": {"logprob": -2.0, "rank": 3}}])

    server.reply = reply
    first, second = model.token_log_probs(["abc", "abc"])
    assert first.token_ids.tolist() == [7, 9]
    assert second.log_probs.tolist() == [-0.5, -2.0]
    assert len(server.asked) == 4  # the way that works is found once, with two texts


def test_a_server_that_gives_none_is_told_with_its_own_words(model, server):
    server.reply = lambda *_: completion("I write on")
    server.script = [(400, {"error": {"message": "no prompt_logprobs"}}, {})]
    with pytest.raises(MissingCapability, match=r"HTTP 400: no prompt_logprobs; `echo` with `logprobs` was ignored"):
        list(model.completed(["abc"]))


@pytest.mark.parametrize(
    "logprobs",
    [
        {"tokens": ["a", "b"], "token_logprobs": [None]},
        {"tokens": ["a", "b"], "token_logprobs": [None, 0.7]},
        {"tokens": ["a", "b", "c"], "token_logprobs": [None, -1, "much"]},
        {"tokens": ["a", "b", "c"], "token_logprobs": [None, -1, None]},
    ],
)
def test_nonsense_for_log_probabilities_is_told(model, server, logprobs):
    server.reply = echoing("abc", logprobs)
    with pytest.raises(ModelError, match="expected one log-probability for each token"):
        list(model.completed(["abc"]))


def test_what_the_server_wrote_behind_the_text_does_not_count(model, server):
    logprobs = {"tokens": ["ab", "c", "more"], "token_logprobs": [None, -1, -5], "text_offset": [0, 2, 3]}
    server.reply = echoing("abcmore", logprobs)
    (found,) = model.token_log_probs(["abc"])
    assert found.log_probs.tolist() == [-1]


def test_log_probabilities_once_given_are_not_asked_for_again(model, server, tmp_path):
    with StatisticsCache(tmp_path / "cache.sqlite") as cache:
        scorer = cached_scorer(model, cache)
        first = dict(pair for batch in scorer.completed(TEXTS) for pair in batch)
        asked = len(server.asked)
        again = dict(pair for batch in scorer.completed(TEXTS) for pair in batch)
    assert len(server.asked) == asked
    assert [request["prompt"] for _, request in server.asked].count(TEXTS[0]) == 1
    for index in range(len(TEXTS)):
        assert np.array_equal(first[index].log_probs, again[index].log_probs)
        assert np.array_equal(first[index].token_ids, again[index].token_ids)


# one text that is not taken

TOO_LONG = Rejected(
    "refused by the server: HTTP 400: This model's maximum context length is … tokens. However, you requested … tokens."
)


@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_text_beyond_the_context_ends_nothing_and_has_a_reason_without_its_numbers(model, server, table, place):
    server.reply = with_context(server.reply, 60)
    texts = [*TEXTS[:place], "alpha " * 50, *TEXTS[place:], "beta " * 60]
    found = list(model.token_log_probs(texts))
    assert [index for index, entry in enumerate(found) if entry == TOO_LONG] == [place, 4]
    read = [entry for entry in found if isinstance(entry, TokenLogProbs)]
    for mine, own in zip(read, table.token_statistics(TEXTS), strict=True):
        assert mine.log_probs == pytest.approx(own.log_probs)


def test_the_reason_of_a_first_text_is_that_of_the_way_that_works(model, server):
    known = with_context(lambda *_: completion("!", prompt_logprobs=[None, {"7": {"logprob": -0.5}}]), 60)

    def reply(path, request):
        if request.get("echo"):
            return 400, {"error": {"message": "echo is not supported"}}, {}
        return known(path, request)

    server.reply = reply
    first, second = model.token_log_probs(["alpha " * 50, "abc"])
    assert first == TOO_LONG
    assert second.token_ids.tolist() == [7]


def test_a_prompt_beyond_the_context_is_no_end_either(model, chat, server, table):
    server.reply = with_context(server.reply, 60)
    for value in (model, chat):
        written = generated(value, ["alpha", "alpha " * 50, "beta"])
        assert written == [
            *table.generate(["alpha"], max_new_tokens=4),
            TOO_LONG,
            *table.generate(["beta"], max_new_tokens=4),
        ]


def test_whether_a_refusal_is_of_one_text_is_asked_once(model, server):
    server.reply = with_context(server.reply, 60)
    assert generated(model, ["alpha " * 50] * 9) == [TOO_LONG] * 9
    assert len(server.asked) == 10


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_server_that_refuses_short_texts_too_ends_the_run_in_its_words(model, server, status):
    server.reply = lambda *_: (status, {"error": {"message": "no such setting"}}, {})
    with pytest.raises(ModelError, match=f"HTTP {status}: no such setting"):
        generated(model, TEXTS)
    with pytest.raises(MissingCapability, match=f"HTTP {status}: no such setting"):
        list(model.completed(TEXTS))


@pytest.mark.parametrize(("status", "words"), [(401, "OPENAI_API_KEY"), (403, "OPENAI_API_KEY"), (404, "no model m")])
def test_what_is_said_of_key_or_model_is_no_matter_of_one_text(model, server, status, words):
    list(model.completed(TEXTS[:1]))
    asked = len(server.asked)
    server.script = [(status, {"error": {"message": "no model m"}}, {})]
    with pytest.raises(ModelError, match=words):
        list(model.completed(TEXTS[1:2]))
    assert len(server.asked) == asked + 1


def test_that_a_text_is_not_taken_is_not_remembered(model, server, tmp_path):
    whole, server.reply = server.reply, with_context(server.reply, 14)
    with StatisticsCache(tmp_path / "cache.sqlite") as cache:
        scorer = cached_scorer(model, cache)
        first = dict(pair for batch in scorer.completed(TEXTS) for pair in batch)
        server.reply = whole
        again = dict(pair for batch in scorer.completed(TEXTS) for pair in batch)
    assert [isinstance(first[index], Rejected) for index in range(3)] == [True, False, True]
    assert all(isinstance(entry, TokenLogProbs) for entry in again.values())


# trouble


def test_a_busy_server_is_asked_again(model, server, pauses, table):
    server.script = [(429, {"error": "slow down"}, {"retry-after": "7"}), (503, b"", {})]
    assert generated(model) == list(table.generate(["alpha"], max_new_tokens=4))
    assert pauses[0] == 7
    assert 1 <= pauses[1] <= 2


def test_a_server_that_stays_busy_is_given_up_on(model, server, pauses):
    server.script = [(500, {"error": {"message": "out of order"}}, {})] * 9
    with pytest.raises(ModelError, match=r"gave up after 6 attempts: HTTP 500: out of order"):
        generated(model)
    assert len(pauses) == 5
    assert pauses == sorted(pauses)


def test_a_pause_longer_than_the_budget_is_not_waited_for(model, server, pauses):
    server.script = [(429, b"", {"retry-after": "3600"})]
    with pytest.raises(ModelError, match="gave up after 1 attempts: HTTP 429"):
        generated(model)
    assert pauses == []


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"{", b"[1, 2]", b'"text"', b"\xff\xfe"])
def test_what_is_no_json_object_is_told(model, server, body):
    server.script = [(200, body, {})]
    with pytest.raises(ModelError, match=r"expected (a )?JSON") as told:
        generated(model)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("body", "headers", "line"),
    [
        (b"[" * 100_000, {}, "expected JSON, received"),
        (b"not gzip", {"content-encoding": "gzip"}, "a reply that cannot be decompressed"),
        (gzip.compress(b" " * 300_000), {"content-encoding": "gzip"}, "received more than 200,000 bytes"),
    ],
    ids=["nested too deeply", "damaged gzip", "a gzip bomb"],
)
def test_a_hostile_reply_is_one_line(model, server, monkeypatch, body, headers, line):
    monkeypatch.setattr(endpoint_module, "LARGEST_REPLY", 200_000)
    server.script = [(200, body, headers)]
    with pytest.raises(ModelError, match=line):
        generated(model)


def test_the_message_of_a_refusal_may_be_nested_too_deeply(model, server):
    server.script = [(404, b"[" * 100_000, {})]
    with pytest.raises(ModelError, match="HTTP 404: "):
        generated(model)


@pytest.mark.parametrize(
    "reply", [{}, {"choices": []}, {"choices": "x"}, {"choices": [{}]}, {"choices": [{"text": 3}]}, answer("x")]
)
def test_json_of_another_kind_is_told(model, server, reply):
    server.reply = lambda *_: reply
    with pytest.raises(ModelError, match="expected a"):
        generated(model)


def test_a_refusal_is_not_repeated(model, server, pauses):
    server.script = [(404, {"error": {"message": "no model m"}}, {})]
    with pytest.raises(ModelError, match="HTTP 404: no model m"):
        generated(model)
    assert pauses == []


def test_a_slow_server_counts_as_lost(server, pauses):
    server.gate = threading.Event()
    endpoint = Endpoint(server.url, patience=Patience(attempts=2, timeout=0.05), sleep=pauses.append)
    with pytest.raises(ModelError, match=r"gave up after 2 attempts: no reply within 0\.05 s"):
        generated(OpenAIChat("m", endpoint))
    endpoint.close()


def test_a_server_that_is_not_there_is_told_at_once(pauses):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can listen there meanwhile
        endpoint = Endpoint(f"http://127.0.0.1:{held.getsockname()[1]}/v1", sleep=pauses.append)
        with pytest.raises(ModelError, match="no server answers there"):
            generated(OpenAIChat("m", endpoint))
        endpoint.close()
    assert pauses == []


def test_after_trouble_no_further_request_is_begun(server, pauses):
    server.reply = lambda *_: {}
    endpoint = Endpoint(server.url, concurrency=2, sleep=pauses.append)
    with pytest.raises(ModelError):
        generated(OpenAIChat("m", endpoint), ["p"] * 50)
    endpoint.close()
    assert len(server.asked) <= 4


# the key


def test_the_key_comes_from_the_environment_and_goes_nowhere_else(server, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = open_model(f"openai:m@{server.url}")
    server.script = [(401, {"error": {"message": f"bad key {KEY}"}}, {})]
    with caplog.at_level(logging.DEBUG), pytest.raises(AssayError, match="was not accepted") as told:
        generated(model)
    model._endpoint.close()
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in f"{told.value}{caplog.text}{model.name}{model.digest}{vars(model)}"


def test_a_missing_key_is_told(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = open_model(f"openai:m@{server.url}")
    server.script = [(401, b"", {})]
    with pytest.raises(ModelError, match="HTTP 401, OPENAI_API_KEY is not set"):
        generated(model)
    model._endpoint.close()
    assert "Authorization" not in server.headers[0]
