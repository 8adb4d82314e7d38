"""The study of bug benchmarks as a report."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from assay.reports import (
    Cell,
    Column,
    Fact,
    Figure,
    Missing,
    Report,
    Row,
    Table,
    listed,
    number_of,
    percent,
    percent_with_interval,
)
from assay_lab.bugs.content import CONTENT_SIDES, ContentEvidence
from assay_lab.bugs.dates import SLICES
from assay_lab.bugs.exposure import EXPOSURES, PairExposure, counted_exposures
from assay_lab.bugs.membership import ENOUGH, LEAST_EVIDENCE
from assay_lab.bugs.preference import Preference
from assay_lab.bugs.probes import ProbeResult
from assay_lab.bugs.study import MEASURES, NLL, OVERLAP, BugStudy, SideAverages, StudiedSet, main_side
from assay_lab.experiments.matrix import heat_map

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


def describe_study(study: BugStudy) -> Report:
    """Return the report of a study."""
    bugs = [each for each in study.sets if each.preference and not each.is_control]
    tables = [averages_table(study.sets), preference_table([each for each in study.sets if each.preference], study)]
    if any(each.rewritten for each in bugs):
        tables.append(rewritten_table(bugs))
    if any(each.repositories for each in bugs):
        tables.append(repository_table(bugs))
    if any(each.exposures for each in bugs):
        tables += [content_table(bugs), content_evidence_table(bugs), exposure_table(bugs), evidence_table(bugs)]
    if any(each.probes for each in bugs):
        tables.append(probe_table(bugs))
    if any(each.slices for each in study.sets):
        tables.append(slice_table(study.sets))
    if any(each.rates for each in study.sets):
        tables.append(dated_rate_table(study.sets))
    names = listed([each.name for each in study.sets])
    ratios = study.ratios()
    figure = Figure(
        "nll-ratios",
        "Ratios of the mean NLL",
        f"Mean NLL of the set in the column over that of the set in the row, for {names}.",
        partial(heat_map, ratios),
        "Above 1: the set in the row is more familiar than the set in the column.",
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
        facts=tuple(
            Fact(f"{each.name}: fix likelier than bug", percent(all_bugs(each).share.value), "chance is 50 %")
            for each in bugs
        ),
    )


def all_bugs(studied: StudiedSet) -> Preference:
    """Return the preference over all bugs of a set."""
    return studied.preference["all"]


def _statement(bugs: Sequence[StudiedSet], study: BugStudy) -> str:
    parts = [
        f"{percent_with_interval(all_bugs(each).share, basis=False)} of {number_of(all_bugs(each).pairs, 'bug')} of "
        f"{each.name}"
        for each in bugs
    ]
    return f"{study.model} finds the fix likelier than the bug in {listed(parts)}; chance is 50 %."


def averages_table(sets: Sequence[StudiedSet]) -> Table:
    """Return the averages of every side of every set, as Tables V and VI of the paper print them."""
    rows = [
        Row((f"{each.name}, {side}", averages.texts, averages.distinct, averages.characters, *_measures(averages)))
        for each in sets
        for side, averages in each.sides.items()
    ]
    return Table(
        "averages",
        "Averages",
        (
            Column("set and side"),
            Column("texts", "count"),
            Column("distinct", "count"),
            Column("median characters", "number"),
            *(Column(measure, "number") for measure in MEASURES),
        ),
        tuple(rows),
        (
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
            contrast = each.contrast.get(kind)
            cells: list[Cell] = [
                f"{each.name}, {kind}" if kind == "all" else f"{each.name}, in the corpus: {kind}",
                preference.pairs,
                preference.share,
                preference.mean,
            ]
            if study.has_reference:
                cells.append(contrast.mean if contrast else Missing("no reference"))
            rows.append(Row(tuple(cells), "primary" if kind == "all" else "plain"))
    extra = (Column("more than the reference", "number"),) if study.has_reference else ()
    return Table(
        "preference",
        "Preference for the fix",
        (
            Column("set"),
            Column("bugs", "count"),
            Column("fix likelier", "share"),
            Column("mean preference", "number"),
            *extra,
        ),
        tuple(rows),
        (
            "Preference: log-likelihood of a token of the fixed text minus that of the buggy text, in nats.",
            "Correct code is likelier than buggy code also for models that saw neither.",
            "Compare with the bugs that the corpus does not have, or with a reference model.",
        ),
        section=PREFERENCE,
    )


def rewritten_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return the preference for the fix before and after a rewriting of both sides."""
    rows = [
        Row((each.name, r.bugs, r.left_out, r.original.mean, r.rewritten.mean, r.drop, r.fixed_gap, r.buggy_gap))
        for each in bugs
        if (r := each.rewritten) is not None
    ]
    return Table(
        "rewritten",
        "Preference after a rewriting",
        (
            Column("set"),
            Column("bugs", "count"),
            Column("left out", "count"),
            Column("preference", "number"),
            Column("rewritten", "number"),
            Column("drop", "number"),
            Column("fixed text over its rewritings", "number"),
            Column("buggy text over its rewritings", "number"),
        ),
        tuple(rows),
        (
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
        "repositories",
        "Repositories in the list of the corpus",
        (
            Column("set"),
            Column("repositories", "count"),
            Column("in the list", "count"),
            Column("share", "share"),
            Column("bugs without a repository", "count"),
        ),
        tuple(rows),
        ("A repository in the list does not mean that the file of the bug, or its fix, was in the corpus.",),
        section=CORPUS,
    )


def content_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return how many texts of each side the corpus holds."""
    rows = [
        Row((f"{each.name}, {side}", content.judged, content.present, content.share, content.too_short))
        for each in bugs
        for side, content in each.content.items()
    ]
    return Table(
        "content",
        "Texts in the corpus, by content",
        (
            Column("set and text"),
            Column("judged", "count"),
            Column("in the corpus", "count"),
            Column("share", "share"),
            Column("too short", "count"),
        ),
        tuple(rows),
        (
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
    present = [
        (f"{each.name}, {exposure.pair_id}, {side}", exposure.content[side])
        for each in bugs
        for exposure in each.exposures
        for side in CONTENT_SIDES
        if side in exposure.content and exposure.content[side].is_present
    ]
    more = (f"The first {MOST_BUGS} of {len(present)} texts; the JSON has all.",) if len(present) > MOST_BUGS else ()
    columns = (
        Column("text"),
        Column("evidence", "number"),
        Column("common runs", "count"),
        Column("document"),
        Column("licence"),
    )
    rows = [Row((name, *_content_cells(content))) for name, content in present[:MOST_BUGS]]
    return Table("content-evidence", "Documents that hold a text", columns, tuple(rows), more, CORPUS)


def _content_cells(content: ContentEvidence) -> tuple[Cell, ...]:
    return (
        content.evidence.value,
        content.evidence.runs,
        content.origins[0].path,
        content.origins[0].licence,
    )


def exposure_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return how many bugs have which side in the corpus."""
    rows = [
        Row((each.name, *(counted_exposures(each.exposures)[kind] for kind in EXPOSURES)))
        for each in bugs
        if each.exposures
    ]
    return Table(
        "exposure",
        "Which side the corpus has",
        (Column("set"), *(Column(kind, "count") for kind in EXPOSURES)),
        tuple(rows),
        ("A side counts as present if one document has at least half of the text that only this side has.",),
        section=CORPUS,
    )


def evidence_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return the documents that have a side of a bug, the first ones of each set."""
    present = [
        (each.name, exposure)
        for each in bugs
        for exposure in each.exposures
        if exposure.exposure not in ("neither", "cannot tell")
    ]
    rows = [Row((f"{name}, {exposure.pair_id}", exposure.exposure, *_evidence(exposure))) for name, exposure in present]
    more = (f"The first {MOST_BUGS} of {len(present)} bugs; the JSON has all.",) if len(rows) > MOST_BUGS else ()
    columns = (
        Column("bug"),
        Column("in the corpus"),
        Column("share of the fix", "share"),
        Column("document"),
        Column("share of the bug", "share"),
        Column("document"),
    )
    return Table("evidence", "Documents that have a side", columns, tuple(rows[:MOST_BUGS]), more, CORPUS)


def _evidence(exposure: PairExposure) -> tuple[Cell, ...]:
    return tuple(
        cell
        for side in (exposure.fixed, exposure.buggy)
        for cell in (side.share, side.document or Missing("no document has any of it"))
    )


def probe_table(bugs: Sequence[StudiedSet]) -> Table:
    """Return what the model could repeat, beside the frequency baseline and the controls."""
    rows = [
        Row(
            (
                f"{each.name}, {name}",
                result.tasks,
                result.model,
                result.baseline,
                result.control if result.control.reason != "not measured" else Missing("no control text"),
                result.decision.verdict.value,
            )
        )
        for each in bugs
        for name, result in each.probes.items()
    ]
    reasons = dict.fromkeys(
        result.decision.explanation for each in bugs for result in each.probes.values() if result.decision.reason
    )
    return Table(
        "probes",
        "Probes by generation",
        (
            Column("probe"),
            Column("bugs", "count"),
            Column("right", "share"),
            Column("by frequency alone", "share"),
            Column("right on controls", "share"),
            Column("verdict"),
        ),
        tuple(rows),
        (
            "path: the file to change, from the issue text. function: 20 lexemes after the first lines.",
            "patch: 20 lexemes after the first changed line.",
            *reasons,
        ),
        section=PROBED,
    )


def slice_table(sets: Sequence[StudiedSet]) -> Table:
    """Return the averages before and after the cutoff."""
    rows = [
        Row((f"{each.name}, {name} the cutoff", averages.texts, averages.distinct, *_measures(averages)))
        for each in sets
        for name, averages in each.slices.items()
    ]
    undated = [f"{each.name}: {number_of(each.undated, 'text')} without a date" for each in sets if each.undated]
    return Table(
        "dates",
        "Before and after the cutoff",
        (
            Column("set"),
            Column("texts", "count"),
            Column("distinct", "count"),
            *(Column(measure, "number") for measure in MEASURES),
        ),
        tuple(rows),
        tuple(f"{sentence}." for sentence in undated),
        section=DATES,
    )


def dated_rate_table(sets: Sequence[StudiedSet]) -> Table:
    """Return every rate before and after the cutoff."""
    rows = [
        Row((f"{each.name}, {rate}", *(values.get(name, Missing("no bug of this time")) for name in SLICES)))
        for each in sets
        for rate, values in each.rates.items()
    ]
    columns = (Column("set and rate"), *(Column(f"{name} the cutoff", "share") for name in SLICES))
    return Table("rates-by-date", "Rates before and after the cutoff", columns, tuple(rows), (), section=DATES)


def _measures(averages: SideAverages) -> tuple[Cell, ...]:
    return tuple(averages.averages[measure] for measure in MEASURES)


def _data(study: BugStudy) -> dict[str, object]:
    return {
        "model": study.model,
        "has_reference": study.has_reference,
        "notes": study.notes,
        "sets": [
            {
                "name": each.name,
                "groups": each.groups,
                "sides": {side: asdict(averages) for side, averages in each.sides.items()},
                "preference": {kind: asdict(value) for kind, value in each.preference.items()},
                "contrast": {kind: asdict(value) for kind, value in each.contrast.items()},
                "rates": {
                    rate: {name: asdict(value) for name, value in values.items()} for rate, values in each.rates.items()
                },
                "slices": {name: asdict(averages) for name, averages in each.slices.items()},
                "undated": each.undated,
                "is_control": each.is_control,
                "rewritten": each.rewritten and asdict(each.rewritten),
                "repositories": each.repositories and asdict(each.repositories),
                "exposures": [asdict(exposure) for exposure in each.exposures],
                "content": {side: asdict(content) for side, content in each.content.items()},
                "probes": {name: _probe_data(result) for name, result in each.probes.items()},
                "nll": main_side(each).averages[NLL].value,
            }
            for each in study.sets
        ],
        "bugs": study.to_arrow().to_pylist(),
    }


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
