"""Checks of a model folder that need no torch: configuration, tokenizer, weights."""

import json
import string
from base64 import b64decode
from functools import cache
from itertools import product
from pathlib import Path
from typing import IO, Any

from assay.errors import ModelError, plain_reason
from assay.guard import LARGEST_JSON, child_value, json_file, json_value
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
        json_file(config)
    except ValueError as error:
        raise ModelError(f"{config} is not a JSON file: {plain_reason(error)}") from error
    if has_none(folder, WEIGHTS):
        raise ModelError(f"{name}: no weights: expected model.safetensors (or its index and parts)")
    for index in (*folder.glob("*.safetensors.index.json"), *folder.glob("*.bin.index.json")):
        _check_parts(index)


def _check_parts(index: Path) -> None:
    """Check that the parts of the weights lie in their folder: a digest of the folder covers no others.

    Raises:
        ModelError: a part is elsewhere, or the file is no index.
    """
    with index.open("rb") as file:
        content = json_value(index, file.read(LARGEST_JSON + 1))
    parts = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(parts, dict):
        raise ModelError(f"{index}: received no weight_map, expected the name of a file for each tensor")
    for part in parts.values():
        if not isinstance(part, str) or Path(part).name != part or part in {"", ".."} or "\\" in part:
            raise ModelError(f"{index}: names the part {part!r:.80}, expected the name of a file in this folder")


def has_none(folder: Path, patterns: tuple[str, ...]) -> bool:
    """Return True if no file of a folder has one of these names."""
    return not any(next(folder.glob(pattern), None) for pattern in patterns)


# A tokenizer.json of others: one that multiplies text, or that a text can keep busy, is refused before it is used.

MOST_GROWTH = 16
"""Characters that the steps before the vocabulary may make of one; those of models in use make four at most."""
LONGEST_FORM = 33
"""Bytes of the longest form of a character in Unicode, that of U+FDFA."""
SECONDS = 60.0
"""On the clock, for the probe of a tokenizer; a tokenizer of 20 MB takes two on an idle machine."""
EXPECTED = "a tokenizer that reads any text in little time and memory"

RUN = 64
"""Characters of a run: a regular expression of nested repetitions tries 2^RUN ways to end where no match ends."""


def check_tokenizer(path: Path) -> None:
    """Check that a tokenizer.json neither multiplies text nor has regular expressions that a text keeps busy.

    Raises:
        ModelError: it does, or it is not JSON.
    """
    state = path.stat()
    _checked(path.resolve(), state.st_mtime_ns, state.st_size)  # a folder is opened several times by one command


@cache
def _checked(path: Path, _changed: int, _size: int) -> None:
    with path.open("rb") as file:
        content = json_value(path, file.read(LARGEST_JSON + 1))
    if not isinstance(content, dict):
        raise ModelError(f"{path}: not a JSON object, expected {EXPECTED}")
    # growth is a product over the steps of the normaliser, so it is known without a text: ten steps of ten are 10^10
    growth = _growth(content.get("normalizer")) * _growth(content.get("pre_tokenizer"))
    if growth > MOST_GROWTH:
        raise ModelError(f"{path}: makes up to {growth:,} characters of one, expected at most {MOST_GROWTH}")
    # a search cannot be stopped from inside this process: the expressions are tried where the kernel can
    if "Regex" in json.dumps(list(map(content.get, ("normalizer", "pre_tokenizer", "decoder")))):
        child_value(probe, path, expected=EXPECTED, error=ModelError, in_all=SECONDS)


def probe(stream: IO[bytes], path: str) -> None:
    """Encode texts on which expressions with nested repetitions try every way, in a child process; write `true`.

    Raises:
        ModelError: an expression tried more ways than its library allows.
    """
    from tokenizers import Tokenizer  # noqa: PLC0415  in the child alone

    tokenizer = Tokenizer.from_file(path)
    runs = [*string.printable, "ab", "a1", "A_", " \n", "\t ", "é", "中", "()", "x = "]
    try:
        # the last character makes a match fail that began well, so that every other way is tried as well
        for end, run in product(("", "!", "\0"), runs):
            tokenizer.encode(run * RUN + end)
    except BaseException as fault:  # a panic of Rust is no Exception
        raise ModelError(f"{path}: a regular expression tries too many ways, expected {EXPECTED}") from fault
    stream.write(b"true")


def _growth(step: Any) -> int:  # noqa: ANN401  whatever JSON holds
    """Return the most characters that a step makes of one, as far as its file says so.

    Forms of Unicode and lower case are the library's own and bounded; they count as one, as does a table that makes no
    more characters than they do. The bytes of a character become two characters at least.
    """
    if not isinstance(step, dict):
        return 1
    # ByteLevel writes every byte as a printable letter, some of which take two bytes
    growth = 1 + (step.get("type") == "ByteLevel")
    if step.get("type") == "Precompiled":
        table = b64decode(str(step.get("precompiled_charsmap")))
        texts = table[4 + int.from_bytes(table[:4], "little") :].split(b"\0")
        growth = -(-max(map(len, texts)) // LONGEST_FORM)
    for inner in (*(step.get("normalizers") or ()), *(step.get("pretokenizers") or ())):
        growth *= _growth(inner)
    pattern = step.get("pattern")
    if step.get("type") == "Replace" and isinstance(pattern, dict):
        # an expression may match at every place, also where there is no character
        shortest = max(1, len(str(pattern.get("String") or "")))
        empty = not pattern.get("String")
        growth *= max(1, empty + -(-len(str(step.get("content"))) // shortest))
    return growth * (1 + sum(len(str(step[name])) for name in ("prepend", "append") if step.get(name)))
