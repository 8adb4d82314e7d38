"""The built-in models without transformers."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from assay.errors import ModelError
from assay.models import builtin_models, open_local, open_model
from assay.models.builtin_model import BuiltinModel, reads
from assay.models.settings import ModelSettings
from assay.models.transformers_backend import TransformersModel
from assay.types import TokenStatistics

TEXTS = ("", "x", "def f(a):\n    return a  # é\n", "for i in range(3):\n    print(i)\n" * 60)

needs_no_accelerator = pytest.mark.skipif(
    not reads("builtin:control", ModelSettings()), reason="an accelerator is used through transformers"
)

SLOW = {"altair", "sympy", "transformers", "torch._dynamo", "torch._inductor", "numba", "sklearn", "scipy.stats"}
"""Packages that take longer to import than a few texts take to score."""


@pytest.fixture
def model():
    """A built-in model that has not been loaded through transformers."""
    model = open_model("builtin:small", ModelSettings(device="cpu", max_length=64))
    assert isinstance(model, BuiltinModel)
    return model


@pytest.mark.parametrize("name", builtin_models())
def test_statistics_and_digests_are_those_of_transformers(name):
    settings = ModelSettings(device="cpu", max_length=64)
    whole, light = open_local(name, settings), open_model(name, settings)
    assert type(light) is BuiltinModel
    assert (light.digest, light.tokenizer_digest) == (whole.digest, whole.tokenizer_digest)
    assert (light.context, light.vocabulary_size) == (whole.context, whole.vocabulary_size)
    for ours, theirs in zip(light.token_statistics(TEXTS), whole.token_statistics(TEXTS), strict=True):
        for field in TokenStatistics.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))
    assert "checkpoint" not in vars(light)


def test_everything_else_is_that_of_transformers(model):
    whole = open_local("builtin:small", ModelSettings(device="cpu", max_length=64))
    assert isinstance(model, TransformersModel)
    assert model.generation_digest == whole.generation_digest
    np.testing.assert_array_equal(model.hidden_states(["x = 1"]), whole.hidden_states(["x = 1"]))
    assert [*model.generate(TEXTS, max_new_tokens=5)] == [*whole.generate(TEXTS, max_new_tokens=5)]
    ((tokens,), (expected,)) = model.tokens(["é = 1"]), whole.tokens(["é = 1"])
    assert tokens.ids == expected.ids


def test_weights_that_were_changed_after_loading_count(model):
    (before,) = model.token_statistics(["x = 1"])
    with torch.no_grad():
        model.checkpoint.model.get_input_embeddings().weight.zero_()
    (after,) = model.token_statistics(["x = 1"])
    assert (before.log_probs != after.log_probs).any()


def test_a_context_longer_than_the_model_s_is_refused():
    with pytest.raises(ModelError, match=r"^builtin:small: max_length 513: expected 2 to 512$"):
        open_model("builtin:small", max_length=513)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("openai:m@http://localhost:1/v1", ModelSettings()), ("builtin:small", ModelSettings(bos="never"))],
)
def test_another_model_or_setting_is_left_to_other_ways(name, settings):
    assert not reads(name, settings)


@pytest.mark.slow
@needs_no_accelerator
@pytest.mark.parametrize(
    ("command", "needed"),
    [
        (("detect", "a.py", "--model", "builtin:control"), {"numba"}),
        (("score", "builtin:small", "texts.jsonl"), set()),
        (("audit", "builtin:small", "texts.jsonl", "--describe"), {"altair"}),
    ],
    ids=["detect", "score", "audit"],
)
def test_a_command_on_a_built_in_model_imports_nothing_slow(tmp_path, command, needed):
    """`detect` compiles its search for comments, and figures are drawn with Altair, without its slowest part."""
    (tmp_path / "a.py").write_text("def f(a):\n    return a\n")
    rows = [json.dumps({"id": str(number), "text": f"def f(a):\n    return a + {number}\n"}) for number in range(3)]
    (tmp_path / "texts.jsonl").write_text("\n".join(rows))
    code = (
        "import sys; from assay.cli.app import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *command], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    imported = set(result.stderr.split())
    assert "torch" in imported
    assert imported & (SLOW | {"rfc3987_syntax"}) == needed
