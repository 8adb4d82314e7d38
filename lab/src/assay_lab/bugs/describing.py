"""The study of bug benchmarks as a report."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import filterfalse, repeat
from operator import attrgetter
from typing import Any, TypeVar

from assay.evaluation import Estimate
from assay.reports import (
    Cell,
    Column,
    ColumnKind,
    Fact,
    Figure,
    Missing,
    Report,
    Row,
    Table,
    describe,
    listed,
    number_of,
    percent,
    percent_with_interval,
)
from assay_lab.bugs.content import CONTENT_SIDES
from assay_lab.bugs.dates import SLICES, Slice
from assay_lab.bugs.exposure import EXPOSURES, PairExposure, SideEvidence, counted_exposures
from assay_lab.bugs.membership import ENOUGH, LEAST_EVIDENCE
from assay_lab.bugs.preference import Preference
from assay_lab.bugs.probes import ProbeResult
from assay_lab.bugs.study import MEASURES, NLL, OVERLAP, BugStudy, SideAverages, StudiedSet, main_side
from assay_lab.columns import attributes
from assay_lab.experiments.matrix import heat_map
from assay_lab.mappings import map_values

MOST_BUGS = 50
"""Bugs that a table of evidence lists; the data have all."""
FAMILIARITY, PREFERENCE, CORPUS, PROBED, DATES = "Familiarity", "Fix or bug", "In the corpus", "Probes", "By date"
SECTIONS = {
    FAMILIARITY: "How well the model predicts the texts of each set.",
    PREFERENCE: "Which side of a bug the model finds likelier.",
    CORPUS: "What a training corpus has of each bug.",
    PROBED: "Answers of the model, which needs to generate text only.",
    DATES: "Texts from before and after the day from which the model can have seen nothing.",
}
WARNING = (
    "This page describes. It gives no verdict on contamination: correct code is likelier than buggy code even for a "
    "model that saw neither, and sets of different projects, lengths and years differ for many reasons."
)


def all_bugs(studied: StudiedSet) -> Preference:
    """Return the preference over all bugs of a set."""
    return studied.preference["all"]


@describe.register
def _(study: BugStudy) -> Report:
    """Return the report of a study."""
    paired = list(filter(attrgetter("preference"), study.sets))
    bugs = list(filterfalse(attrgetter("is_control"), paired))
    tables = [averages_table(study.sets), preference_table(paired, study)]
    makers: dict[str, tuple[Callable[[Sequence[StudiedSet]], Table], ...]] = {
        "rewritten": (rewritten_table,),
        "repositories": (repository_table,),
        "exposures": (content_table, content_evidence_table, exposure_table, evidence_table),
        "probes": (probe_table,),
    }
    for part, of_part in makers.items():
        if any(map(getattr, bugs, repeat(part))):
            tables += [table(bugs) for table in of_part]
    if any(attributes(study.sets, "slices")):
        tables.append(slice_table(study.sets))
    if any(attributes(study.sets, "rates")):
        tables.append(dated_rate_table(study.sets))
    names = listed(attributes(study.sets, "name"))
    figure = Figure(
        name="nll-ratios",
        title="Ratios of the mean NLL",
        description=f"Mean NLL of the set in the column over that of the set in the row, for {names}.",
        chart=partial(heat_map, study.ratios()),
        caption="Above 1: the set in the row is more familiar than the set in the column.",
    )
    return Report(
        title=f"What does {study.model} remember of {names}?",
        statement=_statement(bugs, study),
        tables=tuple(tables),
        figures=(figure,) if len(study.sets) > 1 else (),
        notes=study.notes,
        data=_data(study),
        kind="study of bug benchmarks",
        warning=WARNING,
        sections=SECTIONS,
        facts=tuple(map(_fact, bugs)),
    )


def _fact(bugs: StudiedSet) -> Fact:
    return Fact(f"{bugs.name}: fix likelier than bug", percent(all_bugs(bugs).share.value), "chance is 50 %")


def _statement(bugs: Sequence[StudiedSet], study: BugStudy) -> str:
    parts = []
    for each in bugs:
        share = percent_with_interval(all_bugs(each).share, basis=False)
        parts.append(f"{share} of {number_of(all_bugs(each).pairs, 'bug')} of {each.name}")
    return f"{study.model} finds the fix likelier than the bug in {listed(parts)}; chance is 50 %."


Part = TypeVar("Part")


def _entries(
    sets: Iterable[StudiedSet], part: Callable[[StudiedSet], Mapping[Any, Part]]
) -> Iterator[tuple[str, Part]]:
    """Yield "set, key" and value of every entry that a part of a set has."""
    for each in sets:
        for key, value in part(each).items():
            yield f"{each.name}, {key}", value


def _columns(kind: ColumnKind, titles: Iterable[str]) -> list[Column]:
    """Return columns of one kind."""
    return list(map(Column, titles, repeat(kind)))


def averages_table(sets: Sequence[StudiedSet]) -> Table:
    """Return the averages of every side of every set, as Tables V and VI of the paper print them."""
    rows = []
    for name, averages in _entries(sets, lambda each: each.sides):
        rows.append(Row((name, averages.texts, averages.distinct, averages.characters, *_measures(averages))))
    return Table(
        name="averages",
        title="Averages",
        columns=(
            Column("set and side"),
            *_columns("count", ("texts", "distinct")),
            *_columns("number", ("median characters", *MEASURES)),
        ),
        rows=tuple(rows),
        caption=(
            "NLL in nats a token: lower is more familiar. In brackets: 95 % intervals over groups.",
            f"Texts that share {OVERLAP:.0%} or more of their 5-grams with an earlier text are left out.",
            "Values compare within one model. A short text has a higher NLL than a long one.",
        ),
        section=FAMILIARITY,
    )


def preference_table(bugs: Sequence[StudiedSet], study: BugStudy) -> Table:
    """Return the preference for the fix, by exposure where a corpus was searched."""
    rows = []
    for each in bugs:
        for kind, preference in each.preference.items():
            is_all = kind == "all"
            name = f"{each.name}, {kind}" if is_all else f"{each.name}, in the corpus: {kind}"
            cells: list[Cell] = [name, preference.pairs, preference.share, preference.mean]
            if study.has_reference:
                contrast = each.contrast.get(kind)
                cells.append(contrast.mean if contrast else Missing("no reference"))
            rows.append(Row(tuple(cells), "primary" if is_all else "plain"))
    columns = [
        Column("set"),
        Column("bugs", "count"),
        Column("fix likelier", "share"),
        Column("mean preference", "number"),
    ]
    if study.has_reference:
        columns.append(Column("more than the reference", "number"))
    return Table(
        name="preference",
        title="Preference for the fix",
        columns=tuple(columns),
        rows=tuple(rows),
        caption=(
            "Preference: log-likelihood of a token of the fixed text minus that of the buggy text, in nats.",
            "Correct code is likelier than buggy code also for models that saw neither.",
            "Compare with the bugs that the corpus does not have, or with a reference model.",
        ),
        section=PREFERENCE,
    )


def rewritten_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return the preference for the fix before and after a rewriting of both sides."""
    rows = []
    for each in bugs:
        if (result := each.rewritten) is not None:
            preferences = result.original.mean, result.rewritten.mean, result.drop
            cells = (each.name, result.bugs, result.left_out, *preferences, result.fixed_gap, result.buggy_gap)
            rows.append(Row(cells))
    gaps = "fixed text over its rewritings", "buggy text over its rewritings"
    return Table(
        name="rewritten",
        title="Preference after a rewriting",
        columns=(
            Column("set"),
            *_columns("count", ("bugs", "left out")),
            *_columns("number", ("preference", "rewritten", "drop", *gaps)),
        ),
        rows=tuple(rows),
        caption=(
            "Both sides with other names, checked to be the same program; hunks that do not parse are left out.",
            "A drop means that the preference rests on the names of the text, as memory does.",
            "Any model finds a text likelier than its rewritings: compare the two last columns with each other.",
        ),
        section=PREFERENCE,
    )


def repository_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return the membership of repositories, as Table III of the paper prints it."""
    rows = []
    for each in bugs:
        if each.repositories is None:
            continue
        members = each.repositories
        count = len(members.listed) + len(members.absent)
        share: Cell = members.share if count else Missing("the benchmark names no repository")
        rows.append(Row((each.name, count, len(members.listed), share, members.unknown)))
    return Table(
        name="repositories",
        title="Repositories in the list of the corpus",
        columns=(
            Column("set"),
            Column("repositories", "count"),
            Column("in the list", "count"),
            Column("share", "share"),
            Column("bugs without a repository", "count"),
        ),
        rows=tuple(rows),
        caption=("A repository in the list does not mean that the file of the bug, or its fix, was in the corpus.",),
        section=CORPUS,
    )


def content_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return how many texts of each side the corpus holds."""
    rows = []
    for name, content in _entries(bugs, lambda each: each.content):
        rows.append(Row((name, content.judged, content.present, content.share, content.too_short)))
    return Table(
        name="content",
        title="Texts in the corpus, by content",
        columns=(
            Column("set and text"),
            Column("judged", "count"),
            Column("in the corpus", "count"),
            Column("share", "share"),
            Column("too short", "count"),
        ),
        rows=tuple(rows),
        caption=(
            f"A text is present if its evidence, from 0 to 1, is {LEAST_EVIDENCE} or more, or its task's words occur.",
            "Evidence: common runs of three tokens, and how much of the copy follows the text word by word.",
            f"Texts that share fewer than {ENOUGH} runs have less evidence: short code looks alike.",
            "file: the whole file with the fix, where checkouts were given.",
            "Both sides of a bug are nearly the same text. The next tables say which of the two the corpus has.",
        ),
        section=CORPUS,
    )


def content_evidence_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return the documents that hold a text of a bug, the first ones of all sets."""
    rows = []
    for name, exposure in _exposures(bugs):
        for side in CONTENT_SIDES:
            content = exposure.content.get(side)
            if content is not None and content.is_present:
                origin, evidence = content.origins[0], content.evidence
                rows.append(Row((f"{name}, {side}", evidence.value, evidence.runs, origin.path, origin.licence)))
    return Table(
        name="content-evidence",
        title="Documents that hold a text",
        columns=(
            Column("text"),
            Column("evidence", "number"),
            Column("common runs", "count"),
            Column("document"),
            Column("licence"),
        ),
        rows=tuple(rows[:MOST_BUGS]),
        caption=_first_ones(len(rows), "texts"),
        section=CORPUS,
    )


def _exposures(bugs: Iterable[StudiedSet]) -> Iterator[tuple[str, PairExposure]]:
    """Yield "set, bug" and the exposure of every bug."""
    for each in bugs:
        for exposure in each.exposures:
            yield f"{each.name}, {exposure.pair_id}", exposure


def _first_ones(count: int, noun: str) -> tuple[str, ...]:
    """Return the caption of a table that lists only the first entries; none where it lists all."""
    if count <= MOST_BUGS:
        return ()
    return (f"The first {MOST_BUGS} of {count} {noun}; the JSON has all.",)


def exposure_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return how many bugs have which side in the corpus."""
    searched = list(filter(attrgetter("exposures"), bugs))
    return Table(
        name="exposure",
        title="Which side the corpus has",
        columns=(Column("set"), *_columns("count", EXPOSURES)),
        rows=tuple(Row((each.name, *counted_exposures(each.exposures).values())) for each in searched),
        caption=("A side counts as present if one document has at least half of the text that only this side has.",),
        section=CORPUS,
    )


def evidence_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return the documents that have a side of a bug, the first ones of each set."""
    rows = []
    for name, exposure in _exposures(bugs):
        if exposure.exposure not in ("neither", "cannot tell"):
            evidence = *_side_cells(exposure.fixed), *_side_cells(exposure.buggy)
            rows.append(Row((name, exposure.exposure, *evidence)))
    return Table(
        name="evidence",
        title="Documents that have a side",
        columns=(
            Column("bug"),
            Column("in the corpus"),
            Column("share of the fix", "share"),
            Column("document"),
            Column("share of the bug", "share"),
            Column("document"),
        ),
        rows=tuple(rows[:MOST_BUGS]),
        caption=_first_ones(len(rows), "bugs"),
        section=CORPUS,
    )


def _side_cells(side: SideEvidence) -> tuple[Cell, Cell]:
    return side.share, side.document or Missing("no document has any of it")


def probe_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return what the model could repeat, beside the frequency baseline and the controls."""
    rows = []
    reasons = []
    for name, result in _entries(bugs, lambda each: each.probes):
        control: Cell = result.control
        if result.control.reason == "not measured":
            control = Missing("no control text")
        shares = result.model, result.baseline, control
        rows.append(Row((name, result.tasks, *shares, result.decision.verdict.value)))
        if result.decision.reason:
            reasons.append(result.decision.explanation)
    return Table(
        name="probes",
        title="Probes by generation",
        columns=(
            Column("probe"),
            Column("bugs", "count"),
            *_columns("share", ("right", "by frequency alone", "right on controls")),
            Column("verdict"),
        ),
        rows=tuple(rows),
        caption=(
            "path: the file to change, from the issue text. function: 20 lexemes after the first lines.",
            "patch: 20 lexemes after the first changed line.",
            *dict.fromkeys(reasons),
        ),
        section=PROBED,
    )


def slice_table(sets: Sequence[StudiedSet]) -> Table:
    """Return the averages before and after the cutoff."""
    rows = []
    for name, averages in _entries(sets, lambda each: each.slices):
        rows.append(Row((f"{name} the cutoff", averages.texts, averages.distinct, *_measures(averages))))
    undated = list(filter(attrgetter("undated"), sets))
    return Table(
        name="dates",
        title="Before and after the cutoff",
        columns=(Column("set"), *_columns("count", ("texts", "distinct")), *_columns("number", MEASURES)),
        rows=tuple(rows),
        caption=tuple(f"{each.name}: {number_of(each.undated, 'text')} without a date." for each in undated),
        section=DATES,
    )


def dated_rate_table(sets: Sequence[StudiedSet]) -> Table:
    """Return every rate before and after the cutoff."""

    def cell(of_slice: Mapping[Slice, Estimate], name: Slice) -> Cell:
        return of_slice.get(name, Missing("no bug of this time"))

    rows = []
    for rate, values in _entries(sets, lambda each: each.rates):
        rows.append(Row((rate, *map(partial(cell, values), SLICES))))
    return Table(
        name="rates-by-date",
        title="Rates before and after the cutoff",
        columns=(Column("set and rate"), *_columns("share", ("before the cutoff", "after the cutoff"))),
        rows=tuple(rows),
        section=DATES,
    )


def _measures(averages: SideAverages) -> tuple[Cell, ...]:
    return tuple(map(averages.averages.__getitem__, MEASURES))


def _data(study: BugStudy) -> dict[str, object]:
    return {
        "model": study.model,
        "has_reference": study.has_reference,
        "notes": study.notes,
        "sets": list(map(_set_data, study.sets)),
        "bugs": study.to_arrow().to_pylist(),
    }


def _set_data(each: StudiedSet) -> dict[str, object]:
    return {
        "name": each.name,
        "groups": each.groups,
        "sides": _fields_of(each.sides),
        "preference": _fields_of(each.preference),
        "contrast": _fields_of(each.contrast),
        "rates": map_values(_fields_of, each.rates),
        "slices": _fields_of(each.slices),
        "undated": each.undated,
        "is_control": each.is_control,
        "rewritten": each.rewritten and asdict(each.rewritten),
        "repositories": each.repositories and asdict(each.repositories),
        "exposures": list(map(asdict, each.exposures)),
        "content": _fields_of(each.content),
        "probes": map_values(_probe_data, each.probes),
        "nll": main_side(each).averages[NLL].value,
    }


def _fields_of(records: Mapping[Any, Any]) -> dict[Any, dict[str, Any]]:
    """Return records as mappings that JSON can hold."""
    return map_values(asdict, records)


def _probe_data(result: ProbeResult) -> dict[str, object]:
    return {
        "tasks": result.tasks,
        "left_out": result.left_out,
        "model": asdict(result.model),
        "baseline": asdict(result.baseline),
        "control": asdict(result.control),
        "difference": asdict(result.difference),
        "verdict": result.decision.verdict.value,
        "explanation": result.decision.explanation,
        "reason": result.decision.reason and result.decision.reason.value,
    }
