"""The texts that a change writes, each with the lines that are judged: those that are added or that became code.

Lines become code without being added: a file gets another name, a link gives a text one, quotes or comment marks around
lines go away. So a text that gains a language is judged whole, and of every other text the lines of code after the
change are compared with those before it.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from assay.corpora.change import FOLDER_MODE, REGULAR, SUBMODULE, SourceChange, WrittenPath
from assay.corpora.filters import language_of_file
from assay.corpora.git import Blob, git_output, is_repository
from assay.corpora.lines import code_lines, lines_of
from assay.corpora.reading import FilesRead, Unread, read_content
from assay.corpora.texts import LARGEST_TEXT, SourceText
from assay.errors import DataError
from assay.languages import language_of

LARGEST_CHANGED = 10_000_000
"""Bytes of a changed file: only the lines that are judged count towards `LARGEST_TEXT`."""
MOST_LINKS = 10
"""Links that lead from one to the next."""
MOST_SUBMODULES = 3
"""Submodules inside one another that are read."""
_LONE_RETURN = re.compile(r"\r(?!\n)")
_EMPTY_TREES = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""Digits of a digest → git's name of a folder without a file."""


@dataclass(slots=True)
class ChangeRead:
    """The files that a change writes, by class.

    Attributes:
        files: texts, each with the numbers of the lines that are judged.
        unread: files that could hold code and were not read.
        others: changed paths that are no source code by their name, links and submodules among them.
        no_code: number of files that cannot hold code, by reason.
    """

    files: list[tuple[SourceText, frozenset[int]]] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    others: list[WrittenPath] = field(default_factory=list)
    no_code: Counter[str] = field(default_factory=Counter)


def read_change(change: SourceChange, depth: int = 0) -> ChangeRead:
    """Read what a change writes.

    Args:
        change: of a branch or of the index.
        depth: submodules around its repository.

    Raises:
        DataError: git cannot read the change.
    """
    result = ChangeRead()
    for written in change.written:
        if written.is_removed:
            continue
        is_text = written.mode.startswith(REGULAR)
        if written.before != written.after and not (is_text and language_of(written.path)):
            result.others.append(written)
        if written.mode == SUBMODULE:
            _read_submodule(change, written, result, depth=depth)
        elif is_text:
            _read_text(change, written, result)
        else:
            _read_link(change, written, result)
    return result


def _read_text(change: SourceChange, written: WrittenPath, result: ChangeRead) -> None:
    """Read a regular file, or the members of an archive."""
    is_same = written.before == written.after
    # moved, with the same suffix: the same lines are code as before
    if is_same and PurePosixPath(written.earlier).suffix == PurePosixPath(written.path).suffix:
        return
    before = FilesRead()
    if written.before.strip("0"):
        before = _content(change, written.before, written.earlier)
    after = _content(change, written.after, written.path)
    # members of an archive correspond by their paths inside of it
    earlier = {text.path.removeprefix(written.earlier): text for text in before.texts}
    for text in after.texts:
        earlier_text = earlier.get(text.path.removeprefix(written.path))
        if is_same and earlier_text is not None and earlier_text.language == text.language:
            continue
        lines = _judged_lines(change, written, text, before=earlier_text)
        if _size(text, lines) > LARGEST_TEXT:
            result.unread.append(Unread(text.path, f"more than {LARGEST_TEXT:,} changed characters", written.after))
        elif lines:
            result.files.append((text, lines))
    # what could not be read before either is not of this change
    unchanged = {(file.path.removeprefix(written.earlier), file.content) for file in before.unread}
    for file in after.unread:
        if (file.path.removeprefix(written.path), file.content) not in unchanged:
            result.unread.append(replace(file, content=written.after))
    result.no_code += after.no_code


def _size(text: SourceText, lines: AbstractSet[int]) -> int:
    """Return the characters of some lines."""
    return sum(len(line) for number, line in enumerate(_all_lines(text), 1) if number in lines)


def _content(change: SourceChange, digest: str, path: str) -> FilesRead:
    try:
        raw = Blob(change.repository, digest).read(LARGEST_CHANGED + 1)
    except OSError:
        return FilesRead(unread=[Unread(path, "missing from the repository", digest)])
    return read_content(path, raw, largest=LARGEST_CHANGED)


def _judged_lines(
    change: SourceChange, written: WrittenPath, text: SourceText, *, before: SourceText | None
) -> frozenset[int]:
    every = _all_lines(text)
    whole = frozenset(range(1, len(every) + 1))
    # a name that is not UTF-8 reads like another one with the escapes of its bytes: all of it is judged
    if before is None or before.language != text.language or "\\" in written.path:
        return whole
    # a carriage return alone ends a line of a source, and none of git: the numbers would not be the same
    is_plain = text.path == written.path and text.is_aligned and before.is_aligned
    if is_plain and _LONE_RETURN.search(text.text):
        return whole
    if is_plain:
        added = change.added.get(written.path, frozenset())
    else:
        added = frozenset(_new_lines(every, _all_lines(before)))
    return added | frozenset(_became_code(text, before, added))


def _all_lines(text: SourceText) -> list[str]:
    lines = lines_of(text.text)
    if text.behind:
        lines += lines_of(text.behind)
    # a line end at the end of a text begins no further line
    if not lines[-1]:
        lines.pop()
    return lines


def _new_lines(after: Sequence[str], before: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of lines that a text did not have before, wherever they stood."""
    left = Counter(map(str.strip, before))
    for number, line in enumerate(map(str.strip, after), 1):
        left[line] -= 1
        if line and left[line] < 0:
            yield number


def _became_code(after: SourceText, before: SourceText, added: frozenset[int]) -> Iterator[int]:
    """Yield the numbers of lines that were in a comment or a string before, and are code now."""
    # by their content: an unchanged line of code was one before, as often as it occurs now
    left = Counter(characters for characters, _ in code_lines(before.text, before.language).values())
    for number, (characters, _) in code_lines(after.text, after.language).items():
        if number not in added:
            left[characters] -= 1
            if left[characters] < 0:
                yield number


def _read_link(change: SourceChange, written: WrittenPath, result: ChangeRead) -> None:
    """Read a text through a link that gives it the name of a language; its target is judged under its own name."""
    place, digest = written.path, written.after
    for _ in range(MOST_LINKS):
        target = Blob(change.repository, digest).read(LARGEST_TEXT).decode("utf-8", "surrogateescape")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
        mode, digest = change.entry(place)
        # no further link: this is the target
        if mode != written.mode:
            break
    if mode.startswith(REGULAR):
        read = _content(change, digest, written.path)
        for text in read.texts:
            if text.language == language_of_file(place, text.text[:200]):
                result.no_code["link to a judged file"] += 1
            else:
                result.files.append((text, frozenset(range(1, len(_all_lines(text)) + 1))))
    elif mode == FOLDER_MODE:
        result.no_code["link to a judged file"] += 1
    else:
        result.unread.append(Unread(written.path, "a link that leads outside, or to nothing", written.after))


def _read_submodule(change: SourceChange, written: WrittenPath, result: ChangeRead, *, depth: int) -> None:
    """Read what a submodule changes, where its files are there."""
    root = change.repository / written.path
    absent = Unread(written.path, "a submodule whose files are not there", written.after)
    if depth >= MOST_SUBMODULES or root.is_symlink() or not is_repository(root):
        result.unread.append(absent)
        return
    empty = _EMPTY_TREES[len(written.after)]
    try:
        fork = written.before if written.before.strip("0") else empty
        if fork != empty and git_output(root, "cat-file", "-t", fork).strip() != "commit":
            fork = empty  # a file was there before
        # raises where the clone of the submodule lacks the commit
        git_output(root, "cat-file", "-e", f"{written.after}^{{commit}}")
        inner = read_change(SourceChange(root, base=fork, fork=fork, head=written.after), depth + 1)
    except DataError:
        result.unread.append(absent)
        return
    prefix = f"{written.path}/"
    result.files += [(text.below(prefix), lines) for text, lines in inner.files]
    result.unread += [file.below(prefix) for file in inner.unread]
    result.no_code += inner.no_code
