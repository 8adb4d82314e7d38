"""One verdict a run: had the gold patch been read before it was written, and where did it stand?

An item of the patch (see `gold`) is evidence where a call shows it through a channel, unless it was known before:
because the task's text has it, because the working tree showed it before the first edit (or, with a repository, has it
at the base commit), or because the agent had written it. Then rare evidence decides: a few items together.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import chain, filterfalse
from operator import attrgetter
from typing import Literal

from assay.agent_runs.commands import Effects, effects_of
from assay.agent_runs.foreign_places import (
    CHANNELS,
    HISTORY,
    INSTALLED,
    TESTS,
    TREE,
    FileState,
    ForeignPlace,
    ReadingChannel,
    foreign_part,
)
from assay.agent_runs.gold import DELETED, GoldTask, Item, PatchItems, normal
from assay.agent_runs.run_values import AgentRun, Step
from assay.datasets import patch_side

RunVerdict = Literal["read the fix", "wrote it without reading", "neither", "cannot tell"]
RUN_VERDICTS: tuple[RunVerdict, ...] = ("read the fix", "wrote it without reading", "neither", "cannot tell")

ENOUGH = 3
"""Items that together decide."""
WHOLE = 2
"""Items that decide where they are all that is not known before of a changed place."""
NEARLY_ALL = 0.8
"""Share of the items of a changed place that decides in a test file of the tree, whose tests resemble each other."""
LONG_LINE = 4
"""Words of a line that decides alone, where the patch has no more than two lines."""
MOST_LINES_ALONE = 2
LONGEST_NORMAL = 1 << 16
"""Characters of a call in which white space is made even."""
WRITTEN = 0.5
"""Share of the informative lines that counts as the fix."""

_WORD = re.compile(r"\w+")
_COMMIT = re.compile(r"^commit [0-9a-f]{7,40}", re.MULTILINE)
_ELIDED = re.compile(
    r"elided_chars|response clipped|truncated|characters omitted|omitted \d+ of \d+ lines|\[\d+ lines? omitted"
)


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A step in the timeline of a run.

    Attributes:
        step: number, from 1.
        place: where it stands in the file.
        command: the call on one line.
        kind: what happened: "read the fix", "wrote the fix", "foreign text", "first edit".
    """

    step: int
    place: str
    command: str
    kind: str


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run with its verdict.

    Attributes:
        run: name of the run.
        source: the file.
        layout: of the file.
        task: id of the task; "" where no task belongs to the run.
        verdict: see the module.
        reason: of a verdict that cannot be given, as a clause; "" otherwise.
        step: number of the step that read the fix, from 1; 0 without one.
        place: where that step stands in the file.
        channel: through which it was read; "" without one.
        command: of that step, on one line.
        lines: informative lines of the gold patch that were read.
        excerpt: the part of the output that shows them.
        written_after: share of these lines that the agent wrote afterwards; None without any.
        share: of the informative lines of the gold patch in what the agent wrote; None without any.
        others: further runs of the task that wrote the fix without having read it.
        solved: outcome between 0 and 1; None where unknown.
        steps: number of steps.
        timeline: steps that matter, in order.
        patch: the gold patch, where the fix was read.
    """

    run: str
    source: str
    layout: str
    task: str
    verdict: RunVerdict
    reason: str = ""
    step: int = 0
    place: str = ""
    channel: ReadingChannel | Literal[""] = ""
    command: str = ""
    lines: tuple[str, ...] = ()
    excerpt: str = ""
    written_after: float | None = None
    share: float | None = None
    others: int = 0
    solved: float | None = None
    steps: int = 0
    timeline: tuple[TimelineEntry, ...] = field(default=(), repr=False)
    patch: str = field(default="", repr=False)

    @property
    def wrote_unread(self) -> bool:
        """True for a run that wrote the fix without having read it."""
        return self.verdict == "wrote it without reading"


@dataclass(slots=True)
class _Seen:
    """Part of the patch and of its tests."""

    number: int
    step: Step
    effects: Effects
    fix: frozenset[Item]
    tests: frozenset[Item]

    @property
    def channels(self) -> list[ReadingChannel]:
        return list(map(attrgetter("channel"), self.effects.reads))


@dataclass(frozen=True, slots=True)
class _Reading:
    """The step that read the fix, and what it showed."""

    seen: _Seen
    place_read: ForeignPlace
    lines: tuple[str, ...]
    written_after: float

    def of(self, judged: JudgedRun, timeline: Sequence[TimelineEntry]) -> JudgedRun:
        """Return the verdict with the facts on this reading."""
        step, number = self.seen.step, self.seen.number
        reading = TimelineEntry(number, step.place, command=step.command, kind="read the fix")
        entries = [*(entry for entry in timeline if entry.step != number), reading]
        return replace(
            judged,
            verdict="read the fix",
            step=number,
            place=step.place,
            channel=self.place_read.channel,
            command=step.command,
            lines=self.lines,
            excerpt=_excerpt(step.output, self.lines),
            written_after=self.written_after,
            timeline=tuple(sorted(entries, key=lambda entry: entry.step)),
        )


def judge_run(run: AgentRun, source: str, task: GoldTask | None, base: frozenset[Item] | None = None) -> JudgedRun:
    """Return the verdict on a run.

    Args:
        run: with its steps.
        source: the file that it comes from.
        task: that it worked on; None where no task has its name.
        base: items of the patch and of its tests that the repository has at the base commit; None without a repository.
    """
    judged = JudgedRun(
        run=run.name,
        source=source,
        layout=run.layout,
        task=task.id if task else "",
        verdict="cannot tell",
        solved=run.solved,
        steps=len(run.steps),
    )
    if reason := _not_judged(run, task):
        return replace(judged, reason=reason)
    assert task is not None  # noqa: S101  see _not_judged
    steps = _Steps(run, task, base)
    share = steps.share_written()
    judged = replace(judged, share=share, patch=task.patch)
    if finding := steps.first_reading():
        return finding.of(judged, steps.timeline())
    timeline = steps.timeline()
    if hint := next(steps.doubts(share), None):
        return replace(judged, reason=hint, timeline=timeline)
    if share is not None and share >= WRITTEN:
        return replace(judged, verdict="wrote it without reading", timeline=timeline)
    return replace(judged, verdict="neither", timeline=timeline)


def _not_judged(run: AgentRun, task: GoldTask | None) -> str:
    if task is None:
        return "no task of the table has the name of this run"
    if not task.patch.strip():
        return "the task has no gold patch"
    if not task.fix.items:
        return "the gold patch has no line that can be recognised"
    if not run.steps:
        return run.cut or "the run has no step with an output"
    return ""


class _Steps:
    """The steps of a run, followed once in their order.

    Args:
        run: with its steps.
        task: its task.
        base: see `judge_run`.
    """

    def __init__(self, run: AgentRun, task: GoldTask, base: frozenset[Item] | None) -> None:
        self.run, self.task, self.base = run, task, base
        self.fix, self.tests = task.fix, task.tests
        # the lines that an agent has to write, or to delete
        self.aims = self.fix.deleted or self.fix.lines
        self.state = FileState(root=run.root or _root(run, task), folder=run.root)
        self.typed: dict[Item, int] = {}
        self.shown: list[_Seen] = []
        self.taken: list[_Seen] = []
        self.elided: list[_Seen] = []
        self.first_edit = len(run.steps) + 1
        for number, step in enumerate(run.steps, 1):
            self._follow(number, step)
        self.excluded = self._known()

    def _follow(self, number: int, step: Step) -> None:
        """Note what the agent typed in a step, then what the step showed."""
        # before the output: what the call itself spells out, its output cannot leak
        for item in self._typed_in(step.typed):
            self.typed.setdefault(item, number)
        effects = effects_of(step, self.state)
        if effects.edits:
            self.first_edit = min(self.first_edit, number)
        sign, output = "", step.output
        if effects.reads:
            sign = effects.reads[0].sign
            # the quick test first: most outputs are large and show nothing of the patch
            if self.fix.occurs_in(output) or self.tests.occurs_in(output):
                output, place = foreign_part(output, self.state)
                # a search of the disk names the file of each line: that is the place, not the path in the command
                if place and place.channel == INSTALLED:
                    effects.reads = [place]
        seen = _Seen(number, step, effects, fix=self.fix.shown(output, sign), tests=self.tests.shown(output, sign))
        if seen.fix or seen.tests:
            self.shown.append(seen)
        if effects.takes:
            self.taken.append(seen)
        if effects.reads and (not step.is_recorded or _ELIDED.search(step.output)):
            self.elided.append(seen)

    def _typed_in(self, text: str) -> Iterator[Item]:
        """Yield the items that a call spells out; white space within its lines may differ."""
        texts = [text]
        if "  " in text and len(text) < LONGEST_NORMAL:
            texts.append(normal(text))
        for typed in texts:
            yield from zip(filter(typed.__contains__, (*self.aims, *self.tests.lines)))
        yield from self.fix.shown(text) | self.tests.shown(text)

    def _known(self) -> frozenset[Item]:
        """Return the items that no channel can leak: of the task's text, and of the tree before the first edit."""
        text = f"{self.run.prompt}\n{self.task.text}"
        excluded = set(self.fix.shown(text) | self.tests.shown(text))
        # a line within a sentence of the task is no line of its own there, and known all the same
        excluded.update(zip(filter(text.__contains__, (*self.fix.lines, *self.tests.lines))))
        if self.base is not None:
            return frozenset(excluded | self.base)
        for seen in self.shown:
            # an output that has lost its call may come from anywhere, so it makes nothing known
            if seen.number < self.first_edit and not seen.channels and seen.step.typed.strip():
                excluded |= seen.fix
        return frozenset(excluded)

    def first_reading(self) -> _Reading | None:
        """Return the first step that read the fix; None without one."""
        excluded = set(self.excluded)
        by_channel: dict[ReadingChannel, set[Item]] = {}
        for seen in self.shown:
            written = {item for item, number in self.typed.items() if number <= seen.number}
            # of a pair with a line that the agent wrote, the neighbour may be what stood there before
            lines = _single_lines(written)
            written |= {item for item in self.fix.items | self.tests.items if not lines.isdisjoint(item)}
            fix, tests = seen.fix - excluded - written, seen.tests - excluded - written
            place_read = self._channel(seen)
            # what the tree showed once is no news from any channel later
            if place_read is None:
                excluded |= fix | tests
                continue
            evidence = by_channel.setdefault(place_read.channel, set())
            evidence |= fix
            in_tests = place_read.channel == TESTS and self.state.in_tree(place_read.place)
            open_items = self.fix.items - excluded - written
            if self._decides(evidence, open_items, in_tests=in_tests):
                return self._reading(seen, place_read, evidence=evidence, items=self.fix)
            if _nearly_whole(tests, self.tests, self.tests.items - excluded - written):
                return self._reading(seen, place_read, evidence=tests, items=self.tests)
        return None

    def _channel(self, seen: _Seen) -> ForeignPlace | None:
        """Return the foreign place that the output of a step comes from; None for the tree and the agent's own text."""
        after_edit = seen.number > self.first_edit
        reads = seen.effects.reads
        # git prints the message of a commit of the agent's own, and then its changes
        if any(map(seen.step.output.__contains__, filter(None, self.state.messages))):
            return None
        if not reads:
            if self.base is not None and not after_edit and seen.effects.tree_paths:
                return ForeignPlace(TREE, "a file of the working tree")
            return None
        # the output of a call does not say which of its places a line is from: the channels stand in order of weight
        chosen = min(reads, key=lambda place_read: CHANNELS.index(place_read.channel))
        names = set(map(posixpath.basename, self.fix.paths))
        mixes_own = seen.effects.mixes_own or not names.isdisjoint(map(posixpath.basename, seen.effects.tree_paths))
        # own changes in the same output cannot be told from foreign text, except by the head of a commit
        if not (after_edit and mixes_own) or chosen.channel == TESTS:
            return chosen
        if chosen.channel == HISTORY and _COMMIT.search(seen.step.output):
            return chosen
        return None

    def _decides(self, evidence: AbstractSet[Item], open_items: AbstractSet[Item], *, in_tests: bool) -> bool:
        """Return True for enough evidence, among the items that were not known before."""
        if in_tests:
            return _nearly_whole(evidence, self.fix, open_items)
        if len(evidence) >= ENOUGH:
            return True
        # a small place decides once all of it that was not known before was shown
        if any(WHOLE <= len(place & open_items) == len(place & evidence) for place in self.fix.places):
            return True
        if self.fix.deleted:
            return self._shows_deletion(evidence, open_items)
        words = map(len, map(_WORD.findall, _single_lines(evidence)))
        return len(_single_lines(open_items)) <= MOST_LINES_ALONE and max(words, default=0) >= LONG_LINE

    def _shows_deletion(self, evidence: AbstractSet[Item], open_items: AbstractSet[Item]) -> bool:
        """Return True if the agent deleted the lines, and the text lacks them at their place."""
        if (self.share_written() or 0) < WRITTEN:
            return False
        for place in self.fix.places:
            # what stood around the deleted lines is one pair of neighbours in the fixed file
            joined = {pair for pair in place & open_items if pair[0] != DELETED}
            if joined and joined <= evidence:
                return True
        return False

    def _reading(
        self, seen: _Seen, place_read: ForeignPlace, *, evidence: Iterable[Item], items: PatchItems
    ) -> _Reading:
        words = set(chain.from_iterable(evidence)) - {DELETED}
        lines = tuple(filter(words.__contains__, items.lines)) or tuple(sorted(words))
        later = "\n".join([*map(attrgetter("typed"), self.run.steps[seen.number :]), self._handed_in()])
        later += "\n" + normal(later)
        aims = items.deleted or lines
        after = sum(map(later.__contains__, aims))
        return _Reading(seen, place_read, lines, written_after=after / len(aims))

    def _handed_in(self) -> str:
        """Return what the submission adds; of a patch that only deletes, what it deletes."""
        patch = (self.run.submission or "").replace("\r\n", "\n")
        return patch_side(patch, "old" if self.fix.deleted else "new", context=False)

    def timeline(self) -> tuple[TimelineEntry, ...]:
        """Return the steps that matter: foreign reads that show lines of the patch, the first edit, and writing it."""
        # a step has one kind: each of these replaces the ones before it, but for the first edit
        kinds: dict[int, str] = {seen.number: "took foreign text" for seen in self.taken}
        kinds |= {seen.number: f"read {seen.channels[0]}" for seen in self.shown if seen.channels}
        if self.first_edit <= len(self.run.steps):
            kinds.setdefault(self.first_edit, "first edit")
        if written := self.typed.keys() & zip(self.aims):
            kinds[min(map(self.typed.__getitem__, written))] = "wrote lines of the fix"
        entries = []
        for number, kind in sorted(kinds.items()):
            step = self.run.steps[number - 1]
            entries.append(TimelineEntry(number, step.place, command=step.command, kind=kind))
        return tuple(entries)

    def share_written(self) -> float | None:
        """Return the share of the informative lines of the gold patch in what the agent handed in, or else wrote."""
        # lines that the task itself states are written by everybody
        lines = self.fix.deleted or list(filterfalse(self.task.text.__contains__, self.fix.lines))
        if not lines:
            return None
        written: Container[str] = _single_lines(self.typed)
        if self.run.submission:
            written = set(map(normal, self._handed_in().splitlines()))
        return sum(map(written.__contains__, lines)) / len(lines)

    def doubts(self, share: float | None) -> Iterator[str]:
        """Yield the reasons why it cannot be told whether the fix was read."""
        # by weight: the first doubt is the reason that is reported
        if self.run.cut:
            yield self.run.cut
        for seen in self.shown:
            if not seen.step.typed.strip() and seen.fix - self.excluded - self.typed.keys():
                yield f"step {seen.number} shows lines of the fix, and the file does not say which call it answers"
        # the doubts below are about a copy, and an agent that did not write the fix has not copied it
        if share is None or share < WRITTEN:
            return
        if self.taken and self.typed.keys().isdisjoint(zip(self.aims)):
            yield f"step {self.taken[0].number} brought foreign text into the working tree without showing it"
        for seen in filter(_reads_more_than_tests, self.elided):
            text = seen.step.typed + seen.step.output
            if not seen.step.is_recorded:
                yield f"the output of step {seen.number} is not in the file"
            elif any(map(text.__contains__, map(posixpath.basename, self.fix.paths))):
                yield f"a part of the output of step {seen.number} is missing from the file"


def _reads_more_than_tests(seen: _Seen) -> bool:
    return bool({*seen.channels} - {TESTS})


def _single_lines(items: Iterable[Item]) -> set[str]:
    """Return the lines among some items, pairs left out."""
    return {item[0] for item in items if len(item) == 1}


def _nearly_whole(evidence: AbstractSet[Item], items: PatchItems, open_items: AbstractSet[Item]) -> bool:
    """Return True for nearly all of a changed place: less may stand in a test file that has similar tests."""
    for place in items.places:
        shown = len(evidence & place)
        if shown >= ENOUGH and shown >= NEARLY_ALL * len(place & open_items):
            return True
    return False


def _excerpt(output: str, lines: Sequence[str]) -> str:
    """Return the part of an output around the lines of the patch."""
    rows = output.splitlines()
    for number, row in enumerate(rows):
        if any(map(normal(row).__contains__, lines)):
            return "\n".join(shown[:300] for shown in rows[max(0, number - 6) : number + 34])
    return output[:2000]


def _root(run: AgentRun, task: GoldTask) -> str:
    """Return the folder of the repository as the commands name it: what stands before the paths of patched files."""
    before: Counter[str] = Counter()
    for step in run.steps:
        for path in task.fix.paths:
            for named in re.findall(rf"(/[\w./@-]*?)/{re.escape(path)}", step.typed):
                before[named] += not re.search(r"-packages|node_modules|^/tmp", named)
    if +before:
        return before.most_common(1)[0][0]
    folders = chain.from_iterable(re.findall(r"\Acd (/[\w./-]+)", step.typed) for step in run.steps)
    stated = re.findall(r"/testbed\b|/workspace/[\w./-]+\w|/app\b|/repo\b", run.prompt)
    return next(folders, next(iter(stated), "")).rstrip("/")
