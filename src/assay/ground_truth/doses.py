"""Standard-library functions whose dose is known: how often `builtin:small` saw each of them in training.

The texts come from the user's own interpreter and are matched with the shipped manifest by digest. Another Python
version matches in part; functions that do not match are not used.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from assay.errors import DataError
from assay.ground_truth.library_functions import library_functions, library_paths, library_root, module_of
from assay.ground_truth.manifest import ManifestEntry, read_manifest
from assay.types import MEMBER, NONMEMBER, Sample


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
    _find(library, likely, entries, texts)
    if len(texts) < len(entries):  # functions that another version keeps in another module
        _find(library, sorted(set(library_paths(library)) - set(likely)), entries, texts)
    trained_on = str(listed.header["python"])
    if not texts:
        raise DataError(
            f"{library}: none of the {len(entries)} functions of known dose is there; expected the standard library "
            f"of a Python near {trained_on}, as .py files"
        )
    return KnownDoses(samples=tuple(_samples(entries, texts)), listed=len(entries), trained_on=trained_on)


def shipped_manifest() -> Path:
    """Return the path of the manifest of `builtin:small`."""
    return Path(str(files("assay").joinpath("models", "builtin", "small", "manifest.jsonl.gz")))


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
