"""Everything a statistic depends on, as one hexadecimal number."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a model behind a server needs no transformers
    from transformers import PreTrainedTokenizerBase

DEFINITIONS = 1
"""Raised when the meaning of a statistic changes, so that no cache gives old values for new questions."""

_CONTENT_NAME = re.compile(r"[0-9a-f]{64}")


def files_digest(folders: Iterable[Path]) -> str:
    """SHA-256 of weights, configurations and code by content; where the files lie does not matter."""
    files = list(chain.from_iterable(map(_files, folders)))
    with ThreadPoolExecutor(4) as pool:  # hashing lets go of the interpreter's lock
        # names beside contents: the same files under other names may load as another model
        digests = pool.map(file_digest, map(itemgetter(1), files))
        return combined([[name, digest] for (name, _), digest in zip(files, digests, strict=True)])


def tokenizer_digest(tokenizer: "PreTrainedTokenizerBase") -> str:
    """SHA-256 of what the tokenizer does to text; padding and truncation, never used here, do not count."""
    if tokenizer.is_fast:
        state = json.loads(tokenizer.backend_tokenizer.to_str())
        # a tokenizer keeps the settings of its last call in its state; they say nothing about a single text
        state.pop("padding", None)
        state.pop("truncation", None)
        return combined(state)
    return combined([type(tokenizer).__name__, tokenizer.get_vocab(), tokenizer.all_special_tokens])


def combined(value: object) -> str:
    """SHA-256 of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def model_digest(folders: Iterable[Path], tokenizer: "PreTrainedTokenizerBase", settings: Mapping[str, object]) -> str:
    """SHA-256 of weights, configurations, tokenizer and settings (dtype, windows, BOS), not of the device."""
    return combined([DEFINITIONS, files_digest(folders), tokenizer_digest(tokenizer), dict(settings)])


def _files(folder: Path) -> list[tuple[str, Path]]:
    """Name and path of configuration, own code and weights; of two formats of these, the one transformers loads.

    A model in a single file has no name that belongs to it.
    """
    if folder.is_file():
        return [("", folder)]
    configs = [file for name in ("config.json", "adapter_config.json") if (file := folder / name).is_file()]
    configs += sorted(folder.glob("*.py"))
    # transformers prefers safetensors: other formats beside them change nothing
    for pattern in ("*.safetensors", "*.bin"):
        if weights := sorted(folder.glob(pattern)):
            configs += [*weights, *sorted(folder.glob(f"{pattern}.index.json"))]  # which file holds which tensor
            break
    return [(file.name, file) for file in configs]


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a file's content.

    In the hub's cache, `snapshots/COMMIT/FILE` is a link to `blobs/SHA-256` for large files, which are not read again.
    """
    target = file.resolve()
    snapshots = target.parent.with_name("snapshots")
    cached = target.parent.name == "blobs" and snapshots in file.parent.resolve().parents
    if file.is_symlink() and cached and _CONTENT_NAME.fullmatch(target.name):
        return target.name
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
