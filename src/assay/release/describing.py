"""Reports of a release: the answer first, then what to do, then the figures.

The words say what a lot can show. A rejection means that the outcome of the lot reached the model, in whatever way. The
words "in the training data" need p ≤ .001, adjusted over the log. Not rejecting is never evidence of absence. Without a
beacon every statement rests on an honest publisher, and says so.
"""

from collections import Counter

from assay.release.comparing import TwinComparison
from assay.release.data_card import NOT_VALID
from assay.release.making import MadeRelease
from assay.release.publishing import VerifiedRelease, WrittenTwins
from assay.release.secret_file import Secret
from assay.release.testing import ReleaseTest, VersionTest
from assay.reports import (
    Answer,
    Column,
    Report,
    Table,
    describe,
    named_p_value,
    number_of,
    points_with_interval,
)

SURE = 0.001
"""Adjusted p-value up to which the words "was in the training data" are used."""
LEVEL = 0.05
WAYS = (
    "training on the publication, a fork of it, text generated from it, distillation of a model that had it, or "
    "selection by public scores"
)
HONEST = "This holds if the publisher drew the lot honestly: no public beacon was named."
ABSENCE = "This is no evidence that the model has not seen it: a text that was seen may leave no trace."
UNADJUSTED = "unadjusted: the log of this secret is not complete"
LISTED = 50


@describe.register
def _(result: ReleaseTest) -> Report:
    best = result.strongest
    p = best.names.p_value if best.adjusted is None else best.adjusted
    notes = [_method(result)]
    if not result.valid:
        notes.append(NOT_VALID)
    if not result.has_beacon:
        notes.append(HONEST)
    if best.adjusted is None:
        notes.append("The p-values are unadjusted: an entry of the log is missing or was changed.")
    if result.parents:
        day = min(version.day for version in result.versions)
        notes.append(
            f"The parent must be older than the publication of {day}; otherwise read 'parent or child' for the model."
        )
    if result.parent_p is not None and result.parent_p <= LEVEL:
        notes.append(
            f"The parent itself prefers the published copies ({named_p_value(result.parent_p)}): parent or child."
        )
    if result.refused:
        notes.append(f"{number_of(result.refused, 'task')} could not be scored, whatever the lot, and took no part.")
    if result.spent is not None:
        notes.append(f"The server received secret copies: tranche {result.spent} is spent, as the secret records.")
    if result.placebos:
        notes.append(
            f"Placebos in the log: {len(result.placebos)}, the smallest with {named_p_value(min(result.placebos))}. "
            "One lot serves all tests: if it had come out badly, they would show it."
        )
    return Report(
        title=f"Did the release {result.release} reach {result.model}?",
        statement="",
        answer=_answer(result, best, p),
        tables=tuple(_test_tables(result)),
        notes=tuple(notes),
        data=result,
        kind="release test",
        warning="" if result.valid else NOT_VALID,
        on_first_screen=1,
    )


def _answer(result: ReleaseTest, best: VersionTest, p: float) -> Answer:
    measured = (
        f"{named_p_value(p)}{'' if best.adjusted is not None else f' ({UNADJUSTED})'}; "
        f"the published copy ranks first in {best.first} of {result.clusters} ({1 / result.copies:.0%} by chance)."
    )
    honest = "" if result.has_beacon else ", if the publisher drew honestly"
    if result.placebo:
        if p <= LEVEL:
            return Answer(
                "The placebo rejects",
                "A model from before the publication cannot know the lot: something is wrong.",
                measured,
                "check that the model is older, and that nobody chose the lot",
            )
        return Answer("The placebo passes", "The lot did not come out against a model that cannot know it.", measured)
    if p > LEVEL:
        step = "test again with --parent MODEL, an older model: it takes off what is no trace of the lot"
        return Answer("No trace found", ABSENCE, measured, "" if result.parents else step)
    if p <= SURE and best.adjusted is not None and result.valid:
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
    return result.parent_p is not None and result.parent_p <= LEVEL


def _method(result: ReleaseTest) -> str:
    kind = "log-likelihoods" if result.access == "gray" else "names that the model writes behind what all copies share"
    parents = f", less what {', '.join(result.parents)} explains" if result.parents else ""
    return (
        f"{number_of(result.tasks, 'task')}, {result.copies} copies of each scored afresh ({kind}{parents}); the lot "
        f"was drawn again for {number_of(result.clusters, 'cluster')}. p is adjusted by Holm over "
        f"{number_of(result.logged, 'test')} in the log. Commitment {result.commitment[:16]}…"
    )


def _test_tables(result: ReleaseTest) -> list[Table]:
    tables = [
        Table.of(
            "versions",
            "The published copies against secret ones",
            result.versions,
            (
                Column("version", "name", lambda v: f"{v.number} ({v.day})"),
                Column("z", "number", lambda v: v.names.z),
                Column("p", "p_value", lambda v: v.names.p_value),
                Column("adjusted p", "p_value", lambda v: v.adjusted, missing="no full log"),
                Column("p of the content", "p_value", _content, missing="no choice of contents"),
                Column("known tasks, at least", "count", lambda v: v.memorised),
            ),
            caption=(
                "z: standard deviations above a new lot. Known tasks: lower end of a one-sided 95 % interval.",
                "The content (examples and their order) is a lot of its own, which survives renaming back.",
            ),
        )
    ]
    if result.single:
        named = sorted(result.named, key=lambda task: task.q_value)
        tables.append(
            Table.of(
                "tasks",
                f"{number_of(len(named), 'single task')} named, at most 5 % of them falsely",
                named[:LISTED],
                (
                    Column("task", "name", lambda task: task.id),
                    Column("p", "p_value", lambda task: task.p_value),
                    Column("q", "p_value", lambda task: task.q_value),
                ),
                caption=("Besag and Clifford 1991, then Benjamini and Hochberg 1995.",),
            )
        )
    return tables


def _content(version: VersionTest) -> float | None:
    return None if version.content is None else version.content.p_value


@describe.register
def _(released: MadeRelease) -> Report:
    secret = released.secret
    committed = secret.committed
    tested = f"{number_of(len(committed.tasks), 'task')} of {len(committed.order)}"
    if released.public_path is None:
        answer = Answer(
            "Committed",
            f"{tested} can be tested; the lot is not drawn yet.",
            f"Commitment: {secret.commitment}",
            f"publish the commitment; after {committed.round} run the command again with --beacon VALUE and no --round",
        )
    else:
        version = f"Version {len(secret.versions)} is published" if len(secret.versions) > 1 else "Released"
        answer = Answer(
            version,
            f"{tested} can be tested. Keep the secret {released.secret_path} safe and private.",
            f"Commitment: {secret.commitment}",
            f"publish {released.public_path} and {released.card_path}; later: "
            f"assay release test MODEL {released.secret_path}",
        )
    return Report(
        title=f"Release of {committed.name}",
        statement="",
        answer=answer,
        tables=(_level_table(secret), *_left_out_table(secret)),
        notes=(*released.notes, *([NOT_VALID] if not committed.valid else [])),
        data={
            "release": committed.name,
            "commitment": secret.commitment,
            "valid": committed.valid,
            "tasks": len(committed.tasks),
            "left_out": dict(committed.left_out),
            "levels": dict(Counter(task.level for task in committed.tasks)),
            "clusters": len({task.cluster for task in committed.tasks}),
            "copies": committed.first - 1,
            "versions": len(secret.versions),
            "public": released.public_path and str(released.public_path),
            "card": released.card_path and str(released.card_path),
        },
        kind="release",
        on_first_screen=2,
    )


def _level_table(secret: Secret) -> Table:
    notes = {
        "tests run": "each copy gives the same results",
        "compiled": "each copy compiles; same results are not shown",
        "parsed": "only names differ; nothing was run",
    }
    return Table.of(
        "levels",
        "How the copies were verified",
        Counter(task.level for task in secret.committed.tasks).most_common(),
        (
            Column("level", "name", lambda item: item[0]),
            Column("tasks", "count", lambda item: item[1]),
            Column("meaning", "text", lambda item: notes[item[0]]),
        ),
    )


def _left_out_table(secret: Secret) -> list[Table]:
    if not secret.committed.left_out:
        return []
    return [
        Table.of(
            "left-out",
            "Tasks that are published unchanged and are no part of the test",
            list(secret.committed.left_out.items())[:LISTED],
            (Column("task", "name", lambda item: item[0]), Column("reason", "text", lambda item: item[1])),
        )
    ]


@describe.register
def _(verified: VerifiedRelease) -> Report:
    return Report(
        title=f"Release {verified.release}",
        statement="",
        answer=Answer(
            "The file is genuine",
            f"It is version {verified.version}, of {verified.day}, as the secret has it.",
            f"{verified.tested} of its {verified.rows} copies passed their tests again.",
            f"compare the commitment with the published one: {verified.commitment}",
        ),
        notes=() if verified.beacon else (HONEST,),
        data=verified,
        kind="release",
    )


@describe.register
def _(twins: WrittenTwins) -> Report:
    return Report(
        title=f"Twins of {twins.release}",
        statement="",
        answer=Answer(
            "Twins written",
            f"{twins.path} has {number_of(twins.tasks, 'twin')} that nobody has seen. Never publish it.",
            "",
            "run one evaluation on both files, then: assay release compare PUBLIC_RESULTS TWIN_RESULTS",
        ),
        data={"release": twins.release, "path": str(twins.path), "tasks": twins.tasks, "rows": twins.rows},
        kind="release",
    )


@describe.register
def _(compared: TwinComparison) -> Report:
    rejects = compared.p_value <= LEVEL
    if rejects:
        verdict, because = "Better on the published copies", "The model solves published tasks that it fails as twins."
    else:
        verdict, because = "No difference shown", "This is no evidence that the model has not seen the release."
    notes = [f"Checked in both logs: {', '.join(compared.checked)}."]
    if compared.unchecked:
        notes.append(f"A log does not state: {', '.join(compared.unchecked)}. Make sure that both runs were alike.")
    notes.append("Given the pair, which copy is public was a fair coin: the signs were flipped task by task (exact).")
    return Report(
        title="Public copies and twins",
        statement="",
        answer=Answer(
            verdict,
            because,
            f"{points_with_interval(compared.difference)}; {named_p_value(compared.p_value)}, one-sided.",
            "" if rejects else "more tasks, or several answers to each, show smaller differences",
        ),
        tables=(
            Table.of(
                "results",
                "Results",
                (
                    ("public copies", compared.public, compared.public_only),
                    ("twins", compared.twin, compared.twin_only),
                ),
                (
                    Column("", "name", lambda row: row[0]),
                    Column("solved", "share", lambda row: row[1]),
                    Column("tasks better here", "count", lambda row: row[2]),
                ),
                caption=(f"{number_of(compared.tasks, 'task')}.",),
            ),
        ),
        notes=tuple(notes),
        data=compared,
        kind="release comparison",
        on_first_screen=1,
    )
