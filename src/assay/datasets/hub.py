"""Rows from the Hugging Face hub or its local cache, through the `datasets` package where it is installed."""

import importlib
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from assay.datasets.sources import SourceRow
from assay.errors import DataError

HUB_ADDRESS = "https://huggingface.co"
"""Address of the hub, unless the variable HF_ENDPOINT names another."""
SET = frozenset({"1", "ON", "YES", "TRUE"})
"""Values by which the hub's packages take a variable for set, in capitals."""
LOCAL_COPY = "--data PATH"
"""How errors name a local copy of data, see `copies_named_by`."""
SECONDS = 5.0
"""Longest wait for a connection to the hub, before the data set is looked for in the local cache alone."""


@contextmanager
def copies_named_by(option: str) -> Iterator[None]:
    """Let errors about data that are not here name the option of a command that has no `--data`.

    Raises:
        DataError: that of the block.
    """
    try:
        yield
    except DataError as error:
        raise DataError(str(error).replace(LOCAL_COPY, option)) from error


@dataclass(frozen=True, slots=True)
class HubPart:
    """One call of `datasets.load_dataset`.

    Attributes:
        id: owner/name.
        config: configuration, or None for the default one.
        split: split, or None for all of them, one after the other.
        files: split → file in the repository. Needed where the repository serves its files through a loading
            script, which `datasets` 4 and later refuse to run.
    """

    id: str
    config: str | None = None
    split: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join(filter(None, (self.id, self.config))) + f", split {self.split}" * bool(self.split)


def hub_is_installed() -> bool:
    """Return True if the `datasets` package can be imported."""
    try:
        importlib.import_module("datasets")
    except ImportError:
        return False
    return True


def hub_rows(part: HubPart, *, streamed: bool = False) -> Iterator[SourceRow]:
    """Yield the rows of a hub data set, each with its "split"; from the local cache if it is there.

    Args:
        part: of the hub.
        streamed: fetch row after row, for callers that take the first ones of a large data set; nothing is kept then.
            Without a connection the cache is read all the same.

    The package obeys HF_HUB_OFFLINE and the other variables of the hub. Without a connection only the cache is read:
    the hub's client would repeat every request for half a minute.

    Raises:
        DataError: no such data set, configuration or split, or no connection; with the package's own message.
    """
    try:
        loaded = _load(part, offline=not hub_answers(), streamed=streamed)
        # without a split `load_dataset` returns a dict of all of them
        splits = loaded.items() if isinstance(loaded, dict) else [(part.split, loaded)]
        for split, rows in splits:
            for row in rows:
                yield {"split": split, **row}
    except DataError:
        raise
    except ConnectionError as fault:
        raise DataError(
            f"hub data set {part}: it is not in the local cache, and the hub cannot be reached; "
            f"expected a local copy ({LOCAL_COPY}), or a connection"
        ) from fault
    except Exception as fault:  # the package raises a dozen kinds, from ValueError to its own
        message = str(fault).strip().split("\n", maxsplit=1)[0] or type(fault).__name__
        raise DataError(f"hub data set {part}: {message}; or name a local copy with {LOCAL_COPY}") from fault


def hub_answers() -> bool:
    """Return False if HF_HUB_OFFLINE is set, or no connection to the hub can be opened; behind a proxy, True."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in SET:
        return False
    if getproxies():
        return True
    address = urlsplit(os.environ.get("HF_ENDPOINT") or HUB_ADDRESS)
    try:
        port = address.port or {"http": 80}.get(address.scheme, 443)
        socket.create_connection((str(address.hostname), port), SECONDS).close()
    except OSError:
        return False
    return True


def _load(part: HubPart, *, offline: bool, streamed: bool) -> Any:  # noqa: ANN401  datasets publishes no types
    load_dataset = importlib.import_module("datasets").load_dataset
    if streamed and not offline:
        load_dataset = partial(load_dataset, streaming=True)
    with _without_requests() if offline else nullcontext():
        try:
            return load_dataset(part.id, part.config, split=part.split)
        except RuntimeError as fault:
            if "scripts are no longer supported" not in str(fault) or not part.files:
                raise
        files = {split: f"hf://datasets/{part.id}/{file}" for split, file in part.files.items()}
        return load_dataset("json", data_files=files, split=part.split)


@contextmanager
def _without_requests() -> Iterator[None]:
    """Let the hub's packages read their caches alone; they obey HF_HUB_OFFLINE only if it is set before the import."""
    settings: list[Any] = list(map(importlib.import_module, ("huggingface_hub.constants", "datasets.config")))
    before = list(map(attrgetter("HF_HUB_OFFLINE"), settings))
    try:
        for module in settings:
            module.HF_HUB_OFFLINE = True
        yield
    finally:
        for module, value in zip(settings, before, strict=True):
            module.HF_HUB_OFFLINE = value
