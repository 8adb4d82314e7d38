"""The corpus of `builtin:small`: package files once each, standard-library functions at known doses.

Steps:
1. Package sources in hash order.
2. The tokenizer, trained on them.
3. Standard-library functions of suitable length without near-duplicates among themselves or in package files.
4. A dose for each function, by hash.
5. As many package files as the token budget allows.
"""

import hashlib
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import compress
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError
from assay.evaluation import SHINGLE, ShingleIndex
from assay.ground_truth import (
    LIBRARY_FUNCTION,
    LibraryFunction,
    Manifest,
    ManifestEntry,
    library_functions,
    library_paths,
    library_root,
)
from assay_lab.builtin.file_entries import file_entry, token_lengths
from assay_lab.columns import attributes, keyed, of_length, text_column
from assay_lab.testbed.package_files import ROOTS, PackageFile, package_sources

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

DOSES = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusRecipe:
    """All choices that determine the corpus, given what is installed.

    Attributes:
        tokens: training tokens, document boundaries included; the last package file may exceed it.
        never_seen: functions with dose 0.
        per_dose: functions with each dose of `doses`.
        function_characters: shortest and longest function text.
        function_tokens: fewest and most tokens of a function.
        near_duplicate: share of the smaller text's shingles that makes two texts near-duplicates.
        package_cap: most characters from one distribution.
        validation_files: package files held out for the validation loss.
        tokenizer_characters: text that the tokenizer is trained on, package files only.
        vocabulary_size: of the tokenizer.
        context: tokens that the model sees at once.
        seed: of every order and choice.
        roots: distributions whose requirements make up the packages.
    """

    tokens: int = 8_000_000
    never_seen: int = 700
    per_dose: int = 120
    doses: tuple[int, ...] = DOSES
    function_characters: tuple[int, int] = (200, 1500)
    function_tokens: tuple[int, int] = (60, 400)
    near_duplicate: float = 0.5
    package_cap: int = 4_000_000
    validation_files: int = 60
    tokenizer_characters: int = 12_000_000
    vocabulary_size: int = 4096
    context: int = 512
    seed: int = 20
    roots: tuple[str, ...] = ROOTS


@dataclass(frozen=True, slots=True)
class BaseCorpus:
    """The training texts of the model, its tokenizer and the record of both.

    Attributes:
        functions: (function, dose) pairs, dose 0 included.
        files: package files of the training stream, each once, in their order there.
        validation: package files held out.
        tokenizer: trained on `files` and other package files, on no function and no file of `validation`.
        manifest: the record of all of it.
    """

    functions: tuple[tuple[LibraryFunction, int], ...]
    files: tuple[PackageFile, ...]
    validation: tuple[PackageFile, ...]
    tokenizer: "PreTrainedTokenizerFast" = field(repr=False)
    manifest: Manifest = field(repr=False)


def build_corpus(recipe: CorpusRecipe) -> BaseCorpus:
    """Build the corpus from this interpreter and the installed distributions.

    Raises:
        DataError: too little is installed for the recipe.
    """
    from assay_lab.builtin.base_tokenizer import train_tokenizer

    sources = package_sources(recipe.roots, seed=recipe.seed, cap=recipe.package_cap)
    validation = sources.files[: recipe.validation_files]
    training = sources.files[recipe.validation_files :]
    tokenizer = train_tokenizer(
        map(attrgetter("text"), _first_characters(training, recipe.tokenizer_characters)),
        vocabulary_size=recipe.vocabulary_size,
        context=recipe.context,
    )
    root = library_root()
    functions = list(library_functions(root, library_paths(root)))
    distinct = _suitable(functions, tokenizer, recipe)
    dosed = assign_doses(unique_functions(distinct, text_column(sources.files), recipe), recipe)
    lengths = token_lengths(tokenizer, text_column(map(itemgetter(0), dosed)))
    doses = list(map(itemgetter(1), dosed))
    # <bos> and <eos> stand around every reading
    spent = sum(dose * (length + 2) for dose, length in zip(doses, lengths, strict=True))
    files, file_lengths = _within_budget(training, tokenizer, recipe.tokens - spent)
    entries = list(map(file_entry, files, file_lengths))
    for (function, dose), length in zip(dosed, lengths, strict=True):
        entries.append(_function_entry(function, dose, length))
    header = {
        "kind": "header",
        "schema": 1,
        "python": platform.python_version(),
        "recipe": asdict(recipe),
        "shingle": SHINGLE,
        "packages": len(set(attributes(files, "package"))),
        "packages_left_out_for_their_licence": sorted(sources.left_out),
        "package_files": len(files),
        "package_tokens": sum(file_lengths),
        "validation_sha256": attributes(validation, "digest"),
        "functions_found": len(functions),
        "functions_of_suitable_length": len(distinct),
        "functions_per_dose": {str(dose): count for dose, count in sorted(Counter(doses).items())},
        "function_tokens_trained": spent,
        "tokens_trained": spent + sum(file_lengths) + 2 * len(file_lengths),
    }
    return BaseCorpus(
        functions=tuple(dosed),
        files=tuple(files),
        validation=validation,
        tokenizer=tokenizer,
        manifest=Manifest(header=header, entries=tuple(entries)),
    )


def unique_functions(
    functions: Sequence[LibraryFunction], packages: Sequence[str], recipe: CorpusRecipe
) -> list[LibraryFunction]:
    """Return the functions without near-duplicates among themselves or in the texts of `packages`."""
    ordered = sorted(functions, key=lambda function: _draw(recipe.seed, function))
    # a function that a package copies would have a dose that nobody knows
    contained = ShingleIndex(text_column(ordered)).largest_containment(packages)
    absent = list(compress(ordered, contained < recipe.near_duplicate))
    kept = ShingleIndex(text_column(absent)).first_of_each_kind(recipe.near_duplicate)
    return list(compress(absent, kept))


def assign_doses(functions: Sequence[LibraryFunction], recipe: CorpusRecipe) -> list[tuple[LibraryFunction, int]]:
    """Assign doses in the order of the functions' hashes, so that dose and content of a function are independent.

    Raises:
        DataError: there are fewer functions than the recipe needs.
    """
    doses: list[int] = []
    for dose in recipe.doses:
        doses += [dose] * recipe.per_dose
    doses += [0] * recipe.never_seen
    if len(functions) < len(doses):
        raise DataError(
            f"this standard library gives {len(functions)} functions that are no near-duplicates; expected at least "
            f"{len(doses)}"
        )
    ordered = sorted(functions, key=lambda function: _draw(recipe.seed, function))
    return list(zip(ordered, doses, strict=False))


def _suitable(
    functions: Sequence[LibraryFunction], tokenizer: "PreTrainedTokenizerFast", recipe: CorpusRecipe
) -> list[LibraryFunction]:
    """Return a function for each distinct text whose length in characters and tokens suits the recipe."""
    least, most = recipe.function_characters
    # of equal texts the first counts: `keyed` keeps the last, hence the reversal
    sized = of_length(reversed(functions), least, most)
    distinct = list(keyed(sized, "digest").values())
    fewest, longest = recipe.function_tokens
    lengths = np.array(token_lengths(tokenizer, text_column(distinct)))
    return list(compress(distinct, (fewest <= lengths) & (lengths <= longest)))


def _within_budget(
    files: Sequence[PackageFile], tokenizer: "PreTrainedTokenizerFast", budget: int
) -> tuple[list[PackageFile], list[int]]:
    """Return the first files that together reach `budget` tokens, and their lengths in tokens.

    Raises:
        DataError: all files together have fewer tokens.
    """
    chosen: list[PackageFile] = []
    lengths: list[int] = []
    total = 0
    for start in range(0, len(files), 200):
        if total >= budget:
            break
        block = files[start : start + 200]
        for file, length in zip(block, token_lengths(tokenizer, text_column(block)), strict=True):
            if total < budget:
                chosen.append(file)
                lengths.append(length)
                total += length + 2
    if total < budget:
        raise DataError(
            f"the installed packages give {total} tokens; expected at least {budget}: lower the number of tokens or "
            f"raise the cap"
        )
    return chosen, lengths


def _first_characters(files: Sequence[PackageFile], characters: int) -> list[PackageFile]:
    total = 0
    chosen = []
    for file in files:
        if total >= characters:
            break
        chosen.append(file)
        total += len(file.text)
    return chosen


def _draw(seed: int, function: LibraryFunction) -> str:
    return hashlib.sha256(f"{seed}:{function.digest}".encode()).hexdigest()


def _function_entry(function: LibraryFunction, dose: int, tokens: int) -> ManifestEntry:
    return ManifestEntry(
        kind=LIBRARY_FUNCTION,
        package="python",
        version=platform.python_version(),
        path=function.path,
        name=function.name,
        line=function.line,
        sha256=function.digest,
        licence="PSF-2.0",
        dose=dose,
        characters=len(function.text),
        tokens=tokens,
    )
