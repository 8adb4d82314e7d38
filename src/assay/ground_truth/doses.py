"""Standard-library functions whose dose is known: how often `builtin:small` saw each of them in training.

The texts come from the user's own interpreter and are matched with the shipped manifest by digest. Another Python
version matches in part; functions that do not match are not used.
"""

import hashlib
import os
import sysconfig
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from assay.code import functions_in
from assay.datasets import Dataset
from assay.errors import DataError
from assay.ground_truth.manifest import ManifestEntry, read_manifest
from assay.python_parser import python_tree
from assay.types import MEMBER, NONMEMBER, Sample

NEVER_SEEN = 6
"""Never-seen functions of the demonstration per function of each dose, as in the corpus: all doses share them."""
# tests, bundled wheels, platform configuration and demos are not library code
_LEFT_OUT = frozenset(
    """__phello__ __pycache__ _bundled dist-packages idle_test lib-dynload pydoc_data site-packages test tests
    turtledemo""".split()  # noqa: SIM905  a word list
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
    for place, folders, names in os.walk(root):
        folders[:] = filter(_is_library, folders)  # not even looked into: packages hold more files than the library
        folder = Path(place).relative_to(root)
        paths += [(folder / name).as_posix() for name in names if name.endswith(".py") and _is_library(name)]
    return sorted(paths)


def _is_library(name: str) -> bool:
    """Return True if a file or folder of this name is library code."""
    return name not in _LEFT_OUT and not name.startswith(("config-", "_sysconfigdata"))


def library_functions(root: Path, paths: list[str]) -> Iterator[LibraryFunction]:
    """Yield the functions of the modules at `paths` (relative to `root`); paths that do not exist are skipped."""
    for path in paths:
        if (root / path).is_file():
            # by the encoding that a file declares (PEP 263), with LF line ends, as the digests were made
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
        python_tree(text)
    except SyntaxError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class KnownDoses:
    """Functions of known dose in this interpreter's standard library.

    Attributes:
        samples: a sample per function, in the manifest's order; label "member" where the dose is above 0,
            group = module, metadata `dose`.
        listed: number of functions in the manifest.
        trained_on: Python version whose standard library was trained on.
    """

    samples: tuple[Sample, ...]
    listed: int
    trained_on: str

    @property
    def matched(self) -> int:
        """Number of listed functions that this interpreter has unchanged."""
        return len(self.samples)


def known_dose_functions(manifest: Path | None = None, root: Path | None = None) -> KnownDoses:
    """Return the functions of known dose that a standard library contains.

    The functions of this interpreter are read once: that takes seconds, and every run of a testbed needs them.

    Args:
        manifest: a training manifest; None means the one shipped with `builtin:small`.
        root: a standard library; None means the running interpreter's.

    Raises:
        DataError: the manifest cannot be read, or the library contains none of its functions.
    """
    if manifest is None and root is None:
        return _shipped_doses()
    return _doses(manifest or shipped_manifest(), root or library_root())


@cache
def _shipped_doses() -> KnownDoses:
    return _doses(shipped_manifest(), library_root())


def _doses(manifest: Path, library: Path) -> KnownDoses:
    listed = read_manifest(manifest)
    entries = {entry.sha256: entry for entry in listed.functions()}
    texts: dict[str, str] = {}
    likely = sorted({entry.path for entry in entries.values()})
    _find(library, likely, entries=entries, texts=texts)
    # the modules of the manifest first: reading the whole library takes seconds
    if len(texts) < len(entries):  # functions that another version keeps in another module
        _find(library, sorted(set(library_paths(library)) - set(likely)), entries=entries, texts=texts)
    trained_on = str(listed.header["python"])
    if not texts:
        raise DataError(
            f"{library}: none of the {len(entries)} functions of known dose is there; expected the standard library "
            f"of a Python near {trained_on}, as .py files"
        )
    return KnownDoses(samples=tuple(_samples(entries, texts)), listed=len(entries), trained_on=trained_on)


def shipped_manifest() -> Path:
    """Return the path of the manifest of `builtin:small`."""
    return Path(str(files("assay").joinpath("models/builtin/small/manifest.jsonl.gz")))


def _find(root: Path, paths: list[str], entries: dict[str, ManifestEntry], texts: dict[str, str]) -> None:
    for function in library_functions(root, paths):
        if function.digest in entries:
            texts.setdefault(function.digest, function.text)


def _samples(entries: dict[str, ManifestEntry], texts: dict[str, str]) -> list[Sample]:
    names: set[str] = set()
    samples = []
    for digest, entry in entries.items():
        if digest not in texts:
            continue
        module = module_of(entry.path)
        name = f"{module}:{entry.name}"
        if name in names:  # a property's getter and setter share their name
            name = f"{name}:{entry.line}"
        names.add(name)
        samples.append(
            Sample(
                id=name,
                text=texts[digest],
                language="python",
                label=MEMBER if entry.dose else NONMEMBER,
                group=module,
                metadata={"dose": entry.dose},
            )
        )
    return samples


def demo_functions(per_dose: int | None = None) -> Dataset:
    """Return standard-library functions with known doses, from the running interpreter.

    Args:
        per_dose: at most so many functions of each dose, and `NEVER_SEEN` times as many that were never seen;
            None for all.
    """
    library = known_dose_functions()
    counts: dict[object, int] = {}
    samples = []
    for sample in library.samples:
        dose = sample.metadata["dose"]
        counts[dose] = counts.get(dose, 0) + 1
        if per_dose is None or counts[dose] <= per_dose * (1 if dose else NEVER_SEEN):
            samples.append(sample)
    note = (
        f"{library.matched} of {library.listed} standard-library functions of known dose are in this Python "
        f"unchanged (the model was trained on Python {library.trained_on})."
    )
    return Dataset.of("standard-library functions", samples, source="this interpreter's standard library", notes=[note])
