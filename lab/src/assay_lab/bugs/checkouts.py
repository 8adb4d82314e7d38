"""Whole files of bugs, from checkouts of the projects at the right commit.

A benchmark of patches holds hunks. With a checkout of the project both sides of a bug are whole files: the side that
the benchmark names a commit for is read from git, and the other side is made by turning the hunks around.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from assay.corpora import git_output, is_repository
from assay.datasets import BUGGY_TO_FIXED, Hunk, hunks
from assay.errors import DataError
from assay.types import Sample
from assay_lab.bugs.content import CHANGED
from assay_lab.bugs.pairs import SamplePair, files_of
from assay_lab.bugs.repositories import repository_of

FIXED_COMMITS = ("revision_id_fixed", "fixed_commit_id", "commit_hash", "hash")
"""Metadata that may name the commit with the fixed files."""
BUGGY_COMMITS = ("revision_id_buggy", "buggy_commit_id", "previous_commit_hash", "base_commit")
"""Metadata that may name the commit with the buggy files."""


def with_whole_files(
    pairs: Sequence[SamplePair], root: Path, *, benchmark: str
) -> tuple[tuple[SamplePair, ...], tuple[str, ...]]:
    """Return the bugs with whole files in place of hunks, and notes on those that are left out.

    Args:
        pairs: bugs of a benchmark of patches.
        root: folder with one checkout for each project (`owner__name`, `owner/name`, `name`, or the name of the project
            in the benchmark), or a single checkout.
        benchmark: its name, for messages.

    Raises:
        DataError: the folder is not there, or no bug has its files in it; one line.
    """
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; expected checkouts of the projects of {benchmark}")
    whole: list[SamplePair] = []
    reasons: Counter[str] = Counter()
    for pair in pairs:
        result = _whole(pair, root)
        if isinstance(result, str):
            reasons[result] += 1
        else:
            whole.append(result)
    if not whole:
        reason = reasons.most_common(1)[0][0] if reasons else "there is no bug"
        raise DataError(f"{root}: no bug of {benchmark} has its files here: {reason}")
    notes = [f"{benchmark}: texts are whole files of {len(whole)} of {len(pairs)} bugs"]
    notes += [f"{benchmark}: {count} left out: {reason}" for reason, count in reasons.most_common()]
    return tuple(whole), tuple(notes)


def _whole(pair: SamplePair, root: Path) -> SamplePair | str:
    """Return a bug with whole files, or the reason why it has none."""
    metadata = pair.fixed.metadata
    patch = metadata.get("patch")
    if not isinstance(patch, str) or not patch.strip() or not files_of(pair):
        return "the benchmark has no patch of it"
    repository = checkout_of(pair, root)
    if repository is None:
        return "there is no checkout of its project with a history"
    commit, is_fixed = _commit(metadata)
    if commit is None:
        return "the benchmark names no commit of it"
    # a patch may lead from the fix to the bug, and the commit may be that of either side
    forwards = metadata.get("direction") == BUGGY_TO_FIXED
    by_file: defaultdict[str, list[Hunk]] = defaultdict(list)
    for hunk in hunks(patch):
        by_file[hunk.path].append(hunk)
    at_commit: list[str] = []
    turned_texts: list[str] = []
    for path, changes in by_file.items():
        try:
            text = git_output(repository, "show", f"{commit}:{path}")
        except DataError:
            return "its commit, or a file of it, is not in the checkout"
        other = turned(text, changes, to_new=forwards != is_fixed)
        if other is None:
            return "the patch does not fit the file at the commit"
        at_commit.append(text)
        turned_texts.append(other)
    fixed, buggy = (at_commit, turned_texts) if is_fixed else (turned_texts, at_commit)
    return SamplePair(_whole_side(pair.fixed, "\n".join(fixed)), _whole_side(pair.buggy, "\n".join(buggy)))


def _whole_side(side: Sample, text: str) -> Sample:
    return replace(side, text=text, metadata={**side.metadata, CHANGED: side.text})


def turned(text: str, changes: Sequence[Hunk], *, to_new: bool) -> str | None:
    """Return a file with its hunks replaced by their other side; None where a hunk does not occur in it.

    Args:
        text: of the file.
        changes: its hunks, in their order.
        to_new: True from the old side of the patch to the new one, False the other way.
    """
    parts: list[str] = []
    rest = text if text.endswith("\n") else f"{text}\n"
    for hunk in changes:
        before, after = hunk.side("old"), hunk.side("new")
        if not to_new:
            before, after = after, before
        at = rest.find(before)
        if at < 0:
            return None
        parts += [rest[:at], after]
        # hunks come in the order of the file: one is looked for behind the last one
        rest = rest[at + len(before) :]
    return "".join([*parts, rest])


def checkout_of(pair: SamplePair, root: Path) -> Path | None:
    """Return the checkout of a bug's project; None where there is none."""
    repository = repository_of(pair.fixed) or ""
    owner, _, name = repository.rpartition("/")
    project = str(pair.fixed.metadata.get("project") or "")
    names = {f"{owner}__{name}", f"{owner}/{name}", name, project, project.casefold()} - {"", "/", "__"}
    candidates = set(map(str.casefold, names))
    for folder in (*sorted(root.iterdir()), *sorted(root.glob("*/*"))):
        relative = folder.relative_to(root).as_posix().casefold()
        if relative in candidates and folder.is_dir() and is_repository(folder):
            return folder
    # a single checkout may be named itself
    if is_repository(root):
        return root
    return None


def _commit(metadata: Mapping[str, object]) -> tuple[str | None, bool]:
    """Return the commit that the benchmark names, and whether its files are the fixed ones."""
    for columns, is_fixed in ((FIXED_COMMITS, True), (BUGGY_COMMITS, False)):
        for column in columns:
            commit = metadata.get(column)
            # a name that begins with a hyphen would be an option of git
            if isinstance(commit, str) and commit.strip().isalnum():
                return commit.strip(), is_fixed
    return None, True
