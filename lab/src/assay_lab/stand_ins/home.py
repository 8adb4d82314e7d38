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


def mark(folder: Path) -> Path:
    """Make a folder of stand-ins and put the marker in it; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / MARKER, MEANING)
    return folder


def is_marked(place: str | Path) -> bool:
    """Return whether a file or folder is a stand-in: the marker lies in it or in a folder above."""
    path = Path(place).absolute()
    if not path.exists():
        return False
    # a link has other folders above it than what it leads to
    real = path.resolve()
    return any((folder / MARKER).is_file() for folder in (path, *path.parents, real, *real.parents))


def caches() -> tuple[Path, Path]:
    """Return the folders in which the packages of the hub keep models and data sets."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    home = Path(os.environ.get("HF_HOME") or base).expanduser()
    hub = os.environ.get("HF_HUB_CACHE") or home / "hub"
    return Path(hub), Path(os.environ.get("HF_DATASETS_CACHE") or home / "datasets")


def stand_ins_in(places: Iterable[str | Path] = ()) -> Iterator[Path]:
    """Yield the hub caches of this process and the places of models and data that hold stand-ins."""
    yield from map(Path, filter(is_marked, chain(caches(), places)))
    # one stand-in among real models is enough: by which names an experiment opens them, nobody can tell beforehand
    yield from chain.from_iterable(cache.glob(f"*/{MARKER}") for cache in caches())


def check_no_stand_ins(places: Iterable[str | Path], what: str) -> None:
    """Refuse stand-ins.

    Raises:
        DataError: a place is one.
    """
    for place in stand_ins_in(places):
        raise DataError(
            f"{what}: received stand-ins in {place}, whose figures mean nothing; expected real models and data"
        )


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
