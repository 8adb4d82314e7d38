"""Reports of a release: the answer first, then what to do, then the figures.

The words say what a lot can show. A rejection means that the outcome of the lot reached the model, in whatever way. The
words "in the training data" need p ≤ .001, adjusted over the log. Not rejecting is never evidence of absence. Without a
beacon every statement rests on an honest publisher, and says so.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.evaluation import SIGNIFICANCE
from assay.release.comparing import TwinComparison
from assay.release.data_card import NOT_VALID
from assay.release.making import MadeRelease
from assay.release.publishing import VerifiedRelease, WrittenTwins
from assay.release.scored_copies import VersionTest
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
LISTED = 50
MEANINGS = {
    "tests run": "each copy passes the tests of the task",
    "compiled": "each copy compiles; same results are not shown",
    "parsed": "only names differ; nothing was run",
}


@describe.register
def _(result: ReleaseTest) -> Report:
    best = result.strongest
    p = best.names.p_value if best.adjusted is None else best.adjusted
    notes = list(_notes(result))
    title = f"Did the release {result.release} reach {result.model}?"
    return _report(title, _answer(result, best, p), result, notes, list(_test_tables(result)))


def _notes(result: ReleaseTest) -> Iterator[str]:
    """Yield how the test was made, and what limits it."""
    yield _method(result)
    if not result.valid:
        yield NOT_VALID
    if not result.has_beacon:
        yield HONEST
    if result.strongest.adjusted is None:
        yield f"{UNADJUSTED.capitalize()}."
    if result.parents:
        day = min(version.day for version in result.versions)
        yield f"The parent must be older than the publication of {day}; otherwise read 'parent or child'."
    if result.parent_p is not None and _parent_or_child(result):
        yield f"The parent prefers the published copies ({named_p_value(result.parent_p)}): parent or child."
    if result.refused:
        yield f"{number_of(result.refused, 'task')} could not be scored, whatever the lot."
    if result.spent:
        yield f"The server received secret copies: tranche {result.spent} is spent, as the secret records."
    if result.placebos:
        smallest = named_p_value(min(result.placebos))
        yield f"Placebos in the log: {len(result.placebos)}, the smallest with {smallest}. One lot serves all tests."


def _answer(result: ReleaseTest, best: VersionTest, p: float) -> Answer:
    measured = (
        f"{named_p_value(p)}{'' if best.adjusted is not None else f' ({UNADJUSTED})'}; "
        f"the published copy ranks first in {best.first} of {result.clusters} ({1 / result.copies:.0%} by chance)."
    )
    honest = "" if result.has_beacon else ", if the publisher drew honestly"
    if result.placebo:
        if p <= SIGNIFICANCE:
            return Answer(
                "The placebo rejects",
                "A model from before the publication cannot know the lot: something is wrong.",
                measured,
                "check that the model is older, and that nobody chose the lot",
            )
        return Answer("The placebo passes", "The lot did not come out against a model that cannot know it.", measured)
    if p > SIGNIFICANCE:
        step = "with an older model as --parent the test finds more; each further test counts, and p is adjusted"
        return Answer("No trace found", ABSENCE, measured, "" if result.parents else step)
    if p <= PROOF_LEVEL and best.adjusted is not None and result.valid:
        return Answer(
            "The release was in the training data" if not _parent_or_child(result) else "Parent or child had it",
            f"The outcome of the lot reached the model{honest}.",
            measured,
            f"it came by {WAYS}; keep the scores of this model apart",
        )
    return Answer(
        "The lot reached the model",
        f"The model prefers the published copies to secret ones{honest}.",
        measured,
        f"it came by {WAYS}; more tasks or a parent would make it surer",
    )


def _parent_or_child(result: ReleaseTest) -> bool:
    return result.parent_p is not None and result.parent_p <= SIGNIFICANCE


def _method(result: ReleaseTest) -> str:
    kind = "log-likelihoods" if result.access == "gray" else "names that the model writes behind what all copies share"
    parents = f", less what {', '.join(result.parents)} explains" if result.parents else ""
    return (
        f"{number_of(result.tasks, 'task')}, {result.copies} copies of each scored afresh ({kind}{parents}); the lot "
        f"was drawn again for {number_of(result.clusters, 'cluster')}. p is adjusted by Holm over "
        f"{number_of(result.logged, 'test')} in the log. Commitment {result.commitment[:16]}…"
    )


def _table(
    name: str, title: str, heads: Mapping[str, ColumnKind], rows: Iterable[Sequence[Cell | None]], *caption: str
) -> Table:
    """Return a table of rows under headings; None is a value that there is not."""
    columns = tuple(Column(head, kind) for head, kind in heads.items())
    lines = []
    for row in rows:
        cells = [Missing("there is none") if cell is None else cell for cell in row]
        lines.append(Row(tuple(cells)))
    return Table(name, title, columns=columns, rows=tuple(lines), caption=caption)


def _test_tables(result: ReleaseTest) -> Iterator[Table]:
    yield _table(
        "versions",
        "The published copies against secret ones",
        {
            "version": "name",
            "z": "number",
            "p": "p_value",
            "adjusted p": "p_value",
            "adjusted p of the content": "p_value",
            "known tasks, at least": "count",
        },
        (
            (f"{v.number} ({v.day})", v.names.z, v.names.p_value, v.adjusted, v.content_adjusted, v.memorised)
            for v in result.versions
        ),
        "z: standard deviations above a new lot. Known tasks: lower end of a one-sided 95 % interval.",
        "The content (examples and their order) is a lot of its own, which survives renaming back.",
    )
    if result.single:
        named = sorted(result.named, key=lambda task: task.q_value)
        yield _table(
            "tasks",
            f"{number_of(len(named), 'single task')} named, at most 5 % of them falsely",
            {"task": "name", "p": "p_value", "q": "p_value"},
            ((task.id, task.p_value, task.q_value) for task in named[:LISTED]),
            "Besag and Clifford 1991, then Benjamini and Hochberg 1995.",
        )


@describe.register
def _(released: MadeRelease) -> Report:
    secret, committed = released.secret, released.secret.committed
    levels = Counter(task.level for task in committed.tasks)
    verdict, count = "Committed", len(secret.versions)
    because = f"{number_of(len(committed.tasks), 'task')} of {len(committed.order)} can be tested"
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
            "How the copies were verified",
            {"level": "name", "tasks": "count", "meaning": "text"},
            ((level, tasks, MEANINGS[level]) for level, tasks in levels.most_common()),
        ),
        _table(
            "left-out",
            "Tasks that are published unchanged and are no part of the test",
            {"task": "name", "reason": "text"},
            list(committed.left_out.items())[:LISTED],
        ),
    ]
    data = {
        "release": committed.name,
        "commitment": secret.commitment,
        "valid": committed.valid,
        "tasks": len(committed.tasks),
        "left_out": dict(committed.left_out),
        "levels": dict(levels),
        "versions": count,
        "public": released.public_path and str(released.public_path),
        "card": released.card_path and str(released.card_path),
    }
    notes = (*released.notes, *([NOT_VALID] if not committed.valid else []))
    answer = Answer(verdict, because, f"Commitment: {secret.commitment}", step)
    return _report(f"Release of {committed.name}", answer, data, notes, tables[: 1 + bool(committed.left_out)])


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
def _(verified: VerifiedRelease) -> Report:
    answer = Answer(
        "The file matches the secret",
        f"It is version {verified.version}, of {verified.day}.",
        f"{verified.tested} of its {verified.rows} copies passed their tests again.",
        f"compare the commitment with the published one: {verified.commitment}",
    )
    return _report(f"Release {verified.release}", answer, verified, () if verified.beacon else (HONEST,))


@describe.register
def _(twins: WrittenTwins) -> Report:
    answer = Answer(
        "Twins written",
        f"{twins.path} has {number_of(twins.tasks, 'twin')} that nobody has seen. Never publish it.",
        "",
        "run one evaluation on both files, then: assay release compare PUBLIC_RESULTS TWIN_RESULTS",
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
        f"Results of {number_of(compared.tasks, 'task')}",
        {"": "name", "solved": "share", "tasks better here": "count"},
        (("public copies", compared.public, compared.public_only), ("twins", compared.twin, compared.twin_only)),
    )
    return _report("Public copies and twins", _compared_answer(compared), compared, notes, [table])


def _compared_answer(compared: TwinComparison) -> Answer:
    measured = f"{points_with_interval(compared.difference)}; {named_p_value(compared.p_value)}, one-sided."
    if compared.p_value <= SIGNIFICANCE:
        because = "The model solves published tasks that it fails as twins."
        return Answer("Better on the published copies", because, measured)
    if compared.difference.high < 0:
        because = "Nobody has seen the twins: the two logs may be in the wrong order."
        return Answer("Better on the twins", because, measured, "check which log is of which file")
    because = "This is no evidence that the model has not seen the release."
    step = "more tasks, or several answers to each, show smaller differences"
    return Answer("No difference shown", because, measured, step)
