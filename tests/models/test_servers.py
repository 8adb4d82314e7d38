"""Contracts with servers, one by one: what each answers to a request for log-probabilities of a prompt.

The replies of transformers serve have the fields of its own handler (transformers.cli.serving.completion); those of
vLLM, SGLang and llama.cpp have the fields that their documentation states. No such server runs here.
"""

import pytest

from assay.errors import MissingCapability
from assay.models import open_model
from support.openai_server import served

TEXT = "def f(x):"
TOKENS = ["def", " f", "(x", "):"]
VALUES = [None, -2.5, -1.25, -0.5]


@pytest.fixture
def opened():
    """Play a server; yields a function from its replies to a model behind it."""
    with served(lambda *_: {}) as (played, url):

        def behind(reply):
            played.reply = reply
            return open_model(f"openai:served@{url}/v1")

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


def test_vllm_gives_a_table_for_each_token_of_the_prompt(opened):
    """`prompt_logprobs`: JSON keys are strings, the first token has none, each entry has a rank and the token."""

    def reply(_, request):
        if "prompt_logprobs" not in request:
            return 400, {"object": "error", "message": "echo is not supported", "code": 400}, {}
        table = [
            {str(40 + n): {"logprob": v, "rank": n + 1, "decoded_token": t}}
            for n, (t, v) in enumerate(zip(TOKENS, VALUES, strict=True))
        ]
        return completed({"text": "\n", "logprobs": None, "prompt_logprobs": [None, *table[1:]]})

    result = scored(opened(reply))
    assert result.log_probs.tolist() == VALUES[1:]
    assert result.token_ids.tolist() == [41, 42, 43]


@pytest.mark.parametrize("generated", [[], ["\n"]])
def test_sglang_echoes_the_prompt_and_states_no_offsets(opened, generated):
    """Its `text_offset` is -1 everywhere; a token generated although none was asked for does not count."""

    def reply(_, request):
        assert request["echo"]
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
    assert "`echo` with `logprobs` was ignored; `prompt_logprobs` was ignored" in message
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
