"""Packages that a benchmark reads: archives in a folder, or for a try some that are installed."""

import argparse
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory

TRIED = ("packaging", "jinja2", "typer", "httpx")
"""Installed distributions that stand for downloaded ones with --smoke."""

SUFFIXES = (".whl", ".tgz", ".gz", ".zip")


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the folder."""
    parser.add_argument("--packages", type=Path, help="folder of wheels, source distributions or npm archives")


@contextmanager
def archives(options: argparse.Namespace) -> Iterator[list[Path]]:
    """Yield the archives of the folder, sorted by path; with --smoke and no folder, installed packages as wheels."""
    if options.packages is not None:
        yield sorted(path for path in options.packages.rglob("*") if path.suffix in SUFFIXES)
        return
    if not options.smoke:
        raise SystemExit("--packages: expected a folder of downloaded packages")
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
