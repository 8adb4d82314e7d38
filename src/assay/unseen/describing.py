"""The report of unseen text: how many texts, why others were left out, and how well they match the benchmark."""

from operator import itemgetter

from assay.evaluation import FEWEST_GROUPS, GROUPS_FOR_INTERVAL, BlindBaseline, Estimate
from assay.reports import Column, Missing, Report, Table, describe, number_of
from assay.unseen.building import UnseenSet, tells_apart

STILL_APART = (
    "The texts alone still tell benchmark and unseen text apart, so `assay audit` needs the model that the audited one "
    "was trained from (--parent), or unseen tasks of the same form (--same-form). More of such text does not replace "
    "them."
)
NOTHING_MATCHED = "Too few texts are like the benchmark to choose among them, so all were kept."


@describe.register
def _(unseen: UnseenSet, path: str = "") -> Report:
    """Return the report of a set of unseen text.

    Args:
        unseen: the set.
        path: file that holds it; "" for none.
    """
    repositories = "1 repository" if unseen.groups == 1 else f"{unseen.groups:,} repositories"
    statement = f"{number_of(len(unseen.samples), 'text')} of {repositories}"
    if unseen.dated:
        statement += f", {unseen.dated}{',' * bool(path)}"
    if path:
        statement += f" {_is_or_are(len(unseen.samples))} in {path}"
    details = []
    if unseen.after is not None and tells_apart(unseen.after):
        if not unseen.counts.get("not matched"):
            details.append(NOTHING_MATCHED)
        details.append(STILL_APART)
    elif unseen.after is not None and unseen.after.ranking is not None:
        details.append(f"The texts alone hardly tell them from {unseen.like}.")
    missing = _groups_needed(unseen) - unseen.groups
    if missing > 0:
        details.append(
            f"Below {_groups_needed(unseen)} repositories, an audit with such texts gives no verdict: {missing} "
            f"{_is_or_are(missing)} missing. Give more."
        )
    # undated text may have been trained on, and would hide a leak
    if not unseen.dated:
        details.append(
            "Nothing shows that the model has not seen these texts: give --after DATE, the day of its release."
        )
    for package in unseen.not_downloaded:
        details.append(f"Not downloaded: {package.requirement} ({package.reason}).")
    tables = [_count_table(unseen)]
    if unseen.before is not None and unseen.after is not None:
        tables.insert(0, _match_table(unseen, unseen.before, unseen.after))
    return Report(
        title=" in the form of ".join(filter(None, ("Unseen text", unseen.like))),
        statement=f"{statement}.",
        details=tuple(details),
        tables=tuple(tables),
        data=unseen.summary(),
        kind="unseen text",
    )


def _groups_needed(unseen: UnseenSet) -> int:
    """Return the groups that a verdict takes: more where the texts differ in form."""
    if unseen.after is not None and tells_apart(unseen.after):
        return FEWEST_GROUPS
    return GROUPS_FOR_INTERVAL


def _is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"


def _match_table(unseen: UnseenSet, before: BlindBaseline, after: BlindBaseline) -> Table:
    left = unseen.counts.get("not matched", 0)
    matched = len(unseen.samples) + unseen.counts.get("not needed", 0)
    rows = [("before matching", matched + left, before)]
    if left:
        rows.append(("after matching", matched, after))
    return Table.of(
        name="match",
        title=f"How well the texts match the {number_of(unseen.benchmark, 'sample')} of {unseen.like}",
        items=rows,
        columns=(
            Column("", get=itemgetter(0)),
            Column("texts", "count", itemgetter(1)),
            Column("AUROC, texts alone", "area", lambda row: _area(row[2])),
        ),
        caption=("AUROC: share of pairs that a classifier of the texts alone ranks rightly; .5 means that it cannot.",),
    )


def _area(baseline: BlindBaseline) -> Estimate | Missing:
    if baseline.ranking is None:
        return Missing(baseline.reason or "not measured")
    return baseline.ranking.auroc


def _count_table(unseen: UnseenSet) -> Table:
    return Table.of(
        name="counts",
        title="What was read, and what was left out",
        items=filter(itemgetter(1), unseen.counts.items()),
        columns=(Column("", get=itemgetter(0)), Column("number", "count", itemgetter(1))),
    )
