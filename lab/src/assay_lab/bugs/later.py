"""Control from later commits of the same files: changes that a model cannot have seen, in the form of the benchmark.

A control from other projects differs in topic, style and length. Commits to the files of the benchmark after the
cutoff of the model are the nearest thing to bugs that it has not seen. Each commit is a pair of hunks like a bug: the
newer side stands for the fixed one, the older side for the buggy one. The context lines of a hunk may be older than the
commit. Commits are longer than fixes of bugs, and a longer text has a lower NLL, so each commit is chosen for a bug of
about its length.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain, compress, repeat
from operator import attrgetter
from pathlib import Path

import numpy as np

from assay.corpora import git_output
from assay.datasets import BUGGY_TO_FIXED, patch_side, patched_files
from assay.errors import DataError
from assay.evaluation import ShingleIndex
from assay.languages import language_of
from assay.reports import number_of
from assay.types import Float64Array, Sample
from assay_lab.bugs.checkouts import checkout_of
from assay_lab.bugs.pairs import SamplePair, files_of, fixed_sides
from assay_lab.columns import attributes, text_column

NEAR = 0.85
"""Share of 5-grams from which a later text repeats one of the benchmark, or an earlier one."""

FACTOR = 2.0
"""Most by which the lengths of a commit and of the bug that it is chosen for differ."""

_COMMIT = re.compile(r"^\x01([0-9a-f]{40,64}) (\d{4}-\d{2}-\d{2})\n", re.MULTILINE)


def later_commits(
    pairs: Sequence[SamplePair], root: Path, *, after: date, most: int, benchmark: str, seed: int = 0
) -> tuple[tuple[SamplePair, ...], tuple[str, ...]]:
    """Return commits to the files of the bugs since a day, and a note on their number; none where there is none.

    Args:
        pairs: bugs of a benchmark of patches.
        root: folder of checkouts, as `with_whole_files` takes it.
        after: first day of a commit.
        most: commits of each language.
        benchmark: its name, for messages.
        seed: of the draw among commits that fit.

    Raises:
        DataError: the folder is not there; one line.
    """
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; expected checkouts of the projects of {benchmark}")
    files: defaultdict[Path, set[str]] = defaultdict(set)
    groups: dict[Path, str | None] = {}
    for pair in pairs:
        repository, paths = checkout_of(pair, root), files_of(pair)
        if repository is not None and paths is not None:
            files[repository].update(paths)
            groups[repository] = pair.fixed.group
    changes: list[SamplePair] = []
    for repository, changed in sorted(files.items()):
        changes += commits_to_files(repository, sorted(changed), after, group=groups[repository])
    distinct = _distinct(changes, pairs)
    chosen = _of_like_length(distinct, pairs, most=most, seed=seed)
    if not chosen:
        where = f"{number_of(len(files), 'checkout')} with a history"
        return (), (f"{benchmark}: no commit since {after} changes a file of it in {where}",)
    note = (
        f"{benchmark}: the control has {len(chosen)} of {len(changes)} later commits to its files since {after}, each "
        f"about as long as a bug; {len(changes) - len(distinct)} repeat a text"
    )
    return chosen, (note,)


def commits_to_files(
    repository: Path, paths: Sequence[str], after: date, group: str | None = None
) -> Iterator[SamplePair]:
    """Yield the commits since a day that change a file, the newest first.

    Args:
        repository: a checkout.
        paths: of the files in it.
        after: first day of a commit.
        group: of the pairs.
    """
    log = git_output(
        repository, "log", "--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv", "--patch", "--unified=3",
        "--format=%x01%H %cs", f"--since={after.isoformat()}T00:00:00", "HEAD", "--", *paths,
    )  # fmt: skip
    # the split leaves commit, day and patch of each commit in turn
    parts = _COMMIT.split(log)[1:]
    for commit, day, patch in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        newer, older = patch_side(patch, "new"), patch_side(patch, "old")
        if date.fromisoformat(day) < after or not newer.strip() or not older.strip():
            continue
        changed = patched_files(patch)
        metadata = {
            "project": repository.name,
            "date": day,
            "commit": commit,
            "files": changed,
            "patch": patch,
            "direction": BUGGY_TO_FIXED,
        }
        fixed = Sample(
            id=f"{repository.name}@{commit[:12]}",
            text=newer,
            language=next(filter(None, map(language_of, changed)), None),
            group=group,
            metadata=metadata,
        )
        yield SamplePair(fixed, replace(fixed, text=older))


def _distinct(changes: Sequence[SamplePair], pairs: Sequence[SamplePair]) -> list[SamplePair]:
    """Return changes without near-duplicates of the benchmark and of each other."""
    index = ShingleIndex(attributes(changes, "fixed.text"))
    near = index.near_any(chain.from_iterable(map(attrgetter("fixed.text", "buggy.text"), pairs)), NEAR)
    return list(compress(changes, index.first_of_each_kind(NEAR) & ~near))


def _of_like_length(
    changes: Sequence[SamplePair], pairs: Sequence[SamplePair], *, most: int, seed: int
) -> tuple[SamplePair, ...]:
    """Return changes of each language, at most one for each bug and within `FACTOR` of its length, in their order."""
    random = np.random.default_rng(seed)
    rows: list[int] = []
    languages = np.array(attributes(changes, "fixed.language"), object)
    of_changes, of_pairs = log_lengths(fixed_sides(changes)), log_lengths(fixed_sides(pairs))
    for language in dict.fromkeys(languages.tolist()):
        own = random.permutation(np.flatnonzero(languages == language))
        alike = np.array(attributes(pairs, "fixed.language"), object) == language
        # bugs in random order: each takes the commit nearest to it in length that is left
        targets = random.permutation(of_pairs[alike] if alike.any() else of_pairs)[:most]
        lengths = of_changes[own]
        for target in targets:
            apart = np.abs(lengths - target)
            nearest = int(apart.argmin())
            if apart[nearest] <= np.log(FACTOR):
                rows.append(int(own[nearest]))
                # it was chosen
                lengths[nearest] = np.inf
    return tuple(map(changes.__getitem__, sorted(rows)))


def log_lengths(samples: Sequence[Sample]) -> Float64Array:
    """Return the logarithm of the characters of each text, float64 [n]; an empty one counts as one character."""
    return np.log(list(map(max, repeat(1), map(len, text_column(samples)))))
