"""Functions to search among, and those of them that are searched for."""

import hashlib
import random
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.code import functions_in
from assay.corpora import Document, Origin, by_function, source_texts
from assay.evaluation import ShingleIndex, shingles
from assay.ground_truth import library_root
from assay_lab.clones import TokenizedText
from assay_lab.columns import at_places, attributes, text_column, without
from assay_lab.mappings import map_values

SHORTEST = 7
"""Tokens: the shortest window."""
PACKAGES = "packages"
NEAR = 0.8
"""Share of the larger one's five-token shingles from which two functions are near-duplicates."""


@dataclass(frozen=True, slots=True)
class Target:
    """A function that queries are cut from.

    Attributes:
        at: its position in the corpus.
        cut: its text, by tokens.
        group: the package or module that it stands in.
    """

    at: int
    cut: TokenizedText
    group: str


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """Functions in an order of which each search space is a beginning.

    Attributes:
        documents: all of them; a space of n are the first n.
        targets: among those of the smallest space.
        right: target → positions of the right answers: itself and its near-duplicates.
    """

    documents: tuple[Document, ...]
    targets: tuple[Target, ...]
    right: Mapping[int, frozenset[int]]


def installed_functions() -> Iterator[Document]:
    """Yield the distinct functions of the standard library and of all installed packages, by path."""
    roots = {"": library_root(), PACKAGES: Path(sysconfig.get_paths()["purelib"])}
    seen: set[bytes] = set()
    for prefix, root in roots.items():
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root).parts
            # packages are read below, under their own place
            if not prefix and {"site-packages", "test", "tests", "lib2to3"} & set(inside):
                continue
            try:
                text = path.read_text("utf-8")
                definitions = functions_in(text, "python")
            except (OSError, ValueError):  # unreadable, or not of this Python
                continue
            place = "/".join([prefix, *inside]) if prefix else "/".join(inside)
            for definition in definitions:
                digest = hashlib.sha256(definition.text.encode("utf-8", "surrogatepass")).digest()
                if digest not in seen:
                    seen.add(digest)
                    origin = Origin("installed", place, first_line=definition.first_line)
                    yield Document(
                        text=definition.text,
                        language="python",
                        kind="function",
                        name=definition.name,
                        origins=(origin,),
                    )


def corpus_functions(place: Path) -> Iterator[Document]:
    """Yield the distinct functions of a corpus, and its files without functions.

    Raises:
        DataError: the corpus does not exist or cannot be read.
    """
    seen: set[str] = set()
    for text in by_function(source_texts([str(place)])):
        if text.text not in seen:
            seen.add(text.text)
            origin = Origin("corpus", text.path, first_line=text.first_line)
            yield Document(text=text.text, language=text.language, kind="function", name=text.name, origins=(origin,))


def is_any(_document: Document) -> bool:
    """Return True: every function of a corpus of the user may be searched for."""
    return True


def package_of(document: Document) -> str:
    """Return the package, or the module of the standard library, of a document."""
    parts = document.origins[0].path.split("/")
    return parts[1] if parts[0] == PACKAGES else parts[0].removesuffix(".py")


def is_unseen(document: Document) -> bool:
    """Return whether the built-in encoder has certainly never seen it.

    The encoder was trained on packages, and never on what resembles a function of the standard library.
    """
    return not document.origins[0].path.startswith(f"{PACKAGES}/")


def search_space(
    documents: Sequence[Document],
    *,
    smallest: int,
    targets: int,
    long: int,
    seed: int,
    is_target: Callable[[Document], bool] = is_unseen,
) -> SearchSpace:
    """Return a random order in which the smallest space has enough long functions for the longest windows.

    Args:
        documents: distinct functions.
        smallest: size of the smallest space.
        targets: functions of it that are searched for, at most half of them long ones.
        long: tokens from which a function is a long one.
        seed: of the order.
        is_target: whether a function may be searched for; those of the standard library alone by default.
    """
    # long functions come first: every space then has enough of them, and each space is a beginning of the next
    order = list(range(len(documents)))
    random.Random(seed).shuffle(order)  # noqa: S311  a draw that can be repeated, no secret
    cuts: dict[int, TokenizedText] = {}
    longest = min(targets // 2, smallest // 2)
    for at in order:
        # a token is at least one character
        if not is_target(documents[at]) or len(documents[at].text) < long:
            continue
        cut = TokenizedText.of(documents[at].text, documents[at].language)
        if len(cut) >= long:
            cuts[at] = cut
        if len(cuts) == longest:
            break
    arranged = [*cuts, *without(order, cuts)]
    ordered = tuple(map(documents.__getitem__, arranged))
    searched: list[Target] = []
    for at, document in enumerate(ordered[:smallest]):
        if len(searched) == targets:
            break
        if not is_target(document):
            continue
        cut = cuts.get(arranged[at]) or TokenizedText.of(document.text, document.language)
        if len(cut) >= SHORTEST:
            searched.append(Target(at, cut, package_of(document)))
    return SearchSpace(ordered, tuple(searched), _right(ordered, attributes(searched, "at")))


def _right(documents: Sequence[Document], targets: Sequence[int]) -> dict[int, frozenset[int]]:
    """Return the positions of each target's near-duplicates, itself among them."""
    index = ShingleIndex(text_column(at_places(documents, targets)))
    right = {at: {at} for at in targets}
    crc: dict[str, int] = {}
    for other, document in enumerate(documents):
        own = shingles(document.text, crc)
        shared = index.shared(own)
        # shared / larger >= NEAR without a division by an empty set
        near = shared >= NEAR * np.maximum(np.maximum(index.sizes, len(own)), 1)
        for target in np.flatnonzero(near).tolist():
            right[targets[target]].add(other)
    return map_values(frozenset, right)
