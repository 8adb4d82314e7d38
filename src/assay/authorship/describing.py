"""Results about authorship as reports. The answer for each piece comes first."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from operator import attrgetter, itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from assay.authorship.declared import Signal
from assay.authorship.detecting import CLASSIFIER, Detection, UnitResult, whole
from assay.authorship.forward import NOMINAL, expected_flags
from assay.authorship.reference import BOUND_LEVEL, Reference
from assay.evaluation import FlagRate
from assay.reports import (
    Answer,
    Cell,
    Column,
    Fact,
    Missing,
    Report,
    SampleColumn,
    SampleList,
    Table,
    counts_by_reason,
    describe,
    file_location,
    number_of,
    percent,
    sarif_log,
    sarif_result,
)
from assay.types import Sample

NO_PROOF = (
    "A score is no proof of misconduct: people write unusual code, and generated code can look usual. Only declared "
    "signals are facts."
)
UNCHECKED = "Take care: the reference was not checked on newer code of its people, where more can be unusual."
SHOWN = 30
SHOWN_ANSWERS = 20
"""Pieces of code on the first screen."""
SHOWN_FILES = 3
"""Files of a commit that a table names; all are in the JSON."""

SHOWN_DIGITS = 12
"""Digits of a commit that a table shows."""

Writer = Literal["a model, declared", "unusual", "cannot tell", "usual"]
"""Answers, in the order of a list. Style accuses nobody, and code that nothing declares need not be a person's."""


@describe.register
def _(detection: Detection) -> Report:
    """Return the report on pieces of code: the answers, declared signals, then scores."""
    tables = (
        _answers(detection),
        _signals(detection),
        _pieces(detection),
        _shares(detection),
        _abstentions(detection),
        _lines(detection),
    )
    return Report(
        title="Who wrote this code?",
        kind="authorship",
        statement="",
        answer=_answer(detection),
        on_first_screen=1,
        details=(NO_PROOF,),
        facts=_facts(detection),
        tables=tuple(filter(attrgetter("rows"), tables)),
        notes=tuple(_notes(detection)),
        samples=_samples(detection),
        data=_detection_data(detection),
    )


def _answers(detection: Detection) -> Table:
    """Return the answer for each piece of code; those that a reader has to look at come first."""
    # a trailer holds for the whole commit: of some of its functions it says nothing
    parts = any(map(attrgetter("unit.name"), detection.results))
    declared = declared_reasons(detection.signals, of_parts=parts)
    order = get_args(Writer)
    answers = [(row, *writer_of(row, declared)) for row in detection.results]
    # by answer, then by score: a piece without a score counts as the lowest, and Python cannot order NaN
    answers.sort(key=lambda answer: (order.index(answer[1]), -_finite(answer[0].value)))
    columns = (
        Column("code", "name", get=lambda answer: answer[0].unit.place),
        Column("answer", get=lambda answer: answer[1]),
        Column("reason", get=lambda answer: answer[2]),
    )
    caption = list(detection.unread)
    if detection.reference is not None and not detection.reference.checks:
        caption.insert(0, UNCHECKED)
    if len(answers) > SHOWN_ANSWERS:
        caption.insert(0, f"The first {SHOWN_ANSWERS} of {len(answers):,}.")
    return Table.of("answers", title="Who wrote it?", items=answers[:SHOWN_ANSWERS], columns=columns, caption=caption)


def _abstentions(detection: Detection) -> Table:
    columns = (Column("reason", "name", get=itemgetter(0)), Column("pieces", "count", get=itemgetter(1)))
    return Table.of("abstentions", title="No answer", items=detection.abstentions.most_common(), columns=columns)


def _notes(detection: Detection) -> Iterator[str]:
    if own := sum(map(attrgetter("in_reference"), detection.results)):
        texts = number_of(len(detection.results), "text")
        yield f"{own:,} of {texts} are in the reference itself; each is compared with its other texts."
    for note in detection.scored.notes:
        yield f"Take care: {note}."
    for (name, words), count in detection.scored.counts.items():
        if count:
            yield f"{name}: {count:,} {words}."


def declared_reasons(signals: Sequence[Signal], *, of_parts: bool = False) -> dict[str, str]:
    """Return path → why its code counts as declared, by the first signal on it.

    Files of a commit have absolute paths where the repository is known: the user may have named them from anywhere.
    A record of lines or of a commit says nothing of other parts of their files.
    """
    reasons: dict[str, str] = {}
    for signal in filter(attrgetter("is_about_code"), signals):
        if of_parts and signal.files:
            continue
        if signal.path is not None:
            reason: str = signal.kind
            if signal.line:
                reason = f"{signal.kind} in line {signal.line}"
            reasons.setdefault(signal.path, reason)
        for file in signal.files:
            reasons.setdefault(str(Path(signal.root or "", file)), f"{signal.kind} of a commit that changed it")
    return reasons


def writer_of(row: UnitResult, declared: Mapping[str, str]) -> tuple[Writer, str]:
    """Return who wrote a piece of code, and one reason.

    Args:
        row: the piece.
        declared: of `declared_reasons`.
    """
    # signals of a file name it as the user did; those of a commit by its place on this machine
    reason = declared.get(row.unit.path) or declared.get(str(Path(row.unit.path).resolve()))
    if reason is not None:
        return "a model, declared", reason
    judgement = row.judgement
    if judgement is None:
        return "cannot tell", "no code of the same people to compare with"
    # without a bound nothing was decided, whatever the score is
    if judgement.bound is None:
        return "cannot tell", judgement.abstained or "no score"
    if row.unusual:
        return "unusual", "its style is unusual for the people's code"
    return "usual", "its style is usual for the people's code"


def _answer(detection: Detection) -> Answer:
    """Return the first screen; only what authors and tools declare is certain."""
    if about_code := sum(map(attrgetter("is_about_code"), detection.signals)):
        return _declared_answer(detection, about_code)
    # a configuration file says that an agent is used in this project, and not that it wrote this code
    is_configured = bool(detection.signals)
    if detection.reference is None:
        return Answer(
            verdict="Cannot tell",
            because="Style can only be judged beside older code of the same people, and none was given.",
            measured="A coding agent is set up here; that does not say what it wrote." * is_configured,
            next_step="assay authorship calibrate OLDER-CODE --undated -o past.json; then --reference past.json",
        )
    if not detection.judged:
        return Answer("Cannot tell", "None of the code has what an answer needs.", next_step="see the reasons below")
    if _unusual(detection):
        return Answer(
            verdict="Unusual style",
            because="The style is unusual for the people it is compared with, which is no proof.",
            measured=_measured(detection),
            next_step="talk to the authors and look at the history; -v shows the lines that count most",
        )
    return Answer(
        verdict="Usual style",
        because="The style is usual for the people it is compared with; careful use of a model can look so, too.",
        measured=_measured(detection),
        next_step="a coding agent is set up here: look at the history" * is_configured,
    )


def _declared_answer(detection: Detection, about_code: int) -> Answer:
    """Return the answer where authors or tools declare a model."""
    judged = len(detection.judged)
    because = "Authors or tools declare it in the code or in its history"
    step = "look at the lines that declare it, and at the history"
    # only a repository has records by line
    has_records = any(map(attrgetter("root"), detection.signals))
    if "records disagree" in map(attrgetter("kind"), detection.signals):
        because, has_records = f"{because}, and records of some lines disagree", True
    if has_records:
        step = "--by line shows who wrote which line"
    measured = number_of(about_code, "declared signal")
    if judged > 1:
        measured = f"{measured}; {_unusual(detection):,} of {number_of(judged, 'text')} unusual"
    return Answer(verdict="A model took part", because=f"{because}.", measured=f"{measured}.", next_step=step)


def _unusual(detection: Detection) -> int:
    return sum(map(attrgetter("unusual"), detection.results))


def _measured(detection: Detection) -> str:
    """Return the figures beneath an answer on style."""
    judged = detection.judged
    if len(judged) == 1 and judged[0].judgement is not None:
        return f"At most {percent(judged[0].judgement.bound or 0)} of the people's code scores as high."
    return f"{_unusual(detection):,} of {number_of(len(judged), 'text')} unusual; {_by_chance(detection)}."


def _by_chance(detection: Detection) -> str:
    """Return how many unusual pieces are expected if people wrote all of them, by the check that looks forward."""
    expected = _expected(detection)
    # without a check the bound alone is known, which holds for each piece and not for their number
    if expected is None:
        return f"up to {percent(NOMINAL)} are by chance alone"
    value, low, high = expected
    return f"by chance alone {value:,} ({low:,} to {high:,})"


def _expected(detection: Detection) -> tuple[int, int, int] | None:
    languages = set(map(str, map(attrgetter("unit.language"), detection.judged)))
    own = getattr(detection.reference, "checks", ())
    checks = [check for check in own if check.language in languages]
    if not checks:
        return None
    return expected_flags(checks, len(detection.judged))


@describe.register
def _(reference: Reference, left_out: Mapping[str, int] = MappingProxyType({})) -> Report:
    """Return the report on a calibration: sizes, and the share of newer human code that is called unusual."""
    # where newer code was judged, that rate is announced; judging the reference by its halves would flatter it
    realised = None
    if not reference.checks:
        realised = reference.realised()
    tables = (_checks(reference), _cells(reference))
    return Report(
        title="Human code for comparison",
        kind="authorship",
        statement=f"{number_of(len(reference), 'text')} of {reference.source}: {_foreseen(reference, realised)}.",
        facts=(
            Fact("detector", reference.detector),
            Fact("unit", reference.unit or "not recorded"),
            Fact("files or pieces left out", f"{sum(left_out.values()):,}", counts_by_reason(left_out)),
        ),
        tables=tuple(filter(attrgetter("rows"), tables)),
        notes=(NO_PROOF,),
        data={
            "texts": len(reference),
            "detector": reference.detector,
            "source": reference.source,
            "before": reference.before,
            "unit": reference.unit,
            "left_out": dict(left_out),
            "nominal": NOMINAL,
            "realised": rate_data(realised),
            "checks": list(map(asdict, reference.checks)),
        },
    )


def _checks(reference: Reference) -> Table:
    columns = (
        Column("project", "name", attrgetter("project")),
        Column("language", get=attrgetter("language")),
        Column("newer texts", "count", attrgetter("newer")),
        Column("unusual at 5 %", "count", attrgetter("at_nominal")),
        Column(title="level", kind="share", get=attrgetter("level"), missing="no answer: the style changes"),
        Column("unusual at this level", "count", attrgetter("flagged")),
        Column(
            title="at least",
            kind="share",
            get=attrgetter("low"),
            missing="too few files",
            note="95 % interval over files",
        ),
        Column(title="at most", kind="share", get=attrgetter("high"), missing="too few files"),
    )
    caption = "People wrote all of these. The level is lowered until at most 5 % of them are unusual."
    title = "Newer half of the history, judged by the older half"
    return Table.of("checks", title=title, items=reference.checks, columns=columns, caption=(caption,))


def _cells(reference: Reference) -> Table:
    columns = (
        Column("language", "name", get=lambda item: item[0][0]),
        Column("length", get=lambda item: item[0][1]),
        Column("texts", "count", get=lambda item: len(item[1])),
    )
    caption = "Neighbouring classes of fewer than 45 texts are compared together."
    return Table.of(
        "reference",
        title="Texts by language and length",
        items=reference.cells.items(),
        columns=columns,
        caption=(caption,),
    )


def _foreseen(reference: Reference, realised: FlagRate | None) -> str:
    """Return the announced false-positive rate in words."""
    # languages whose style changes get no answer, so they do not count in the rate that is announced
    judged = [check for check in reference.checks if check.level is not None]
    if judged:
        flagged = sum(map(attrgetter("flagged"), judged))
        newer = sum(map(attrgetter("newer"), judged))
        return f"{percent(flagged / newer)} of their {newer:,} newer texts are called unusual, by the older ones"
    if reference.checks:
        return "cannot tell, because the style of these people changes"
    if realised is None:
        return f"too few to check that at most {percent(NOMINAL)} of such code is called unusual"
    shown = percent(realised.rate.value)
    return f"{shown} of them are called unusual; newer code was not checked, expect more there"


def _facts(detection: Detection) -> tuple[Fact, ...]:
    name, _, digest = detection.scored.detector.rpartition(" ")
    facts = [Fact("detector", name or digest or "none", digest[:SHOWN_DIGITS] * bool(name))]
    if detection.reference is not None:
        facts.append(Fact("reference", _foreseen(detection.reference, detection.realised)))
        facts.append(Fact("no answer", str(sum(detection.abstentions.values())), f"of {len(detection.results)}"))
    return tuple(facts)


def _signals(detection: Detection) -> Table:
    columns = (
        Column("declared", "name", lambda signal: signal.kind),
        Column("file, or commit and its files", get=lambda signal: signal.path or _files_of(signal)),
        Column("line", get=lambda signal: signal.line or ""),
        Column("words", get=lambda signal: signal.text),
    )
    more = len(detection.signals) - SHOWN
    caption = (f"{more:,} more are in the JSON.",) * (more > 0)
    return Table.of(
        "signals", title="Declared signals", items=detection.signals[:SHOWN], columns=columns, caption=caption
    )


def _files_of(signal: Signal) -> str:
    """Return the commit of a signal and the first files that it changed."""
    commit = (signal.commit or "")[:SHOWN_DIGITS]
    if not signal.files:
        return commit
    named = ", ".join(signal.files[:SHOWN_FILES])
    more = len(signal.files) - SHOWN_FILES
    if more > 0:
        named = f"{named} and {more:,} more"
    return ": ".join(filter(None, (commit, named)))


def _pieces(detection: Detection) -> Table:
    """Return the scores of the highest pieces; an item is the row of a piece."""
    results, scored = detection.results, detection.scored
    columns = [
        Column("code", "name", lambda at: results[at].unit.place),
        Column("tokens", "count", lambda at: results[at].tokens),
    ]
    caption = ["Scores: higher = more like generated code."]
    if detection.reference is not None:
        columns += [
            Column("answer", get=lambda at: _place_among_people(results[at])),
            Column(title="p-value", kind="p_value", get=lambda at: results[at].judgement.p_value, missing="no answer"),
            Column(title="upper bound", kind="share", get=lambda at: results[at].judgement.bound, missing="no answer"),
        ]
        caption.append(
            f"The answer rests on {next(iter(scored.scores))}. The p-value estimates the share of your human code that "
            f"scores as high; the share is below the upper bound with {percent(BOUND_LEVEL)} confidence. Unusual: an "
            f"upper bound of {percent(NOMINAL)} or less."
        )

    def score(name: str, at: int) -> Cell:
        value = float(scored.scores[name][at])
        if math.isnan(value):
            return Missing(scored.reasons[name][at] or "no score")
        return value

    columns += [Column(name, "number", partial(score, name)) for name in _shown(detection)]
    if len(results) > SHOWN:
        caption.append(f"The highest {SHOWN} of {len(results):,}.")
    # rows and not results are sorted, because the columns look up scores and reasons by the row
    order = sorted(range(len(results)), key=lambda row: -_finite(results[row].value))
    if not _shown(detection):
        order = []
    return Table.of("pieces", title="Scores", items=order[:SHOWN], columns=columns, caption=caption)


def _shown(detection: Detection) -> Sequence[str]:
    """Return the scores that are shown; those of a classifier mean nothing without a reference."""
    if detection.reference is None and detection.scored.detector.startswith(f"{CLASSIFIER} "):
        return ()
    return tuple(detection.scored.scores)


def _place_among_people(row: UnitResult) -> str:
    judgement = row.judgement
    if judgement is None:
        return "no answer: "
    if judgement.bound is None:
        return f"no answer: {judgement.abstained}"
    if row.unusual:
        return "unusual"
    return "usual"


def _shares(detection: Detection) -> Table:
    columns = (
        Column("folder", "name", lambda item: item[0]),
        Column("pieces", "count", lambda item: item[1].samples),
        Column("unusual", "share", lambda item: item[1].rate),
        Column("expected at most", "share", lambda _: NOMINAL),
    )
    caption = "Expected at most: the share of your own human code that is called unusual, too."
    return Table.of(
        "shares", title="Share of unusual pieces", items=detection.shares.items(), columns=columns, caption=(caption,)
    )


def _lines(detection: Detection) -> Table:
    columns = (
        Column("line", "name", lambda item: f"{item[0].unit.path}:{item[1]}"),
        Column("evidence", "number", lambda item: item[2]),
        Column("code", get=lambda item: _line(item[0], item[1])),
    )
    caption = "The score on the tokens of the line, read after the lines before them."
    items: list[tuple[UnitResult, int, float]] = []
    for row in islice(filter(attrgetter("unusual"), detection.results), SHOWN):
        items += [(row, line, value) for line, value in row.lines]
    return Table.of(
        "lines",
        title="Lines that count most",
        items=items,
        columns=columns,
        caption=(caption, "A single line is weak evidence."),
    )


def _line(row: UnitResult, line: int) -> str:
    text = row.unit.surroundings or whole(row.unit)
    places = dict(zip(map(itemgetter(1), text.lines), text.spans, strict=True))
    start, stop = places.get(line, (0, 0))
    return text.text[start:stop].strip()


def _samples(detection: Detection) -> SampleList:
    samples = []
    for number, row in enumerate(detection.results):
        unit = row.unit
        about = {"first line": unit.first_line}
        samples.append(Sample(f"{unit.place}#{number}", unit.text, unit.language, metadata=about))
    columns = [SampleColumn(name, detection.scored.scores[name], "score") for name in _shown(detection)]
    if detection.reference is not None:
        bounds = list(map(_bound, detection.results))
        columns.append(
            SampleColumn(
                title="upper bound",
                values=bounds,
                kind="p_value",
                about="of the share of human code that scores as high",
            )
        )
    return SampleList(tuple(samples), tuple(columns), summary=NO_PROOF)


def _bound(row: UnitResult) -> float:
    if row.judgement is None or row.judgement.bound is None:
        return math.nan
    return row.judgement.bound


def _detection_data(detection: Detection) -> dict[str, Any]:
    reference = None
    if detection.reference is not None:
        reference = {"texts": len(detection.reference), "source": detection.reference.source}
    return {
        "detector": detection.scored.detector or None,
        "statement": NO_PROOF,
        "signals": list(map(_signal_data, detection.signals)),
        "reference": reference,
        "realised": rate_data(detection.realised),
        "nominal": NOMINAL,
        "expected": _expected(detection),
        "out_of_distribution": list(detection.scored.notes),
        "counts": [[*key, count] for key, count in detection.scored.counts.items()],
        "shares": {folder: rate_data(rate) for folder, rate in detection.shares.items()},
        "pieces": list(map(partial(_piece_data, detection), range(len(detection.results)))),
    }


def _signal_data(signal: Signal) -> dict[str, Any]:
    """Return a signal without the place of its repository on this machine."""
    fields = asdict(signal)
    # an absolute path would tell a reader of the report about the machine
    del fields["root"]
    return fields


def _piece_data(detection: Detection, at: int) -> dict[str, Any]:
    row, scored = detection.results[at], detection.scored
    judgement = row.judgement
    has_answer = judgement is not None and judgement.bound is not None
    return {
        "path": row.unit.path,
        "name": row.unit.name,
        "first_line": row.unit.first_line,
        "language": row.unit.language,
        "tokens": row.tokens,
        "scores": {name: _number(float(scored.scores[name][at])) for name in _shown(detection)},
        "unscorable": {name: of_score[at] for name, of_score in scored.reasons.items() if of_score[at] is not None},
        "p_value": judgement and judgement.p_value,
        "bound": judgement and judgement.bound,
        "unusual": row.unusual if has_answer else None,
        "abstained": judgement and judgement.abstained,
        "in_reference": row.in_reference,
        "lines": list(map(list, row.lines)),
    }


def rate_data(rate: FlagRate | None) -> dict[str, Any] | None:
    """Return a share of flagged texts with its interval and its counts, for JSON."""
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
    if math.isnan(value):
        return None
    return value


def _finite(value: float) -> float:
    if math.isnan(value):
        return -math.inf
    return value


# Declared signals and shares of whole groups as SARIF 2.1.0. Scores of single pieces are never written there.

MOST_LOCATIONS = 10
"""Files of a commit that a note is put at."""

_DECLARED, _SHARE = "declared-generator", "share-of-unusual-code"
_RULES = [
    {"id": _DECLARED, "shortDescription": {"text": "The author or a tool declares the use of a generator"}},
    {"id": _SHARE, "shortDescription": {"text": "Share of a folder that is unusual for its own past"}},
]


def detection_sarif(detection: Detection) -> dict[str, Any]:
    """Return one run with a note for each declared signal, and one for each folder with its share."""
    results = list(map(_declared, detection.signals))
    for folder, rate in detection.shares.items():
        text = (
            f"{rate.flagged} of {rate.samples} pieces in {folder} are unusual for the human code of this origin "
            f"(expected at most {percent(NOMINAL)}); {rate.unscorable} without an answer. "
            "This is no proof of misconduct."
        )
        results.append(sarif_result(_SHARE, text, properties={"share": rate.rate.value, "pieces": rate.samples}))
    return sarif_log(_RULES, results)


def _declared(signal: Signal) -> dict[str, Any]:
    """Return a note at the file of a declaration, or at the first files of its commit."""
    about, paths = {}, signal.files[:MOST_LOCATIONS]
    if signal.commit:
        about = {"commit": signal.commit, "files": len(signal.files)}
    if signal.path is not None:
        paths = (signal.path,)
    # a line belongs to the one file of a declaration; further files of a commit have none
    locations = [file_location(path, None if at else signal.line) for at, path in enumerate(paths)]
    return sarif_result(_DECLARED, f"{signal.kind}: {signal.text}", locations=locations, properties=about)
