"""Parts of tasks found in texts: a first stage that passes over most texts, and a judgement of the rest.

*First stage* (`assay.scan.screening`). Runs of a few units of every part are in one table. A part is a candidate where
a text has `LEAST_RUNS` of its runs. Runs that ordinary code is full of are in the table only where a part has no
others.

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

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.compiled import compiled
from assay.scan.evidence import ScanPlace
from assay.scan.rarity import rarity
from assay.scan.screening import RUN, RunTable, Screen, run_hashes
from assay.scan.tasks import CODE_PARTS, ScannedTask
from assay.scan.units import UnitForm, UnitHashes, UnitSequence, grams
from assay.types import BooleanArray, Float32Array

FINE: Mapping[UnitForm, int] = {"words": 4, "tokens": 8}
"""UnitSequence of a run of the judgement."""
RARE: Mapping[UnitForm, float] = {"words": 30.0, "tokens": 24.0}
"""Bits of a run from which it is in the table."""
LEAST_RUNS: Mapping[UnitForm, float] = {"words": 0.25, "tokens": 0.35}
"""Share of the runs of a part in the table that a candidate has."""
LEAST_SHARE: Mapping[UnitForm, float] = {"words": 0.5, "tokens": 0.8}
SURE: Mapping[UnitForm, float] = {"words": 55.0, "tokens": 70.0}
"""Bits from which a whole part is no chance."""
FEW, SURE_FEW = 25, 80.0
"""Tokens below which a whole part needs more bits: with other names, everybody writes a few lines alike."""
SURE_SHARE: Mapping[UnitForm, float] = {"words": 120.0, "tokens": 120.0}
"""Bits from which a share of a part is no chance."""
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
LONGEST_QUOTE = 4000
"""Characters of each of the two texts of a place."""
PROSE_PARTS = frozenset({"docstring", "issue"})
WHOLE_ONLY = frozenset({"tests"})
"""Parts of which a share is found in much else: the values of tests are sequences that everybody writes."""
DISJOINT = ("docstring", "solution", "tests")
"""Parts that hold nothing of each other, so their bits add up."""

_MARKS = re.compile(rb"\w+|(?!,\s*[)\]}])[^\w\s]")


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
        _, before = np.unique(self.fine, return_index=True)
        repeated = np.ones(len(self.fine), np.bool_)
        repeated[before] = False
        tail = bits[FINE[self.form] - 1 :]
        tail[repeated] = np.minimum(tail[repeated], REPEATED_BITS)
        return bits

    @cached_property
    def total(self) -> float:
        """Bits of all units."""
        return float(self.bits.sum())


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


@dataclass(frozen=True, slots=True)
class TaskMatch:
    """A task that a text holds: the position of the task, and the place but for its source and row."""

    task: int
    place: ScanPlace


def _rare_runs(part: PartUnits) -> UnitHashes:
    """Return the runs of a part that ordinary code is not full of; all of them where it has no others."""
    if len(part.units) < RUN[part.form]:
        return np.empty(0, np.uint64)
    sums = np.convolve(part.bits, np.ones(RUN[part.form], np.float32), "valid")
    runs = run_hashes(part.text, part.form)
    return np.unique(runs[sums >= min(RARE[part.form], float(np.median(sums)))])


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
        runs: list[UnitHashes] = []
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
        needed = [max(1, round(LEAST_RUNS[part.form] * len(own))) for part, own in zip(self.parts, runs, strict=True)]
        self._screen = Screen((self._table("words", runs), self._table("tokens", runs)), np.array(needed, np.int32))

    def _every_part(self) -> Iterator[PartUnits]:
        for number, task in enumerate(self.tasks):
            for part in task.parts:
                text = part.text.encode("utf-8", "surrogatepass")
                yield PartUnits(number, name=part.name, form="words", text=text)
                if self.blind and part.name in CODE_PARTS:
                    yield PartUnits(number, name=part.name, form="tokens", text=text)

    def _table(self, form: UnitForm, runs: Sequence[UnitHashes]) -> RunTable:
        owners = [number for number, part in enumerate(self.parts) if part.form == form]
        return RunTable.of(form, list(map(runs.__getitem__, owners)), owners)

    def search(self, texts: Sequence[bytes]) -> Iterator[tuple[int, TaskMatch]]:
        """Yield the position of a text and what it holds, ascending.

        Args:
            texts: in UTF-8.
        """
        candidates: dict[tuple[int, int], list[PartUnits]] = defaultdict(list)
        for text, part in self._screen.candidates(texts):
            candidates[text, self.parts[part].task].append(self.parts[part])
        judged: dict[int, JudgedText] = {}
        for text, task in sorted(candidates):
            if text not in judged:
                judged = {text: JudgedText(texts[text])}
            for place in judged[text].places(self.tasks[task], candidates[text, task], self._of_task[task]):
                yield text, TaskMatch(task, place)


@dataclass(frozen=True, slots=True)
class JudgedUnits:
    """The units of a text in one form.

    Attributes:
        units: of the text.
        runs: hashes of its short runs, ascending: a text has far more than a part.
        order: where each begins.
    """

    units: UnitSequence
    runs: UnitHashes
    order: NDArray[np.intp]

    @classmethod
    def of(cls, text: bytes, form: UnitForm) -> "JudgedUnits":
        """Return the units of a text in UTF-8."""
        units = UnitSequence.of(text, form)
        runs = grams(units.hashes, FINE[form])
        order = np.argsort(runs, kind="stable")
        return cls(units, runs[order], order)

    def equal_pairs(self, runs: UnitHashes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the places in a part and in the text of all pairs of equal short runs."""
        lower, upper = np.searchsorted(self.runs, runs, "left"), np.searchsorted(self.runs, runs, "right")
        counts = upper - lower
        theirs = np.repeat(np.arange(len(runs)), counts)
        within = np.arange(len(theirs)) - np.repeat(np.cumsum(counts) - counts, counts)
        return theirs, self.order[np.repeat(lower, counts) + within]


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

    def places(
        self, task: ScannedTask, candidates: Sequence[PartUnits], parts: Sequence[PartUnits]
    ) -> Iterator[ScanPlace]:
        """Yield the places that hold a part of a task, the widest part first and none inside another.

        Args:
            task: that is looked for.
            candidates: its parts that the text shares runs with.
            parts: all of its parts.
        """
        sure = list(filter(is_sure, filter(None, map(self.stretch, candidates))))
        if not sure:
            short = [part for part in parts if part.form == "words" and part.name in DISJOINT]
            sure = self._together(task, list(filter(None, map(self.stretch, short))))
        widest: list[CoveredPart] = []
        for stretch in sorted(sure, key=_rank):
            inside = any(other.first <= stretch.first and stretch.last <= other.last for other in widest)
            if not inside:
                widest.append(stretch)
                yield self._place(stretch)

    def _together(self, task: ScannedTask, stretches: Sequence[CoveredPart]) -> list[CoveredPart]:
        """Return the short parts that are sure together, with the name of the function; none otherwise."""
        apart = [stretch for stretch in stretches if stretch.share >= WHOLE and stretch.bits >= SHORT_BITS]
        bits = sum(stretch.bits for stretch in apart)
        # the name counts beside a part alone: by itself it may be anybody's
        if apart and task.entry and all(stretch.part.name != "tests" for stretch in apart):
            entry = UnitSequence.of(task.entry.encode(), "words").hashes
            if np.isin(entry, self.words.units.hashes).all():
                bits += min(ENTRY_BITS, float(rarity("words").of(entry).sum()))
        return apart if bits >= SURE["words"] else []

    def stretch(self, part: PartUnits) -> CoveredPart | None:
        """Return the stretch of the text that covers most of a part; None where it repeats nothing that is rare."""
        judged = self.words if part.form == "words" else self.tokens
        units = judged.units
        width = FINE[part.form]
        theirs, ours = judged.equal_pairs(part.fine)
        if not len(ours):
            return None
        # maximal runs: pairs whose places grow together, on one diagonal
        diagonal = ours.astype(np.int64) - theirs
        order = np.lexsort((ours, diagonal))
        theirs, ours, diagonal = theirs[order], ours[order], diagonal[order]
        ends = np.flatnonzero((np.diff(diagonal) != 0) | (np.diff(ours) != 1))
        first, last = np.append(0, ends + 1), np.append(ends, len(ours) - 1)
        sums = np.append(0.0, np.cumsum(part.bits))
        gain = sums[theirs[last] + width] - sums[theirs[first]] - RUN_COST
        worth = gain > 0
        if not worth.any():
            return None
        begin, end, lead = theirs[first[worth]], theirs[last[worth]] + width, diagonal[first[worth]]
        chosen, covered = _cover((begin, end, lead, gain[worth]), part.bits, int(1.5 * len(part.units)) + 10)
        if not chosen.any():
            return None
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

    def _place(self, stretch: CoveredPart) -> ScanPlace:
        ours, theirs = self.text[stretch.first : stretch.last], stretch.part.text[slice(*stretch.of_part)]
        first_line = self.text.count(b"\n", 0, stretch.first) + 1
        how = _how(stretch, ours, theirs)
        kept = _kept_share(ours, theirs) if how == "reformatted" else 1.0
        return ScanPlace(
            part="tests" if stretch.part.name == "test_patch" else stretch.part.name,
            how=how,
            share=round(stretch.share * kept, 4),
            source="",
            row=None,
            first_line=first_line,
            last_line=first_line + ours.count(b"\n"),
            task_text=theirs.decode("utf-8", "replace")[:LONGEST_QUOTE],
            source_text=ours.decode("utf-8", "replace")[:LONGEST_QUOTE],
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


def _kept_share(ours: bytes, theirs: bytes) -> float:
    """Return the share of words and marks of a part that a text has; all quotes are one, closing commas are none."""
    mine, their = (Counter(_MARKS.findall(text.replace(b"'", b'"'))) for text in (ours, theirs))
    return (mine & their).total() / their.total()


@compiled
def _cover(
    runs: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]],
    bits: Float32Array,
    widest: int,
) -> tuple[BooleanArray, BooleanArray]:
    """Choose runs, the heaviest first, each near it and worth its cost by the units that the others lack.

    Returns:
        bool per run, and bool per unit of the part: covered.
    """
    begin, end, lead, gain = runs
    order = np.argsort(-gain)
    chosen, covered = np.zeros(len(begin), np.bool_), np.zeros(len(bits), np.bool_)
    heaviest = order[0]
    low, high = end[heaviest] + lead[heaviest] - widest, begin[heaviest] + lead[heaviest] + widest
    for run in order[:500]:
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
