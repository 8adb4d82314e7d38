"""Texts that can be planted (clean functions of this machine, a benchmark, a file), and general text to mix in."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from itertools import chain, islice
from pathlib import Path

from assay.datasets import DataSelection, Dataset, read_dataset
from assay.evaluation import ShingleIndex
from assay.testbed.configuration import FRESH, NEVER_SEEN, TRAINING_FILES, GeneralTextSettings, PlantSettings
from assay.testbed.doses import known_dose_functions, shipped_manifest
from assay.testbed.library_functions import functions_of
from assay.testbed.manifest import PACKAGE_FILE, Manifest, read_manifest
from assay.testbed.package_files import canonical_name, handwritten_files
from assay.types import NONMEMBER, Sample

FUNCTIONS_PER_FILE, FUNCTIONS_PER_PACKAGE = 4, 40
"""Most functions taken, so that no package dominates and none takes minutes to read."""


def plantable(data: PlantSettings) -> Dataset:
    """Return the texts that the configuration names, in the order of their source.

    Raises:
        DataError: they cannot be found or read.
    """
    if data.source == NEVER_SEEN:
        return never_seen_functions()
    if data.source == FRESH:
        return fresh_functions(data.near_duplicate)
    selection = DataSelection(
        data=data.path,
        text=data.text,
        group=data.group,
        language=data.language,
        split=data.split,
        part=data.part,
        subset=data.subset,
        limit=data.limit,
    )
    return read_dataset(data.source, selection)


def never_seen_functions() -> Dataset:
    """Return the standard-library functions that `builtin:small` never saw; the group is the package."""
    doses = known_dose_functions()
    samples = [_by_package(sample) for sample in doses.samples if sample.label == NONMEMBER]
    return Dataset.of("never-seen functions", samples, source="this interpreter's standard library")


def fresh_functions(near_duplicate: float) -> Dataset:
    """Return never-seen functions of the standard library and of packages outside the training data.

    Packages carry copies of one another, so near-duplicates of training files are left out, as far as those files are
    still installed unchanged.
    """
    manifest = read_manifest(shipped_manifest())
    doses = known_dose_functions()
    library = [_by_package(sample) for sample in doses.samples if sample.label == NONMEMBER]
    functions = list(_package_functions(manifest))
    seen = [sample.text for sample in doses.samples if sample.label != NONMEMBER]
    trained = chain(seen, training_texts(manifest))
    share = ShingleIndex([sample.text for sample in functions]).largest_containment(trained)
    clean = [sample for sample, most in zip(functions, share, strict=True) if most < near_duplicate]
    note = (
        f"{len(library)} functions of the standard library and {len(clean)} of installed packages outside the training "
        f"data; {len(functions) - len(clean)} more are near-duplicates of it."
    )
    return Dataset.of(
        "fresh functions", [*library, *clean], source="the standard library and packages here", notes=[note]
    )


def general_texts(mix: GeneralTextSettings, seed: int) -> Iterator[str]:
    """Yield general text to mix members with, in an order given by the seed.

    Raises:
        DataError: it cannot be found or read.
    """
    if mix.corpus == TRAINING_FILES:
        yield from training_texts(read_manifest(shipped_manifest()), seed)
        return
    selection = DataSelection(data=mix.path, text=mix.text, limit=mix.limit)
    texts = [sample.text for sample in read_dataset(mix.corpus, selection).samples]
    yield from sorted(texts, key=lambda text: _draw(seed, text))


def training_texts(manifest: Manifest, seed: int = 0) -> Iterator[str]:
    """Yield the package files of a training manifest that are installed unchanged, in an order given by the seed."""
    entries = (entry for entry in manifest.entries if entry.kind == PACKAGE_FILE)
    for entry in sorted(entries, key=lambda entry: _draw(seed, entry.sha256)):
        with suppress(PackageNotFoundError, OSError, UnicodeDecodeError):
            text = Path(str(distribution(entry.package).locate_file(entry.path))).read_text("utf-8")
            if hashlib.sha256(text.encode()).hexdigest() == entry.sha256:
                yield text


def _package_functions(manifest: Manifest) -> Iterator[Sample]:
    """Yield functions of packages that the manifest does not name, a bounded number per package, with unique ids."""
    trained = {canonical_name(entry.package) for entry in manifest.entries} | {"assay"}
    ids: set[str] = set()
    for installed in _installed():
        package = canonical_name(installed.metadata["Name"])
        if package in trained:
            continue
        distinct = {sample.id: sample for sample in islice(_functions_in(installed, package), FUNCTIONS_PER_PACKAGE)}
        yield from (sample for name, sample in distinct.items() if name not in ids)
        ids |= distinct.keys()


def _functions_in(installed: Distribution, package: str) -> Iterator[Sample]:
    """Yield functions of a package, a few of each file, file by file in a random order."""
    for file in handwritten_files(installed, "", seed=0):
        try:
            functions = list(functions_of(file.text, file.path))
        except (SyntaxError, ValueError):  # a template, another Python's syntax, or a null byte
            continue
        for function in sorted(functions, key=lambda function: _draw(0, function.text))[:FUNCTIONS_PER_FILE]:
            name = f"{package}:{file.path}:{function.name}:{function.line}"
            yield Sample(name, function.text, "python", group=package, metadata={"version": file.version})


def _installed() -> list[Distribution]:
    """Return the installed distributions, sorted by name, each once."""
    named = {
        canonical_name(package.metadata["Name"]): package for package in distributions() if package.metadata["Name"]
    }
    return [named[name] for name in sorted(named)]


def _by_package(sample: Sample) -> Sample:
    return replace(sample, group=str(sample.group).partition(".")[0], label=None, metadata={})


def _draw(seed: int, text: str) -> str:
    return hashlib.sha256(f"{seed}:{text}".encode("utf-8", "surrogatepass")).hexdigest()
