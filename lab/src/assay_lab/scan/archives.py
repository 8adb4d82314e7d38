"""Texts in a folder of packages, one archive a package: wheels and other zips, and tar archives.

`dpkg-deb --fsys-tarfile NAME.deb > debian-NAME.tar` makes a tar archive of a package of Debian.
"""

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = (
    *(".py", ".pyi", ".js", ".mjs", ".ts", ".tsx", ".h", ".hpp", ".c", ".cc", ".cpp", ".java", ".go", ".rs", ".rb"),
    *(".php", ".el", ".pl", ".md", ".rst", ".txt", ".html"),
)
SIZES = range(1, 200_001)
"""Bytes of a text; larger ones are mostly data or made by programs."""


def packages_in(folder: Path) -> list[Path]:
    """Return the archives of a folder, by name."""
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


def texts_in(package: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each source and text of a package, in the order of the archive."""
    if zipfile.is_zipfile(package):
        with zipfile.ZipFile(package) as wheel:
            for entry in wheel.infolist():
                if entry.filename.endswith(SUFFIXES) and entry.file_size in SIZES:
                    yield entry.filename, wheel.read(entry)
        return
    with tarfile.open(package) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.name.endswith(SUFFIXES) and member.size in SIZES else None
            if stream is not None:
                yield member.name, stream.read()
