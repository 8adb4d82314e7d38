"""The built-in models without transformers."""

import subprocess
import sys

import numpy as np
import pytest

from assay.models import builtin_models, open_builtin_scorer, open_local
from assay.models.builtin_scorer import reads
from assay.models.settings import ModelSettings
from assay.types import TokenStatistics

TEXTS = ("", "x", "def f(a):\n    return a  # é\n", "for i in range(3):\n    print(i)\n" * 60)


@pytest.mark.slow
@pytest.mark.parametrize("name", builtin_models())
def test_statistics_and_digests_are_those_of_transformers(name, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    settings = ModelSettings(device="cpu", max_length=64)
    whole = open_local(name, settings)
    light = open_builtin_scorer(name, ModelSettings(max_length=64))
    assert light is not None
    assert (light.digest, light.tokenizer_digest) == (whole.digest, whole.tokenizer_digest)
    for ours, theirs in zip(light.token_statistics(TEXTS), whole.token_statistics(TEXTS), strict=True):
        for field in TokenStatistics.__dataclass_fields__:
            np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("openai:m@http://localhost:1/v1", ModelSettings()), ("builtin:small", ModelSettings(bos="never"))],
)
def test_another_model_or_setting_is_left_to_transformers(name, settings):
    assert open_builtin_scorer(name, settings) is None


@pytest.mark.slow
@pytest.mark.skipif(not reads("builtin:control", ModelSettings()), reason="an accelerator is used through transformers")
def test_detect_imports_no_transformers_and_no_scikit_learn(tmp_path):
    (tmp_path / "a.py").write_text("def f(a):\n    return a\n")
    code = (
        "import sys; from assay.api import detect; detect(sys.argv[1]); "
        "assert not {'transformers', 'sklearn', 'scipy.stats'} & set(sys.modules), 'slow to import'"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
