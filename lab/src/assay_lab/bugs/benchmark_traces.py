"""Samples of a benchmark that occur in a corpus: the link from provenance to leakage.

A model that was trained on the corpus has seen these samples. Clone types as usual: a clone of type 1 differs in layout
and comments only, type 2 in names and literals too, a near-duplicate in statements. A document may also repeat the
words of a task with other code.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from assay.corpora import Origin
from assay.evaluation import Estimate, grouped_share
from assay.languages import lexical_rules
from assay.provenance import Searchable, SearchMethod, StoredDocument, Thresholds, Trace, trace
from assay.retrieval import Canonical, Form, Source, characters, find_regions, tokens
from assay.types import Match, Sample
from assay_lab.bugs.wording import passages, same_wording

MatchKind = Literal["type 1", "type 2", "near-duplicate", "same task, other code", "absent", "too short"]
MATCH_KINDS: tuple[MatchKind, ...] = get_args(MatchKind)
PRESENT_KINDS = MATCH_KINDS[:3]
"""Kinds of samples that occur in the corpus."""

SAME_TASK: MatchKind = "same task, other code"

LEAST_CONTAINMENT = 0.5
"""Containment from which a sample that is not a clone of type 1 or 2 is a near-duplicate."""

COMPARED = 5
"""Documents that each sample is compared with in full."""


@dataclass(frozen=True, slots=True)
class SampleTrace:
    """Places of one sample in a corpus.

    Attributes:
        sample_id: of the sample.
        kind: "type 1": all of it occurs in a document, except for layout and comments. "type 2": except for names and
            literals too. "near-duplicate". "same task, other code": the document repeats the words of the task.
            "absent". "too short": it cannot be judged.
        match: the document, or None. For an absent sample the nearest one, if any shares something.
        origins: all places of that document.
        reason: why there is no match; None where there is one.
        group: of the sample; None where it is its own.
    """

    sample_id: str
    kind: MatchKind
    match: Match | None
    origins: tuple[Origin, ...]
    reason: str | None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkTrace:
    """Places of the samples of a benchmark in a corpus.

    Attributes:
        benchmark: its name.
        samples: in their order.
        documents: of the index.
        near: least containment of a near-duplicate.
        sure: least confidence of a clone of type 2 and of a near-duplicate.
        calibrated: False if matches had no confidence; then it excluded nothing.
    """

    benchmark: str
    samples: tuple[SampleTrace, ...]
    documents: int
    near: float
    sure: float
    calibrated: bool

    @property
    def counts(self) -> Mapping[MatchKind, int]:
        """Samples of each kind."""
        counted = Counter(sample.kind for sample in self.samples)
        return {kind: counted[kind] for kind in MATCH_KINDS}

    @property
    def judged(self) -> int:
        """Number of samples that are long enough to be judged."""
        return len(self.samples) - self.counts["too short"]

    def rate(self, *kinds: MatchKind) -> Estimate:
        """Return the share of the judged samples that are of these kinds, with an interval over their groups."""
        judged = [sample for sample in self.samples if sample.kind != "too short"]
        return grouped_share([sample.kind in kinds for sample in judged], [sample.group for sample in judged])


def trace_benchmark(
    samples: Sequence[Sample],
    index: Searchable,
    *,
    benchmark: str,
    method: SearchMethod = "union",
    sure: float = Thresholds().min_confidence,
    progress: Callable[[int, int], None] | None = None,
) -> BenchmarkTrace:
    """Search an index for every sample of a benchmark.

    Args:
        samples: of the benchmark; their text is searched for as it is.
        index: of the corpus.
        benchmark: its name.
        method: see `trace`.
        sure: least confidence of a clone of type 2 and of a near-duplicate, as short texts often share a structure by
            chance; see `Match.confidence`.
        progress: is called with the samples done and their total.
    """
    places = []
    calibrated = True
    with index.snapshot():
        for done, sample in enumerate(samples, 1):
            traced = trace(sample.text, index, language=sample.language, method=method, top=COMPARED)
            calibrated &= all(match.confidence is not None or match.channel == "vector" for match in traced.matches)
            places.append(_judged(sample, traced, index, sure=sure))
            if progress is not None:
                progress(done, len(samples))
        return BenchmarkTrace(
            benchmark=benchmark,
            samples=tuple(places),
            documents=len(index),
            near=LEAST_CONTAINMENT,
            sure=sure,
            calibrated=calibrated,
        )


def _judged(sample: Sample, traced: Trace, index: Searchable, *, sure: float) -> SampleTrace:
    if traced.too_short is not None:
        return _sample_trace(sample, "too short", reason=traced.too_short)
    numbers = [match.document_id for match in traced.matches]
    documents = {document.id: document for document in index.documents(numbers)}
    kinds = _kinds(sample, traced.matches, documents, sure=sure)
    for kind in (*PRESENT_KINDS, SAME_TASK):
        if kind in kinds:
            return _sample_trace(sample, kind, match=kinds[kind], origins=traced.origins)
    nearest = next(iter(traced.matches), None)
    return _sample_trace(sample, "absent", match=nearest, origins=traced.origins, reason=traced.why_none)


def _kinds(
    sample: Sample, matches: Sequence[Match], documents: Mapping[int, StoredDocument], *, sure: float
) -> dict[MatchKind, Match]:
    """Return the first match of each kind."""
    kinds: dict[MatchKind, Match] = {}
    task = passages(f"{sample.metadata.get('prompt') or ''}\n{sample.text}")
    # a later match may be of a stronger kind than the first one, so all of them are judged
    for match in matches:
        document = documents[match.document_id]
        is_sure = match.confidence is None or match.confidence >= sure
        # a whole copy needs no confidence: nothing in it was found by chance
        if _occurs(sample, document, "characters"):
            kinds.setdefault("type 1", match)
        elif is_sure and _occurs(sample, document, "tokens"):
            kinds.setdefault("type 2", match)
        elif is_sure and match.channel != "vector" and match.containment >= LEAST_CONTAINMENT:
            kinds.setdefault("near-duplicate", match)
        elif same_wording(task, passages(document.text)):
            kinds.setdefault(SAME_TASK, match)
    return kinds


def _sample_trace(
    sample: Sample,
    kind: MatchKind,
    match: Match | None = None,
    origins: Mapping[int, tuple[Origin, ...]] = MappingProxyType({}),
    *,
    reason: str | None = None,
) -> SampleTrace:
    places = () if match is None else origins[match.document_id]
    return SampleTrace(sample.id, kind=kind, match=match, origins=places, reason=reason, group=sample.group)


def _occurs(sample: Sample, document: StoredDocument, form: Form) -> bool:
    return occurs_in(sample.text, document.text, form, language=sample.language, other=document.language)


def occurs_in(text: str, document: str, form: Form, language: str | None, other: str | None) -> bool:
    """Return True if the whole canonical form of a text is a stretch of a document's."""
    part, whole = canonical_form(text, form, language), canonical_form(document, form, other)
    if not len(part) or len(part) > len(whole):
        return False
    # one code point a unit: `in` is then a search in linear time, without a hash that could agree by accident
    _, numbers = np.unique(np.concatenate([part.units, whole.units]), return_inverse=True)
    # above the surrogates every number is a character of its own
    spelled = "".join(map(chr, (numbers + _ABOVE_SURROGATES).tolist()))
    return spelled[: len(part)] in spelled[len(part) :]


_ABOVE_SURROGATES = 0xE000


def canonical_form(text: str, form: Form, language: str | None) -> Canonical:
    """Return a text without layout and comments ("characters"), or as tokens without names and literals ("tokens")."""
    source, rules = Source.of(text), lexical_rules(language)
    regions = find_regions(source, rules)
    return characters(source, regions) if form == "characters" else tokens(source, regions, rules)
