"""What tests of an index share."""

import numpy as np
import pytest


class LetterEncoder:
    """How often each letter occurs."""

    name = "letters"
    digest = "0123456789abcdef"
    dimensions = 26

    def encode(self, texts):
        counts = np.array([[text.count(chr(97 + at)) for at in range(26)] for text in texts], np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)


@pytest.fixture
def letter_encoder():
    return LetterEncoder()
