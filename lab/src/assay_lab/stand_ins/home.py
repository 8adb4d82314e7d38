"""The home of stand-ins: a hub cache of its own, a marker in each of its folders, and who reads from it."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from assay.errors import DataError
from assay.files import write_text

MARKER = "STAND-IN"
"""Name of the file in each folder of stand-ins, and the word in all that is made with them."""
MEANING = "Random weights and invented texts for a rehearsal of `assay lab rehearse`. What they give means nothing.\n"
CACHES = ("HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE")
"""Variables that name a cache of the hub."""


def mark(folder: Path) -> Path:
    """Make a folder of stand-ins and put the marker in it; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / MARKER, MEANING)
    return folder


def is_marked(place: str | Path) -> bool:
    """Return whether a file or folder is a stand-in: the marker lies in it or in a folder above."""
    path = Path(place).absolute()
    return path.exists() and any((folder / MARKER).is_file() for folder in (path, *path.parents))


def reads_stand_ins(places: Iterable[str | Path] = ()) -> bool:
    """Return whether the hub cache of this process, or one of the places of models and data, holds stand-ins."""
    return any(map(is_marked, chain(filter(None, map(os.environ.get, CACHES)), places)))


def check_no_stand_ins(places: Iterable[str | Path], what: str) -> None:
    """Refuse stand-ins.

    Raises:
        DataError: a place is one.
    """
    if reads_stand_ins(places):
        raise DataError(f"{what}: received stand-ins, whose figures mean nothing; expected real models and data")


def check_same_kind(folder: Path, *, is_rehearsal: bool) -> None:
    """Refuse a folder that holds results of the other kind; mark a new one of a rehearsal.

    Raises:
        DataError: results of stand-ins and of real models would be mixed.
    """
    if is_rehearsal and not folder.exists():
        mark(folder)
    if is_marked(folder) != is_rehearsal:
        kinds = ("stand-ins", "real models") if is_rehearsal else ("real models", "stand-ins")
        raise DataError(f"{folder}: received {kinds[0]} for a folder of {kinds[1]}; expected another --out")


def check_home(home: Path) -> None:
    """Check that a folder was laid down by `assay lab stand-ins`.

    Raises:
        DataError: it was not.
    """
    if not (home / MARKER).is_file():
        raise DataError(f"{home}: received no folder of stand-ins; expected one of `assay lab stand-ins DIR`")


def variables(home: Path) -> Mapping[str, str]:
    """Return the variables by which transformers and datasets read the stand-ins, and no network."""
    folder = str(home.absolute())
    return {
        "HF_HOME": folder,
        "HF_HUB_CACHE": f"{folder}/hub",
        "HF_DATASETS_CACHE": f"{folder}/datasets",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
    }


@contextmanager
def offline(home: Path) -> Iterator[None]:
    """Let the packages of the hub read a home alone, and no network.

    Raises:
        DataError: they are loaded already, and read their variables when they are.
    """
    before = dict(os.environ)
    os.environ.update(variables(home))
    try:
        from huggingface_hub import constants  # noqa: PLC0415  after the variables are set

        if os.environ["HF_HUB_CACHE"] != constants.HF_HUB_CACHE:
            raise DataError("the packages of the hub are loaded already; stand-ins need a process of their own")
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
