"""The study: bug benchmarks and control sets under one model.

For each set: mean negative log-likelihood (NLL) of a token, 5-gram accuracy, ratios of the NLL between sets, the
preference for the fix, and what a corpus has of each bug. Texts that share more than `OVERLAP` with an earlier one are
left out of the averages, as in the paper; the preference keeps every bug.

A text is the side of a patch (hunks), a program, or a file, as its benchmark gives it. NLL and accuracy compare only
within one tokenizer, and a short text has a higher NLL than a long one: sets whose texts differ in length do not
compare.

Source: Ramos et al. 2025, "Are Large Language Models Memorizing Bug Benchmarks?".
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain, compress, product, repeat
from operator import attrgetter, itemgetter
from typing import Literal

import numpy as np
import pyarrow as pa

from assay.errors import DataError
from assay.evaluation import Estimate, ShingleIndex
from assay.provenance import Searchable
from assay.reports import TabularResult
from assay.scores import loss, ngram_accuracy
from assay.scoring import Plan, Progress
from assay.types import Float64Array, Generator, Sample
from assay_lab.bugs.content import ContentMembership, ContentSide, content_memberships
from assay_lab.bugs.dates import Slice, date_of, rates_by_slice, slices_of
from assay_lab.bugs.exposure import PairExposure, exposures
from assay_lab.bugs.pairs import SamplePair, bug_groups, fixed_sides, issue_of
from assay_lab.bugs.preference import Preference, mean_of, preferences
from assay_lab.bugs.probes import ProbeName, ProbeResult, run_probes
from assay_lab.bugs.repositories import RepositoryMembership, repository_membership
from assay_lab.bugs.rewriting import RewrittenPreference, rewritten_preference
from assay_lab.bugs.scored import scored_sets
from assay_lab.columns import at_places, attributes, group_column, keyed, text_column
from assay_lab.mappings import map_values

NLL, FIVE_GRAM, CONTRAST = "NLL", "5-gram accuracy", "NLL against the reference"
MEASURES: Mapping[str, tuple[str, float]] = {NLL: (loss.name, -1.0), FIVE_GRAM: (ngram_accuracy.name, 1.0)}
"""Measure → the score that it is made of, and its sign: scores are higher for members."""
REFERENCE = "reference"
Starts = Literal["all", "paper"]
PAPER_STARTS = "5-gram accuracy is measured at five evenly spaced starts in 512 tokens, as in the paper."
OVERLAP = 0.85

TextSide = Literal["fixed", "buggy", "issue", "control"]


def score_names(starts: Starts) -> list[str]:
    """Return the requests of `MEASURES`: 5-gram accuracy at all positions or those of the paper."""
    requested = {ngram_accuracy.name: f"{ngram_accuracy.name}:starts=paper"} if starts == "paper" else {}
    return [requested.get(score, score) for score, _ in MEASURES.values()]


@dataclass(frozen=True, slots=True)
class BugSet:
    """The bugs of one benchmark.

    Attributes:
        name: of the benchmark.
        pairs: its bugs.
        is_control: True if these are changes to compare with, such as later commits, and not bugs.
    """

    name: str
    pairs: tuple[SamplePair, ...]
    is_control: bool = False


@dataclass(frozen=True, slots=True)
class ControlSet:
    """Texts to compare with, such as files that are newer than the model.

    Attributes:
        name: of the set.
        samples: its texts.
    """

    name: str
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySettings:
    """Sources that the study compares with besides the model.

    Attributes:
        index: of a corpus, for the exposure of each bug; None leaves it out.
        repositories: `owner/name` of a corpus in lower case; None leaves their membership out.
        cutoff: first day that the model cannot have seen; None leaves the slices by date out.
        generator: the model as one that generates, for the probes; None leaves them out.
        variants: verified rewritings of each side of a bug; 0 leaves them out.
    """

    index: Searchable | None = None
    repositories: Collection[str] | None = None
    cutoff: date | None = None
    generator: Generator | None = None
    variants: int = 0


@dataclass(frozen=True, slots=True)
class SideAverages:
    """Averages over the texts of one side of a set.

    Attributes:
        texts: number of texts that are not empty.
        distinct: those without a near-duplicate before them; only these count.
        characters: median length of these.
        averages: measure → mean with an interval over groups.
    """

    texts: int
    distinct: int
    characters: float
    averages: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True, eq=False)
class StudiedSet:
    """Results of one set.

    Attributes:
        name: of the set.
        groups: number of its groups.
        sides: side → averages; "issue" only where the benchmark has issue texts.
        preference: "all" and each exposure → preference for the fix; empty for a control set.
        contrast: the same against the reference model: preference of the model minus that of the reference.
        slices: "before" and "after" the cutoff → averages of the fixed side or of the control texts, and their number.
        rates: rate → slice → value; empty for texts to compare with, and where no cutoff was given.
        undated: texts without a date; 0 where no cutoff was given.
        repositories: membership in the list; None without one.
        exposures: of each bug; empty without an index.
        content: text of a bug → how many of them the corpus holds; empty without an index.
        probes: probe → result; empty where none was run.
        ids: of the bugs.
        values: float64 [bugs], preference for the fix.
        is_control: True if these are changes to compare with and not bugs.
        rewritten: preference before and after a rewriting of both sides; None without one.
    """

    name: str
    groups: int
    sides: Mapping[TextSide, SideAverages]
    preference: Mapping[str, Preference] = field(default_factory=dict)
    contrast: Mapping[str, Preference] = field(default_factory=dict)
    slices: Mapping[Slice, SideAverages] = field(default_factory=dict)
    undated: int = 0
    rates: Mapping[str, Mapping[Slice, Estimate]] = field(default_factory=dict)
    repositories: RepositoryMembership | None = None
    exposures: tuple[PairExposure, ...] = ()
    content: Mapping[ContentSide, ContentMembership] = field(default_factory=dict)
    probes: Mapping[ProbeName, ProbeResult] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    values: Float64Array = field(default_factory=lambda: np.empty(0))
    is_control: bool = False
    rewritten: RewrittenPreference | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BugStudy(TabularResult):
    """Results of the study of one model.

    Attributes:
        model: its name.
        sets: bug benchmarks first, then control sets.
        has_reference: whether a reference model was run too.
        notes: what a reader must know, one sentence each.
    """

    model: str
    sets: tuple[StudiedSet, ...]
    has_reference: bool = False
    notes: tuple[str, ...] = ()

    def to_arrow(self) -> pa.Table:
        """Return one row for each bug: set, id, preference for the fix, and its exposure."""
        names = {"set": pa.string(), "id": pa.string(), "preference": pa.float64(), "exposure": pa.string()}
        return pa.Table.from_pylist(list(self._bugs()), schema=pa.schema(list(names.items())))

    def _bugs(self) -> Iterator[dict[str, str | float | None]]:
        for studied in self.sets:
            exposed = attributes(studied.exposures, "exposure") or repeat(None, len(studied.ids))
            for name, value, kind in zip(studied.ids, studied.values.tolist(), exposed, strict=True):
                preference = None if math.isnan(value) else value
                yield {"set": studied.name, "id": name, "preference": preference, "exposure": kind}

    def ratios(self) -> Mapping[tuple[str, str], float]:
        """Return (row, column) → NLL of the column's set over that of the row's set, as the heat map prints it."""
        return ratios_between({studied.name: main_side(studied).averages[NLL].value for studied in self.sets})


def ratios_between(values: Mapping[str, float]) -> Mapping[tuple[str, str], float]:
    """Return (row, column) → value of the column over that of the row."""
    return {(row, column): values[column] / values[row] for row, column in product(values, repeat=2)}


def main_side(studied: StudiedSet) -> SideAverages:
    """Return the side that sets are compared by: the fixed one, or the texts of a control set."""
    return studied.sides["fixed" if "fixed" in studied.sides else "control"]


def run_bug_study(
    sets: Sequence[BugSet | ControlSet],
    plan: Plan,
    settings: StudySettings | None = None,
    *,
    notes: Sequence[str] = (),
    progress: Progress | None = None,
    searched: Callable[[int, int], None] | None = None,
) -> BugStudy:
    """Run the study.

    Args:
        sets: bug benchmarks and control sets; their names differ.
        plan: of a model with the scores of `MEASURES`, and `REFERENCE` where there is a reference model.
        settings: what the study compares with.
        notes: on the data.
        progress: receives the texts that were scored.
        searched: receives the bugs that were searched for.

    Raises:
        DataError: no bug, or two sets of one name.
        ModelError: the model cannot be run.
    """
    chosen = settings or StudySettings()
    check_sets(sets)
    texts = dict(_keyed_texts(sets))
    values = scored_sets(texts, plan, progress=progress)
    probes: Mapping[str, Mapping[ProbeName, ProbeResult]] = {}
    if chosen.generator is not None:
        probes = _probed(sets, chosen.generator)
    rewritten = {}
    for bugs in benchmarks_of(sets) if chosen.variants else ():
        original = values[bugs.name, "fixed"][loss.name], values[bugs.name, "buggy"][loss.name]
        rewritten[bugs.name] = rewritten_preference(
            bugs.pairs, original, plan, count=chosen.variants, progress=progress
        )
    results = []
    for each in sets:
        if isinstance(each, ControlSet):
            results.append(_studied_control(each, values, chosen))
            continue
        studied = _studied_bugs(
            each, texts, values, settings=chosen, probes=probes.get(each.name, {}), searched=searched
        )
        results.append(replace(studied, rewritten=rewritten.get(each.name)))
    # a plan has the scores of all texts or of none
    has_reference = REFERENCE in chain.from_iterable(values.values())
    return BugStudy(plan.name, tuple(results), has_reference=has_reference, notes=tuple(notes))


def _keyed_texts(sets: Iterable[BugSet | ControlSet]) -> Iterator[tuple[tuple[str, TextSide], tuple[Sample, ...]]]:
    """Yield (name of a set, side) and its texts."""
    for each in sets:
        for side, samples in _texts_of(each).items():
            yield (each.name, side), samples


def drawn_pairs(pairs: Sequence[SamplePair], most: int | None, *, seed: int = 0) -> tuple[SamplePair, ...]:
    """Return at most so many bugs, in their order.

    Benchmarks list their bugs by project, so the first ones would be those of a few projects.

    Args:
        pairs: the bugs.
        most: None for all.
        seed: of the draw.
    """
    if most is None or most >= len(pairs):
        return tuple(pairs)
    rows = np.random.default_rng(seed).choice(len(pairs), most, replace=False)
    return tuple(map(pairs.__getitem__, sorted(rows.tolist())))


EMPTY_SIDES: Mapping[tuple[bool, bool], str] = {
    (False, False): "left out: the patch is empty",
    (True, False): "without a preference: the fix only adds lines, so the buggy side is empty",
    (False, True): "without a preference: the fix only deletes lines, so the fixed side is empty",
}
"""(fixed side has a text, buggy side has one) → what follows for the bug."""


def without_empty(pairs: Sequence[SamplePair], *, benchmark: str) -> tuple[tuple[SamplePair, ...], tuple[str, ...]]:
    """Return the bugs that have a text, and notes on those that have none or only one.

    Args:
        pairs: the bugs.
        benchmark: its name, for messages.

    Raises:
        DataError: no bug has a text.
    """
    filled = [(bool(pair.fixed.text.strip()), bool(pair.buggy.text.strip())) for pair in pairs]
    kept = tuple(compress(pairs, map(any, filled)))
    if not kept:
        raise DataError(f"no bug of {benchmark} has a text: every patch is empty")
    counts = Counter(filled)
    notes = []
    for sides, reason in EMPTY_SIDES.items():
        if counts[sides]:
            notes.append(f"{benchmark}: {counts[sides]} of {len(pairs)} {reason}")
    return kept, tuple(notes)


def check_sets(sets: Sequence[BugSet | ControlSet]) -> None:
    """Check that there are bugs, and that names differ.

    Raises:
        DataError: no bug, or two sets of one name.
    """
    names = attributes(sets, "name")
    if len(set(names)) < len(names):
        raise DataError(f"two sets are called {max(names, key=names.count)!r}; expected a name of its own for each")
    if not any(attributes(benchmarks_of(sets), "pairs")):
        raise DataError("no bug to study; expected at least one pair of a fixed and a buggy text")


def _texts_of(each: BugSet | ControlSet) -> dict[TextSide, tuple[Sample, ...]]:
    if isinstance(each, ControlSet):
        return {"control": each.samples}
    sides: dict[TextSide, tuple[Sample, ...]] = {
        "fixed": fixed_sides(each.pairs),
        "buggy": tuple(attributes(each.pairs, "buggy")),
    }
    issues = tuple(replace(pair.fixed, text=issue_of(pair)) for pair in each.pairs if issue_of(pair))
    if issues:
        sides["issue"] = issues
    return sides


def _studied_bugs(
    bugs: BugSet,
    texts: Mapping[tuple[str, TextSide], tuple[Sample, ...]],
    values: Mapping[tuple[str, TextSide], Mapping[str, Float64Array]],
    settings: StudySettings,
    *,
    probes: Mapping[ProbeName, ProbeResult],
    searched: Callable[[int, int], None] | None,
) -> StudiedSet:
    fixed, buggy = values[bugs.name, "fixed"], values[bugs.name, "buggy"]
    groups = bug_groups(bugs.pairs)
    exposed: tuple[PairExposure, ...] = ()
    content: Mapping[ContentSide, ContentMembership] = {}
    if settings.index is not None:
        exposed = exposures(bugs.pairs, settings.index, progress=searched)
        content = content_memberships(attributes(exposed, "content"), groups)
    kinds = attributes(exposed, "exposure") or None
    difference = fixed[loss.name] - buggy[loss.name]
    contrast: Mapping[str, Preference] = {}
    # the preference of a model that saw neither side is what the code itself prefers
    if REFERENCE in fixed:
        contrast = preferences(fixed[REFERENCE] - buggy[REFERENCE], groups, kinds)
    repositories = None
    fixes = texts[bugs.name, "fixed"]
    if settings.repositories is not None:
        repositories = repository_membership(fixes, settings.repositories)
    slices, undated = _slices(fixes, fixed, settings.cutoff)
    dated: Mapping[Slice, list[int]] = {}
    if settings.cutoff is not None:
        dated = slices_of(fixes, settings.cutoff)
    return StudiedSet(
        name=bugs.name,
        groups=_group_count(fixes),
        sides={side: side_averages(texts[name, side], values[name, side]) for name, side in texts if name == bugs.name},
        preference=preferences(difference, groups, kinds),
        contrast=contrast,
        slices=slices,
        undated=undated,
        rates=rates_by_slice(bugs.pairs, dated, difference, probes=probes, exposures=exposed),
        repositories=repositories,
        exposures=exposed,
        content=content,
        probes=probes,
        ids=tuple(attributes(bugs.pairs, "id")),
        values=difference,
        is_control=bugs.is_control,
    )


def _probed(sets: Sequence[BugSet | ControlSet], generator: Generator) -> Mapping[str, Mapping[ProbeName, ProbeResult]]:
    controls: list[SamplePair] = []
    for each in sets:
        if isinstance(each, ControlSet):
            # a control text has no bug: both of its sides are the same, so only the probe of a function can use it
            controls += map(SamplePair, each.samples, each.samples)
        elif each.is_control:
            controls += each.pairs
    return run_probes(map_values(attrgetter("pairs"), keyed(benchmarks_of(sets), "name")), generator, controls=controls)


def benchmarks_of(sets: Sequence[BugSet | ControlSet]) -> list[BugSet]:
    """Return the sets that are benchmarks."""
    return [each for each in sets if isinstance(each, BugSet) and not each.is_control]


def _studied_control(
    control: ControlSet, values: Mapping[tuple[str, TextSide], Mapping[str, Float64Array]], settings: StudySettings
) -> StudiedSet:
    columns = values[control.name, "control"]
    slices, undated = _slices(control.samples, columns, settings.cutoff)
    sides: dict[TextSide, SideAverages] = {"control": side_averages(control.samples, columns)}
    return StudiedSet(control.name, _group_count(control.samples), sides, slices=slices, undated=undated)


def side_averages(samples: Sequence[Sample], columns: Mapping[str, Float64Array]) -> SideAverages:
    """Return the averages of one side; empty texts and near-duplicates of an earlier text are left out.

    Args:
        samples: [texts]; of near-duplicates the oldest counts, where dates are known.
        columns: score → float64 [texts].
    """
    filled = [at for at, sample in enumerate(samples) if sample.text.strip()]
    # the index keeps the first of near-duplicates, so the oldest text has to come first
    oldest_first = sorted(filled, key=lambda at: date_of(samples[at]) or date.max)
    index = ShingleIndex(text_column(at_places(samples, oldest_first)))
    rows = np.fromiter(compress(oldest_first, index.first_of_each_kind(OVERLAP)), np.intp)
    distinct = at_places(samples, rows)
    groups = group_column(distinct)
    return SideAverages(
        texts=len(filled),
        distinct=len(distinct),
        characters=float(np.median(list(map(len, text_column(distinct))))) if distinct else math.nan,
        averages={measure: mean_of(sign * columns[score][rows], groups) for measure, (score, sign) in MEASURES.items()},
    )


def _slices(
    samples: Sequence[Sample], columns: Mapping[str, Float64Array], cutoff: date | None
) -> tuple[Mapping[Slice, SideAverages], int]:
    """Return the averages of each slice, and the number of texts without a date."""
    if cutoff is None:
        return {}, 0
    slices = {}
    for name, rows in slices_of(samples, cutoff).items():
        of_slice = map_values(itemgetter(rows), columns)
        slices[name] = side_averages(at_places(samples, rows), of_slice)
    return slices, list(map(date_of, samples)).count(None)


def _group_count(samples: Sequence[Sample]) -> int:
    return len({sample.group if sample.group is not None else (sample.id,) for sample in samples})
