"""Functions or files of dated corpora, in the form of a benchmark."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

import numpy as np

from assay.code import Unparsable, functions_in
from assay.corpora import Age, DatedFile, dated_files
from assay.datasets import MOST_UNSEEN
from assay.languages import languages_with
from assay.types import Sample
from assay.unseen.form import BenchmarkForm

UnseenUnit = Literal["function", "file"]
Skip = Callable[[str], None]
"""Counts a text that is left out, by its reason."""

SHORTEST = 100
"""Characters of a function or file where no benchmark says how long its texts are."""


@dataclass(frozen=True, slots=True)
class Period:
    """Days between which a text has to have appeared.

    Attributes:
        after: the text did not exist before this day, not even a line of it.
        before: the text was as it is now before this day.
    """

    after: date | None = None
    before: date | None = None

    def admits(self, age: Age) -> bool:
        """Return True if a text of this age fits."""
        return (self.after is None or age.first >= self.after) and (self.before is None or age.last < self.before)

    def may_hold(self, age: Age) -> bool:
        """Return True if a part of a file of this age can fit; a part is at most as old as the file."""
        return (self.after is None or age.last >= self.after) and (self.before is None or age.first < self.before)


@dataclass(frozen=True, slots=True)
class UnseenRequest:
    """Choice of the texts that are collected.

    Attributes:
        unit: function or file.
        period: when they appeared.
        released: day of publication of corpora that are no git repository.
        forms: language → form; None: any language, as the texts stand.
        most: texts of the set; of more, as many are drawn, evenly over the repositories. None: all.
        seed: of every random choice.
    """

    unit: UnseenUnit = "function"
    period: Period = Period()
    released: date | None = None
    forms: Mapping[str, BenchmarkForm] | None = None
    most: int | None = MOST_UNSEEN
    seed: int = 0


def candidates(
    corpora: Sequence[str], request: UnseenRequest, counts: Counter[str], random: np.random.Generator
) -> Iterator[Sample]:
    """Yield the texts of corpora that the request admits, each with group, date, path and licence.

    Args:
        corpora: repositories, archives and folders.
        request: which texts.
        counts: is filled with the number of files, of texts, and of texts left out by reason.
        random: draws the texts around functions.

    Raises:
        DataError: as `assay.corpora.dated_files`.
    """
    # texts in a language that the benchmark lacks would be told apart at once
    languages = languages_with("functions") if request.forms is None else tuple(request.forms)
    for file in dated_files(corpora, request.released):
        language = file.source.language
        if language not in languages or language is None:
            continue
        counts["files"] += 1
        # before it is parsed: most files of an old repository go here
        if not request.period.may_hold(file.age):
            counts["files of another time"] += 1
            continue
        # benchmarks end their lines with LF; a CR at each end would tell the two apart, to a reader and to a model
        file = replace(file, source=replace(file.source, text=file.source.text.replace("\r\n", "\n")))  # noqa: PLW2901
        if request.unit == "file":
            yield from _whole_file(file, language, request, counts=counts)
        else:
            yield from _functions(file, language, request, counts=counts, random=random)


def _whole_file(file: DatedFile, language: str, request: UnseenRequest, *, counts: Counter[str]) -> Iterator[Sample]:
    counts["texts"] += 1
    text = file.source.text
    shortest, longest = SHORTEST, len(text)
    if request.forms:
        shortest, longest = request.forms[language].lengths
    if not request.period.admits(file.age):
        counts["of another time"] += 1
    elif not shortest <= len(text) <= longest:
        counts["of another length"] += 1
    else:
        yield _sample(file, text, place=file.source.path, age=file.age)


def _functions(
    file: DatedFile, language: str, request: UnseenRequest, counts: Counter[str], random: np.random.Generator
) -> Iterator[Sample]:
    text = file.source.text
    try:
        functions = functions_in(text, language)
    except Unparsable:
        counts["files that do not parse"] += 1
        return
    for function in functions:
        counts["texts"] += 1
        rendered: str | None = function.text
        if request.forms is not None:
            rendered = request.forms[language].rendered(function, text, random)
        elif len(function.text) < SHORTEST:
            rendered = None
        if rendered is None:
            counts["of another form or length"] += 1
            continue
        age = file.age
        if not request.period.admits(age):  # git blame takes its time
            # spans count characters, git counts lines
            last = function.first_line + text.count("\n", function.span.start, function.span.stop)
            age = file.age_of_lines(function.first_line, last)
        if not request.period.admits(age):
            counts["of another time"] += 1
            continue
        place = f"{file.source.path}:{function.first_line} {function.name}"
        yield _sample(file, rendered, place=place, age=age)


def _sample(file: DatedFile, text: str, *, place: str, age: Age) -> Sample:
    return Sample(
        f"{file.repository}/{place}",
        text,
        file.source.language,
        group=file.repository,
        metadata={
            "date": age.first.isoformat(),
            "last_change": age.last.isoformat(),
            "path": file.source.path,
            "licence": file.licence,
        },
    )
