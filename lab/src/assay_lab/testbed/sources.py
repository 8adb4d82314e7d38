"""Texts that can be planted (clean functions of this machine, a benchmark, a file), and general text to mix in."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from itertools import chain, compress, islice, repeat
from pathlib import Path, PurePosixPath

from assay.corpora import dated_files, project_named
from assay.datasets import DataSelection, Dataset, read_dataset
from assay.errors import DataError
from assay.evaluation import ShingleIndex
from assay.ground_truth import (
    PACKAGE_FILE,
    Manifest,
    functions_of,
    known_dose_functions,
    read_manifest,
    shipped_manifest,
    trained_texts,
)
from assay.languages import languages_with
from assay.models import default_control
from assay.types import NONMEMBER, Sample
from assay_lab.columns import at_places, attributes, group_column, having, keyed, text_column
from assay_lab.testbed.configuration import FRESH, NEVER_SEEN, TRAINING_FILES, GeneralTextSettings, PlantSettings
from assay_lab.testbed.package_files import PackageFile, canonical_name, handwritten_files, is_written_by_hand

FUNCTIONS_PER_FILE, FUNCTIONS_PER_PACKAGE = 4, 40
"""Most functions taken, so that no package dominates and none takes minutes to read."""
ANY_DAY = date.min
"""Day of packages whose age does not matter."""


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


def calibrating(data: PlantSettings) -> Dataset | None:
    """Return the texts of the parts that are not judged, where they come from elsewhere; errors as `plantable`."""
    if data.calibration_source is None:
        return None
    return plantable(PlantSettings(source=data.calibration_source, part=data.part))


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
    # copies of training files stand in other packages too
    share = ShingleIndex(text_column(functions)).largest_containment(trained)
    clean = list(compress(functions, share < near_duplicate))
    note = (
        f"{len(library)} functions of the standard library and {len(clean)} of installed packages outside the training "
        f"data; {len(functions) - len(clean)} more are near-duplicates of it."
    )
    return Dataset.of(
        "fresh functions", [*library, *clean], source="the standard library and packages here", notes=[note]
    )


def folder_functions(folder: Path, near_duplicate: float) -> Dataset:
    """Return functions of packages in a folder that no built-in model was trained on.

    Each archive (wheel, source distribution, npm archive) or folder in it is a package. The functions are of one
    language: that of most packages, where the language of a package is that of most of its files. Left out are packages
    that the training manifest of `builtin:small` names, near-duplicates of its training files as far as those are
    installed unchanged, texts that the sketch of `builtin:control` finds in its training files, and near-duplicates of
    one another.

    Args:
        folder: with packages, not installed.
        near_duplicate: share of common shingles from which a text is a near-duplicate.

    Raises:
        DataError: there is no such folder, a package cannot be read, or no function is left.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: expected a folder of wheels, source distributions, npm archives or source folders")
    manifest = read_manifest(shipped_manifest())
    packages = {canonical_name(project_named(str(path))): path for path in sorted(folder.iterdir())}
    for package in packages.keys() & _trained_packages(manifest):
        del packages[package]
    languages: Counter[str] = Counter()
    by_language: defaultdict[str, list[Sample]] = defaultdict(list)
    for package, path in packages.items():
        files: defaultdict[str, list[PackageFile]] = defaultdict(list)
        for file in _files(path):
            files[file.language].append(file)
        if files:
            languages[max(files, key=lambda language: len(files[language]))] += 1
        for language, own in files.items():
            by_language[language] += _functions_in(own, package).values()
    functions: list[Sample] = []
    # most packages decide, not most files: one large package must not choose the language
    for language, _ in languages.most_common(1):
        functions = by_language[language]
    texts = text_column(functions)
    index = ShingleIndex(texts)
    seen = text_column(known_dose_functions().samples)
    copied = index.largest_containment(chain(seen, training_texts(manifest))) >= near_duplicate
    control = trained_texts(default_control())
    if control is not None:
        copied |= control.contain(texts)
    kept = index.first_of_each_kind(near_duplicate) & ~copied
    clean = list(compress(functions, kept))
    if not clean:
        raise DataError(f"{folder}: no function of a package that the built-in models were not trained on")
    groups = set(group_column(clean))
    note = (
        f"{len(clean)} functions ({clean[0].language}) of {len(groups)} packages; "
        f"{len(functions) - len(clean)} left out."
    )
    return Dataset.of("functions of packages", clean, source=str(folder), notes=[note])


def general_texts(mix: GeneralTextSettings, seed: int) -> Iterator[str]:
    """Yield general text to mix members with, in an order given by the seed.

    Raises:
        DataError: it cannot be found or read.
    """
    if mix.corpus == TRAINING_FILES:
        yield from training_texts(read_manifest(shipped_manifest()), seed)
        return
    selection = DataSelection(data=mix.path, text=mix.text, limit=mix.limit)
    texts = text_column(read_dataset(mix.corpus, selection).samples)
    yield from sorted(texts, key=lambda text: _draw(seed, text))


def training_texts(manifest: Manifest, seed: int = 0) -> Iterator[str]:
    """Yield the package files of a training manifest that are installed unchanged, in an order given by the seed."""
    entries = having(manifest.entries, kind=PACKAGE_FILE)
    for entry in sorted(entries, key=lambda entry: _draw(seed, entry.sha256)):
        with suppress(PackageNotFoundError, OSError, UnicodeDecodeError):
            text = Path(str(distribution(entry.package).locate_file(entry.path))).read_text("utf-8")
            # another version of the package may be installed: its file is not what the model saw
            if hashlib.sha256(text.encode()).hexdigest() == entry.sha256:
                yield text


def _package_functions(manifest: Manifest) -> Iterator[Sample]:
    """Yield functions of packages that the manifest does not name, a bounded number per package, with unique ids."""
    trained = _trained_packages(manifest)
    for installed in _installed():
        package = canonical_name(installed.metadata["Name"])
        if package not in trained:
            # an id begins with the package, and each package is there once
            yield from _functions_in(handwritten_files(installed, "", seed=0), package).values()


def _trained_packages(manifest: Manifest) -> set[str]:
    """Return the packages of a training manifest, and assay."""
    return set(map(canonical_name, attributes(manifest.entries, "package"))) | {"assay"}


def _functions_in(files: Iterable[PackageFile], package: str) -> dict[str, Sample]:
    """Return functions of a package by id, a few of each file, in the order of the files."""
    chosen = islice(chain.from_iterable(map(_functions_of_file, files, repeat(package))), FUNCTIONS_PER_PACKAGE)
    return keyed(chosen, "id")


def _functions_of_file(file: PackageFile, package: str) -> Iterator[Sample]:
    """Yield a few functions of a file, in a random order."""
    try:
        functions = list(functions_of(file.text, file.path, file.language))
    except (SyntaxError, ValueError):  # a template, another version's syntax, or a null byte
        return
    for function in sorted(functions, key=lambda function: _draw(0, function.text))[:FUNCTIONS_PER_FILE]:
        name = f"{package}:{file.path}:{function.name}:{function.line}"
        yield Sample(name, function.text, file.language, group=package, metadata={"version": file.version})


def _files(package: Path) -> list[PackageFile]:
    """Return the source files of an archive or folder that people wrote, in a random order."""
    readable = languages_with("functions")
    sources = attributes(dated_files([str(package)], ANY_DAY), "source")
    files = []
    for file in sorted(sources, key=lambda file: _draw(0, file.path)):
        if file.language in readable and is_written_by_hand(PurePosixPath(file.path), file.text):
            about = {"package": package.name, "version": "", "licence": ""}
            files.append(PackageFile(**about, path=file.path, text=file.text, language=file.language))
    return files


def _installed() -> list[Distribution]:
    """Return the installed distributions, sorted by name, each once."""
    named = {}
    for package in distributions():
        if name := package.metadata["Name"]:
            named[canonical_name(name)] = package
    return at_places(named, sorted(named))


def _by_package(sample: Sample) -> Sample:
    return replace(sample, group=str(sample.group).partition(".")[0], label=None, metadata={})


def _draw(seed: int, text: str) -> str:
    return hashlib.sha256(f"{seed}:{text}".encode("utf-8", "surrogatepass")).hexdigest()
