"""Reports of a release: the answer first, then what to do, then the figures.

The words say what a lot can show. A rejection means that the outcome of the lot reached the model, in whatever way. The
words "in the training data" need p ≤ .001, adjusted over the log. Not rejecting is never evidence of absence. Without a
beacon every statement rests on an honest publisher, and says so.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from math import floor
from operator import attrgetter

from assay.evaluation import SIGNIFICANCE
from assay.release.comparing import TwinComparison
from assay.release.data_card import NOT_VALID
from assay.release.making import MadeRelease
from assay.release.power import power_table, text_power_sentence
from assay.release.publishing import VerifiedRelease, WrittenTwins
from assay.release.scored_copies import VersionTest
from assay.release.secret_values import PASSES, LogState
from assay.release.showing import ShownCopies
from assay.release.testing import ReleaseTest
from assay.reports import (
    Answer,
    Cell,
    Column,
    ColumnKind,
    Missing,
    Report,
    Row,
    Table,
    describe,
    named_p_value,
    number_of,
    points_with_interval,
)
from assay.types import PROOF_LEVEL

WAYS = (
    "training on the publication, a fork of it, text generated from it, distillation of a model that had it, or "
    "selection by public scores"
)
HONEST = "This holds if the publisher drew the lot honestly: no public beacon was named."
ABSENCE = "This is no evidence that the model has not seen it: a text that was seen may leave no trace."
UNADJUSTED = "unadjusted: the log of this secret is not complete"
CHANGED = "The log of this secret is not complete: an entry is missing or was changed, or its days were."
LISTED = 50
SCORED = {"gray": "log-likelihoods", "black": "what the model writes where their contents differ"}
MEANINGS = {
    "tests run": "each copy passes the tests of the task",
    "compiled": "not verified: each copy compiles, and nothing was run",
    "parsed": "not verified: nothing was run",
}


@describe.register
def _(result: ReleaseTest) -> Report:
    title = f"Did the release {result.release} reach {result.model}?"
    notes, tables = list(_notes(result)), list(_test_tables(result))
    return _report(title, answer=_answer(result, result.strongest), data=result, notes=notes, tables=tables)


def _notes(result: ReleaseTest) -> Iterator[str]:
    """Yield how the test was made, and what limits it."""
    yield _method(result)
    if not result.valid:
        yield NOT_VALID
    if not result.has_beacon:
        yield HONEST
    if result.strongest.decisive[1] is None:
        yield f"{UNADJUSTED.capitalize()}."
    if result.parents:
        day = min(map(attrgetter("day"), result.versions))
        yield f"The parent must be older than the publication of {day}; otherwise read 'parent or child'."
    if result.parent_p is not None and _parent_or_child(result):
        yield f"The parent prefers the published copies ({named_p_value(result.parent_p)}): parent or child."
    if result.access == "black":
        yield text_power_sentence()
    if result.refused:
        yield f"{number_of(result.refused, 'task')} could not be scored, whatever the lot."
    if result.spent:
        yield f"The server received secret copies: tranche {result.spent} is spent, as the secret records."
    yield from _log_notes(result.log)
    if result.placebos:
        smallest = named_p_value(min(result.placebos))
        yield f"Placebos in the log: {len(result.placebos)}, the smallest with {smallest}. One lot serves all tests."


def _log_notes(log: LogState) -> Iterator[str]:
    """Yield what has to be published of a log, and what is wrong with its days."""
    yield log.to_publish
    if log.backward:
        yield f"In the log {log.backward[1]} follows {log.backward[0]}: a clock was wrong, and its days show nothing."


def _answer(result: ReleaseTest, best: VersionTest) -> Answer:
    test, adjusted = best.decisive
    p, unadjusted, honest, step = adjusted, "", "", ""
    if p is None:
        p, unadjusted = test.p_value, f" ({UNADJUSTED})"
    if not result.has_beacon:
        honest = ", if the publisher drew honestly"
    measured = (
        f"{named_p_value(p)}{unadjusted}; "
        f"the published copy ranks first in {best.first} of {result.clusters} ({1 / result.copies:.0%} by chance)."
    )
    if result.placebo:
        if p <= SIGNIFICANCE:
            return Answer(
                verdict="The placebo rejects",
                because="A model from before the publication cannot know the lot: something is wrong.",
                measured=measured,
                next_step="check that the model is older, and that nobody chose the lot",
            )
        return Answer("The placebo passes", "The lot did not come out against a model that cannot know it.", measured)
    if p > SIGNIFICANCE:
        if not result.parents:
            step = "with an older model as --parent the test finds more; each further test counts, and p is adjusted"
        return Answer(verdict="No trace found", because=ABSENCE, measured=measured, next_step=step)
    if p <= PROOF_LEVEL and adjusted is not None and result.valid:
        verdict = "The release was in the training data"
        if _parent_or_child(result):
            verdict = "Parent or child had it"
        return Answer(
            verdict=verdict,
            because=f"The outcome of the lot reached the model{honest}.",
            measured=measured,
            next_step=f"it came by {WAYS}; keep the scores of this model apart",
        )
    return Answer(
        verdict="A trace of the release",
        because=(
            f"The model prefers the published copies to secret ones{honest}, but one clean model in "
            f"{floor(1 / p)} shows as much."
        ),
        measured=measured,
        next_step="do not accuse on this alone; test with an older model as --parent, or with more tasks",
    )


def _parent_or_child(result: ReleaseTest) -> bool:
    return result.parent_p is not None and result.parent_p <= SIGNIFICANCE


def _method(result: ReleaseTest) -> str:
    parents = ""
    if result.parents:
        parents = f", less what {', '.join(result.parents)} explains"
    return (
        f"{number_of(result.tasks, 'task')}, {result.copies} copies of each scored afresh "
        f"({SCORED[result.access]}{parents}); the lot "
        f"was drawn again for {number_of(result.clusters, 'cluster')}. p is adjusted by Holm over "
        f"{number_of(result.logged, 'test')} in the log. Commitment {result.commitment[:16]}…"
    )


def _table(
    name: str,
    title: str,
    heads: Mapping[str, ColumnKind],
    rows: Iterable[Sequence[Cell | None]],
    caption: tuple[str, ...] = (),
) -> Table:
    """Return a table of rows under headings; None is a value that there is not."""
    columns = tuple(starmap(Column, heads.items()))
    lines = [Row(tuple(map(_or_missing, row))) for row in rows]
    return Table(name, title, columns=columns, rows=tuple(lines), caption=caption)


def _or_missing(cell: Cell | None) -> Cell:
    if cell is None:
        return Missing("there is none")
    return cell


def _version_row(test: VersionTest) -> tuple[Cell | None, ...]:
    result, adjusted = test.decisive
    of_content = (test.content_adjusted,) if test.names else ()
    return f"{test.number} ({test.day})", result.z, result.p_value, adjusted, *of_content, test.memorised


def _test_tables(result: ReleaseTest) -> Iterator[Table]:
    heads: dict[str, ColumnKind] = {"version": "name", "z": "number", "p": "p_value", "adjusted p": "p_value"}
    title = "The published contents against those that the lot left"
    caption = ["z: standard deviations above a new lot. Known tasks: lower end of a one-sided 95 % interval."]
    if result.access == "gray":
        title = "The published copies against secret ones"
        heads["adjusted p of the content"] = "p_value"
        caption.append("The content (examples and their order) is a lot of its own, which survives renaming back.")
    heads["known tasks, at least"] = "count"
    rows = map(_version_row, result.versions)
    yield _table("versions", title, heads=heads, rows=rows, caption=tuple(caption))
    if result.single:
        named = sorted(result.named, key=attrgetter("q_value"))
        yield _table(
            "tasks",
            f"{number_of(len(named), 'single task')} named, at most 5 % of them falsely",
            heads={"task": "name", "p": "p_value", "q": "p_value"},
            rows=map(attrgetter("id", "p_value", "q_value"), named[:LISTED]),
            caption=("Besag and Clifford 1991, then Benjamini and Hochberg 1995.",),
        )
    if result.access == "gray":
        yield power_table(result.tasks, result.naming)


@describe.register
def _(released: MadeRelease) -> Report:
    secret, committed = released.secret, released.secret.committed
    levels = Counter(map(attrgetter("level"), committed.tasks))
    verdict, count = "Committed", len(secret.versions)
    because = f"{len(committed.tasks)} of {number_of(len(committed.order), 'task')} can be tested"
    if levels[PASSES] < len(committed.tasks):
        because += f", {levels[PASSES]} with copies that were verified by tests"
    if released.public_path is None:
        because += "; the lot is not drawn yet."
        step = f"publish the commitment; after {committed.round} run this again with --beacon VALUE and no --round"
    else:
        verdict = f"Version {count} is published" if count > 1 else "Released"
        because += f". Keep {released.secret_path} and the original tasks private."
        step = f"read the new names and examples, publish {released.public_path} and {released.card_path}"
        if not secret.versions[-1].beacon:
            step += "; without --round readers have to trust that you drew once"
    tables = [
        _table(
            "levels",
            title="How the copies were verified",
            heads={"level": "name", "tasks": "count", "meaning": "text"},
            rows=((level, tasks, MEANINGS[level]) for level, tasks in levels.most_common()),
        ),
        *_left_out_table(committed.left_out),
        power_table(len(committed.tasks), committed.naming),
    ]
    data = {
        "release": committed.name,
        "commitment": secret.commitment,
        "valid": committed.valid,
        "tasks": len(committed.tasks),
        "left_out": dict(committed.left_out),
        "levels": dict(levels),
        "naming": committed.naming,
        "versions": count,
        "public": released.public_path and str(released.public_path),
        "card": released.card_path and str(released.card_path),
    }
    notes = [*released.notes, *_log_notes(secret.log_state)]
    if not committed.valid:
        notes.append(NOT_VALID)
    answer = Answer(verdict=verdict, because=because, measured=f"Commitment: {secret.commitment}", next_step=step)
    return _report(
        f"Release of {committed.name}",
        answer=answer,
        data=data,
        notes=notes,
        tables=tables,
    )


def _report(
    title: str, answer: Answer, data: object, notes: Sequence[str] = (), tables: Sequence[Table] = ()
) -> Report:
    return Report(
        title,
        "",
        tuple(tables),
        notes=tuple(notes),
        data=data,
        kind="release",
        answer=answer,
        on_first_screen=len(tables),
    )


@describe.register
def _(shown: ShownCopies) -> Report:
    tables, tried = [], len(shown.tasks) + len(shown.left_out)
    for number, (task, lines) in enumerate(shown.tasks.items(), 1):
        table = _table(
            f"task-{number}",
            title=f"{task}: {number_of(len(lines), 'line')} would change",
            heads={"column": "name", "original": "text", "a copy": "text"},
            rows=map(attrgetter("column", "original", "copy"), lines),
        )
        tables.append(table)
    return _report(
        f"Copies of {number_of(len(shown.tasks), 'task')}",
        answer=Answer(
            verdict="Nothing is committed",
            because=f"These copies show what would change, by {shown.naming}; a release draws others.",
            measured=f"{len(shown.tasks)} of {number_of(tried, 'task')} that were tried have enough copies.",
            next_step="read whether each copy still asks the same; --names takes your own alternatives",
        ),
        data=shown,
        tables=[*tables, *_left_out_table(shown.left_out)],
    )


def _left_out_table(left_out: Mapping[str, str]) -> list[Table]:
    """Return the table of the tasks that are no part of a test; none where there are no such tasks."""
    if not left_out:
        return []
    table = _table(
        "left-out",
        title="Tasks that are published unchanged and are no part of the test",
        heads={"task": "name", "reason": "text"},
        rows=list(left_out.items())[:LISTED],
        caption=("Where names are too few, --names or --unrelated gives more, and --copies asks for fewer.",),
    )
    return [table]


@describe.register
def _(verified: VerifiedRelease) -> Report:
    matches = f"The file is version {verified.version}, of {verified.day}"
    answer = Answer(
        verdict="The file matches the secret",
        because=f"{matches}, and its copies pass the tests of their tasks.",
        measured=f"{verified.tested} of its {verified.rows} tasks have tests that were run again.",
        next_step=f"compare the commitment with the published one: {verified.commitment}",
    )
    if verified.failed:
        first = verified.failed[0]
        answer = Answer(
            verdict=f"{len(verified.failed)} of {verified.tested} copies fail their tests",
            because=f"{matches}, but what passed when it was made does not pass here.",
            measured=f"First {first.id}: {first.output}",
            next_step="compare the Python and the packages with those of the release; --packages names a folder",
        )
    elif not verified.tested:
        answer = replace(answer, because=f"{matches}. None of its tasks has tests that were run when it was made.")
    notes = list(_log_notes(verified.log))
    if not verified.log.is_full:
        notes.append(CHANGED)
    if not verified.beacon:
        notes.append(HONEST)
    table = _table(
        "failed",
        "Copies that fail",
        heads={"task": "name", "last line": "text"},
        rows=map(attrgetter("id", "output"), verified.failed[:LISTED]),
    )
    tables = [table] if verified.failed else []
    return _report(f"Release {verified.release}", answer=answer, data=verified, notes=notes, tables=tables)


@describe.register
def _(twins: WrittenTwins) -> Report:
    answer = Answer(
        verdict="Twins written",
        because=f"{twins.path} has {number_of(twins.tasks, 'twin')} that nobody has seen. Never publish it.",
        measured="",
        next_step="run one evaluation on both files, then: assay release compare PUBLIC_RESULTS TWIN_RESULTS",
    )
    return _report(f"Twins of {twins.release}", answer, twins)


@describe.register
def _(compared: TwinComparison) -> Report:
    notes = [f"Checked in both logs: {', '.join(compared.checked)}."]
    if compared.unchecked:
        notes.append(f"A log does not state: {', '.join(compared.unchecked)}. Make sure that both runs were alike.")
    notes.append("Given the pair, which copy is public was a fair coin: the signs were flipped task by task (exact).")
    table = _table(
        "results",
        title=f"Results of {number_of(compared.tasks, 'task')}",
        heads={"": "name", "solved": "share", "tasks better here": "count"},
        rows=(("public copies", compared.public, compared.public_only), ("twins", compared.twin, compared.twin_only)),
    )
    return _report(
        "Public copies and twins", answer=_compared_answer(compared), data=compared, notes=notes, tables=[table]
    )


def _compared_answer(compared: TwinComparison) -> Answer:
    measured = f"{points_with_interval(compared.difference)}; {named_p_value(compared.p_value)}, one-sided."
    if compared.p_value <= SIGNIFICANCE:
        because = "The model solves published tasks that it fails as twins."
        return Answer("Better on the published copies", because, measured)
    if compared.difference.high < 0:
        because = "Nobody has seen the twins: the two logs may be in the wrong order."
        return Answer(
            verdict="Better on the twins",
            because=because,
            measured=measured,
            next_step="check which log is of which file",
        )
    because = "This is no evidence that the model has not seen the release."
    step = "more tasks, or several answers to each, show smaller differences"
    return Answer(verdict="No difference shown", because=because, measured=measured, next_step=step)
