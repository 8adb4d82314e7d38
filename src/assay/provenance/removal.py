"""Taking corpora, or files of them, out of an index."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import DataError
from assay.provenance.filters import patterns
from assay.provenance.searchable import WritableIndex
from assay.provenance.sources.open import source_name


@dataclass(frozen=True, slots=True)
class Removed:
    """What was removed: files that documents had been found in, and documents found nowhere else."""

    files: int
    documents: int


def remove(index: WritableIndex, corpora: Sequence[str], path_patterns: tuple[str, ...] = ()) -> Removed:
    """Remove corpora, or those of their files whose paths match a pattern as in .gitignore.

    Args:
        index: open for writing; the caller commits.
        corpora: paths as they were added, or names that the index knows; a folder stands for every source in it; empty:
            all of them.
        path_patterns: empty: everything.

    Raises:
        DataError: the index knows no such corpus, or has no such file.
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
    known = index.info().sources
    for name in (corpus, source_name(corpus)):
        if found := [one for one in known if one == name or one.startswith(f"{name}/")]:
            return found
    raise DataError(f"{corpus}: not in the index; expected one of {', '.join(known[:5]) or 'none: it is empty'}")
