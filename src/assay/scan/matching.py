"""Parts of tasks found in texts: a first stage that passes over most texts, and a judgement of the rest.

*First stage* (`assay.scan.screening`). Runs of a few units of every part are in one table. A part is a candidate where
a text has `LEAST_RUNS` of its runs near each other, by the bits that they carry. Runs that ordinary code is full of are
in the table only where a part has no others.

*Judgement.* The stretch of the text that covers most of the part is compared with it: the share of its units that are
covered, and how many bits they carry (`assay.scan.rarity`). Chance does not repeat many bits: the corpus and the
benchmarks together offer less than 2⁶⁰ pairs of places. A part is found from `LEAST_SHARE` of its units and `SURE` bits
on; short parts count together, if they stand in one row, so a prompt of six words is found beside its solution.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.compiled import compiled
from assay.scan.evidence import ScanPlace
from assay.scan.rarity import rarity
from assay.scan.screening import RUN, Counters, RunTable, Screen, WeighedRuns, run_hashes
from assay.scan.tasks import CODE_PARTS, ScannedTask
from assay.scan.units import UnitForm, UnitHashes, UnitSequence, grams
from assay.types import BooleanArray, Float32Array, Float64Array

FINE: Mapping[UnitForm, int] = {"words": 4, "tokens": 8}
"""Units of a run of the judgement."""
RARE: Mapping[UnitForm, float] = {"words": 30.0, "tokens": 24.0}
"""Bits of a run from which it is in the table."""
LEAST_RUNS: Mapping[UnitForm, float] = {"words": 0.25, "tokens": 0.55}
"""Share of the bits of the runs of a part in the table that a candidate has near each other."""
LEAST_SHARE: Mapping[UnitForm, float] = {"words": 0.5, "tokens": 0.8}
SURE: Mapping[UnitForm, float] = {"words": 55.0, "tokens": 70.0}
"""Bits from which a whole part is no chance."""
FEW, SURE_FEW = 25, 80.0
"""Tokens below which a whole part needs more bits: with other names, everybody writes a few lines alike."""
SURE_SHARE: Mapping[UnitForm, float] = {"words": 120.0, "tokens": 120.0}
"""Bits from which a share of a part is no chance."""
# a text is tested against one bit of each run's hash before its search: 8 KiB stay in the first cache
LOOKUP = np.uint64(1 << 13)
RUN_COST = 14.0
"""Bits that a run costs: it could begin anywhere in the stretch, and idioms of a few units are everywhere."""
REPEATED_BITS = 0.5
"""Bits of a unit at most at the end of a run that the part has before: repeating itself is no news."""
WHOLE = 0.9
"""Share from which a short part counts together with others, and a part stands for those in it."""
SHORT_BITS = 8.0
"""Bits of a part from which it counts together with others."""
ENTRY_BITS = 16.0
"""Bits that the name of the function counts at most."""
BLIND_SHARE = 0.9
"""Share of a text that is known where names do not count."""
MORE_BITS = 1.05
"""Bits of a stretch over those of another from which it says more."""
MOST_NAMED = 5
"""Other tasks that are named with a place."""
LONGEST_QUOTE = 4000
"""Characters of each of the two texts of a place."""
PROSE_PARTS = frozenset({"docstring", "issue"})
WHOLE_ONLY = frozenset({"tests"})
"""Parts of which a share is found in much else: the values of tests are sequences that everybody writes."""
DISJOINT = ("docstring", "solution", "tests")
"""Parts that hold nothing of each other, so their bits add up."""

_MARKS = re.compile(rb"\w+|(?!,\s*[)\]}])[^\w\s]")


class RunLookup(NamedTuple):
    """Short runs of a part: in their order, ascending, where each of these is, and marks of their lowest bits."""

    runs: UnitHashes
    ascending: UnitHashes
    order: NDArray[np.intp]
    marks: BooleanArray


@dataclass(frozen=True, eq=False)
class PartUnits:
    """A part of a task in one form.

    Its units are computed when they are first asked for: of most parts no text is ever judged.

    Attributes:
        task: position of the task.
        name: of the part.
        form: of its units.
        text: in UTF-8.
    """

    task: int
    name: str
    form: UnitForm
    text: bytes

    @cached_property
    def units(self) -> UnitSequence:
        """The units of the text."""
        return UnitSequence.of(self.text, self.form)

    @cached_property
    def fine(self) -> UnitHashes:
        """Hashes of the short runs."""
        return grams(self.units.hashes, FINE[self.form])

    @cached_property
    def bits(self) -> Float32Array:
        """Bits of each unit, few at the end of a run that the part has before."""
        bits = rarity(self.form).of(self.units.hashes)
        # `unique` gives the first place of each run: every other place is a repetition
        _, before = np.unique(self.fine, return_index=True)
        repeated = np.ones(len(self.fine), np.bool_)
        repeated[before] = False
        # a view: a run that begins at unit i ends at the unit i + width - 1, whose bits are lowered in place
        tail = bits[FINE[self.form] - 1 :]
        tail[repeated] = np.minimum(tail[repeated], REPEATED_BITS)
        return bits

    @cached_property
    def sums(self) -> Float64Array:
        """Bits before each unit, and of all."""
        # the bits of a stretch are the difference of two entries, whatever its length
        return np.append(0.0, np.cumsum(self.bits, dtype=np.float64))

    @property
    def total(self) -> float:
        """Bits of all units."""
        return float(self.sums[-1])

    @cached_property
    def lookup(self) -> RunLookup:
        """The short runs, prepared for a search."""
        order = np.argsort(self.fine, kind="stable")
        marks = np.zeros(LOOKUP, np.bool_)
        marks[self.fine % LOOKUP] = True
        return RunLookup(self.fine, ascending=self.fine[order], order=order, marks=marks)


@dataclass(frozen=True, slots=True)
class CoveredPart:
    """The stretch of a text that covers most of a part.

    Attributes:
        part: that is covered.
        share: of its units, 0 to 1.
        bits: of the covered units.
        first: offset of its first byte in the text.
        last: offset after its last byte.
        of_part: the same two in the part.
    """

    part: PartUnits
    share: float
    bits: float
    first: int
    last: int
    of_part: tuple[int, int]

    def lies_in(self, other: "CoveredPart") -> bool:
        """Return True if another stretch has this one; a tenth may stand out, such as a bracket after the words."""
        common = min(self.last, other.last) - max(self.first, other.first)
        return common >= WHOLE * (self.last - self.first)


@dataclass(frozen=True, slots=True)
class TaskMatch:
    """A task that a text holds: the position of the task, and the place but for its source and row."""

    task: int
    place: ScanPlace


def _widest(part: PartUnits) -> int:
    """Return the units of the widest stretch that a part can lie in."""
    return int(1.5 * len(part.units)) + 10


def _rare_runs(part: PartUnits) -> WeighedRuns:
    """Return the runs of a part that ordinary code is not full of, all where it has no others, with their bits."""
    if len(part.units) < RUN[part.form]:
        return np.empty(0, np.uint64), np.empty(0, np.int32)
    sums = np.convolve(part.bits, np.ones(RUN[part.form], np.float32), "valid")
    runs, first = np.unique(run_hashes(part.text, part.form), return_index=True)
    # the rarer half at least, so that a part of idioms alone can still be found
    is_rare = sums[first] >= min(RARE[part.form], float(np.median(sums)))
    return runs[is_rare], np.maximum(1, sums[first[is_rare]]).astype(np.int32)


class Matcher:
    """Tasks that texts are searched for.

    Attributes:
        tasks: that are searched for.
        blind: search for code with other names too.
        tellable: positions of the tasks of which at least all of it would be sure.
    """

    def __init__(self, tasks: Sequence[ScannedTask], *, blind: bool = True) -> None:
        self.tasks, self.blind = tuple(tasks), blind
        self.parts: list[PartUnits] = []
        self._of_task: dict[int, list[PartUnits]] = defaultdict(list)
        runs: list[WeighedRuns] = []
        tellable: set[int] = set()
        for part in self._every_part():
            if len(part.units) < FINE[part.form]:
                continue
            # tokens count alone: a part that carries too little is never sure by them
            is_enough = part.total >= SURE[part.form]
            if part.form == "words" or is_enough:
                runs.append(_rare_runs(part))
                # a copy has not computed anything: of most parts no text is ever judged
                self.parts.append(replace(part))
                self._of_task[part.task].append(self.parts[-1])
            if part.form == "words" and is_enough and len(part.units) >= RUN["words"]:
                tellable.add(part.task)
        self.tellable = frozenset(tellable)
        needed = [int(LEAST_RUNS[part.form] * own[1].sum()) for part, own in zip(self.parts, runs, strict=True)]
        counters = Counters.of(needed, list(map(_widest, self.parts)))
        self._screen = Screen((self._table("words", runs), self._table("tokens", runs)), counters)

    def _every_part(self) -> Iterator[PartUnits]:
        for number, task in enumerate(self.tasks):
            for part in task.parts:
                text = part.text.encode("utf-8", "surrogatepass")
                yield PartUnits(number, name=part.name, form="words", text=text)
                if self.blind and part.name in CODE_PARTS:
                    yield PartUnits(number, name=part.name, form="tokens", text=text)

    def _table(self, form: UnitForm, runs: Sequence[WeighedRuns]) -> RunTable:
        return RunTable.of(form, {at: runs[at] for at, part in enumerate(self.parts) if part.form == form})

    def search(self, texts: Sequence[bytes]) -> Iterator[tuple[int, TaskMatch]]:
        """Yield the position of a text and what it holds, ascending.

        Args:
            texts: in UTF-8.
        """
        candidates: dict[int, dict[int, list[PartUnits]]] = defaultdict(lambda: defaultdict(list))
        for text, part in self._screen.candidates(texts):
            candidates[text][self.parts[part].task].append(self.parts[part])
        for text, by_task in sorted(candidates.items()):
            judged = JudgedText(texts[text])
            stretches: list[CoveredPart] = []
            for task in sorted(by_task):
                stretches += judged.stretches(self.tasks[task], by_task[task], self._of_task[task])
            for stretch, shared in self._explained(judged, stretches):
                yield text, TaskMatch(stretch.part.task, judged.place(stretch, shared))

    def _explained(self, text: "JudgedText", stretches: Sequence[CoveredPart]) -> Iterator[tuple[CoveredPart, str]]:
        """Yield the stretches that no other task of the benchmark explains better, with the ids of those that share it.

        A task often resembles another one of its benchmark. Where a text holds more of the other one around the same
        place, and this part not in full, the other one alone is there.
        """
        by_benchmark: dict[str, list[CoveredPart]] = defaultdict(list)
        for stretch in stretches:
            by_benchmark[self.tasks[stretch.part.task].benchmark].append(stretch)
        for own in by_benchmark.values():
            kept = list(map(text.kept_share, own))
            inside, better = _inside_others(own), _better_than(own, kept)
            for at, stretch in enumerate(own):
                if kept[at] * stretch.share == 1 or not np.any(inside[at] & better[at]):
                    # either lies in the other: both tasks have this text
                    others = dict.fromkeys(own[other].part.task for other in np.flatnonzero(inside[at] | inside[:, at]))
                    ids = [self.tasks[other].id for other in others if other != stretch.part.task]
                    yield stretch, ", ".join(ids[:MOST_NAMED])


def _inside_others(stretches: Sequence[CoveredPart]) -> BooleanArray:
    """Return whether a stretch, the row, lies in that of another task, the column; see `CoveredPart.lies_in`."""
    first, last, task = np.array([(place.first, place.last, place.part.task) for place in stretches]).T
    common = np.minimum.outer(last, last) - np.maximum.outer(first, first)
    lies_inside: BooleanArray = (common >= WHOLE * (last - first)[:, None]) & np.not_equal.outer(task, task)
    return lies_inside


def _better_than(stretches: Sequence[CoveredPart], kept: Sequence[float]) -> BooleanArray:
    """Return whether another stretch, the column, says more than one, the row: in words, or with more bits."""
    # bits of words and of tokens come from different tables, so only stretches of one form are compared by them
    bits = np.array([stretch.bits for stretch in stretches]) * kept
    is_blind = np.array([stretch.part.form == "tokens" for stretch in stretches])
    has_more = np.equal.outer(is_blind, is_blind) & (bits[None, :] > MORE_BITS * bits[:, None])
    says_more: BooleanArray = has_more | (is_blind[:, None] & ~is_blind[None, :])
    return says_more


class JudgedUnits(NamedTuple):
    """The units of a text in one form, and the hashes of its short runs."""

    units: UnitSequence
    runs: UnitHashes

    @classmethod
    def of(cls, text: bytes, form: UnitForm) -> "JudgedUnits":
        """Return the units of a text in UTF-8."""
        units = UnitSequence.of(text, form)
        return cls(units, grams(units.hashes, FINE[form]))


class JudgedText:
    """One text that may hold tasks; its units are found once."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    @cached_property
    def words(self) -> "JudgedUnits":
        """Its words."""
        return JudgedUnits.of(self.text, "words")

    @cached_property
    def tokens(self) -> "JudgedUnits":
        """Its tokens."""
        return JudgedUnits.of(self.text, "tokens")

    def stretches(
        self, task: ScannedTask, candidates: Sequence[PartUnits], parts: Sequence[PartUnits]
    ) -> Iterator[CoveredPart]:
        """Yield the stretches that hold a part of a task, the widest part first and none inside another.

        Args:
            task: that is looked for.
            candidates: its parts that the text shares runs with.
            parts: all of its parts.
        """
        sure = list(filter(is_sure, filter(None, map(self.stretch, candidates))))
        if not sure and any(part.form == "words" for part in candidates):
            short = [part for part in parts if part.form == "words" and part.name in DISJOINT]
            sure = self._together(task, list(filter(None, map(self.stretch, short))))
        widest: list[CoveredPart] = []
        for stretch in sorted(sure, key=_rank):
            if not any(map(stretch.lies_in, widest)):
                widest.append(stretch)
                yield stretch

    def _together(self, task: ScannedTask, stretches: Sequence[CoveredPart]) -> list[CoveredPart]:
        """Return the short parts that are sure together, with the name of the function; none otherwise."""
        apart = [stretch for stretch in stretches if stretch.share >= WHOLE and stretch.bits >= SHORT_BITS]
        bits = sum(map(attrgetter("bits"), apart))
        # the name counts beside a part alone: by itself it may be anybody's; tests hold it already
        if apart and task.entry and all(stretch.part.name != "tests" for stretch in apart):
            entry = UnitSequence.of(task.entry.encode(), "words").hashes
            if np.isin(entry, self.words.units.hashes).all():
                bits += min(ENTRY_BITS, float(rarity("words").of(entry).sum()))
        return apart if bits >= SURE["words"] else []

    def stretch(self, part: PartUnits) -> CoveredPart | None:
        """Return the stretch of the text that covers most of a part; None where it repeats nothing that is rare."""
        judged: JudgedUnits = getattr(self, part.form)
        units = judged.units
        begin, end, lead, gain = _common_runs(judged.runs, part.lookup, part.sums, FINE[part.form])
        if not len(gain):
            return None
        chosen, covered = _cover((begin, end, lead, gain), part.bits, _widest(part))
        if not chosen.any():
            return None
        # a run lies `lead` units later in the text than in the part, which gives its place there
        inside = np.flatnonzero(covered)
        at, to = int((begin + lead)[chosen].min()), int((end + lead)[chosen].max())
        return CoveredPart(
            part=part,
            share=float(covered.mean()),
            bits=float(part.bits[covered].sum() - RUN_COST * (np.count_nonzero(chosen) - 1)),
            first=int(units.starts[at]),
            last=int(units.ends[to - 1]),
            of_part=(int(part.units.starts[inside[0]]), int(part.units.ends[inside[-1]])),
        )

    def _texts(self, stretch: CoveredPart) -> tuple[bytes, bytes]:
        return self.text[stretch.first : stretch.last], stretch.part.text[slice(*stretch.of_part)]

    def kept_share(self, stretch: CoveredPart) -> float:
        """Return the share of words and marks of a part that its stretch has, below 1 where names do not count."""
        if stretch.part.form == "tokens":
            return BLIND_SHARE
        # all quotes are one, closing commas are none
        ours, theirs = (Counter(_MARKS.findall(text.replace(b"'", b'"'))) for text in self._texts(stretch))
        return (ours & theirs).total() / theirs.total()

    def place(self, stretch: CoveredPart, shared_with: str) -> ScanPlace:
        """Return the place of a stretch, but for its source and row."""
        ours, theirs = self._texts(stretch)
        first_line = self.text.count(b"\n", 0, stretch.first) + 1
        how = _how(stretch, ours, theirs)
        share = stretch.share
        if how == "reformatted":
            # words are all there, and marks may differ: the share tells `a + b` from `a - b`
            share *= self.kept_share(stretch)
        return ScanPlace(
            part=stretch.part.name,
            how=how,
            share=round(share, 4),
            source="",
            row=None,
            first_line=first_line,
            last_line=first_line + ours.count(b"\n"),
            task_text=theirs.decode("utf-8", "replace")[:LONGEST_QUOTE],
            source_text=ours.decode("utf-8", "replace")[:LONGEST_QUOTE],
            shared_with=shared_with,
        )


def is_sure(stretch: CoveredPart) -> bool:
    """Return True if a stretch is enough of its part, and too much for chance."""
    form = stretch.part.form
    # a share of a part may be any share, so it has to carry more
    is_whole = stretch.share >= WHOLE
    if not is_whole and stretch.part.name in WHOLE_ONLY:
        return False
    needed = SURE[form] if is_whole else SURE_SHARE[form]
    if form == "tokens" and is_whole and stretch.share * len(stretch.part.units) < FEW:
        needed = SURE_FEW
    return stretch.share >= LEAST_SHARE[form] and stretch.bits >= needed


def _rank(stretch: CoveredPart) -> tuple[object, ...]:
    # a whole part before a share of a wider one; then the words before the tokens, which say less
    return (stretch.share < WHOLE, stretch.part.form == "tokens", -len(stretch.part.units))


def _how(stretch: CoveredPart, ours: bytes, theirs: bytes) -> str:
    if stretch.part.form == "tokens":
        return "renamed"
    if list(map(bytes.strip, ours.split(b"\n"))) == list(map(bytes.strip, theirs.split(b"\n"))):
        return "word for word"
    if stretch.share < WHOLE:
        return "word for word"  # the share says that some of it differs
    return "rewrapped" if stretch.part.name in PROSE_PARTS else "reformatted"


@compiled
def _common_runs(
    text: UnitHashes, part: RunLookup, sums: Float64Array, width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Float64Array]:
    """Return the longest runs of units that a text and a part share, if they are worth their cost.

    Args:
        text: hashes of its short runs.
        part: the short runs of the part.
        sums: bits before each unit of the part.
        width: units of a short run.

    Returns:
        begin and end in the part, how much later they are in the text, and bits above the cost.
    """
    # room doubles when it is full, so that a text with many runs costs a linear number of copies
    runs, gains, count = np.empty((3, 64), np.int64), np.empty(64), 0
    for ours in range(len(text)):
        if not part.marks[text[ours] % LOOKUP]:
            continue
        # every place of the part that begins alike, since a repeated idiom may go on differently
        at = np.searchsorted(part.ascending, text[ours])
        while at < len(part.ascending) and part.ascending[at] == text[ours]:
            theirs, size = part.order[at], 1
            at += 1
            if ours and theirs and text[ours - 1] == part.runs[theirs - 1]:
                continue  # it began before
            while max(ours + size - len(text), theirs + size - len(part.runs)) < 0 and (
                text[ours + size] == part.runs[theirs + size]
            ):
                size += 1
            end = theirs + size - 1 + width
            gain = sums[end] - sums[theirs] - RUN_COST
            if gain > 0:
                if count == len(gains):
                    runs, gains = np.concatenate((runs, runs), axis=1), np.concatenate((gains, gains))
                runs[0, count], runs[1, count], runs[2, count], gains[count] = theirs, end, ours - theirs, gain
                count += 1
    return runs[0, :count], runs[1, :count], runs[2, :count], gains[:count]


@compiled
def _cover(
    runs: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Float64Array],
    bits: Float32Array,
    widest: int,
) -> tuple[BooleanArray, BooleanArray]:
    """Choose runs, the heaviest first, each near it and worth its cost by the units that the others lack.

    Returns:
        bool per run, and bool per unit of the part: covered.
    """
    # greedy: the heaviest run is chosen in any case, and every other one has to lie within the widest stretch around
    # all that are chosen, so `low` and `high` only ever draw nearer
    begin, end, lead, gain = runs
    order = np.argsort(-gain)
    chosen, covered = np.zeros(len(begin), np.bool_), np.zeros(len(bits), np.bool_)
    heaviest = order[0]
    low, high = end[heaviest] + lead[heaviest] - widest, begin[heaviest] + lead[heaviest] + widest
    for run in order[:500]:  # lighter ones hardly add to what these cover
        if begin[run] + lead[run] < low or end[run] + lead[run] > high:
            continue
        new = 0.0
        for at in range(begin[run], end[run]):
            if not covered[at]:
                new += bits[at]
        if new > RUN_COST:
            chosen[run] = True
            covered[begin[run] : end[run]] = True
            low = max(low, end[run] + lead[run] - widest)
            high = min(high, begin[run] + lead[run] + widest)
    return chosen, covered
