"""Small builders that the tests of this room share."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

Rows = Sequence[Mapping[str, object]]


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows as JSON lines and gives the path."""

    def write(rows: Rows, name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Writes bytes and gives the path."""

    def write(content: bytes, name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return write
