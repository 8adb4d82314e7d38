"""The pairs of a course from Python."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.submissions import Comparison, Submission, compare_submissions, read_submissions, read_template


def compare_students(
    paths: Sequence[Path | str],
    *,
    template: Sequence[Path | str] = (),
    earlier: Sequence[Path | str] = (),
    language: str | None = None,
    anonymous: bool = False,
) -> Comparison:
    """Compare the work of students and return the pairs that share more than the others do.

    Args:
        paths: folders or archives with a folder, an archive or a file for each student; or files.
        template: code that was handed out.
        earlier: earlier courses, which are not compared with one another.
        language: only files in it.
        anonymous: replace the names of students by numbers.

    Raises:
        DataError: something cannot be read, or there are fewer than two submissions.
    """
    submissions = read_submissions(list(map(Path, paths)), language)
    older = read_submissions(list(map(Path, earlier)), language, is_earlier=True) if earlier else []
    if anonymous:
        submissions, older = _numbered(submissions, "student"), _numbered(older, "earlier")
    return compare_submissions(submissions, earlier=older, template=read_template(map(Path, template)))


def _numbered(submissions: Sequence[Submission], word: str) -> list[Submission]:
    # names of files are replaced as well, since students put their own into them
    digits = len(str(len(submissions)))
    numbered = []
    for number, submission in enumerate(submissions, 1):
        name = f"{word} {number:0{digits}}"
        files = []
        for at, file in enumerate(submission.files, 1):
            files.append(replace(file, path=f"{name}/{at}"))
        unread = [replace(file, path=f"{name}/file {at}") for at, file in enumerate(submission.unread, 1)]
        numbered.append(replace(submission, student=name, files=files, unread=unread))
    return numbered
