"""Small releases, and models that know or do not know what was published."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from assay.release import Secret, make, read_secret
from assay.types import TokenLogProbs

KEY = "ab" * 32
WORDS = ("apples", "bridges", "clouds", "drums", "engines", "forests", "gardens", "houses", "islands", "jackets")


ANYWHERE = {"unrelated": True, "unverified": True}
"""Settings of a release on a machine without a sandbox, of tasks whose words have no synonyms."""


def humaneval_row(number: int, word: str) -> dict[str, object]:
    """A task in the form of HumanEval, unlike the others in its words."""
    return {
        "task_id": f"HumanEval/{number}",
        "prompt": f'def count_{word}(box_{word}, lower_bound):\n    """Count the {word} above a bound.\n'
        f"    >>> count_{word}([1, 5], 2)\n    1\n    >>> count_{word}([4, 5], 2)\n    2\n"
        f'    Calls count_{word} once; see `lower_bound`.\n    """\n',
        "entry_point": f"count_{word}",
        "canonical_solution": f"    {word}_found = 0\n    for one_{word} in box_{word}:\n"
        f"        if one_{word} > lower_bound:\n"
        f"            {word}_found += 1\n    return {word}_found\n",
        "test": "def check(candidate):\n    assert candidate([], 1) == 0\n"
        f"    assert candidate([{number % 8}, 9], 8) == 1\n",
    }


def written(path: Path, rows: Sequence[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class FakeModel:
    """Log-probabilities that depend on the text alone; texts that it has seen get more."""

    name = "fake"
    digest = "fake"
    tokenizer_digest = None

    def __init__(self, seen: Sequence[str] = (), *, gain: float = 10.0, salt: str = "") -> None:
        self.seen, self.gain, self.salt, self.asked = set(seen), gain, salt, []

    def value(self, text: str) -> float:
        digest = hashlib.sha256(f"{self.salt}{text}".encode()).digest()
        return int.from_bytes(digest[:4]) / 2**32 + self.gain * (text in self.seen)

    def completed(self, texts):
        self.asked.append(list(texts))
        for index, text in enumerate(texts):
            yield [(index, TokenLogProbs(np.zeros(1, np.int32), np.array([self.value(text)], np.float32)))]


def published_texts(secret: Secret, number: int = 1) -> list[str]:
    return [
        secret.scored(task, secret.lot(task.cluster, number), secret.content_lot(task.cluster, number))
        for task in secret.committed.tasks
    ]


@pytest.fixture(autouse=True)
def _keys(same_keys) -> None:
    """No test of a release draws a lot of its own."""


@pytest.fixture(scope="session")
def released(tmp_path_factory) -> Path:
    """A folder with tasks.jsonl, public.jsonl and secret.json."""
    folder = tmp_path_factory.mktemp("release")
    tasks = written(folder / "tasks.jsonl", [humaneval_row(number, word) for number, word in enumerate(WORDS)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.release.making.new_key", lambda: KEY)
        make(tasks, folder / "public.jsonl", folder / "secret.json", copies=9, **ANYWHERE)
    return folder


@pytest.fixture
def secret_path(released, tmp_path) -> Path:
    """A secret of its own, whose log a test may extend."""
    path = tmp_path / "secret.json"
    path.write_bytes((released / "secret.json").read_bytes())
    path.chmod(0o600)
    return path


@pytest.fixture
def secret(secret_path) -> Secret:
    return read_secret(secret_path)
