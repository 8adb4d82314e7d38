"""Texts of people: files or functions of dated corpora, with their licences, and the number that each rule removes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain, compress
from typing import Literal

import numpy as np

from assay.code import Unparsable, functions_in
from assay.corpora import CorpusSettings, DatedFile, dated_files
from assay.evaluation import ShingleIndex
from assay.languages import languages_with
from assay.licences import LicenceRules, read_rules
from assay.provenance import CodeIndex
from assay.types import Sample
from assay.unseen import REPEATED, Period
from assay_lab.classifiers.labelled import HUMAN
from assay_lab.columns import at_places, text_column
from assay_lab.rewrites.cleaning import normalised
from assay_lab.rewrites.dated_index import dated_documents
from assay_lab.rewrites.rules import HumanRules, RemovalRule

PERMISSIVE = ("MIT", "Apache-*", "BSD-*")
"""The licences that DECo keeps."""

CodeUnitKind = Literal["file", "function"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionRequest:
    """Choice of the texts of people. The defaults are those of the paper where it states one.

    Attributes:
        period: days on which the files appeared and were last changed.
        released: day of publication of corpora that are no git repository.
        unit: file or function.
        languages: of the texts; each has a grammar.
        tokens: fewest and most of a text; a token is a word, a number or a single other visible character.
        licences: that are allowed.
        per_language: most texts of a language; None for all.
        per_repository: most texts of a repository and language; None for all.
        seed: of the texts that are drawn where there are more.
    """

    period: Period = field(default_factory=lambda: Period(before=date(2020, 1, 1)))
    released: date | None = None
    unit: CodeUnitKind = "file"
    languages: tuple[str, ...] = languages_with("functions")
    tokens: tuple[int, int] = (50, 950)
    licences: LicenceRules = field(default_factory=lambda: read_rules(allowed=PERMISSIVE))
    per_language: int | None = None
    per_repository: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Collected:
    """Texts of people, and what became of all others.

    Attributes:
        samples: label "human"; group is the repository; metadata hold source, date, last_change, path and licence.
        skipped: reason → files and repositories that were not read.
        read: number of texts before any rule.
        removed: rule → number of texts.
    """

    samples: tuple[Sample, ...]
    skipped: Counter[str]
    read: int
    removed: Counter[RemovalRule]


def collect(corpora: Sequence[str], request: CollectionRequest, index: CodeIndex | None = None) -> Collected:
    """Return the texts of people from corpora and an index.

    Repositories are read as they were in the last commit before the period's end, so a file that changed later still
    counts, with its old text.

    Args:
        corpora: git repositories, archives and folders.
        request: which texts.
        index: whose documents are read too.

    Raises:
        DataError: a corpus cannot be read or dated.
    """
    skipped: Counter[str] = Counter()
    removed: Counter[RemovalRule] = Counter()

    def skip(reason: str) -> None:
        skipped[reason] += 1

    filters = CorpusSettings(language=tuple(request.languages))
    files = dated_files(corpora, request.released, filters, before=request.period.before, skipped=skip)
    documents = dated_documents(index, request.released) if index is not None else ()

    def of_the_period() -> Iterator[Sample]:
        for file in chain(files, documents):
            if file.source.language not in request.languages:
                continue
            for sample in _texts(file, request.unit, skip):
                if request.period.admits(file.age):
                    yield sample
                else:
                    removed[RemovalRule.ANOTHER_TIME] += 1

    chosen = select(of_the_period(), request)
    # texts of another time never reached `select`, so they are added to what it counted
    return replace(chosen, skipped=skipped, read=chosen.read + removed.total(), removed=chosen.removed + removed)


def select(samples: Iterable[Sample], request: CollectionRequest) -> Collected:
    """Return the texts of people that the rules keep, without copies, and drawn at random where there are too many.

    Args:
        samples: with group, and with licence and path in the metadata.
        request: limits; days and units are the caller's.
    """
    removed: Counter[RemovalRule] = Counter()
    rules = HumanRules(*request.tokens, request.licences)
    kept, read = [], 0
    for sample in samples:
        read += 1
        fault = rules.fault(sample)
        if fault is None:
            kept.append(sample)
        else:
            removed[fault] += 1
    distinct = with_distinct_ids(_without_copies(kept, removed))
    drawn = tuple(_drawn(distinct, request, removed))
    return Collected(samples=drawn, skipped=Counter(), read=read, removed=removed)


def _texts(file: DatedFile, unit: CodeUnitKind, skip: Callable[[str], None]) -> Iterator[Sample]:
    source = file.source
    if source.kind == unit:
        place = f"{source.path}:{source.first_line} {source.name}" if source.name else source.path
        yield _sample(file, place, source.text)
        return
    if unit == "file":
        skip("function of an index, where files are requested")
        return
    try:
        functions = functions_in(source.text, str(source.language))
    except Unparsable:
        skip("file that does not parse")
        return
    for function in functions:
        yield _sample(file, f"{source.path}:{function.first_line} {function.name}", function.text)


def _sample(file: DatedFile, place: str, text: str) -> Sample:
    identifier = f"{file.repository}/{place}"
    about = {
        "source": identifier,
        "date": file.age.first.isoformat(),
        "last_change": file.age.last.isoformat(),
        "path": file.source.path,
        "licence": file.licence,
    }
    return Sample(
        identifier,
        text=normalised(text),
        language=file.source.language,
        label=HUMAN,
        group=file.repository,
        metadata=about,
    )


def _without_copies(samples: Sequence[Sample], removed: Counter[RemovalRule]) -> list[Sample]:
    first = ShingleIndex(text_column(samples)).first_of_each_kind(REPEATED)
    removed[RemovalRule.COPY] += int((~first).sum())
    return list(compress(samples, first))


def with_distinct_ids(samples: Iterable[Sample]) -> list[Sample]:
    """Return samples whose ids differ: two corpora may have the same name, and one file two functions of one name."""
    seen: Counter[str] = Counter()
    distinct = []
    for sample in samples:
        seen[sample.id] += 1
        number = seen[sample.id]
        name = sample.id if number == 1 else f"{sample.id} #{number}"
        distinct.append(replace(sample, id=name, metadata={**sample.metadata, "source": name}))
    return distinct


def _drawn(samples: Sequence[Sample], request: CollectionRequest, removed: Counter[RemovalRule]) -> list[Sample]:
    """Return at most as many texts of each repository and language as requested, drawn at random, in their order."""
    order = np.random.default_rng(request.seed).permutation(len(samples)).tolist()
    of_language: Counter[str | None] = Counter()
    of_repository: Counter[tuple[str | None, str | None]] = Counter()
    chosen = []
    for place in order:
        sample = samples[place]
        own = sample.group, sample.language
        if request.per_repository is not None and of_repository[own] >= request.per_repository:
            continue
        if request.per_language is not None and of_language[sample.language] >= request.per_language:
            continue
        of_repository[own] += 1
        of_language[sample.language] += 1
        chosen.append(place)
    removed[RemovalRule.NOT_DRAWN] += len(samples) - len(chosen)
    # the draw decides who stays; the order stays that of the corpora
    return at_places(samples, sorted(chosen))
