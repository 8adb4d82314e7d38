"""Who wrote these pieces of code: declared signals, a score, and its place among the user's own human code."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter, itemgetter

import numpy as np

from assay.authorship.classifier import Classifier
from assay.authorship.declared import Signal
from assay.authorship.forward import NOMINAL
from assay.authorship.normalising import Code
from assay.authorship.reference import Reference, ReferenceAnswer, has_long_lines
from assay.authorship.units import LONGEST_TEXT, CodeUnit, PatchedText, code_in_context
from assay.errors import Unscorable
from assay.evaluation import FlagRate, flag_rate
from assay.models import combined
from assay.reports import TabularResult
from assay.scores import FrequencyTable, SampleInputs, ScoreRequest, View
from assay.scoring import Plan, Progress, has_parts, restricted, score_samples
from assay.types import Float64Array, Sample, TokenLogProbs, TokenStatistics

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
        of_file = list(map(itemgetter(1), unit.surroundings.lines))[:count]
    return PatchedText(unit.text, tuple(enumerate(of_file, 1)))


WITHOUT_CODE = "no code"
TOO_LONG = f"longer than {LONGEST_TEXT:,} characters"
MINIFIED = "layout of minified or generated text"
LARGE = 20_000
"""Characters from which the layout of a piece is looked at before a model runs; a smaller one takes no time."""
CLASSIFIER, NGRAMS = "classifier", "n-grams"
REVEALS = (
    "The code is left out. Paths, names of functions, languages, lengths, scores and digests of the code are still "
    "here: a person who has a piece of code can test whether it is among these."
)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Scores of pieces of code by one detector.

    Attributes:
        detector: name and digest, empty without one; a reference belongs to one detector.
        values: float64 [n], higher = machine-written; NaN where there is no score.
        scores: name → float64 [n], every score that was computed.
        reasons: name → why there is no score, or None, per piece.
        notes: why the answers need not hold for the pieces as a whole.
        lines: per piece, (line of the file, evidence) of the lines that count most.
        counts: (score, words) → number over all pieces, such as failed fills.
    """

    detector: str
    values: Float64Array
    scores: Mapping[str, Float64Array]
    reasons: Mapping[str, tuple[str | None, ...]]
    notes: tuple[str, ...]
    lines: tuple[LineScores, ...]
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)


def by_classifier(units: Sequence[CodeUnit], codes: Sequence[Code], classifier: Classifier) -> Scored:
    """Return the scores of a classifier for pieces of code; a text without code has none."""
    values = classifier.scores(list(map(attrgetter("text"), units)), codes)
    # a text of comments alone has n-grams too, but nothing that its author coded
    reasons = tuple(None if code.tokens else WITHOUT_CODE for code in codes)
    coded = np.where(np.array(reasons, object) == WITHOUT_CODE, np.nan, values)
    return Scored(
        detector=classifier_name(classifier.digest),
        values=coded,
        scores={NGRAMS: coded},
        reasons={NGRAMS: reasons},
        notes=(),
        lines=((),) * len(units),
    )


def without_scores(codes: Sequence[Code]) -> Scored:
    """Return pieces of code that no detector scored."""
    return Scored("", np.full(len(codes), np.nan), scores={}, reasons={}, notes=(), lines=((),) * len(codes))


def classifier_name(digest: str) -> str:
    """Return a classifier as a detector, with its digest."""
    return f"{CLASSIFIER} {digest}"


def by_scores(
    units: Sequence[CodeUnit], plan: Plan, progress: Progress | None = None, *, left_out: Collection[int] = ()
) -> Scored:
    """Return the scores of a plan for pieces of code; all one-pass scores share one pass.

    A piece of more than `LONGEST_TEXT` characters is not run: it has no score and a reason. Neither is a large one with
    the layout of minified text, which is not judged either.

    Args:
        units: pieces of code.
        plan: models and scores; the answer rests on the first score.
        progress: called after every batch.
        left_out: rows of pieces that are not run.

    Raises:
        ModelError: a model cannot be run.
    """
    # what is not run keeps its place with a reason: results stay aligned with the pieces
    unfit = list(map(_unfit, units))
    rows = [row for row, reason in enumerate(unfit) if reason is None and row not in left_out]
    samples = [Sample(str(row), units[row].text, units[row].language) for row in rows]
    texts = list(map(whole, map(units.__getitem__, rows)))
    keeper = LineKeeper(plan.requests[0], texts, plan.frequencies)
    table = score_samples(samples, plan, progress=progress, observe=[keeper] if has_parts(keeper.request) else ())
    # the engine knows positions among what was run, and the answer is by the rows of all pieces
    lines: list[LineScores] = [()] * len(units)
    for position, of_piece in keeper.lines.items():
        lines[rows[position]] = of_piece
    values: dict[str, Float64Array] = {}
    reasons: dict[str, tuple[str | None, ...]] = {}
    for request in plan.requests:
        column, column_reasons = np.full(len(units), np.nan), list(unfit)
        column[rows] = table.values[request.name]
        for row, reason in zip(rows, table.reasons[request.name], strict=True):
            column_reasons[row] = reason
        values[request.name], reasons[request.name] = column, tuple(column_reasons)
    return Scored(
        detector=detector_name(plan),
        values=values[plan.requests[0].name],
        scores=values,
        reasons=reasons,
        notes=(),
        lines=tuple(lines),
        counts=table.counts,
    )


def _unfit(unit: CodeUnit) -> str | None:
    """Return why a piece is not run; None where it is."""
    if len(unit.text) > LONGEST_TEXT:
        return TOO_LONG
    if len(unit.text) > LARGE and has_long_lines(code_in_context(unit)):
        return MINIFIED
    return None


def detector_name(plan: Plan) -> str:
    """Return the first score of a plan, and the digest of all models that it rests on."""
    definition = plan.requests[0].definition
    # models and what derives texts both decide a score, so a reference made with others of either is refused
    roles = dict.fromkeys(map(attrgetter("role"), definition.views.values()))
    digests = [plan.models[role].digest for role in roles]
    digests += [plan.derivers[derivation.name].digest for derivation in definition.derivations.values()]
    digest = combined(digests)
    if len(digests) == 1:
        digest = digests[0]
    return f"{plan.requests[0].name} {digest}"


@dataclass(frozen=True, slots=True, eq=False)
class UnitResult:
    """The answer for one piece of code.

    Attributes:
        unit: the piece.
        tokens: number of its tokens, comments left out.
        value: of the detector; NaN without one.
        judgement: its place among human code of the same origin; None without a reference.
        lines: (line of the file, evidence), the lines that count most.
        in_reference: the text is in the reference itself, and was compared with all others of it.
    """

    unit: CodeUnit
    tokens: int
    value: float
    judgement: ReferenceAnswer | None
    lines: LineScores
    in_reference: bool = False

    @property
    def unusual(self) -> bool:
        """True where so little of the human code of this origin scores that high that it counts as unusual."""
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
        judgements = (row.judgement for row in self.results if row.judgement is not None)
        return Counter(filter(None, map(attrgetter("abstained"), judgements)))

    def redacted(self) -> "Detection":
        """Return the same answers with digests in place of code, and a note that says what is still revealed."""
        results = []
        for row in self.results:
            unit = replace(row.unit, text=f"sha256:{row.unit.digest}", surroundings=None)
            results.append(replace(row, unit=unit))
        signals = []
        for signal in self.signals:
            # the words of a comment are code; the message of a commit is none
            text: str = signal.kind
            if signal.commit is not None:
                text = signal.text
            signals.append(replace(signal, text=text))
        return replace(self, results=tuple(results), signals=tuple(signals), unread=(*self.unread, REVEALS))

    @cached_property
    def shares(self) -> dict[str, FlagRate]:
        """Share of unusual pieces by folder, and of all, among those with an answer."""
        folders: dict[str, list[UnitResult]] = {}
        for row in self.judged:
            folder = row.unit.path.rpartition("/")[0] or "."
            folders.setdefault(folder, []).append(row)
        rates: dict[str, FlagRate] = {}
        # a single folder is all of it, which has a row of its own
        if len(folders) > 1:
            rates = {folder: _rate(rows) for folder, rows in sorted(folders.items())}
        if self.judged:
            rates["all"] = _rate(self.judged)
        return rates


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
    results, judgement = [], None
    for unit, code, value, lines in zip(units, codes, scored.values.tolist(), scored.lines, strict=True):
        if reference is not None:
            judgement = judge_unit(reference, code, value, digest=unit.digest)
        results.append(
            UnitResult(
                unit=unit,
                tokens=len(code.tokens),
                value=value,
                judgement=judgement,
                lines=lines,
                in_reference=reference is not None and unit.digest in reference.texts,
            )
        )
    realised = None
    if reference is not None:
        realised = reference.realised()
    return Detection(
        results=tuple(results),
        scored=scored,
        signals=tuple(signals),
        reference=reference,
        realised=realised,
        unread=tuple(unread),
    )


def judge_unit(reference: Reference, code: Code, value: float, *, digest: str = "") -> ReferenceAnswer:
    """Return the place of a value among human code; abstain where the code is not of a kind that can be judged.

    Args:
        reference: human code of the same origin.
        code: tokens of the piece.
        value: of the detector.
        digest: of the piece, which is not compared with itself.
    """
    if code.language is None:
        return ReferenceAnswer(abstained="unknown language")
    if has_long_lines(code):
        return ReferenceAnswer(abstained=MINIFIED)
    return reference.judge(value, code.language, len(code.tokens), digest=digest)


def codes_of(units: Sequence[CodeUnit]) -> list[Code]:
    """Return the tokens of pieces of code."""
    return list(map(code_in_context, units))


def _rate(rows: Sequence[UnitResult]) -> FlagRate:
    # 0 for a flagged piece and 1 for any other: a rate at the nominal level counts just the flagged ones
    p_values = [float(not row.unusual) for row in rows]
    return flag_rate(p_values, NOMINAL, groups=list(map(attrgetter("unit.path"), rows)))
