"""Contracts with servers, one by one: what each answers to a request for log-probabilities of a prompt.

The replies of transformers serve have the fields of its own handler (transformers.cli.serving.completion). Those of
vLLM 0.33 and SGLang 0.5.23 have the fields of the classes in their wheels (vllm.entrypoints.openai.completion.protocol,
vllm.logprobs, sglang.srt.managers.tokenizer_manager), which cannot be imported without an accelerator's libraries.
Those of llama.cpp have the fields that its documentation states. Real servers: `test_real_servers`.
"""

import math

import pytest

from assay.errors import MissingCapability, ModelError
from assay.models import StatisticsCache, cached_scorer, open_model
from assay.models.cache import pack_statistics, text_digest
from assay.models.openai_http import MOST_CHARACTERS, TOO_LONG
from assay.scores import SCORES
from assay.types import RankedLogProbs, TokenLogProbs, gives
from support.openai_server import served

TEXT = "def f(x):"
TOKENS = ["def", " f", "(x", "):"]
VALUES = [None, -2.5, -1.25, -0.5]
RANKS = [None, 9, 4, 1]


@pytest.fixture
def opened():
    """Play a server; yields a function from its replies to a model behind it."""
    with served(lambda *_: {}) as (played, url):

        def behind(reply):
            played.reply = reply
            return open_model(f"openai:served@{url}")

        yield behind


def completed(choice, **reply):
    return {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "served",
        "choices": [{"index": 0, "finish_reason": "length"} | choice],
        "usage": {"prompt_tokens": 4, "completion_tokens": 1, "total_tokens": 5},
    } | reply


def scored(model):
    (result,) = model.token_log_probs([TEXT])
    return result


def vllm_reply(shift=0.0):
    """`CompletionResponseChoice.prompt_logprobs`: keys are strings, the first token has none, the token comes first."""

    def reply(_, request):
        if "prompt_logprobs" not in request:
            return completed({"text": request["prompt"], "logprobs": None})
        tables = [None]
        for n in range(1, len(TOKENS)):
            table = {str(40 + n): {"logprob": VALUES[n] + shift, "rank": RANKS[n], "decoded_token": TOKENS[n]}}
            for place in range(request["prompt_logprobs"]):  # the likeliest, as long as they are other tokens
                if place + 1 != RANKS[n]:
                    value = math.log(0.2 / (place + 1))
                    table[str(100 + place)] = {"logprob": value + shift, "rank": place + 1, "decoded_token": "x"}
            tables.append(table)
        return completed({"text": "\n", "logprobs": None, "stop_reason": None, "prompt_logprobs": tables})

    return reply


def test_vllm_gives_log_probabilities_and_ranks(opened):
    model = opened(vllm_reply())
    assert gives(model, RankedLogProbs)
    result = scored(model)
    assert result.log_probs.tolist() == VALUES[1:]
    assert result.token_ids.tolist() == [41, 42, 43]
    assert result.ranks.tolist() == RANKS[1:]


def test_scores_of_ranks_run_on_vllm(opened):
    result = scored(opened(vllm_reply()))
    log_ranks = (math.log(9) + math.log(4)) / 3
    values = {name: SCORES[name].function(result) for name in ("rank", "log_rank", "lrr")}
    assert values == pytest.approx({"rank": -14 / 3, "log_rank": -log_ranks, "lrr": 4.25 / 3 / log_ranks})
    assert SCORES["ngram_accuracy"].function(result, n=1) == pytest.approx(1 / 3)


@pytest.mark.parametrize("shift", [-40.0, 12.0])
def test_logits_in_place_of_log_probabilities_are_refused(opened, shift):
    """`--logprobs-mode raw_logits`: values differ from log-probabilities by a constant at each position."""
    with pytest.raises(ModelError, match=r"no log-probabilities: expected raw ones .*raw_logprobs"):
        scored(opened(vllm_reply(shift)))


SHARES = {"a": {"b": 0.7, "c": 0.2}, "b": {"c": 0.4, "d": 0.3}}
"""What follows a text that ends in ":" (the second), and any other (the first)."""


def echo_reply(shifted):
    """`echo` with `logprobs`, one token a letter; shifted, a token is scored by what follows the token itself."""

    def reply(_, request):
        if not request.get("echo"):
            return completed({"text": "\n", "logprobs": None})
        text = request["prompt"]
        tables = []
        for end in range(len(text)):
            before = text[: end + shifted]
            shares = SHARES["b" if before.endswith(":") else "a"]
            tables.append({token: math.log(share) for token, share in ({text[end]: 0.01} | shares).items()})
        values = [table[letter] for table, letter in zip(tables, text, strict=True)]
        table = {"tokens": list(text), "token_logprobs": [None, *values[1:]], "top_logprobs": [None, *tables[1:]]}
        return completed({"text": text, "logprobs": table})

    return reply


def test_columns_that_are_shifted_by_a_token_are_refused(opened):
    """llama-cpp-python's server scores each token by the distribution after it: plausible numbers, all wrong."""
    assert scored(opened(echo_reply(shifted=0))).log_probs[0] == pytest.approx(math.log(0.01))
    with pytest.raises(ModelError, match=r"is the one after the token itself.*expected .*llama:PATH\.gguf"):
        scored(opened(echo_reply(shifted=1)))


def test_ranks_are_not_left_out_for_an_older_entry_of_the_cache(opened, tmp_path):
    model = opened(vllm_reply())
    with StatisticsCache(tmp_path / "cache.sqlite") as cache:
        (result,) = model.token_log_probs([TEXT])
        values = TokenLogProbs(result.token_ids, result.log_probs)
        cache.write_rows(model.digest, model.name, [(text_digest(TEXT), pack_statistics(values))])
        scorer = cached_scorer(model, cache)
        (((_, plain),),) = scorer.completed([TEXT])
        assert type(plain) is TokenLogProbs
        assert scorer.gives_ranks
        (((_, plain),),) = scorer.completed([TEXT])
        assert type(plain) is TokenLogProbs
        for _ in range(2):  # computed, then read
            (((_, ranked),),) = scorer.requiring_ranks().completed([TEXT])
            assert ranked.ranks.tolist() == RANKS[1:]


def test_a_text_that_is_too_long_for_a_request_is_not_sent(opened):
    model = opened(vllm_reply())
    long = "x" * (MOST_CHARACTERS + 1)
    assert list(model.token_log_probs([long])) == [TOO_LONG]
    assert list(model.generate([long], max_new_tokens=1)) == [TOO_LONG]


def test_sglang_is_scored_by_its_own_end_point_where_echo_gives_nothing(opened):
    """`/generate`: triples of log-probability, token id and text; nothing before the first token."""

    def reply(path, request):
        if path != "/generate":
            return completed({"text": "\n", "logprobs": None, "matched_stop": None})
        tops = [[[-0.1, 7, None]] * bool(request["top_logprobs_num"])] * 3
        information = {
            "id": "1",
            "finish_reason": {"type": "length", "length": 0},
            "prompt_tokens": 4,
            "input_token_logprobs": [[value, 40 + n, None] for n, value in enumerate(VALUES)],
            "input_top_logprobs": [None, *tops],
            "output_token_logprobs": [],
        }
        assert request["logprob_start_len"] == 0
        return {"text": "", "output_ids": [], "meta_info": information}

    model = opened(reply)
    assert not gives(model, RankedLogProbs)
    result = scored(model)
    assert (result.token_ids.tolist(), result.log_probs.tolist()) == ([41, 42, 43], VALUES[1:])


@pytest.mark.parametrize("generated", [[], ["\n"]])
def test_sglang_echoes_the_prompt_and_states_no_offsets(opened, generated):
    """Its `text_offset` is -1 everywhere; a token generated although none was asked for does not count."""

    def reply(_, request):
        if not request.get("echo"):
            return completed({"text": "\n", "logprobs": None, "matched_stop": None})
        tokens = [*TOKENS, *generated]
        table = {
            "tokens": tokens,
            "token_logprobs": [*VALUES, *[-3.0] * len(generated)],
            "top_logprobs": None,
            "text_offset": [-1] * len(tokens),
        }
        return completed({"text": TEXT + "".join(generated), "logprobs": table, "matched_stop": None})

    assert scored(opened(reply)).log_probs.tolist() == VALUES[1:]


def test_llama_cpp_leaves_the_prompt_out_silently(opened):
    """It answers 200 with log-probabilities of what it generated, and with nothing of the prompt."""
    content = [{"id": 198, "token": "\n", "bytes": [10], "logprob": -0.1, "top_logprobs": []}]
    reply = completed(
        {"text": "\n", "logprobs": {"content": content}},
        system_fingerprint="b6123-1d72c84",
        timings={"prompt_n": 4, "prompt_ms": 1.5, "predicted_n": 1},
    )
    with pytest.raises(MissingCapability) as caught:
        scored(opened(lambda *_: reply))
    message = str(caught.value)
    assert "`prompt_logprobs` was ignored; `echo` with `logprobs` was ignored" in message
    assert "expected llama:PATH.gguf, which opens the file of a llama.cpp server itself" in message
    assert message.endswith("or --access black, for scores of generated text")


def test_transformers_serve_gives_generated_text_alone(opened):
    """It ignores `echo` and `logprobs`, and rejects a field that it does not know."""

    def reply(_, request):
        if "prompt_logprobs" in request:
            return 422, {"detail": "Unexpected fields in the request: {'prompt_logprobs'}"}, {}
        return completed({"text": "\n", "logprobs": None})

    model = opened(reply)
    with pytest.raises(MissingCapability, match=r"Unexpected fields.*or --access black") as caught:
        scored(model)
    assert "llama" not in str(caught.value)
    assert list(model.generate([TEXT], max_new_tokens=1)) == ["\n"]


HUGE = int("9" * 400)


def changed_vllm(change):
    """A reply of vLLM; `change` makes other tables of those of `TEXT`."""

    def reply(path, request):
        answer = vllm_reply()(path, request)
        if request.get("prompt") == TEXT and not request.get("prompt_logprobs", True):
            choice = answer["choices"][0]
            choice["prompt_logprobs"] = change(choice["prompt_logprobs"])
        return answer

    return reply


def changed_echo(**columns):
    """A reply with `echo`, some of its columns replaced for `TEXT`."""

    def reply(_, request):
        if not request.get("echo"):
            return completed({"text": "\n", "logprobs": None})
        text = request["prompt"]
        tokens = [*TOKENS[:-1], text[len("".join(TOKENS[:-1])) :]]
        table = {"tokens": tokens, "token_logprobs": VALUES, "text_offset": [0, 3, 5, 7]}
        changed = columns if request["max_tokens"] == 0 and text != TEXT else {}
        return completed({"text": text, "logprobs": table | changed}, usage=None)

    return reply


def each(entry):
    """Every token's own entry of a table of vLLM changed."""

    def change(tables):
        return [
            tables[0],
            *(
                {entry.get("id", token): own | {key: value for key, value in entry.items() if key != "id"}}
                for table in tables[1:]
                for token, own in list(table.items())[:1]
            ),
        ]

    return change


@pytest.mark.parametrize(
    ("reply", "received"),
    [
        (changed_vllm(each({"logprob": 0})), "0, a probability of 1, for every token"),
        (changed_vllm(each({"logprob": False})), "false as a log-probability"),
        (changed_vllm(each({"logprob": -HUGE})), "-9999999"),
        (changed_vllm(each({"logprob": -1e300})), r"-1e\+300 as a log-probability"),
        (changed_vllm(each({"logprob": float("nan")})), "NaN as a log-probability"),
        (changed_vllm(each({"logprob": "-1"})), '"-1" as a log-probability'),
        (changed_vllm(each({"logprob": None})), "none"),
        (changed_vllm(each({"logprob": 2.5})), "2.5 as a log-probability"),
        (changed_vllm(each({"rank": 2**31})), "2147483648 as a rank"),
        (changed_vllm(each({"rank": 0})), "0 as a rank"),
        (changed_vllm(each({"rank": True})), "true as a rank"),
        (changed_vllm(each({"id": str(2**31)})), '"2147483648" as a token id'),
        (changed_vllm(each({"id": "-1"})), '"-1" as a token id'),
        (changed_vllm(each({"id": "9" * 5000})), r'"99.*… as a token id'),
        (changed_vllm(lambda tables: tables[:2]), "2 tokens, which are a part of the text"),
        (changed_vllm(lambda tables: [tables]), "a position that is no table"),
        (changed_vllm(lambda _: None), "none"),
        (changed_vllm(lambda _: []), "none"),
        (changed_vllm(lambda tables: [[], *tables[1:], 7]), "a position that is no table"),
        (changed_vllm(lambda _: [None]), "none"),
        (changed_echo(token_logprobs=[None, 0, 0.0, -0.0]), "0, a probability of 1, for every token"),
        (changed_echo(token_logprobs=[None, False, False, False]), "false as a log-probability"),
        (changed_echo(token_logprobs=[None, -1, -HUGE, -1]), "-9999999"),
        (changed_echo(token_logprobs=[None, [-1], [-1], [-1]]), r"\[-1\] as a log-probability"),
        (changed_echo(token_logprobs=[[None, -1, -1, -1]]), "4 tokens and 1 log-probabilities"),
        (changed_echo(token_logprobs={"a": -1}), "none"),
        (changed_echo(tokens=TOKENS[:2], token_logprobs=VALUES[:2], text_offset=None), "2 tokens, which are a part"),
        (changed_echo(tokens=TOKENS[:2], token_logprobs=VALUES[:2], text_offset=[0, 3]), "offsets that end before"),
        (changed_echo(tokens=[1, 2, 3, 4]), "a token that is no text"),
        (changed_echo(tokens=[TOKENS] * 4), "a token that is no text"),
        (changed_echo(tokens=None), "none"),
        (changed_echo(text_offset=[0, 5, 3, 7]), "offsets that do not rise"),
        (changed_echo(text_offset=[0, 0, 0, 0]), "offsets that end before the text"),
        (changed_echo(text_offset=[0, False, None, "7"]), "1 offsets for 4 tokens"),
        (changed_echo(text_offset=[0, 3]), "2 offsets for 4 tokens"),
    ],
)
def test_what_no_model_can_give_is_refused_in_one_line(opened, reply, received):
    """The short text that is sent first gets a sound reply; a server may change its mind."""
    model = opened(reply)
    text = f"{TEXT[:-1]};" if "echo" in reply.__qualname__ else TEXT
    line = rf"expected one log-probability for each token .* received .*{received}"
    with pytest.raises(ModelError, match=line) as caught:
        list(model.token_log_probs([text]))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("top", [7, [7], [[]], [[[]]], {"a": 1}, [None, [[HUGE, 7, None]]], [[[False, 7, None]]]])
def test_likeliest_tokens_of_any_shape_end_in_no_internal_error(opened, top):
    def reply(path, request):
        if path != "/generate":
            return completed({"text": "\n", "logprobs": None})
        rows = [[value, 40 + n, TOKENS[n]] for n, value in enumerate(VALUES)]
        return {"text": "", "meta_info": {"input_token_logprobs": rows, "input_top_logprobs": top, "prompt_tokens": 4}}

    assert scored(opened(reply)).log_probs.tolist() == VALUES[1:]


@pytest.mark.parametrize(
    "rows", [[7], [[]], [[-1]], [{"a": 1}], [[-1, 2**31, None]], [[-1, False, None]], [[None]] * 2]
)
def test_rows_of_any_shape_are_refused(opened, rows):
    def reply(path, _):
        if path != "/generate":
            return completed({"text": "\n", "logprobs": None})
        return {"text": "", "meta_info": {"input_token_logprobs": rows}}

    with pytest.raises(ModelError, match="expected one log-probability for each token"):
        scored(opened(reply))
