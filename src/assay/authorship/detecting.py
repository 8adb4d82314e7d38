"""Who wrote these pieces of code: declared signals, a score, and its place among the user's own human code."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.authorship.classifier import Classifier, Prediction
from assay.authorship.declared import Signal
from assay.authorship.domain import domain_notes
from assay.authorship.evidence import WORDING, Vectors
from assay.authorship.forward import NOMINAL
from assay.authorship.heads import SparseHead
from assay.authorship.normalising import Code
from assay.authorship.open_set import Attribution
from assay.authorship.reference import Reference, ReferenceAnswer, has_long_lines
from assay.authorship.units import LONGEST_TEXT, CodeUnit, PatchedText, code_in_context
from assay.authorship.wording import ngram_matrix
from assay.errors import Unscorable
from assay.evaluation import FlagRate, flag_rate
from assay.models import combined
from assay.reports import TabularResult
from assay.scores import FrequencyTable, SampleInputs, ScoreRequest, View
from assay.scoring import Plan, Progress, has_parts, restricted, score_samples
from assay.types import BooleanArray, Float64Array, Sample, TokenLogProbs, TokenStatistics

# Evidence by line for scores of a language model: the lines of a piece that score highest by themselves.

FEWEST_TOKENS = 5
"""Of a line that has a value; a bracket alone says nothing."""
SHOWN_LINES = 5

LineScores = tuple[tuple[int, float], ...]
"""(line of the file, score), the highest first."""


@dataclass(slots=True)
class LineKeeper:
    """Observer of the engine: keeps the highest lines of each piece by one score.

    Each line is scored by its own tokens, which the model read after the lines before them.

    Attributes:
        request: the score; it can be computed on a part of the tokens.
        texts: of the engine, with the lines that count: all of a piece, or the added ones of a patch.
        frequencies: of tokens, for a score that needs them.
        lines: position of a text → its lines.
    """

    request: ScoreRequest
    texts: Sequence[PatchedText]
    frequencies: FrequencyTable | None = None
    lines: dict[int, LineScores] = field(default_factory=dict)

    def __call__(self, position: int, statistics: TokenLogProbs) -> None:
        """Score the lines of one text; log-probabilities alone do not say where their tokens are."""
        if isinstance(statistics, TokenStatistics):
            scored = self._scored(self.texts[position], statistics)
            self.lines[position] = tuple(sorted(scored, key=lambda line: -line[1])[:SHOWN_LINES])

    def _scored(self, text: PatchedText, statistics: TokenStatistics) -> Iterator[tuple[int, float]]:
        starts = statistics.offsets[:, 0]
        for (start, stop), (_, line) in zip(text.spans, text.lines, strict=True):
            # a token belongs to the line in which it begins
            inside = (starts >= start) & (starts < stop)
            if inside.sum() < FEWEST_TOKENS:
                continue
            try:
                views: Mapping[View, TokenLogProbs] = {View(): restricted(statistics, inside)}
                value = self.request(SampleInputs(text.text[start:stop], views, self.frequencies))
            except Unscorable:  # the line has too few tokens of the kind that the score needs
                continue
            if np.isfinite(value):
                yield line, value


def whole(unit: CodeUnit) -> PatchedText:
    """Return a piece as a text all of whose lines count."""
    count = unit.text.count("\n") + 1
    of_file: Sequence[int] = range(unit.first_line, unit.first_line + count)
    if unit.surroundings is not None:  # added lines of a patch need not follow each other
        of_file = [line for _, line in unit.surroundings.lines][:count]
    return PatchedText(unit.text, tuple(enumerate(of_file, 1)))


if TYPE_CHECKING:  # needs torch
    from assay.authorship.fine_tuned import FineTunedClassifier

WITHOUT_CODE = "no code"
TOO_LONG = f"longer than {LONGEST_TEXT:,} characters"
CLASSIFIER, LOG_ODDS = "classifier", "log-odds"
REVEALS = (
    "The code is left out. Paths, names of functions, languages, lengths, scores and digests of the code are still "
    "here: a person who has a piece of code can test whether it is among these."
)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Scores of pieces of code by one detector.

    Attributes:
        detector: name and digest; a reference belongs to one detector.
        values: float64 [n], higher = machine-written; NaN where there is no score.
        scores: name → float64 [n], every score that was computed.
        reasons: name → why there is no score, or None, per piece.
        parts: kind of evidence → float64 [n]; empty for scores of a language model.
        notes: why the pieces as a whole are out of distribution.
        outside: bool [n], pieces unlike every training text.
        lines: per piece, (line of the file, evidence) of the lines that count most.
        counts: (score, words) → number over all pieces, such as failed fills.
        attribution: the generator that each piece is most like; None from a detector that knows no generators.
    """

    detector: str
    values: Float64Array
    scores: Mapping[str, Float64Array]
    reasons: Mapping[str, tuple[str | None, ...]]
    parts: Mapping[str, Float64Array]
    notes: tuple[str, ...]
    outside: BooleanArray
    lines: tuple[tuple[tuple[int, float], ...], ...]
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    attribution: Attribution | None = None

    def without(self, kinds: Sequence[str]) -> Float64Array:
        """Return the values without the parts of some kinds of evidence."""
        return self.values - sum((self.parts[kind] for kind in kinds if kind in self.parts), np.zeros(len(self.values)))


def by_classifier(
    units: Sequence[CodeUnit], codes: Sequence[Code], classifier: Classifier, vectors: Vectors | None = None
) -> Scored:
    """Return the log-odds of a classifier for pieces of code."""
    prediction = classifier.predict(codes, vectors)
    wording = classifier.heads.get(WORDING)
    head = wording.head if wording is not None else None
    lines = [
        _line_evidence(unit, code, head) if isinstance(head, SparseHead) else ()
        for unit, code in zip(units, codes, strict=True)
    ]
    return _by_prediction(classifier.digest, codes, prediction, tuple(lines))


def by_fine_tuned(units: Sequence[CodeUnit], codes: Sequence[Code], classifier: "FineTunedClassifier") -> Scored:
    """Return the log-odds of a fine-tuned sequence classifier for pieces of code."""
    texts = [unit.text for unit in units]
    scored = _by_prediction(classifier.digest, codes, classifier.predict(texts, codes), ((),) * len(units))
    words = f"texts longer than {classifier.network.context:,} tokens of the classifier, which reads no further"
    return replace(scored, counts={(LOG_ODDS, words): int(classifier.truncates(texts, codes).sum())})


def _by_prediction(
    digest: str, codes: Sequence[Code], prediction: Prediction, lines: tuple[tuple[tuple[int, float], ...], ...]
) -> Scored:
    """Return log-odds as scores; a text without code has none."""
    # a text of comments alone has features too, but nothing that its author coded
    coded = np.array([bool(code.tokens) for code in codes], np.bool_)
    margins = np.where(coded, prediction.margins, np.nan)
    return Scored(
        classifier_name(digest),
        margins,
        {LOG_ODDS: margins},
        {LOG_ODDS: tuple(None if code.tokens else WITHOUT_CODE for code in codes)},
        {kind: np.where(coded, part, 0.0) for kind, part in prediction.parts.items()},
        domain_notes({kind: part[coded] for kind, part in prediction.parts.items()}, prediction.outside[coded]),
        prediction.outside & coded,
        lines,
        attribution=prediction.attribution,
    )


def classifier_name(digest: str) -> str:
    """Return a classifier as a detector, with its digest."""
    return f"{CLASSIFIER} {digest}"


def by_scores(
    units: Sequence[CodeUnit], plan: Plan, progress: Progress | None = None, *, left_out: Collection[int] = ()
) -> Scored:
    """Return the scores of a plan for pieces of code; all one-pass scores share one pass.

    A piece of more than `LONGEST_TEXT` characters is not run: it has no score and a reason.

    Args:
        units: pieces of code.
        plan: models and scores; the answer rests on the first score.
        progress: called after every batch.
        left_out: rows of pieces that are not run.

    Raises:
        ModelError: a model cannot be run.
    """
    # what is not run keeps its place with a reason: results stay aligned with the pieces
    rows = [row for row, unit in enumerate(units) if len(unit.text) <= LONGEST_TEXT and row not in left_out]
    samples = [Sample(str(row), units[row].text, units[row].language) for row in rows]
    keeper = LineKeeper(plan.requests[0], [whole(units[row]) for row in rows], plan.frequencies)
    table = score_samples(samples, plan, progress=progress, observe=[keeper] if has_parts(keeper.request) else ())
    lines = {rows[position]: of_piece for position, of_piece in keeper.lines.items()}
    names = [request.name for request in plan.requests]
    values = {name: np.full(len(units), np.nan) for name in names}
    reasons: dict[str, list[str | None]] = {name: [TOO_LONG] * len(units) for name in names}
    for name in names:
        values[name][rows] = table.values[name]
        for row, reason in zip(rows, table.reasons[name], strict=True):
            reasons[name][row] = reason
    return Scored(
        detector_name(plan),
        values[names[0]],
        values,
        {name: tuple(column) for name, column in reasons.items()},
        {},
        (),
        np.zeros(len(units), np.bool_),
        tuple(lines.get(row, ()) for row in range(len(units))),
        table.counts,
    )


def detector_name(plan: Plan) -> str:
    """Return the first score of a plan, and the digest of all models that it rests on."""
    definition = plan.requests[0].definition
    roles = dict.fromkeys(view.role for view in definition.views.values())
    digests = [plan.models[role].digest for role in roles]
    digests += [plan.derivers[kind].digest for kind in definition.derivations.values()]
    return f"{plan.requests[0].name} {digests[0] if len(digests) == 1 else combined(digests)}"


@dataclass(frozen=True, slots=True, eq=False)
class UnitResult:
    """The answer for one piece of code.

    Attributes:
        unit: the piece.
        tokens: number of its tokens, comments left out.
        value: of the detector; NaN without one.
        judgement: its place among human code of the same origin; None without a reference.
        parts: kind of evidence → its share of the value.
        lines: (line of the file, evidence), the lines that count most.
        in_reference: the text is in the reference itself, and was compared with all others of it.
    """

    unit: CodeUnit
    tokens: int
    value: float
    judgement: ReferenceAnswer | None
    parts: Mapping[str, float]
    lines: tuple[tuple[int, float], ...]
    in_reference: bool = False

    @property
    def unusual(self) -> bool:
        """True where at most `NOMINAL` of the human code of this origin scores that high."""
        return self.judgement is not None and self.judgement.unusual


@dataclass(frozen=True, eq=False, repr=False)
class Detection(TabularResult):
    """Everything that was found out about a set of pieces of code.

    Attributes:
        results: one per piece.
        scored: by the detector.
        signals: declared by authors and tools.
        reference: human code of the same origin; None without one.
        realised: share of the reference itself that is flagged; None without a reference or where it is too small.
        unread: sentences on signals that were not read.
    """

    results: tuple[UnitResult, ...]
    scored: Scored
    signals: tuple[Signal, ...]
    reference: Reference | None
    realised: FlagRate | None
    unread: tuple[str, ...] = ()

    @cached_property
    def judged(self) -> tuple[UnitResult, ...]:
        """The pieces with an answer."""
        return tuple(row for row in self.results if row.judgement is not None and row.judgement.bound is not None)

    @property
    def abstentions(self) -> Counter[str]:
        """Reasons for no answer, with the number of pieces."""
        return Counter(
            row.judgement.abstained
            for row in self.results
            if row.judgement is not None and row.judgement.abstained is not None
        )

    def redacted(self) -> "Detection":
        """Return the same answers with digests in place of code, and a note that says what is still revealed."""
        results = (
            replace(row, unit=replace(row.unit, text=f"sha256:{row.unit.digest}", surroundings=None))
            for row in self.results
        )
        # the words of a comment are code; the message of a commit is none
        signals = (
            signal if signal.commit is not None else replace(signal, text=signal.kind) for signal in self.signals
        )
        return replace(self, results=tuple(results), signals=tuple(signals), unread=(*self.unread, REVEALS))

    @cached_property
    def shares(self) -> dict[str, FlagRate]:
        """Share of unusual pieces by folder, and of all, among those with an answer."""
        folders: dict[str, list[UnitResult]] = {}
        for row in self.judged:
            folder = row.unit.path.rpartition("/")[0] or "."
            folders.setdefault(folder, []).append(row)
        rates = {folder: _rate(rows) for folder, rows in sorted(folders.items())} if len(folders) > 1 else {}
        return rates | ({"all": _rate(list(self.judged))} if self.judged else {})


def answer_pieces(
    units: Sequence[CodeUnit],
    codes: Sequence[Code],
    scored: Scored,
    signals: Sequence[Signal],
    reference: Reference | None,
    *,
    unread: Sequence[str] = (),
) -> Detection:
    """Return the answers for pieces of code.

    Raises:
        DataError: the reference belongs to another detector.
    """
    if reference is not None:
        reference.check(scored.detector)
    values = scored.values
    results = tuple(
        UnitResult(
            unit,
            len(code.tokens),
            float(value),
            None
            if reference is None
            else judge_unit(reference, code, float(value), outside=bool(outside), digest=unit.digest),
            {kind: float(parts[row]) for kind, parts in scored.parts.items()},
            lines,
            in_reference=reference is not None and unit.digest in reference.texts,
        )
        for row, (unit, code, value, outside, lines) in enumerate(
            zip(units, codes, values, scored.outside, scored.lines, strict=True)
        )
    )
    realised = reference.realised() if reference else None
    return Detection(results, scored, tuple(signals), reference, realised, tuple(unread))


def judge_unit(
    reference: Reference, code: Code, value: float, *, outside: bool = False, digest: str = ""
) -> ReferenceAnswer:
    """Return the place of a value among human code; abstain where the code is not of a kind that can be judged.

    Args:
        reference: human code of the same origin.
        code: tokens of the piece.
        value: of the detector.
        outside: the piece is unlike every training text.
        digest: of the piece, which is not compared with itself.
    """
    if code.language is None:
        return ReferenceAnswer(abstained="unknown language")
    if has_long_lines(code):
        return ReferenceAnswer(abstained="layout of minified or generated text")
    answer = reference.judge(value, code.language, len(code.tokens), digest=digest)
    if outside and not answer.abstained:
        return ReferenceAnswer(
            compared=answer.compared, abstained="unlike every text that the classifier was fitted on"
        )
    return answer


def codes_of(units: Sequence[CodeUnit]) -> list[Code]:
    """Return the tokens of pieces of code."""
    return [code_in_context(unit) for unit in units]


def _rate(rows: Sequence[UnitResult]) -> FlagRate:
    return flag_rate([0.0 if row.unusual else 1.0 for row in rows], NOMINAL, groups=[row.unit.path for row in rows])


def _line_evidence(unit: CodeUnit, code: Code, head: SparseHead) -> tuple[tuple[int, float], ...]:
    """Return the lines whose n-grams point most to a generator."""
    if not code.lines:
        return ()
    # a linear head is a sum over n-grams, so each line has its own share of the value
    matrix = ngram_matrix([Code(line, code.language) for line in code.lines])
    values = np.asarray(matrix @ head.weights, np.float64)
    order = np.argsort(-values)[:SHOWN_LINES]
    return tuple(
        (code.lines[row][0].line + unit.first_line - 1, float(values[row])) for row in order if values[row] > 0
    )
