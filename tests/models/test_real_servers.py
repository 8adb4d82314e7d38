"""vLLM's server and llama-cpp-python's, started on a tiny model with random weights, where they are installed."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec

import httpx
import numpy as np
import pytest
from test_gguf_file import tokenizer

import assay
from assay.errors import ModelError
from assay.models import open_model
from assay.types import RankedLogProbs
from assay_lab.gguf_export import export_gguf
from support.tiny_models import byte_tokenizer, tiny

VLLM = shutil.which("vllm")
"""The program, which may be of another environment: vLLM asks for versions of its own."""

SECONDS = 240
TEXTS = ["def f(x):\n    return x + 1\n", "import os\n\nprint(os.sep)  # naïve — 例\n", "xy"]
SHAPE = {"hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32}
"""vLLM has no attention for heads as small as those of the other tests."""


@contextmanager
def running(folder, *command):
    """Start a server, wait for it, yield the URL of its API, and end it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    log = folder / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdout=output,
            stderr=output,
            env=os.environ | quiet,
            start_new_session=True,
        )
        try:
            url = f"http://127.0.0.1:{port}/v1"
            _wait(server, f"{url}/models", log)
            yield url
        finally:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGTERM)
            server.wait(60)


def _wait(server, place, log):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            if httpx.get(place, timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.5)
        if server.poll() is not None:
            break
    pytest.fail(f"the server did not start: {log.read_text()[-2000:]}")


@pytest.mark.skipif(VLLM is None, reason="needs the program vllm (package vllm or vllm-cpu)")
def test_vllm_gives_the_log_probabilities_and_ranks_of_transformers(tmp_path):
    folder = tmp_path / "tiny"
    tiny("llama", **SHAPE).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    options = ("--dtype", "float32", "--max-model-len", "64", "--enforce-eager", "--served-model-name", "tiny")
    with running(tmp_path, VLLM, "serve", str(folder), *options) as url:
        name = f"openai:tiny@{url}"
        expected = open_model(str(folder)).token_statistics(TEXTS)
        for ours, theirs in zip(open_model(name).token_log_probs(TEXTS), expected, strict=True):
            assert isinstance(ours, RankedLogProbs)
            assert ours.token_ids.tolist() == theirs.token_ids.tolist()
            np.testing.assert_allclose(ours.log_probs, theirs.log_probs, atol=1e-4)
            assert (abs(ours.ranks - theirs.ranks) <= 1).all()
        audits = [
            assay.audit(
                model,
                [assay.Sample(f"s{index}", text) for index, text in enumerate(TEXTS)],
                scores="loss,min_k",
                settings=assay.AuditSettings(describe=True, control="none"),
                model_settings=assay.ModelSettings(cache=False),
            )
            for model in (name, str(folder))
        ]
        for score in ("loss", "min_k"):
            values = [audit.values[score] for audit in audits]
            assert np.isfinite(values[0]).all()
            np.testing.assert_allclose(*values, atol=1e-4)


@pytest.mark.skipif(
    find_spec("llama_cpp") is None or find_spec("starlette_context") is None, reason="needs llama-cpp-python[server]"
)
def test_llama_cpp_pythons_server_shifts_its_columns_and_is_refused(tmp_path):
    """One line, exit code 2 and no score: its numbers look like log-probabilities, and are those of the next place."""
    path = export_gguf(tiny("llama"), tokenizer(), tmp_path / "tiny.gguf")
    (tmp_path / "data.jsonl").write_text('{"id": "a", "text": "def f(x): return x"}\n')
    with running(tmp_path, sys.executable, "-m", "llama_cpp.server", "--model", str(path)) as url:
        with pytest.raises(ModelError, match="the one after the token itself"):
            list(open_model(f"openai:tiny@{url}").token_log_probs(TEXTS))
        command = [sys.executable, "-m", "assay", "audit", f"openai:tiny@{url}", "data.jsonl", "--describe"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith(f"assay: error: {url}/completions: each token's log-probability")
        assert len(next(open_model(f"openai:tiny@{url}").generate(["def f"], max_new_tokens=4))) >= 0
