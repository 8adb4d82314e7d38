"""Functions of the interpreter's standard library, the texts of known dose.

The texts come from the user's own interpreter at run time; none of them is shipped. This module needs the standard
library alone.
"""

import ast
import hashlib
import os
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.code import functions_in

# Tests, bundled wheels, platform configuration and demos are not library code.
_LEFT_OUT = frozenset(
    {
        "__phello__",
        "__pycache__",
        "_bundled",
        "dist-packages",
        "idle_test",
        "lib-dynload",
        "pydoc_data",
        "site-packages",
        "test",
        "tests",
        "turtledemo",
    }
)


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """One function or method of the standard library, or of a file of a package.

    `text` is its dedented source, decorators included, with LF line ends and one newline at the end.
    `path` is relative to the library's root with forward slashes; `line` is 1-based.
    """

    path: str
    name: str
    line: int
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text in UTF-8, in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def module_of(path: str) -> str:
    """Return the dotted name of a module: `json.decoder` for `json/decoder.py`, `json` for `json/__init__.py`."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def library_root() -> Path:
    """Return the folder of this interpreter's standard library."""
    return Path(sysconfig.get_paths()["stdlib"])


def library_paths(root: Path) -> list[str]:
    """Return the paths of the library's modules relative to `root`, sorted."""
    paths: list[str] = []
    for place, folders, files in os.walk(root):
        folders[:] = filter(_is_library, folders)  # not even looked into: packages hold more files than the library
        folder = Path(place).relative_to(root)
        paths += [(folder / name).as_posix() for name in files if name.endswith(".py") and _is_library(name)]
    return sorted(paths)


def _is_library(name: str) -> bool:
    """Return True if a file or folder of this name is library code."""
    return name not in _LEFT_OUT and not name.startswith(("config-", "_sysconfigdata"))


def library_functions(root: Path, paths: list[str]) -> Iterator[LibraryFunction]:
    """Yield the functions of the modules at `paths` (relative to `root`); paths that do not exist are skipped."""
    for path in paths:
        if (root / path).is_file():
            with tokenize.open(root / path) as file:
                yield from functions_of(file.read(), path)


def functions_of(source: str, path: str, language: str = "python") -> Iterator[LibraryFunction]:
    """Yield functions and methods of a file; a nested function is part of the text of the outer function.

    A Python function of which the dedented text is not valid code is left out.
    """
    for definition in functions_in(source, language):
        if language != "python" or _is_valid(definition.text):
            yield LibraryFunction(path=path, name=definition.name, line=definition.first_line, text=definition.text)


def _is_valid(text: str) -> bool:
    """Return whether the dedented text is valid code: a string literal that reaches column 0 prevents it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError:
        return False
    return True
