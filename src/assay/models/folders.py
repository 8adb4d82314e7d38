"""Checks of a model folder that need no torch: configuration, tokenizer, weights."""

from pathlib import Path

from assay.errors import ModelError, plain_reason
from assay.files import parse_json
from assay.models.foreign_tokenizer import check_tokenizer
from assay.models.names import BUILTIN

WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
VOCABULARIES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.*",
    "*.tiktoken",
    "*.model",
    "tekken.json",
    "tokenization_*.py",
)


def check_place(name: str) -> None:
    """Check that `name` is a folder, or may be a hub id.

    Raises:
        ModelError: it is neither.
    """
    if name and Path(name).is_file():
        raise ModelError(f"{name} is a file: expected a model folder or a hub id")
    local = Path(name).is_absolute() or name.startswith((".", "~")) or name.count("/") > 1
    if not name or (local and not Path(name).is_dir()):
        raise ModelError(f"no model folder {name!r}: expected a folder with config.json and weights, or a hub id")


def check_vocabulary(name: str) -> None:
    """Check that a folder holds a tokenizer that can be used; any other name passes.

    Raises:
        ModelError: none is, or see `check_tokenizer`.
    """
    if Path(name).is_dir() and has_none(Path(name), VOCABULARIES):
        raise ModelError(f"{name}: no tokenizer files: expected tokenizer.json, tokenizer.model or vocab.json")
    file = Path(name, "tokenizer.json")
    if file.is_file() and BUILTIN not in file.resolve().parents:  # those that ship with assay are its own
        check_tokenizer(file)


def check_folder(name: str) -> None:
    """Check that a local path is a model folder with configuration and weights.

    Raises:
        ModelError: it is not.
    """
    check_place(name)
    folder = Path(name)
    if not folder.is_dir():
        return
    config = folder / "config.json"
    if not config.is_file():
        raise ModelError(f"{name}: no config.json: expected a model folder as save_pretrained writes it")
    try:
        parse_json(config.read_text("utf-8"))
    except ValueError as error:
        raise ModelError(f"{config} is not a JSON file: {plain_reason(error)}") from error
    if has_none(folder, WEIGHTS):
        raise ModelError(f"{name}: no weights: expected model.safetensors (or its index and parts)")


def has_none(folder: Path, patterns: tuple[str, ...]) -> bool:
    """Return True if no file of a folder has one of these names."""
    return not any(next(folder.glob(pattern), None) for pattern in patterns)
