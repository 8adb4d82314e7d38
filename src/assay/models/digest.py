"""Everything a statistic depends on, as one hexadecimal number."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a model behind a server needs no transformers
    from transformers import PreTrainedTokenizerBase

DEFINITIONS = 1
"""Raised when the meaning of a statistic changes, so that no cache gives old values for new questions."""

_CONTENT_NAME = re.compile(r"[0-9a-f]{64}")


def files_digest(folders: Iterable[Path]) -> str:
    """SHA-256 of weights, configurations and code by content; where the files lie does not matter."""
    files = [file for folder in folders for file in _files(folder)]
    with ThreadPoolExecutor(4) as pool:  # hashing lets go of the interpreter's lock
        digests = list(pool.map(_file_digest, files))
    return combined([[file.name, digest] for file, digest in zip(files, digests, strict=True)])


def tokenizer_digest(tokenizer: "PreTrainedTokenizerBase") -> str:
    """SHA-256 of what the tokenizer does to text; padding and truncation, never used here, do not count."""
    if tokenizer.is_fast:
        state = json.loads(tokenizer.backend_tokenizer.to_str())
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


def _files(folder: Path) -> list[Path]:
    """Configuration, the checkpoint's own code, and weights; of two formats of these, the one transformers loads."""
    configs = [file for name in ("config.json", "adapter_config.json") if (file := folder / name).is_file()]
    configs += sorted(folder.glob("*.py"))
    for pattern in ("*.safetensors", "*.bin"):
        if weights := sorted(folder.glob(pattern)):
            return configs + weights
    return configs


def _file_digest(file: Path) -> str:
    target = file.resolve().name
    if file.is_symlink() and _CONTENT_NAME.fullmatch(target):
        return target  # the hub's cache names large files by their SHA-256: no need to read them
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
