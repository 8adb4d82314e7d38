"""A tokenizer.json of others: one that multiplies text, or that a text can keep busy, is refused before it is used."""

import json
import string
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import IO, Any

from assay.errors import ModelError
from assay.guard import LARGEST_JSON, child_value, json_value

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
    if "Regex" in json.dumps([content.get(part) for part in ("normalizer", "pre_tokenizer", "decoder")]):
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
        for text in (run * RUN + end for end in ("", "!", "\0") for run in runs):
            tokenizer.encode(text)
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
    growth = 2 if step.get("type") == "ByteLevel" else 1
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
