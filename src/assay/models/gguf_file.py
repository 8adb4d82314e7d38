"""GGUF files: weights, configuration and tokenizer in one file, as llama.cpp, Ollama and LM Studio keep models."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from assay.errors import ModelError, require
from assay.models.digest import file_digest

# Memory that a process may still take.

CGROUP = Path("/sys/fs/cgroup")
"""Where Linux shows the limits of a container: version 2 of control groups, or version 1 under `memory`."""

_FILES = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message that is not blank; the error's type where there is none."""
    return next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)


def available_memory() -> int:
    """Return the bytes that can be taken without swapping: of the machine, or of the container where that is less."""
    import psutil  # noqa: PLC0415  comes with accelerate (extra hf)

    return min([int(psutil.virtual_memory().available), *_left_in_container()])


def _left_in_container() -> list[int]:
    left = []
    for limit, usage in _FILES:
        try:
            most, used = (int((CGROUP / name).read_text("ascii")) for name in (limit, usage))
        except (OSError, ValueError):  # no such file, or "max": no limit
            continue
        left.append(most - used + _reclaimable((CGROUP / limit).parent))
    return left


def _reclaimable(folder: Path) -> int:
    """Return the bytes of file cache that the kernel gives back; they count as used."""
    try:
        lines = (folder / "memory.stat").read_text("ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))


SUFFIX = ".gguf"
EXPECTED = "PATH.gguf or hub-id:FILE.gguf"
GB = 10**9
MOST_ENTRIES = 2**24
"""Of all arrays of a head: the largest vocabularies have a million tokens, in four arrays."""
NAMES = ("general.architecture", "general.file_type", "split.count", "tokenizer.ggml.model", "tokenizer.ggml.pre")
_READING = RLock()
"""Held while the reader of the package `gguf` is replaced, which all threads share."""
ROPE_TENSORS = ("rope_freqs", "rope_factors")
"""Tensors that scale rotary positions, frequency by frequency; they are no weights."""


@dataclass(frozen=True)
class GgufFile:
    """The head of a GGUF file.

    Attributes:
        path: where the file is.
        architecture: name of the architecture by llama.cpp ("llama", "qwen2").
        quantization: the file's own name of its number format ("Q4_K_M"), or the format of most of its weights.
        weights: number of weights.
        vocabulary: kind of tokenizer by llama.cpp's name: "gpt2" (byte-level BPE), "llama" (SentencePiece).
        pre_tokenizer: rule that splits a text before the merges, by llama.cpp's name; "" where none is stated.
        rope_scaling: how the file scales rotary positions for long texts, "" where it does not.
    """

    path: Path
    architecture: str
    quantization: str
    weights: int
    vocabulary: str
    pre_tokenizer: str
    rope_scaling: str

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file, as `sha256sum` prints it."""
        return file_digest(self.path)

    def facts(self) -> dict[str, str]:
        """Return what a manifest records of the file."""
        return {"file": self.path.name, "sha256": self.digest, "quantization": self.quantization}

    def check_memory(self, width: int, dtype: str) -> None:
        """Check, before anything is loaded, that the dequantised weights fit into memory.

        Args:
            width: bytes of one weight after loading.
            dtype: name of that number format.

        Raises:
            ModelError: they do not fit; the line names what would.
        """
        needed, available = self.weights * width, available_memory()
        if needed <= available:
            return
        smaller = f"--model-option dtype=bfloat16 ({self.weights * 2 / GB:.1f} GB), " * (width > 2)  # noqa: PLR2004  bytes
        raise ModelError(
            f"{self.path}: {self.weights / GB:.2f} billion weights need {needed / GB:.1f} GB as {dtype}, and "
            f"{available / GB:.1f} GB of memory are free: expected {smaller}a smaller model, or llama:{self.path}, "
            "which keeps the weights quantised"
        )


def is_gguf(name: str) -> bool:
    """Return True if a model's name means a GGUF file."""
    return name.lower().endswith(SUFFIX)


def locate_gguf(name: str, revision: str | None = None) -> Path:
    """Return the path of a GGUF file; a file of the hub is downloaded into the hub's cache.

    Args:
        name: `PATH.gguf` or `hub-id:FILE.gguf`.
        revision: branch, tag or commit of the hub id.

    Raises:
        ModelError: there is no such file.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return path
    place, colon, file = name.partition(":")
    if not colon or not place or path.is_absolute() or place.startswith((".", "~")) or place.count("/") > 1:
        raise ModelError(f"no file {name!r}: expected {EXPECTED}")
    from transformers.utils.hub import cached_file  # noqa: PLC0415  slow to import, and only for files of the hub

    try:
        return Path(str(cached_file(place, file, revision=revision)))
    except (OSError, ValueError) as error:
        raise ModelError(f"no file {name!r}: {first_line(error)}") from error


@contextmanager
def parsed_once(name: str) -> Iterator[None]:
    """Let the package `gguf` parse the head of a file once, however often it is opened in this block.

    transformers opens a file for the configuration, for the tokenizer and for the weights, and takes no parsed file.
    Most of the head is the vocabulary: parsing it takes longer than reading the weights of a small model. It also makes
    the same map of the names of tensors once for each module of the network.

    Args:
        name: of a model; nothing is done where it does not mean a GGUF file.

    Raises:
        MissingExtra: the package `gguf` is not installed.
    """
    if not is_gguf(name):
        yield
        return
    require("gguf", purpose=f"model {name!r}")
    import gguf  # noqa: PLC0415  an optional dependency

    with _READING:
        reader, name_map = gguf.GGUFReader, gguf.get_tensor_name_map
        parsed = cache(bounded_reader())
        once = {"GGUFReader": lambda path: parsed(Path(path).resolve()), "get_tensor_name_map": cache(name_map)}
        vars(gguf).update(once)
        try:
            yield
        finally:
            vars(gguf).update(GGUFReader=reader, get_tensor_name_map=name_map)


def bounded_reader() -> type:
    """Return the reader of the package `gguf`, which refuses a head that states more entries than it can hold.

    The reader makes an object for each entry of an array before it looks at the next, so a count of 2^40 in a file of
    a hundred bytes would fill the memory. Nested arrays come here too, through the reader's own recursion.

    Entries of plain arrays are cut from the file without that recursion: a vocabulary of 262,144 tokens has 786,432
    of them, in three arrays.
    """
    from gguf import GGUFReader, GGUFValueType  # noqa: PLC0415  an optional dependency

    class BoundedReader(GGUFReader):
        entries = 0

        def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:  # noqa: ANN401  the package's own tuple
            if raw_type != GGUFValueType.ARRAY:
                return super()._get_field_parts(orig_offs, raw_type)
            # an array: the type of its entries in 4 bytes, their number in 8, the entries of a byte or more
            kind, count = self._get(orig_offs, np.uint32), self._get(orig_offs + 4, np.uint64)
            stated, start = int(count[0]), orig_offs + 12
            self.entries += stated
            if stated > len(self.data) - orig_offs or self.entries > MOST_ENTRIES:
                raise ValueError(f"states an array of {stated:,} entries, expected what the file can hold")
            inner = GGUFValueType(kind[0])
            if inner == GGUFValueType.ARRAY or not stated or self.byte_order != "I":
                return super()._get_field_parts(orig_offs, raw_type)
            # a view of the file as a plain array: each slice of a memory map takes many times as long
            data, types = np.asarray(self.data), [GGUFValueType.ARRAY, inner]
            if inner == GGUFValueType.STRING:
                parts, stop = _strings(data, start, stated)
                return stop - orig_offs, [kind, count, *parts], list(range(3, 2 + len(parts), 2)), types
            entries = self._get(start, self.gguf_scalar_to_np[inner], stated)
            if len(entries) < stated:
                raise ValueError(f"states an array of {stated:,} entries, expected what the file can hold")
            places = list(range(2, 2 + stated))
            return start + entries.nbytes - orig_offs, [kind, count, *np.asarray(entries)[:, None]], places, types

    return BoundedReader


def _strings(data: np.ndarray, start: int, count: int) -> tuple[list[np.ndarray], int]:
    """Return length and bytes of each of so many strings, one after the other, and where the last one ends."""
    parts: list[np.ndarray] = []
    for _ in range(count):
        length = data[start : start + 8].view(np.uint64)
        stop = start + 8 + int(length[0])
        if stop > len(data):
            raise ValueError("states a string that ends after the file")
        parts += (length, data[start + 8 : stop])
        start = stop
    return parts, start


def read_gguf(path: Path) -> GgufFile:
    """Return what the head of the file states; no weight is read.

    Raises:
        MissingExtra: the package `gguf` is not installed.
        ModelError: the file is not a whole GGUF file, or one of several parts of a model.
    """
    require("gguf", purpose=f"model {str(path)!r}")
    import gguf  # noqa: PLC0415  an optional dependency

    try:
        # inside `parsed_once` the name means a function that keeps what it has parsed
        kept: Any = gguf.GGUFReader
        reader = (bounded_reader() if isinstance(kept, type) else kept)(path)
        fields = {name: field.contents() for name in NAMES if (field := reader.get_field(name)) is not None}
        scaling = [field.contents() for name, field in reader.fields.items() if name.endswith(".rope.scaling.type")]
        formats = Counter[str]()
        # the format of most weights names the file where it states no type of its own
        for tensor in reader.tensors:
            if tensor.name.startswith(ROPE_TENSORS):
                scaling.append("factors in the file")
            else:
                formats[tensor.tensor_type.name] += int(tensor.n_elements)
        parts, file_type = int(fields.get("split.count", 1)), int(fields.get("general.file_type", -1))
    except (OSError, ValueError, KeyError, IndexError, TypeError, RecursionError, OverflowError) as error:
        raise ModelError(f"{path} is not a whole GGUF file: {' '.join(str(error).split())[:200]}") from error
    if parts > 1:
        raise ModelError(
            f"{path} is a part of a model in {parts} files: expected one file, as llama-gguf-split --merge writes it"
        )
    if "general.architecture" not in fields or not formats:
        raise ModelError(f"{path}: a GGUF file without weights: expected a model")
    file_types = {kind.value: kind.name.removeprefix("MOSTLY_").removeprefix("ALL_") for kind in gguf.LlamaFileType}
    return GgufFile(
        path=path,
        architecture=str(fields["general.architecture"]),
        quantization=file_types.get(file_type) or formats.most_common(1)[0][0],
        weights=formats.total(),
        vocabulary=str(fields.get("tokenizer.ggml.model", "")),
        pre_tokenizer=str(fields.get("tokenizer.ggml.pre", "")),
        rope_scaling=next(filter("none".__ne__, map(str, scaling)), ""),
    )


def gguf_of(model: object) -> GgufFile | None:
    """Return the GGUF file behind a model, which may be behind the cache; None for any other model."""
    file = getattr(_holder(model), "gguf", None)
    return file if isinstance(file, GgufFile) else None


def gguf_note(model: object) -> str:
    """Return what a report says of a model from a GGUF file; "" for any other model."""
    file = gguf_of(model)
    if file is None:
        return ""
    sentence = (
        f"The model is the file {file.path.name} (quantisation {file.quantization}, SHA-256 {file.digest}): scores are "
        "those of the quantised weights."
    )
    return f"{sentence} {getattr(_holder(model), 'note', '')}".strip()


def _holder(model: object) -> object:
    """Return what holds the file: the checkpoint of a model of transformers, or the model of llama.cpp itself."""
    for inner in ("scorer", "model"):
        model = getattr(model, inner, model)
    # not `model.checkpoint`, which a built-in model loads when it is read; that of any other model is there
    return getattr(model, "__dict__", {}).get("checkpoint", model)
