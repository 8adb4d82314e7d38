"""Rows from the Hugging Face hub or its local cache, through the `datasets` package where it is installed."""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.datasets.sources import SourceRow
from assay.errors import DataError


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
        named = f"{self.id} {self.config}" if self.config else self.id
        return f"{named}, split {self.split}" if self.split else named


def hub_is_installed() -> bool:
    """Return True if the `datasets` package can be imported."""
    try:
        importlib.import_module("datasets")
    except ImportError:
        return False
    return True


def hub_rows(part: HubPart) -> Iterator[SourceRow]:
    """Yield the rows of a hub data set, each with its "split"; from the local cache if it is there.

    The package obeys HF_HUB_OFFLINE and the other variables of the hub.

    Raises:
        DataError: no such data set, configuration or split, or no connection; with the package's own message.
    """
    try:
        loaded = _load(part)
        splits = loaded.items() if isinstance(loaded, dict) else [(part.split, loaded)]
        for split, rows in splits:
            for row in rows:
                yield {"split": split, **row}
    except DataError:
        raise
    except Exception as fault:  # the package raises a dozen kinds, from ValueError to its own
        message = str(fault).strip().split("\n", maxsplit=1)[0] or type(fault).__name__
        raise DataError(f"hub data set {part}: {message}; or name a local copy with --data PATH") from fault


def _load(part: HubPart) -> Any:  # noqa: ANN401  datasets publishes no types
    load_dataset = importlib.import_module("datasets").load_dataset
    try:
        return load_dataset(part.id, part.config, split=part.split)
    except RuntimeError as fault:
        if "scripts are no longer supported" not in str(fault) or not part.files:
            raise
    files = {split: f"hf://datasets/{part.id}/{file}" for split, file in part.files.items()}
    return load_dataset("json", data_files=files, split=part.split)
