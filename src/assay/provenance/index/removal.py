"""Removal of corpora, or of some of their files, from an index."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import DataError
from assay.provenance.index.searchable import WritableIndex
from assay.provenance.sources import source_name
from assay.provenance.sources.filters import patterns


@dataclass(frozen=True, slots=True)
class Removed:
    """Counts of a removal: files that had documents, and documents without any other origin."""

    files: int
    documents: int


def remove(index: WritableIndex, corpora: Sequence[str], path_patterns: tuple[str, ...] = ()) -> Removed:
    """Remove corpora, or those of their files whose paths match a pattern as in .gitignore.

    Args:
        index: open for writing; the caller commits.
        corpora: paths as they were added, or names of sources; a folder includes every source in it; empty: all.
        path_patterns: of the files; empty: all.

    Raises:
        DataError: the index has no such corpus, or no such file.
    """
    sources = list(dict.fromkeys(name for corpus in corpora for name in _named(index, corpus)))
    files = documents = 0
    for source in sources or index.info().sources:
        paths = index.paths(source)
        if path_patterns:
            paths = [path for path in paths if patterns(path_patterns).match_file(path)]
            documents += sum(index.remove(source=source, path=path) for path in paths)
        else:
            documents += index.remove(source=source)
        files += len(paths)
    if path_patterns and not files:
        raise DataError(f"--path {' '.join(path_patterns)}: no file of the index matches")
    return Removed(files, documents)


def _named(index: WritableIndex, corpus: str) -> list[str]:
    sources = index.info().sources
    for name in (corpus, source_name(corpus)):
        if matches := [source for source in sources if source == name or source.startswith(f"{name}/")]:
            return matches
    raise DataError(
        f"{corpus}: not in the index; expected one of {', '.join(sources[:5]) or 'none, because it is empty'}"
    )
