"""Who submitted what: folders, archives and files by student, as course systems name them."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from unicodedata import normalize

from assay.code import languages_of_text
from assay.corpora import (
    FilesRead,
    SourceText,
    Unread,
    blocks_and_whole,
    files_read,
    is_archive,
    is_prose_or_data,
    read_named_file,
)
from assay.errors import DataError
from assay.languages import checked_language

_LAYOUTS = (
    re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_.+"),  # Moodle
    re.compile(r"(?P<name>[^\W\d_]+(?:-[^\W\d_]+)*)(?:_LATE)?_(?P<id>\d+)_\d+_.+"),  # Canvas
    re.compile(r".+_(?P<name>[^_]+)_(?P<id>attempt)_\d{4}(?:-\d\d){5}.*"),  # Blackboard: login names, each once
    re.compile(r"(?P<id>\d+)-\d+ - (?P<name>.+?) - .+"),  # Brightspace
)
_GRADESCOPE = "submission_metadata.yml"
_SUBMITTER = re.compile(r"^(?P<folder>submission_\d+):|^ *- +:name: *(?P<name>.*\S)", re.MULTILINE)
_OF_A_SYSTEM = re.compile(r"(?:^|/)(?:__MACOSX/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)", re.IGNORECASE)
_ARCHIVE = re.compile(r"\.(?:zip|tar|tgz|tar\.\w+|7z)$", re.IGNORECASE)


@dataclass(slots=True)
class Submission:
    """The work of one student.

    Attributes:
        student: name as the layout has it.
        files: with code.
        unread: files that could hold code and were not read.
        no_code: number of other files, by reason.
        is_earlier: True if it belongs to an earlier course.
    """

    student: str
    files: list[SourceText] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    no_code: Counter[str] = field(default_factory=Counter)
    is_earlier: bool = False

    @property
    def label(self) -> str:
        """The student, and that the work is of an earlier course."""
        return self.student + " (earlier)" * self.is_earlier


def read_submissions(
    paths: Sequence[Path], language: str | None = None, *, is_earlier: bool = False
) -> list[Submission]:
    """Read the submissions of a course, by the names of the students.

    A folder or an archive holds a folder, an archive or a file for each student; files that are named are one each.
    What macOS and Windows put beside the files is left out.

    Args:
        paths: to read.
        language: only files in it.
        is_earlier: they belong to an earlier course.

    Raises:
        DataError: a file cannot be read, two of them have one name, or there is no such language.
    """
    wanted_language = language and checked_language(language)
    read: dict[str, FilesRead] = {}
    submitters: dict[str, str] = {}
    for path in paths:
        if path.is_dir() or (path.is_file() and is_archive(path)):
            # two folders may hold files of one name: both belong to its student
            for name, content in _files_below(path, submitters).items():
                read.setdefault(name, FilesRead()).add(content)
        elif path.name in read:
            raise DataError(
                f"{path}: a further file named {path.name}, which does not say whose it is; expected files named after "
                "students, or the folder that holds a folder for each student"
            )
        else:
            read[path.name] = read_named_file(path, wanted_language)
    submissions: dict[str, Submission] = {}
    students = _students(read, submitters)
    for name, content in read.items():
        student = students[name]
        submission = submissions.setdefault(student, Submission(student, is_earlier=is_earlier))
        for file in content.texts:
            if wanted_language is None or file.language == wanted_language:
                submission.files.append(file)
            else:
                submission.no_code["other language"] += 1
        submission.unread += content.unread
        submission.no_code += content.no_code + content.left_out
    return sorted(submissions.values(), key=lambda submission: submission.student)


def read_template(paths: Iterable[Path]) -> list[SourceText]:
    """Read code that was handed out: files, folders and archives.

    Raises:
        DataError: one of them cannot be read, or holds no code.
    """
    files: list[SourceText] = []
    for path in paths:
        read = FilesRead()
        if path.is_dir() or (path.is_file() and is_archive(path)):
            for _, content in files_read(path):
                read.add(_programs(content))
        else:
            read = read_named_file(path)
        if not read.texts:
            reasons = "; ".join([*map(str, read.unread), *read.remarks]) or "no file"
            raise DataError(f"{path}: received {reasons}; expected code that was handed out")
        files += read.texts
    return files


def texts_in(file: SourceText) -> list[SourceText]:
    """Return the code of a file: the whole where its language is known, else the blocks inside it, else the whole."""
    if file.language is not None:
        return [file]
    return [block for block in blocks_and_whole(file)[:-1] if block.language] or [file]


def _files_below(path: Path, submitters: dict[str, str]) -> Mapping[str, FilesRead]:
    """Return the files of a folder or an archive by name; the students that it lists join `submitters`."""
    inside: dict[str, FilesRead] = {}
    for name, content in files_read(path):
        if PurePosixPath(name).name == _GRADESCOPE:
            submitters |= _submitters(content.texts)
        elif not _OF_A_SYSTEM.search(name):
            inside.setdefault(name, FilesRead()).add(_programs(content))
    return _below_single(inside)


def _programs(read: FilesRead) -> FilesRead:
    texts = []
    read.unread = [file for file in read.unread if not _OF_A_SYSTEM.search(file.path)]
    for file in read.texts:
        if _OF_A_SYSTEM.search(file.path):
            continue
        if file.language or not is_prose_or_data(file.path) or languages_of_text(file.text):
            texts.append(file)
        else:
            read.left_out["prose or data"] += 1
    read.texts = texts
    return read


def _below_single(read: Mapping[str, FilesRead]) -> Mapping[str, FilesRead]:
    """Return the files without the folder or archive that all of them lie in."""
    # a zip of a folder that holds a folder: each level that names nobody is taken away
    while True:
        heads = {name.partition("/")[:2] for name in read}
        if len(heads) != 1 or not min(heads)[1]:
            return read
        read = {name.partition("/")[2]: content for name, content in read.items()}


def _submitters(texts: Sequence[SourceText]) -> dict[str, str]:
    """Return folder → its students, as Gradescope lists them."""
    students: dict[str, str] = {}
    folder = ""
    # a folder, then the students who submitted it together
    for line in chain.from_iterable(_SUBMITTER.finditer(file.text) for file in texts):
        if line["folder"]:
            folder = line["folder"]
        else:
            students[folder] = " and ".join(filter(None, (students.get(folder), line["name"].strip("'\""))))
    return students


def _students(names: Iterable[str], submitters: Mapping[str, str]) -> dict[str, str]:
    """Return name of a file → its student."""
    # an "ë" of one character and one of two are the same: a Mac writes the names of its files in the longer form
    keys = {name: _student_key(normalize("NFC", name), submitters) for name in names}
    plain = sorted({student for student, number in keys.values() if not number})
    # only names without a number of the course system can begin with the name of the assignment
    prefix = _assignment(plain)
    numbers: dict[str, set[str]] = {}
    for student, number in keys.values():
        numbers.setdefault(student, set()).add(number)
    shown = {}
    for name, (student, number) in keys.items():
        if number:
            shown[name] = student + f" ({number})" * (len(numbers[student]) > 1)
        else:
            shown[name] = student.removeprefix(prefix) or student
    return shown


def _student_key(name: str, submitters: Mapping[str, str]) -> tuple[str, str]:
    """Return the student of a file and the number that his course system gave him; "" without one."""
    first, _, below = name.lstrip("/").partition("/")
    # Gradescope names the folders by numbers, and the students in a file
    if first in submitters:
        return submitters[first], first
    for layout in _LAYOUTS:
        if student := layout.fullmatch(first):
            return student["name"], student["id"]
    return (first if below and not _ARCHIVE.search(first) else _stem(first)), ""


def _assignment(students: Sequence[str]) -> str:
    """Return what all students of GitHub Classroom begin with, `assignment-user`; "" where they are named otherwise."""
    if len(students) < 2:  # noqa: PLR2004  one name shares all of itself
        return ""
    # cut at a hyphen: names of students may begin with the same letters
    shared, dash, _ = os.path.commonprefix(list(students)).rpartition("-")  # noqa: RUF071  of names
    return shared + dash


def _stem(name: str) -> str:
    return PurePosixPath(_ARCHIVE.sub("", name)).stem or name
