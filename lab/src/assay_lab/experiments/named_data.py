"""Data that the user names with `--data`: a file, a folder, a benchmark that is registered, or `hf:OWNER/NAME`."""

from pathlib import Path
from typing import Any

from assay.datasets import DataSelection, Dataset, is_benchmark, read_dataset

HUB = "hf:"
OF_BENCHMARK = ("limit", "subset", "part")
"""Options that a benchmark has."""


def named_source(name: str, place: Path, **selection: Any) -> tuple[str, DataSelection]:  # noqa: ANN401  options
    """Return what `read_dataset` and `read_pairs` take for data that a user named.

    Args:
        name: of the data; that of a benchmark says what form the place has.
        place: file or folder, name of a benchmark, or `hf:OWNER/NAME`.
        selection: further options. Those for columns count for a table alone: a benchmark has its own.
    """
    text = str(place)
    of_benchmark = {key: value for key, value in selection.items() if key in OF_BENCHMARK}
    # a file that is called like a benchmark is still that file
    if is_benchmark(text) and not place.exists():
        return text, DataSelection(**of_benchmark)
    if is_benchmark(name) and not text.startswith(HUB):
        return name, DataSelection(data=place, **of_benchmark)
    return text, DataSelection(**selection)


def named_dataset(name: str, place: Path, **selection: Any) -> Dataset:  # noqa: ANN401  options
    """Return the data that a user named; arguments as `named_source`, errors as `read_dataset`."""
    source, chosen = named_source(name, place, **selection)
    return read_dataset(source, chosen)
