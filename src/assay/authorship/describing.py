"""Results about authorship as reports."""

import math
from dataclasses import asdict
from typing import Any

from assay.authorship.auditing import ShortcutAudit
from assay.authorship.classifier import Classifier
from assay.authorship.declared import Signal
from assay.authorship.detecting import NOMINAL, WITHOUT_CODE, Detection, UnitResult
from assay.authorship.evaluating import LeftOut, Transfer
from assay.authorship.line_scores import whole
from assay.authorship.open_set import UNKNOWN
from assay.authorship.reference import CONFIDENCE, Reference
from assay.evaluation import FlagRate, Ranking
from assay.reports import Cell, Column, Fact, Missing, Report, Row, SampleColumn, SampleList, Table, number_of, percent
from assay.types import Sample

NO_PROOF = (
    "A score is no proof of misconduct: people write unusual code, and generated code can look usual. Only declared "
    "signals are facts."
)
SHOWN = 30
SHOWN_FILES = 3
"""Files of a commit that a table names; all are in the JSON."""

SHOWN_DIGITS = 12
"""Digits of a commit that a table shows."""


def describe_detection(detection: Detection) -> Report:
    """Return the report on pieces of code: declared signals first, then scores and answers."""
    unusual = [row for row in detection.results if row.unusual]
    count = number_of(len(detection.results), "text")
    if detection.reference is None:
        statement = (
            f"{number_of(len(detection.signals), 'declared signal')} in {count}. The scores are a description and no "
            "verdict: there is no reference of human code (`assay authorship calibrate`)."
        )
    else:
        answers = (
            f"{len(unusual)} of {len(detection.judged)} with an answer are unusual for the human code of this origin "
            f"(at most {percent(NOMINAL)} of it scores as high, with {percent(CONFIDENCE)} confidence)."
        )
        statement = f"{number_of(len(detection.signals), 'declared signal')} in {count}; "
        statement += answers if detection.judged else "no piece has an answer (the reasons are below)."
    return Report(
        title="Who wrote this code?",
        kind="authorship",
        statement=statement,
        details=(NO_PROOF,),
        facts=_facts(detection),
        tables=tuple(
            table
            for table in (
                _signals(detection),
                _pieces(detection),
                _shares(detection),
                _abstentions(detection),
                _lines(unusual),
            )
            if table.rows
        ),
        notes=(
            *_own_reference(detection),
            *detection.unread,
            *(f"Out of distribution: {note}." for note in detection.scored.notes),
            *(f"{name}: {count:,} {words}." for (name, words), count in detection.scored.counts.items() if count),
        ),
        samples=_samples(detection),
        data=_detection_data(detection),
    )


def describe_reference(reference: Reference, abstained: int, realised: FlagRate | None) -> Report:
    """Return the report on a calibration: sizes, and the realised beside the nominal false-positive rate."""
    rows = tuple(Row((language, length, len(scores))) for (language, length), scores in reference.cells.items())
    shown = "not measured: too few texts" if realised is None else percent(realised.rate.value)
    return Report(
        title="Human code for comparison",
        kind="authorship",
        statement=(
            f"{len(reference):,} texts of {reference.source}; realised false-positive rate {shown} at a nominal "
            f"{percent(NOMINAL)}."
        ),
        facts=(
            Fact("detector", reference.detector),
            Fact("unit", reference.unit or "not recorded"),
            Fact("texts left out", f"{abstained:,}", "too short, too long, or not drawn"),
        ),
        tables=(
            Table(
                "reference",
                "Texts by language and length",
                (Column("language", "name"), Column("length"), Column("texts", "count")),
                rows,
                ("Neighbouring classes of fewer than 45 texts are compared together.",),
            ),
        ),
        notes=(
            NO_PROOF,
            *(f"Evidence left out, because this human code shows it too: {kind}." for kind in reference.left_out),
        ),
        data={
            "texts": len(reference),
            "detector": reference.detector,
            "source": reference.source,
            "before": reference.before,
            "unit": reference.unit,
            "left_out": list(reference.left_out),
            "nominal": NOMINAL,
            "realised": _rate_data(realised),
        },
    )


def describe_transfer(transfer: Transfer) -> Report:
    """Return the report on classifiers tested on parts that they were not fitted on."""
    formatted = any(part.formatted for part in transfer.parts)
    rows = tuple(_part_row(part, with_formatted=formatted) for part in transfer.parts)
    columns = (
        Column(transfer.by, "name"),
        Column("people", "count"),
        Column("generated", "count"),
        Column("AUROC", "area", plot=(0, 1, 0.5)),
        *((Column("AUROC, formatted", "area"),) if formatted else ()),
        Column("AUROC, calibrated", "area"),
        Column("false positives", "share", note=f"nominal {percent(NOMINAL)}"),
        Column("detected", "share", note="after calibration"),
        Column("abstained", "share"),
        Column("out of distribution"),
    )
    captions = (
        "Calibrated: texts that are not in the reference of human code, without the evidence that this code shows too.",
    )
    ranked = sum(part.ranking is not None for part in transfer.parts)
    evidence = f" (evidence: {', '.join(transfer.evidence)})" if transfer.evidence else ""
    statement = (
        f"Mean AUROC {transfer.mean_auroc:.3f} over {number_of(ranked, 'part')} that the classifier was not "
        f"fitted on{evidence}{_after_calibration(transfer)}."
    )
    if not ranked:
        statement = (
            f"Nothing could be measured: without any one {transfer.by}, the other texts are not of both people and "
            "generators, or the part that is left out is not."
        )
    low = [part.name for part in transfer.parts if part.ranking and part.ranking.auroc.value < 0.7 and not part.notes]  # noqa: PLR2004  the target
    return Report(
        title=f"Left out by {transfer.by}",
        kind="authorship",
        statement=statement,
        warning=f"AUROC below .7 without a flag: {', '.join(low)}." if low else "",
        tables=(Table("transfer", f"Each {transfer.by} in turn", columns, rows, captions),),
        notes=(NO_PROOF, *(f"{part.name}: {note}." for part in transfer.parts for note in part.notes)),
        data={
            "by": transfer.by,
            "evidence": list(transfer.evidence),
            "mean_auroc": _number(transfer.mean_auroc),
            "mean_calibrated_auroc": _number(transfer.mean_calibrated_auroc),
            "parts": [part_data(part) for part in transfer.parts],
        },
    )


def _after_calibration(transfer: Transfer) -> str:
    mean = transfer.mean_calibrated_auroc
    return "" if math.isnan(mean) else f"; {mean:.3f} after calibration on human code of the same origin"


def describe_shortcuts(audit: ShortcutAudit) -> Report:
    """Return the report on the shortcuts of a data set."""
    steps = tuple(
        Row((name, ranking.auroc, audit.alone.get(name, Missing("removed last only"))))
        for name, ranking in audit.steps.items()
    )
    tables = [
        Table(
            "shortcuts",
            "AUROC that remains",
            (
                Column("removed", "name"),
                Column("this and all above", "area", plot=(0, 1, 0.5)),
                Column("this alone", "area"),
            ),
            steps,
            ("A linear model on characters, four folds by group. A fall towards .5 shows what the classes differ in.",),
        )
    ]
    collections = sorted({name for pair in audit.transfer for name in pair})
    if collections:
        rows = tuple(
            Row(
                (
                    fitted,
                    *(audit.transfer.get((fitted, tested), Missing("the same collection")) for tested in collections),
                )
            )
            for fitted in collections
        )
        columns = (Column("fitted on", "name"), *(Column(name, "area") for name in collections))
        caption = ("Comments and layout are removed. Columns: the collection that was tested.",)
        tables.append(Table("transfer", "Transfer between collections", columns, rows, caption))
    first, last = (next(iter(audit.steps.values())), list(audit.steps.values())[-1])
    return Report(
        title="Shortcuts of a data set",
        kind="authorship",
        statement=(
            f"AUROC {first.auroc.value:.3f} on the raw text and {last.auroc.value:.3f} without superficial differences "
            f"({audit.people:,} texts of people, {audit.generated:,} generated)."
        ),
        tables=tuple(tables),
        data={
            "steps": {name: asdict(ranking.auroc) for name, ranking in audit.steps.items()},
            "alone": dict(audit.alone),
            "transfer": [[*pair, _number(value)] for pair, value in audit.transfer.items()],
        },
    )


def part_data(part: LeftOut) -> dict[str, Any]:
    """Return everything that was measured on one part, for JSON."""
    rates_after = part.calibrated
    return {
        "name": part.name,
        "people": part.people,
        "generated": part.generated,
        "auroc": _area_data(part.ranking),
        "auroc_formatted": _area_data(part.formatted),
        "out_of_distribution": list(part.notes),
        "calibrated": rates_after
        and {
            "reference": rates_after.reference,
            "left_out": list(rates_after.left_out),
            "auroc": _area_data(rates_after.ranking),
            "false_positives": _rate_data(rates_after.false_positives),
            "true_positives": _rate_data(rates_after.true_positives),
            "abstained": rates_after.abstained,
        },
        "without": dict(part.without),
    }


def _area_data(ranking: Ranking | None) -> dict[str, Any] | None:
    if ranking is None:
        return None
    return {"value": ranking.auroc.value, "low": _number(ranking.auroc.low), "high": _number(ranking.auroc.high)}


def model_card(classifier: Classifier, transfer: Transfer | None) -> str:
    """Return the model card of a classifier, in Markdown."""
    record = classifier.record
    lines = [
        "# Classifier of machine-written code",
        "",
        NO_PROOF,
        "",
        "## Use",
        "",
        "Ranks code by how much its style resembles code of the generators below.",
        "An answer about a person's code needs `assay authorship calibrate` on older code of the same origin.",
        "Not for grading, hiring or accusing people.",
        "",
        "## Training data",
        "",
        "| collection | people | generated |",
        "|---|---|---|",
        *(
            f"| {name} | {counts['people']} | {counts['generators']} |"
            for name, counts in record["collections"].items()
        ),
        "",
        f"Languages: {', '.join(record['languages'])}. Comments, indentation and blank lines are not seen.",
        f"Evidence: {', '.join(record['evidence'])}.",
        f"At most {record['per_class']} texts of a class, collection and language.",
        *_generators(classifier),
        "",
        "## Quality on collections that were left out",
        "",
    ]
    if transfer is None:
        return "\n".join([*lines, "Not measured. Run `assay authorship evaluate`.", ""])
    lines += ["| left out | AUROC | interval | out of distribution |", "|---|---|---|---|"]
    for part in transfer.parts:
        if part.ranking is not None:
            area = part.ranking.auroc
            flags = "; ".join(part.notes) or "no"
            lines.append(f"| {part.name} | {area.value:.3f} | {area.low:.3f} to {area.high:.3f} | {flags} |")
    return "\n".join([*lines, "", f"Mean AUROC: {transfer.mean_auroc:.3f}.", ""])


def _generators(classifier: Classifier) -> list[str]:
    model = classifier.generators
    if model is None:
        return []
    left_out = f" Too few texts: {', '.join(model.left_out)}." if model.left_out else ""
    return [
        "",
        "## Naming the generator",
        "",
        f"Classes: {', '.join(model.classes)}.{left_out}",
        f"Right class on held-out tasks of these collections: {percent(model.accuracy)} of the texts.",
        f"Guessing: {percent(1 / len(model.classes))}. Expect less elsewhere.",
        f'A text that is unusual for its class gets the answer "{UNKNOWN}".',
    ]


def _part_row(part: LeftOut, *, with_formatted: bool) -> Row:
    rates_after = part.calibrated
    few = Missing("too few texts of people")
    rates: tuple[Cell, ...] = (few, few, few, few)
    if rates_after is not None:
        rates = (
            rates_after.ranking.auroc if rates_after.ranking else Missing("one class only"),
            rates_after.false_positives.rate if rates_after.false_positives else few,
            rates_after.true_positives.rate if rates_after.true_positives else Missing("no generated text"),
            rates_after.abstained,
        )
    area: Cell = part.ranking.auroc if part.ranking else Missing("one class only")
    formatted: tuple[Cell, ...] = ()
    if with_formatted:
        formatted = (part.formatted.auroc if part.formatted else Missing("one class only"),)
    return Row((part.name, part.people, part.generated, area, *formatted, *rates, "; ".join(part.notes) or "no"))


def _facts(detection: Detection) -> tuple[Fact, ...]:
    name, _, digest = detection.scored.detector.rpartition(" ")
    facts = [Fact("detector", name or digest, digest[:SHOWN_DIGITS] if name else "")]
    if detection.reference is not None:
        realised = detection.realised
        shown = "not measured" if realised is None else percent(realised.rate.value)
        facts.append(Fact("false-positive rate", shown, f"nominal {percent(NOMINAL)}, on the reference"))
        facts.append(Fact("no answer", str(sum(detection.abstentions.values())), f"of {len(detection.results)}"))
    return tuple(facts)


def _signals(detection: Detection) -> Table:
    rows = tuple(
        Row((signal.kind, signal.path or _files_of(signal), signal.line or "", signal.text))
        for signal in detection.signals[:SHOWN]
    )
    columns = (Column("declared", "name"), Column("file, or commit and its files"), Column("line"), Column("words"))
    more = len(detection.signals) - SHOWN
    return Table("signals", "Declared signals", columns, rows, (f"{more:,} more are in the JSON.",) if more > 0 else ())


def _files_of(signal: Signal) -> str:
    """Return the commit of a signal and the first files that it changed."""
    commit = (signal.commit or "")[:SHOWN_DIGITS]
    if not signal.files:
        return commit
    more = len(signal.files) - SHOWN_FILES
    return f"{commit}: {', '.join(signal.files[:SHOWN_FILES])}" + (f" and {more:,} more" if more > 0 else "")


def _pieces(detection: Detection) -> Table:
    names = tuple(detection.scored.scores)
    columns = [Column("code", "name"), Column("tokens", "count")]
    attribution = detection.scored.attribution
    if detection.reference is not None:
        columns += [Column("answer"), Column("p-value", "p_value"), Column("upper bound", "share")]
    if attribution is not None:
        columns.append(Column("most like"))
    columns += [Column(name, "number") for name in names]
    order = sorted(range(len(detection.results)), key=lambda row: -_finite(detection.results[row].value))
    rows = []
    for at in order[:SHOWN]:
        result = detection.results[at]
        scores: list[Cell] = [
            Missing(detection.scored.reasons[name][at] or "no score") if math.isnan(values[at]) else float(values[at])
            for name, values in detection.scored.scores.items()
        ]
        nearest = () if attribution is None else (_nearest_name(result, attribution.answers[at]),)
        rows.append(Row((result.unit.place, result.tokens, *_answer(result), *nearest, *scores)))
    caption = ["Scores: higher = more like generated code."]
    if detection.reference is not None:
        caption.append(
            f"The answer rests on {names[0]}. The p-value estimates the share of your human code that scores as high; "
            f"the share is below the upper bound with {percent(CONFIDENCE)} confidence. Unusual: an upper bound of "
            f"{percent(NOMINAL)} or less."
        )
    if len(detection.results) > SHOWN:
        caption.append(f"The highest {SHOWN} of {len(detection.results):,}.")
    if attribution is not None:
        caption.append(f"Most like: the nearest of {', '.join(attribution.classes)}; no statement of who wrote it.")
    return Table("pieces", "Scores", tuple(columns), tuple(rows), tuple(caption))


def _answer(result: UnitResult) -> tuple[Cell, ...]:
    judgement = result.judgement
    if judgement is None:
        return ()
    if judgement.p_value is None or judgement.bound is None:
        return (f"no answer: {judgement.abstained}", Missing("no answer"), Missing("no answer"))
    return ("unusual" if result.unusual else "usual", judgement.p_value, judgement.bound)


def _nearest_name(result: UnitResult, answer: str) -> Cell:
    return Missing(WITHOUT_CODE) if math.isnan(result.value) else answer


def _own_reference(detection: Detection) -> tuple[str, ...]:
    """Return a note on the pieces that are in the reference themselves."""
    own = sum(row.in_reference for row in detection.results)
    if not own:
        return ()
    texts = number_of(len(detection.results), "text")
    return (f"{own:,} of {texts} are in the reference itself; each is compared with its other texts.",)


def _shares(detection: Detection) -> Table:
    columns = (
        Column("folder", "name"),
        Column("pieces", "count"),
        Column("unusual", "share"),
        Column("expected at most", "share"),
    )
    rows = tuple(Row((folder, rate.samples, rate.rate, NOMINAL)) for folder, rate in detection.shares.items())
    caption = "Expected at most: the share of your own human code that is called unusual, too."
    return Table("shares", "Share of unusual pieces", columns, rows, (caption,))


def _abstentions(detection: Detection) -> Table:
    rows = tuple(Row((reason, count)) for reason, count in detection.abstentions.most_common())
    return Table("abstentions", "No answer", (Column("reason", "name"), Column("pieces", "count")), rows)


def _lines(unusual: list[UnitResult]) -> Table:
    rows = tuple(
        Row((f"{row.unit.path}:{line}", value, _line(row, line)))
        for row in unusual[:SHOWN]
        for line, value in row.lines
    )
    columns = (Column("line", "name"), Column("evidence", "number"), Column("code"))
    caption = (
        "By a classifier: its wording alone, the sum of a line's n-grams. By a score: its value on the tokens of the "
        "line, read after the lines before them."
    )
    return Table("lines", "Lines that count most", columns, rows, (caption, "A single line is weak evidence."))


def _line(row: UnitResult, line: int) -> str:
    text = row.unit.surroundings or whole(row.unit)
    places = {of_file: span for span, (_, of_file) in zip(text.spans, text.lines, strict=True)}
    start, stop = places.get(line, (0, 0))
    return text.text[start:stop].strip()


def _samples(detection: Detection) -> SampleList:
    samples = tuple(
        Sample(
            f"{row.unit.place}#{number}", row.unit.text, row.unit.language, metadata={"first line": row.unit.first_line}
        )
        for number, row in enumerate(detection.results)
    )
    columns = [SampleColumn(name, values, "score") for name, values in detection.scored.scores.items()]
    if detection.reference is not None:
        bounds = [
            row.judgement.bound if row.judgement and row.judgement.bound is not None else float("nan")
            for row in detection.results
        ]
        columns.append(SampleColumn("upper bound", bounds, "p_value", "of the share of human code that scores as high"))
    return SampleList(samples, tuple(columns), summary=NO_PROOF)


def _detection_data(detection: Detection) -> dict[str, Any]:
    return {
        "detector": detection.scored.detector,
        "statement": NO_PROOF,
        "signals": [asdict(signal) for signal in detection.signals],
        "reference": None
        if detection.reference is None
        else {"texts": len(detection.reference), "source": detection.reference.source},
        "realised": _rate_data(detection.realised),
        "nominal": NOMINAL,
        "out_of_distribution": list(detection.scored.notes),
        "counts": [[*key, count] for key, count in detection.scored.counts.items()],
        "shares": {folder: _rate_data(rate) for folder, rate in detection.shares.items()},
        "pieces": [
            {
                "path": row.unit.path,
                "name": row.unit.name,
                "first_line": row.unit.first_line,
                "language": row.unit.language,
                "tokens": row.tokens,
                "scores": {name: _number(float(values[at])) for name, values in detection.scored.scores.items()},
                "unscorable": {
                    name: reasons[at] for name, reasons in detection.scored.reasons.items() if reasons[at] is not None
                },
                "evidence": dict(row.parts),
                "most_like": _nearest(detection, at),
                "p_value": row.judgement and row.judgement.p_value,
                "bound": row.judgement and row.judgement.bound,
                "unusual": None if row.judgement is None or row.judgement.bound is None else row.unusual,
                "abstained": row.judgement and row.judgement.abstained,
                "in_reference": row.in_reference,
                "lines": [list(entry) for entry in row.lines],
            }
            for at, row in enumerate(detection.results)
        ],
    }


def _nearest(detection: Detection, at: int) -> dict[str, Any] | None:
    attribution = detection.scored.attribution
    if attribution is None or math.isnan(detection.results[at].value):
        return None
    return {
        "answer": attribution.answers[at],
        "p_value": float(attribution.p_values[at]),
        "probabilities": dict(zip(attribution.classes, attribution.probabilities[at].tolist(), strict=True)),
    }


def _rate_data(rate: FlagRate | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    return {
        "flagged": rate.flagged,
        "judged": rate.samples,
        "abstained": rate.unscorable,
        "share": _number(rate.rate.value),
        "low": _number(rate.rate.low),
        "high": _number(rate.rate.high),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _finite(value: float) -> float:
    return -math.inf if math.isnan(value) else value
