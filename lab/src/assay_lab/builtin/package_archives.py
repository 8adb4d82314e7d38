"""Source packages of three registries: downloaded by the registry's own client, read file by file, with licences.

A registry is `pypi` (wheels), `npm`, `debian-source` (source packages) or `debian-binary` (packages that carry the
source of a library, as those of Rust crates do). apt takes its sources from the environment variable APT_CONFIG.
"""

import json
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email import message_from_bytes
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from assay.errors import DataError
from assay.licences import stated_licence
from assay_lab.builtin.debian_copyright import DebianCopyright, parse_copyright
from assay_lab.columns import having

PYPI: Final = "pypi"
NPM: Final = "npm"
DEBIAN_SOURCE: Final = "debian-source"
DEBIAN_BINARY: Final = "debian-binary"
REGISTRIES = (PYPI, NPM, DEBIAN_SOURCE, DEBIAN_BINARY)

_COMMANDS = {
    PYPI: ("pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"),
    NPM: ("npm", "pack", "--silent"),
    DEBIAN_SOURCE: ("apt-get", "source", "--quiet", "--download-only", "--only-source"),
    DEBIAN_BINARY: ("apt-get", "download", "--quiet"),
}
# bytes: longer files are data
_LONGEST_FILE = 600_000
_CRATES = ("usr", "share", "cargo", "registry")


@dataclass(frozen=True, slots=True)
class Archive:
    """One downloaded package.

    Attributes:
        registry: one of `REGISTRIES`.
        package: its name there.
        version: of the package.
        files: the downloaded files, by name.
    """

    registry: str
    package: str
    version: str
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of an archive.

    Attributes:
        path: relative to the root of the package.
        licence: SPDX expression; None if none is stated.
        content: the bytes.
    """

    path: PurePosixPath
    licence: str | None
    content: bytes


def download(registry: str, package: str, folder: Path, *, version: str | None = None) -> Archive:
    """Download a package into a folder of its own under `folder`, unless it is there.

    Args:
        registry: one of `REGISTRIES`.
        package: its name.
        folder: of all downloads.
        version: as the registry writes it; None for the current one.

    Raises:
        DataError: the registry's client fails; the line ends with its message.
    """
    place = folder / registry / package.replace("/", "__")
    place.mkdir(parents=True, exist_ok=True)
    if not any(place.iterdir()):
        separator = {PYPI: "==", NPM: "@"}.get(registry, "=")
        request = f"{package}{separator}{version}" if version else package
        run = subprocess.run(  # noqa: S603  the client of the registry, with names of the committed list
            [*_COMMANDS[registry], request], cwd=place, capture_output=True, text=True, check=False
        )
        if run.returncode:
            # a half download would pass for a package the next time
            for part in place.iterdir():
                part.unlink()
            message = (run.stderr.strip().splitlines() or ["no message"])[-1]
            raise DataError(f"cannot download {request} ({registry}): {message}")
    return _archive(registry, package, place)


def source_files(archive: Archive, suffixes: Sequence[str]) -> Iterator[SourceFile]:
    """Yield the files of an archive with one of these suffixes, in the order of the archive.

    Raises:
        DataError: the archive cannot be read, or lacks the file that states its licence.
    """
    readers = {
        PYPI: _wheel_files,
        NPM: _npm_files,
        DEBIAN_SOURCE: _debian_source_files,
        DEBIAN_BINARY: _debian_binary_files,
    }
    try:
        for file in readers[archive.registry](archive, tuple(suffixes)):
            if len(file.content) <= _LONGEST_FILE:
                yield file
    except (OSError, tarfile.TarError, zipfile.BadZipFile, ValueError, KeyError, StopIteration) as error:
        raise DataError(f"{archive.package} ({archive.registry}): expected a package, got {error!r}") from error


def _archive(registry: str, package: str, place: Path) -> Archive:
    files = tuple(sorted(place.iterdir()))
    try:
        if registry == PYPI:
            version = _with_suffix(files, ".whl").name.split("-")[1]
        elif registry == NPM:
            version = _with_suffix(files, ".tgz").stem.rsplit("-", 1)[1]
        elif registry == DEBIAN_SOURCE:
            version = _with_suffix(files, ".dsc").stem.split("_", 1)[1]
        else:
            # a colon of the version is escaped in the name of the file
            version = _with_suffix(files, ".deb").name.split("_")[1].replace("%3a", ":")
    except (StopIteration, IndexError) as error:
        raise DataError(f"{place}: expected the files of a {registry} package; remove it to download again") from error
    return Archive(registry=registry, package=package, version=version, files=files)


def _with_suffix(files: Sequence[Path], suffix: str) -> Path:
    """Return the first file of this suffix; `IndexError` where there is none."""
    return having(files, suffix=suffix)[0]


def _wheel_files(archive: Archive, suffixes: tuple[str, ...]) -> Iterator[SourceFile]:
    wheel = _with_suffix(archive.files, ".whl")
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        licence = stated_licence(message_from_bytes(opened.read(metadata)))
        for name in names:
            if name.endswith(suffixes):
                yield SourceFile(PurePosixPath(name), licence, opened.read(name))


def _npm_files(archive: Archive, suffixes: tuple[str, ...]) -> Iterator[SourceFile]:
    with tarfile.open(_with_suffix(archive.files, ".tgz")) as opened:
        described = opened.extractfile("package/package.json")
        stated = json.load(described).get("license") if described else None
        licence = stated if isinstance(stated, str) else None
        for path, content in _members(opened, suffixes):
            yield SourceFile(PurePosixPath(*path.parts[1:]), licence, content)


def _debian_source_files(archive: Archive, suffixes: tuple[str, ...]) -> Iterator[SourceFile]:
    packaging = next(file for file in archive.files if ".debian.tar." in file.name)
    sources = [file for file in archive.files if ".orig" in file.name and file.suffix not in {".asc", ".sig"}]
    with tarfile.open(packaging) as opened:
        member = opened.extractfile("debian/copyright")
        stated = parse_copyright(member.read().decode("utf-8", "replace")) if member else DebianCopyright(())
    for source in sources:
        # a source of several components has the name of each in its archive
        component = source.name.partition(".orig-")[2].split(".tar")[0]
        with tarfile.open(source) as opened:
            for path, content in _members(opened, suffixes):
                inside = PurePosixPath(component, *path.parts[1:])
                yield SourceFile(inside, stated.licence(str(inside)), content)


def _debian_binary_files(archive: Archive, suffixes: tuple[str, ...]) -> Iterator[SourceFile]:
    deb = _with_suffix(archive.files, ".deb")
    command = ["dpkg-deb", "--fsys-tarfile", str(deb)]
    unpacked = subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603  no text of others in it
    stated = DebianCopyright(())
    with tarfile.open(fileobj=BytesIO(unpacked)) as opened:
        member = opened.extractfile(f"./usr/share/doc/{archive.package}/copyright")
        if member:
            stated = parse_copyright(member.read().decode("utf-8", "replace"))
        for path, content in _members(opened, suffixes):
            if path.parts[: len(_CRATES)] == _CRATES:
                inside = PurePosixPath(*path.parts[len(_CRATES) + 1 :])
                yield SourceFile(inside, stated.licence(str(inside)), content)


def _members(opened: tarfile.TarFile, suffixes: tuple[str, ...]) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield path and content of the regular files with one of these suffixes."""
    for member in opened:
        if member.isfile() and member.name.endswith(suffixes) and member.size <= _LONGEST_FILE:
            content: BinaryIO | None = opened.extractfile(member)  # type: ignore[assignment]  # typeshed: IO[bytes]
            if content is not None:
                yield PurePosixPath(member.name), content.read()
