"""Packages that an experiment reads: archives in a folder, or for a try some that are installed."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from assay_lab.columns import among
from assay_lab.experiments.declaration import Data

TRIED = ("packaging", "jinja2", "typer", "httpx")
"""Installed distributions that stand for downloaded ones at the scale smoke."""

PACKAGES = "a folder of the archives that lab/lists/{} names (pip download --no-deps, npm pack)"
SUFFIXES = (".whl", ".tgz", ".gz", ".xz", ".zip")


@contextmanager
def archives(data: Data) -> Iterator[list[Path]]:
    """Yield the archives of the folder, sorted by path; without a folder, installed packages as wheels."""
    if "packages" in data:
        yield sorted(among(data["packages"].rglob("*"), "suffix", SUFFIXES))
        return
    with TemporaryDirectory() as folder:
        yield [_as_wheel(name, Path(folder)) for name in TRIED]


def _as_wheel(name: str, folder: Path) -> Path:
    installed = distribution(name)
    path = folder / f"{name}-{installed.version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in installed.files or ():
            place = Path(str(file.locate()))
            if not str(file).startswith("..") and place.is_file() and place.suffix in {".py", "", ".txt", ".md"}:
                archive.write(place, str(file))
    return path
