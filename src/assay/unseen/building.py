"""Unseen text for a benchmark: candidates, without near-duplicates, matched to the benchmark by a blind classifier."""

import json
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import compress, islice
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

import numpy as np
from packaging.requirements import Requirement

from assay.datasets import Dataset
from assay.errors import DataError
from assay.evaluation import (
    ADVISED_UNSEEN,
    SEPARATING_AUROC,
    BlindBaseline,
    ShingleIndex,
    blind_baseline,
    blind_scores,
    matched,
)
from assay.files import write_text
from assay.progress import inform, progress_bar
from assay.reports import TabularResult
from assay.types import Sample, texts_of
from assay.unseen.candidates import UnseenRequest, candidates
from assay.unseen.form import forms_of
from assay.unseen.packages import NoWheel, Package, PackageFolder, expanded

NEAR = 0.5
"""Share of the smaller text's 5-grams from which a candidate counts as a copy of a benchmark's text."""

REPEATED = 0.8
"""The same among candidates, of which the first is kept."""

MOST_CANDIDATES = 4_000
"""Candidates that are compared with the benchmark; of more, as many are drawn at random."""

ROUNDS = 5
"""Candidates for each sample of the benchmark at most."""

DOWNLOADS = 6
"""Packages that are downloaded at a time: pip mostly waits for the index, several times for each package."""

_GROUP = attrgetter("group")
T = TypeVar("T")

PASSES = 3
"""Fits of the classifier: each on what the one before left."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnseenSet(TabularResult):
    """Unseen text, and how it came about.

    Attributes:
        samples: the texts; group is the repository, metadata hold date, last_change, path and licence.
        like: name of the benchmark that they are matched to; None without one.
        benchmark: number of its samples.
        counts: files and texts that were read, and texts that were left out by reason.
        before: the blind baseline of benchmark against candidates; None without a benchmark.
        after: the same against the matched texts.
        dated: how the texts are dated, in words; empty where no day was asked for.
        packages: that were downloaded; each of their texts names package, version and digest.
        not_downloaded: packages without a wheel, with the reason.
    """

    samples: tuple[Sample, ...]
    like: str | None
    benchmark: int
    counts: Mapping[str, int]
    before: BlindBaseline | None = None
    after: BlindBaseline | None = None
    dated: str = ""
    packages: tuple[Package, ...] = ()
    not_downloaded: tuple[NoWheel, ...] = ()

    @property
    def groups(self) -> int:
        """Number of repositories."""
        return len(set(map(_GROUP, self.samples)))

    def json_lines(self) -> str:
        """Return JSON lines that `--unseen` reads without options."""
        lines = []
        for sample in self.samples:
            fields = {"id": sample.id, "text": sample.text, "group": sample.group, "language": sample.language}
            lines.append(json.dumps(fields | dict(sample.metadata), ensure_ascii=True) + "\n")
        return "".join(lines)

    def save(self, path: Path) -> None:
        """Write the JSON lines to a file.

        Raises:
            DataError: the file cannot be written.
        """
        write_text(path, self.json_lines())

    def summary(self) -> dict[str, object]:
        """Return counts, groups, and the success of the match, for JSON."""
        return {
            "texts": len(self.samples),
            "groups": self.groups,
            "like": self.like,
            "benchmark_samples": self.benchmark,
            "counts": dict(self.counts),
            "blind_auroc_before": _auroc(self.before),
            "blind_auroc_after": _auroc(self.after),
            "apart_after": None if self.after is None or self.after.ranking is None else tells_apart(self.after),
            "dated": self.dated,
            "packages": [package.facts() | {"file": package.path.name} for package in self.packages],
            "not_downloaded": {package.requirement: package.reason for package in self.not_downloaded},
        }


@dataclass(frozen=True, slots=True)
class _Pool:
    """A benchmark and candidates for it."""

    benchmark: Sequence[Sample]
    offered: Sequence[Sample] = field(default=())

    @property
    def texts(self) -> list[str]:
        return texts_of((*self.benchmark, *self.offered))

    @property
    def positive(self) -> list[bool]:
        return [True] * len(self.benchmark) + [False] * len(self.offered)

    @property
    def groups(self) -> list[str]:
        # a text without a group is independent of the others
        return [sample.group or sample.id for sample in (*self.benchmark, *self.offered)]

    def baseline(self, seed: int) -> BlindBaseline:
        """Return what the texts alone tell benchmark and candidates apart by."""
        return blind_baseline(self.texts, self.positive, self.groups, seed=seed)

    def matched(self, seed: int) -> "_Pool":
        """Return the pool with those candidates that the blind classifiers take for texts of the benchmark."""
        scores = blind_scores(self.texts, self.positive, self.groups, seed=seed)
        if isinstance(scores, str):
            return self
        odds = np.column_stack(list(scores.values()))
        n = len(self.benchmark)
        chosen = matched(odds[:n], odds[n:], rounds=ROUNDS, seed=seed)
        return replace(self, offered=tuple(map(self.offered.__getitem__, chosen)))


def _awaited(ahead: deque[Future[T]], pool: ThreadPoolExecutor) -> T:
    """Return the next result; an interruption begins no further download, and says at once what is waited for."""
    try:
        return ahead.popleft().result()
    except KeyboardInterrupt:
        inform("interrupted: downloads that run are ended or finished first, a few seconds; all wheels so far are kept")
        pool.shutdown(wait=False, cancel_futures=True)
        raise


class _Collecting:
    """Texts of corpora, one corpus after the other, until there are enough projects."""

    def __init__(self, request: UnseenRequest, folder: PackageFolder) -> None:
        self.request = request
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.texts: list[Sample] = []
        self.packages: list[Package] = []
        self.missing: list[NoWheel] = []
        self._random = np.random.default_rng(request.seed)

    def run(self, corpora: Sequence[str | Requirement], enough: int | None) -> None:
        """Collect the texts of one corpus after the other, until so many projects gave one; None reads all."""
        unit = "corpora" if enough is None else "projects"
        with progress_bar("collecting unseen text", unit=unit) as report, ThreadPoolExecutor(DOWNLOADS) as pool:
            ahead: deque[Future[str | Package | NoWheel]] = deque()
            waiting = iter(corpora)
            for place in range(1, len(corpora) + 1):
                # no further ahead, as what is not needed should not be downloaded
                for corpus in islice(waiting, DOWNLOADS - len(ahead)):
                    ahead.append(pool.submit(self._fetched, corpus))
                self._add(_awaited(ahead, pool))
                projects = len(set(map(_GROUP, self.texts)))
                if report is not None:
                    report(*((place, len(corpora)) if enough is None else (projects, enough)))
                if enough is not None and projects >= enough and place < len(corpora):
                    self.counts["corpora not read: there were enough projects"] = len(corpora) - place
                    return

    def _fetched(self, corpus: str | Requirement) -> str | Package | NoWheel:
        """Return a corpus that can be read, a package as its wheel; or why it may not be read."""
        if isinstance(corpus, str):
            return corpus
        package = self.folder.fetched(corpus)
        if isinstance(package, Package) and self._dated_by_index is not None:
            obstacle = self.folder.obstacle_to_date(package.name, self._dated_by_index)
            if obstacle is not None:
                return NoWheel(str(corpus), obstacle)
        return package

    @property
    def _dated_by_index(self) -> date | None:
        """The day that no package may be older than, by the index; None where that is not asked."""
        # a day that the user states counts more than an index, which may hold copies
        return self.request.period.after if self.request.released is None else None

    def _add(self, corpus: str | Package | NoWheel) -> None:
        if isinstance(corpus, NoWheel):
            # listed in the report: a list that shrinks silently would hide a wrong name
            self.missing.append(corpus)
        elif isinstance(corpus, Package):
            self.packages.append(corpus)
            # nothing of it is older than that day, which is all that a verdict needs
            request = replace(self.request, released=self._dated_by_index or self.request.released)
            for text in self._candidates(str(corpus.path), request):
                self.texts.append(replace(text, metadata={**text.metadata, **corpus.facts()}))
        else:
            self.texts += self._candidates(corpus, self.request)

    def _candidates(self, corpus: str, request: UnseenRequest) -> Iterator[Sample]:
        return candidates([corpus], request, counts=self.counts, random=self._random)


def build_unseen_set(
    corpora: Sequence[str],
    request: UnseenRequest,
    like: Dataset | None = None,
    *,
    download: bool = False,
    folder: PackageFolder | None = None,
    groups: int | None = None,
) -> UnseenSet:
    """Return unseen text from corpora, in the form of a benchmark and matched to it.

    Args:
        corpora: repositories, archives, folders, names of packages and files that list packages.
        request: which texts; its forms are per_group from `like`.
        like: the benchmark; None leaves texts as they are, and matches nothing.
        download: packages may be downloaded.
        folder: where they are kept; None for the one in the folder of the cache.
        groups: read no further corpus when so many projects gave a text; None reads all.

    Raises:
        DataError: a corpus cannot be read, dated or downloaded, the benchmark holds no functions, or no text is left.
    """
    if like is not None:
        forms = forms_of(like.samples)
        if not forms and request.unit == "function":
            raise DataError(
                f"{like.name}: fewer than half of its texts hold a function, so functions cannot have its form: "
                "expected --unit file, or another --part"
            )
        request = replace(request, forms=forms or None)
    collecting = _Collecting(request, folder or PackageFolder())
    counts = collecting.counts
    collecting.run(expanded(corpora, download=download), groups)
    offered = _distinct(collecting.texts, like, counts, seed=request.seed)
    if not offered:
        reasons = [f"{package.requirement}: {package.reason}" for package in collecting.missing[:1]]
        listed = _listed(counts)
        if not counts["files"] and request.forms:
            listed += f" in {' or '.join(request.forms)}, as the benchmark is"
        raise DataError(f"{', '.join(corpora)}: no {request.unit} left: {'; '.join([listed, *reasons])}")

    def chosen_of(texts: Sequence[Sample]) -> UnseenSet:
        return UnseenSet(
            samples=_evenly_drawn(texts, request, counts),
            like=None,
            benchmark=0,
            counts=dict(counts),
            dated=_dating(request),
            packages=tuple(collecting.packages),
            not_downloaded=tuple(collecting.missing),
        )

    if like is None:
        return chosen_of(offered)
    # several fits on thousands of texts: a silent minute or more
    inform(f"comparing {len(offered):,} texts with {like.name}")
    pool = _Pool(_of_one_language(like.samples, offered), tuple(offered))
    before = pool.baseline(request.seed)
    best, after = pool, before
    for _ in range(PASSES):
        if not tells_apart(after):
            break
        # each pass fits the classifier on what the one before left: what told the texts apart is gone by then
        narrower = best.matched(request.seed)
        # a match that leaves too few texts costs more power than its likeness gains
        if len(narrower.offered) == len(best.offered) or len(narrower.offered) < min(ADVISED_UNSEEN, len(offered)):
            break
        best, after = narrower, narrower.baseline(request.seed)
    counts["not matched"] = len(offered) - len(best.offered)
    return replace(chosen_of(best.offered), like=like.name, benchmark=len(like), before=before, after=after)


def _evenly_drawn(texts: Sequence[Sample], request: UnseenRequest, counts: Counter[str]) -> tuple[Sample, ...]:
    """Return at most as many texts as the request asks for, in their order."""
    if request.most is None or len(texts) <= request.most:
        return tuple(texts)
    counts["not needed"] = len(texts) - request.most
    # A random order, and then a round over the repositories for each text of a repository: the n-th texts of all
    # repositories come before any (n + 1)-th, so a large repository does not crowd out the small ones, whose number
    # decides how wide the intervals of an audit are.
    order = np.random.default_rng(request.seed).permutation(len(texts))
    of_group: Counter[str | None] = Counter()
    rounds = []
    for index in order:
        rounds.append(of_group[texts[index].group])
        of_group[texts[index].group] += 1
    first = order[np.argsort(rounds, kind="stable")[: request.most]]
    return tuple(map(texts.__getitem__, sorted(first)))


def _distinct(offered: list[Sample], like: Dataset | None, counts: Counter[str], *, seed: int) -> list[Sample]:
    """Return candidates without copies of the benchmark's texts and of each other, at most `MOST_CANDIDATES`."""
    if len(offered) > MOST_CANDIDATES:
        drawn = np.random.default_rng(seed).choice(len(offered), MOST_CANDIDATES, replace=False)
        counts["not drawn"] = len(offered) - MOST_CANDIDATES
        offered = list(map(offered.__getitem__, sorted(drawn)))
    index = ShingleIndex(texts_of(offered))
    copied = np.zeros(len(offered), np.bool_)
    if like is not None:
        copied = index.near_any(texts_of(like.samples), NEAR)
        counts["near-duplicates of the benchmark"] = int(copied.sum())
    first = index.first_of_each_kind(REPEATED)
    counts["repeated"] = int((~first & ~copied).sum())
    return list(compress(offered, first & ~copied))


def _of_one_language(samples: Sequence[Sample], offered: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return the benchmark's samples in the languages of the candidates: others would be told apart at once."""
    languages = set(map(attrgetter("language"), offered))
    return tuple(sample for sample in samples if (sample.language or "python") in languages)


def _dating(request: UnseenRequest) -> str:
    period = request.period
    days = []
    if period.after:
        days.append(f"not before {period.after}")
    if period.before:
        days.append(f"before {period.before}")
    return " and ".join(days)


def tells_apart(baseline: BlindBaseline) -> bool:
    """Return True if the texts alone tell the two sets apart better than `SEPARATING_AUROC`, as far as one can see."""
    return baseline.ranking is not None and baseline.ranking.auroc.value >= SEPARATING_AUROC


def _auroc(baseline: BlindBaseline | None) -> dict[str, object] | None:
    if baseline is None:
        return None
    if baseline.ranking is None:
        return {"value": None, "reason": baseline.reason}
    area = baseline.ranking.auroc
    return {"value": area.value, "low": area.low, "high": area.high, "kind": baseline.kind}


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items() if number) or "nothing was read"
