"""Windows and the beginning-of-sequence token on a model that was trained, where they mean something."""

import textwrap
from pathlib import Path

import numpy as np
import pytest

from assay.models import open_model

CONTEXT, STRIDE = 128, 64
TEXT = Path(textwrap.__file__).read_text("utf-8")[:1700]
"""Less than the context of 512 tokens."""


@pytest.fixture(scope="module")
def whole():
    """One pass over the whole text."""
    return next(open_model("builtin:small").token_statistics([TEXT]))


def test_later_windows_predict_as_well_as_one_long_context(whole):
    """Each token of a later window has at least 64 tokens before it: nearly enough for this model."""
    windows = next(open_model("builtin:small", max_length=CONTEXT, stride=STRIDE).token_statistics([TEXT]))
    assert windows.token_ids.tolist() == whole.token_ids.tolist()
    assert len(whole) > 3 * CONTEXT
    first = slice(0, CONTEXT - 1)
    np.testing.assert_allclose(windows.log_probs[first], whole.log_probs[first], atol=1e-4)
    later = slice(CONTEXT, None)
    lost = whole.log_probs[later].mean() - windows.log_probs[later].mean()
    assert -0.05 < lost < 0.25


def test_no_window_begins_with_tokens_that_nothing_precedes(whole):
    """Tokens at the seams of windows cost hardly more than under one long context; without context they would."""
    windows = next(open_model("builtin:small", max_length=CONTEXT, stride=STRIDE).token_statistics([TEXT]))
    seams = np.arange(CONTEXT, len(whole), STRIDE)
    near = np.concatenate([seams + shift for shift in range(4)])
    near = near[near < len(whole)]
    lost = whole.log_probs[near].mean() - windows.log_probs[near].mean()
    bare = next(open_model("builtin:small", bos="never").token_statistics([TEXT[600:]])).log_probs[:4].mean()
    assert lost < 0.5
    assert whole.log_probs.mean() - bare > 0.5


def test_a_trained_beginning_of_sequence_token_is_what_files_begin_with():
    """Behind BOS the model expects the beginning of a file, and the first token is scored as well."""
    starts, middles = ['"""Text', "import os\n", "#!/usr/bin/env"], [" + 1)\n", "elif x", ") -> None:\n"]
    model = open_model("builtin:small")
    first = {
        name: np.mean([statistics.log_probs[0] for statistics in model.token_statistics(texts)])
        for name, texts in {"starts": starts, "middles": middles}.items()
    }
    assert first["starts"] > first["middles"] + 1
    without = next(open_model("builtin:small", bos="never").token_statistics([TEXT]))
    assert len(without) == len(next(model.token_statistics([TEXT]))) - 1
