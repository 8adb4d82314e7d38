"""The training texts of `builtin:fragments`: functions of installed packages that are not in the standard library.

A recipe may take functions in eight languages from the corpus of `builtin:control` instead.

The encoder is evaluated on the standard library, so a function with a near-duplicate there is not trained on.
"""

import gzip
import json
import platform
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress
from operator import attrgetter, itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.code import Unparsable, functions_in
from assay.errors import DataError
from assay.evaluation import SHINGLE, ShingleIndex
from assay.ground_truth import Manifest, ManifestEntry, functions_of, library_functions, library_paths, library_root
from assay.retrieval.encoding import WEIGHT_BITS, Features, hashed_features, parameter_indices
from assay_lab.builtin.control_corpus import SourceText
from assay_lab.builtin.file_entries import file_entry
from assay_lab.builtin.fragment_pairs import Snippet, as_snippet
from assay_lab.builtin.shipped_files import write_manifest
from assay_lab.columns import at_places, attributes, outside, text_column
from assay_lab.testbed.package_files import ROOTS, PackageFile, package_sources
from assay_lab.training.recipes import make_once

SNIPPETS = "snippets.jsonl.gz"
STARTS = "starts.npy"
HASHES = "hashes.npy"
SEEN = "seen.npy"
MANIFEST = "manifest.jsonl.gz"

CorpusFile = PackageFile | SourceText
"""A file of an installed package, or of the corpus of `builtin:control`."""

HEADERS = (
    "numpy/_core/include/numpy/",
    "pyarrow/include/arrow/",
    "pyarrow/include/parquet/",
    "torch/include/ATen/",
    "torch/include/c10/",
    "torch/include/torch/",
)
"""Folders of C and C++ whose code is the package's own, so that training also has a language with braces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderCorpusRecipe:
    """All choices that determine the corpus, given what is installed.

    Attributes:
        characters: shortest and longest snippet.
        fewest_tokens: of a snippet without comments and docstrings.
        near_duplicate: share of the smaller text's shingles that makes two texts near-duplicates.
        package_cap: most characters from one distribution.
        validation_files: package files whose snippets are held out.
        seed: of every order and choice.
        roots: distributions whose requirements make up the packages.
        headers: folders of C and C++ beside the Python files.
        language_cap: most characters of files in each language that are added from the corpus of `builtin:control`.
        left_out: packages that are not trained on, so that something can be measured on them.
    """

    characters: tuple[int, int] = (200, 6000)
    fewest_tokens: int = 30
    near_duplicate: float = 0.5
    package_cap: int = 4_000_000
    validation_files: int = 100
    seed: int = 20
    roots: tuple[str, ...] = ROOTS
    headers: tuple[str, ...] = HEADERS
    language_cap: int = 0
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class EncoderCorpus:
    """The corpus as training reads it.

    Attributes:
        snippets: the training snippets, then the held-out ones.
        trained: number of training snippets.
        starts: int64 [snippets + 1], place of the first feature of each.
        hashes: uint64 [n], features of whole snippets.
        seen: int64 [2^18], number of training snippets with a feature of this weight.
    """

    snippets: tuple[Snippet, ...]
    trained: int
    starts: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    seen: NDArray[np.int64]

    def features(self, chosen: Sequence[int]) -> Features:
        """Return the features of the chosen snippets, each as a whole."""
        at = np.asarray(chosen)
        parts = [self.hashes[start:stop] for start, stop in zip(self.starts[at], self.starts[at + 1], strict=True)]
        return Features(np.concatenate([[0], np.cumsum(list(map(len, parts)))]), np.concatenate(parts))


def prepare_encoder_corpus(folder: Path, recipe: EncoderCorpusRecipe, control: Path | None = None) -> None:
    """Build the corpus and write it to `folder`, unless it exists; this takes about two minutes.

    Args:
        folder: of the corpus.
        recipe: all choices.
        control: corpus of `builtin:control`, where the recipe takes files of it.

    Raises:
        DataError: `folder` holds a corpus of another recipe, too little is installed, or `control` is missing.
    """
    make_once(folder, asdict(recipe), lambda unfinished: _build(unfinished, recipe, control))


def read_encoder_corpus(folder: Path) -> EncoderCorpus:
    """Return the corpus that `prepare_encoder_corpus` wrote."""
    # the first line is the number of snippets that are held out
    with gzip.open(folder / SNIPPETS, "rt", encoding="utf-8") as file:
        held_out, *lines = map(json.loads, file)
    snippets = tuple(Snippet(**line) for line in lines)
    return EncoderCorpus(
        snippets=snippets,
        trained=len(snippets) - int(held_out),
        starts=np.load(folder / STARTS),
        hashes=np.load(folder / HASHES),
        seen=np.load(folder / SEEN),
    )


def all_features(texts: Sequence[str], *, at_once: int = 256) -> Features:
    """Return the features of texts, `at_once` texts at a time to bound memory."""
    parts = [hashed_features(texts[start : start + at_once]) for start in range(0, len(texts), at_once)]
    sizes = np.concatenate(list(map(np.diff, attributes(parts, "starts"))))
    return Features(np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(attributes(parts, "hashes")))


def blocks_of(text: str) -> Iterator[str]:
    """Yield the top-level blocks of a language with braces; a line that begins with a closing brace ends a block."""
    block: list[str] = []
    for line in text.split("\n"):
        block.append(line)
        if line.startswith("}"):
            yield "\n".join(block).strip("\n") + "\n"
            block = []


def _sources(recipe: EncoderCorpusRecipe, control: Path | None) -> tuple[Sequence[CorpusFile], Sequence[str]]:
    """Return the files in random order, and the packages left out for their licence."""
    sources = package_sources(recipe.roots, seed=recipe.seed, cap=recipe.package_cap, also=recipe.headers)
    files: list[CorpusFile] = outside(sources.files, "package", recipe.left_out)
    if recipe.language_cap:
        if control is None:
            raise DataError(f"language_cap {recipe.language_cap}: expected a corpus of `build-control-corpus` with it")
        from assay_lab.builtin.control_prepared import read_control_files

        files += read_control_files(control, language_cap=recipe.language_cap, left_out=recipe.left_out)
        random.Random(recipe.seed).shuffle(files)  # noqa: S311  no secret
    return files, sorted(sources.left_out)


def _build(folder: Path, recipe: EncoderCorpusRecipe, control: Path | None) -> None:
    sources, left_out = _sources(recipe, control)
    # held-out files come last, so that the first `trained` snippets are those to train on
    files = (*sources[recipe.validation_files :], *sources[: recipe.validation_files])
    candidates: dict[str, int] = {}
    # of equal functions the first file counts, and held-out files are the last ones: nothing held out is trained on
    for at, file in reversed(list(enumerate(files))):
        candidates |= dict.fromkeys(_pieces(file, recipe), at)
    pieces = sorted(candidates.items(), key=lambda pair: pair[1])
    kept = _distinct(list(map(itemgetter(0), pieces)), recipe)
    snippets, owners = [], []
    for text, at in compress(pieces, kept):
        if snippet := as_snippet(text, _language(files[at]), recipe.fewest_tokens):
            snippets.append(snippet)
            owners.append(at)
    held_out = sum(at >= len(files) - recipe.validation_files for at in owners)
    if not 0 < held_out < len(snippets):
        raise DataError(
            f"the installed packages give {len(snippets)} functions, {held_out} of them held out: expected some of each"
        )
    whole = all_features(text_column(snippets))
    trained = len(snippets) - held_out
    features_trained = parameter_indices(whole, 1).weights[: whole.starts[trained]]
    np.save(folder / SEEN, np.bincount(features_trained, minlength=1 << WEIGHT_BITS))
    np.save(folder / STARTS, whole.starts)
    np.save(folder / HASHES, whole.hashes)
    with gzip.open(folder / SNIPPETS, "wt", encoding="utf-8", compresslevel=5) as lines:
        lines.write(f"{held_out}\n")
        lines.writelines(json.dumps(asdict(snippet)) + "\n" for snippet in snippets)
    header = {
        "kind": "header",
        "schema": 1,
        "an entry": "a package file; characters and functions are those that were kept; dose 0: held out",
        "python": platform.python_version(),
        "recipe": asdict(recipe),
        "shingle": SHINGLE,
        "packages": len(set(attributes(at_places(files, owners[:trained]), "package"))),
        "packages_left_out_for_their_licence": left_out,
        "functions_found": len(pieces),
        "functions_trained": trained,
        "functions_held_out": held_out,
        "functions_per_language": dict(Counter(attributes(snippets[:trained], "language"))),
    }
    entries = _entries(files, owners=owners, snippets=snippets, trained=trained)
    write_manifest(folder / MANIFEST, Manifest(header=header, entries=tuple(entries)))


def _pieces(file: CorpusFile, recipe: EncoderCorpusRecipe) -> list[str]:
    least, most = recipe.characters
    try:
        pieces = list(_all_pieces(file))
    except (Unparsable, SyntaxError, ValueError, RecursionError, MemoryError):
        # of another version, or nested too deeply
        return []
    return [text for text in pieces if least <= len(text) <= most]


def _all_pieces(file: CorpusFile) -> Iterator[str]:
    language = _language(file)
    if language == "python":
        yield from map(attrgetter("text"), functions_of(file.text, file.path))
    elif isinstance(file, SourceText):
        yield from map(attrgetter("text"), functions_in(file.text, language))
    else:
        yield from blocks_of(file.text)


def _language(file: CorpusFile) -> str:
    if isinstance(file, SourceText):
        return file.language
    return "python" if file.path.endswith(".py") else "cpp"


def _distinct(texts: Sequence[str], recipe: EncoderCorpusRecipe) -> NDArray[np.bool_]:
    """Return bool [texts]: true without a near-duplicate before it or in the standard library."""
    index = ShingleIndex(texts)
    root = library_root()
    library = text_column(library_functions(root, library_paths(root)))
    return index.first_of_each_kind(recipe.near_duplicate) & ~index.near_any(library, recipe.near_duplicate)


def _entries(
    files: Sequence[CorpusFile], *, owners: Sequence[int], snippets: Sequence[Snippet], trained: int
) -> Iterator[ManifestEntry]:
    characters: Counter[int] = Counter()
    functions: Counter[int] = Counter()
    for at, snippet in zip(owners, snippets, strict=True):
        characters[at] += len(snippet.text)
        functions[at] += 1
    held_out = set(owners[trained:])
    for at in sorted(functions):
        file = files[at]
        entry = file_entry(file, functions[at], dose=int(at not in held_out), characters=characters[at])
        if isinstance(file, SourceText):
            entry = replace(entry, language=file.language, registry=file.registry)
        yield entry
