"""Fixtures: tiny models in memory and in folders, and a machine without a network."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.models.loading import Checkpoint
from support.tiny_models import byte_tokenizer, tiny


@pytest.fixture
def checkpoint() -> Checkpoint:
    """A tiny Llama in memory, with a tokenizer that adds nothing."""
    return Checkpoint("tiny", tiny("llama"), byte_tokenizer(), ())


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Write a model and a tokenizer into a new folder."""

    def write(model: Any = None, tokenizer: Any = None, name: str = "model") -> Path:
        folder = tmp_path / name
        (tiny("llama") if model is None else model).save_pretrained(folder)
        (byte_tokenizer() if tokenizer is None else tokenizer).save_pretrained(folder)
        return folder

    return write


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every attempt to find or reach another machine fails, and is listed."""
    attempts: list[object] = []

    def refuse(*address: object, **_: object) -> None:
        attempts.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    return attempts
