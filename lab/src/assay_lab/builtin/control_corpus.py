"""The corpus of `builtin:control`: files of whole packages in eight languages, from three registries.

Steps:
1. Files of the listed packages that people wrote under a permissive licence, each package up to a cap, in hash order.
2. Exact duplicates leave, then training files that are near-duplicates of a benchmark text or a held-out file.
3. Each language up to its share of characters.
4. The tokenizer, trained on equal parts of the languages.
"""

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, product, starmap
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from assay.datasets import DataSelection, benchmark, read_dataset
from assay.errors import AssayError, DataError
from assay.evaluation import SHINGLE, ShingleIndex
from assay.ground_truth import Manifest, ManifestEntry
from assay_lab.builtin.file_entries import file_entry, token_lengths
from assay_lab.builtin.package_archives import REGISTRIES, download, source_files
from assay_lab.columns import attributes, text_column
from assay_lab.mappings import map_values
from assay_lab.testbed.licences import is_permissive
from assay_lab.testbed.package_files import file_order, is_written_by_hand

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PACKAGES = Path(__file__).with_name("control_packages.toml")
SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "python": (".py",),
    "java": (".java",),
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".cxx", ".hpp", ".hh", ".h"),
    "javascript": (".js", ".mjs", ".cjs"),
    "typescript": (".ts", ".tsx", ".mts"),
    "go": (".go",),
    "rust": (".rs",),
}
# written out in a text, they would become the tokens
_SPECIAL = ("<bos>", "<eos>", "<pad>")
_HEADER = re.compile(r"\A(?:\s*(?:/\*.*?\*/|//[^\n]*|#(?:[ !*-][^\n]*)?(?=\n)))+", re.DOTALL)
# times the characters of a language that are searched for near-duplicates: some files leave
_SPARE = 1.5
# TypeScript that a compiler wrote
_DECLARATIONS = (".d.ts", ".d.mts")
# Copies of other projects, and code that a compiler or a bundler wrote: not the package's own text.
_FOREIGN = re.compile(
    r"^_?(vendor\w*|extern\w*|third[-_]?party|3rdparty|bundled|deps|node_modules|contrib|dist|build|umd|cjs|esm|"
    r"bundles?|_esm|_cjs|_types|lib\.(commonjs|esm)|min|src-min.*|src-noconflict)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRecipe:
    """All choices that determine the corpus, given the downloaded packages and the benchmarks.

    Attributes:
        package_cap: most characters from one package, unless the list of packages says more.
        language_cap: most characters of training text in one language.
        held_out_cap: most characters of held-out text in one language.
        near_duplicate: share of the smaller text's shingles that makes two texts near-duplicates.
        tokenizer_characters: text of each language that the tokenizer is trained on.
        vocabulary_size: of the tokenizer.
        context: tokens that the model sees at most.
        seed: of every order.
    """

    package_cap: int = 2_500_000
    language_cap: int = 12_000_000
    held_out_cap: int = 400_000
    near_duplicate: float = 0.5
    tokenizer_characters: int = 2_000_000
    vocabulary_size: int = 6144
    context: int = 2048
    seed: int = 20


@dataclass(frozen=True, slots=True)
class SourceText:
    """One file of a package, as text."""

    language: str
    registry: str
    package: str
    version: str
    path: str
    licence: str
    text: str = field(repr=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the text in UTF-8, in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ControlCorpus:
    """Texts, tokenizer and record of the control model.

    Attributes:
        files: training texts, all languages mixed, in training order.
        held_out: texts of held-out packages.
        tokenizer: trained on `files`.
        manifest: of `files`; its header names the held-out packages and the benchmarks.
    """

    files: tuple[SourceText, ...]
    held_out: tuple[SourceText, ...]
    tokenizer: "PreTrainedTokenizerFast" = field(repr=False)
    manifest: Manifest = field(repr=False)


@dataclass(frozen=True, slots=True)
class PackageList:
    """One section of the list of packages."""

    language: str
    registry: str
    train: tuple[str, ...]
    held_out: tuple[str, ...]
    cap: int | None
    versions: Mapping[str, str]


def read_packages(path: Path = PACKAGES) -> list[PackageList]:
    """Return the sections of a list of packages.

    Raises:
        DataError: the file is missing or not such a list.
    """
    try:
        sections: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        lists = list(starmap(_package_list, sections.items()))
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise DataError(f"{path}: expected a list of packages (TOML), got {error!r}") from error
    for each in lists:
        if each.language not in SUFFIXES or each.registry not in REGISTRIES:
            raise DataError(
                f"{path}: received language {each.language!r} and registry {each.registry!r}, expected one of "
                f"{', '.join(SUFFIXES)} and one of {', '.join(REGISTRIES)}"
            )
    return lists


def _package_list(name: str, section: Mapping[str, Any]) -> PackageList:
    return PackageList(
        language=section.get("language", name),
        registry=section["registry"],
        train=tuple(section["train"]),
        held_out=tuple(section["held_out"]),
        cap=section.get("cap"),
        versions=section.get("versions", {}),
    )


def build_control_corpus(
    recipe: ControlRecipe, lists: Sequence[PackageList], *, downloads: Path, benchmarks: Mapping[str, Path]
) -> ControlCorpus:
    """Download what is missing, and build the corpus.

    Args:
        recipe: all choices.
        lists: the packages.
        downloads: folder of the downloaded packages.
        benchmarks: name → path of the benchmarks from which training files stay away.

    Raises:
        DataError: a package or a benchmark cannot be read, or a language has no text.
    """
    from assay_lab.builtin.base_tokenizer import train_tokenizer

    candidates, held_out = _package_texts(recipe, lists, downloads)
    protected = {name: benchmark_texts(name, path) for name, path in sorted(benchmarks.items())}
    avoid = list(chain.from_iterable(protected.values()))
    # held-out files measure the loss: a copy among the training texts would lower it
    avoid += list(map(without_header, text_column(held_out)))
    # looking for near-duplicates is the slow part, so it is done for little more than is kept
    candidates = within_cap(candidates, int(_SPARE * recipe.language_cap))
    files, near = without_near_duplicates(candidates, avoid, recipe.near_duplicate)
    files = within_cap(files, recipe.language_cap)
    absent = sorted(set(SUFFIXES) - set(attributes(files, "language")))
    if absent:
        raise DataError(f"no training text in {', '.join(absent)}; expected packages of each language")
    tokenizer = train_tokenizer(
        map(attrgetter("text"), within_cap(files, recipe.tokenizer_characters)),
        vocabulary_size=recipe.vocabulary_size,
        context=recipe.context,
    )
    header: dict[str, object] = {
        "kind": "header",
        "schema": 1,
        "model": "builtin:control",
        "recipe": asdict(recipe),
        "shingle": SHINGLE,
        "held_out_packages": sorted({f"{file.registry}:{file.package}" for file in held_out}),
        "held_out_sha256": attributes(held_out, "digest"),
        "benchmarks": map_values(len, protected),
        "files_near_a_benchmark_or_held_out_file": near,
        "files_per_language": dict(Counter(attributes(files, "language"))),
    }
    manifest = Manifest(header, manifest_entries(files, tokenizer))
    return ControlCorpus(files=tuple(files), held_out=tuple(held_out), tokenizer=tokenizer, manifest=manifest)


def benchmark_texts(name: str, path: Path) -> list[str]:
    """Return the texts of a benchmark in every language and subset that the data there hold.

    Raises:
        DataError: the data hold none.
    """
    info = benchmark(name)
    texts: dict[str, None] = {}
    problem: AssayError | None = None
    languages = info.languages if len(info.languages) > 1 else (None,)
    for subset, language in product(info.subsets or (None,), languages):
        try:
            selection = DataSelection(data=path, subset=subset, language=language)
            texts.update(dict.fromkeys(text_column(read_dataset(name, selection).samples)))
        except AssayError as error:
            problem = error
    if not texts:
        raise problem or DataError(f"{path} holds no text of {name}")
    return list(texts)


def without_near_duplicates(
    files: Sequence[SourceText], avoid: Sequence[str], threshold: float
) -> tuple[list[SourceText], int]:
    """Return the files that share less than `threshold` of the smaller text's shingles with each text to avoid.

    Returns:
        The files, and the number of those that left.
    """
    index = ShingleIndex(avoid)
    kept = [file for file in files if not index.near_any([without_header(file.text)], threshold).any()]
    return kept, len(files) - len(kept)


def without_header(text: str) -> str:
    """Return a file without the comments at its top: a licence text is not a sign of copied code."""
    return _HEADER.sub("", text)


def within_cap(files: Iterable[SourceText], characters: int) -> list[SourceText]:
    """Return the first files of each language that together have at most this number of characters."""
    sizes: Counter[str] = Counter()
    kept = []
    for file in files:
        if sizes[file.language] + len(file.text) <= characters:
            sizes[file.language] += len(file.text)
            kept.append(file)
    return kept


def _package_texts(
    recipe: ControlRecipe, lists: Sequence[PackageList], downloads: Path
) -> tuple[list[SourceText], list[SourceText]]:
    """Return training candidates and held-out texts, each exact text once, in hash order."""
    draw = partial(file_order, recipe.seed)
    train: dict[str, SourceText] = {}
    held_out: dict[str, SourceText] = {}
    for section in lists:
        for package in (*section.held_out, *section.train):
            chosen = held_out if package in section.held_out else train
            size, cap = 0, section.cap or recipe.package_cap
            for file in sorted(_handwritten(section, package, downloads), key=draw):
                if size + len(file.text) <= cap and file.digest not in held_out and file.digest not in train:
                    size += len(file.text)
                    chosen[file.digest] = file
    kept_out = within_cap(sorted(held_out.values(), key=draw), recipe.held_out_cap)
    return sorted(train.values(), key=draw), kept_out


def _handwritten(section: PackageList, package: str, downloads: Path) -> Iterator[SourceText]:
    archive = download(section.registry, package, downloads, version=section.versions.get(package))
    for file in source_files(archive, SUFFIXES[section.language]):
        if file.licence is None or not is_permissive(file.licence) or _is_foreign(file.path):
            continue
        try:
            text = file.content.decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:  # test data in another encoding
            continue
        if is_written_by_hand(file.path, text) and not any(token in text for token in _SPECIAL):
            yield SourceText(
                language=section.language,
                registry=section.registry,
                package=package,
                version=archive.version,
                path=str(file.path),
                licence=file.licence,
                text=text,
            )


def _is_foreign(path: PurePosixPath) -> bool:
    return path.name.endswith(_DECLARATIONS) or ".min." in path.name or any(map(_FOREIGN.match, path.parts[:-1]))


def manifest_entries(files: Sequence[SourceText], tokenizer: "PreTrainedTokenizerFast") -> tuple[ManifestEntry, ...]:
    """Return an entry of the manifest for each file, in their order."""
    entries = []
    for start in range(0, len(files), 200):
        block = files[start : start + 200]
        lengths = token_lengths(tokenizer, text_column(block))
        for file, entry in zip(block, map(file_entry, block, lengths), strict=True):
            entries.append(replace(entry, language=file.language, registry=file.registry))
    return tuple(entries)
