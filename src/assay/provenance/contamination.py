"""Which samples of a benchmark lie in a corpus, and how: the link from provenance to leakage.

A model that was trained on the corpus has seen these samples. Clone types as the field has them: type 1 differs in
layout and comments only, type 2 in names and literals too, a near-duplicate in statements.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.evaluation import Estimate, grouped_share
from assay.languages import lexical_rules
from assay.provenance.candidates import Method
from assay.provenance.document import Origin
from assay.provenance.searchable import Searchable
from assay.provenance.tracing import Trace, trace
from assay.retrieval import Canonical, Form, Source, characters, find_regions, tokens
from assay.types import Match, Sample

Kind = Literal["type 1", "type 2", "near-duplicate", "absent", "too short"]
KINDS: tuple[Kind, ...] = ("type 1", "type 2", "near-duplicate", "absent", "too short")
LIES_THERE = KINDS[:3]

NEAR = 0.5
"""Containment from which a sample that is no clone of type 1 or 2 is a near-duplicate."""

SURE = 0.95
"""Confidence that a clone of type 2 or a near-duplicate needs: short code has the structure of other short code."""


@dataclass(frozen=True, slots=True)
class SampleTrace:
    """Where one sample lies.

    Attributes:
        sample_id: of the sample.
        kind: "type 1": all of it stands in a document, up to layout and comments. "type 2": up to names and literals
            too. "near-duplicate". "absent". "too short": nothing can be said.
        match: the document; None where there is none. Of an absent sample the nearest one, if any shares something.
        origins: all places of that document.
        reason: why there is no match; None where there is one.
        group: of the sample; None where it is its own.
    """

    sample_id: str
    kind: Kind
    match: Match | None
    origins: tuple[Origin, ...]
    reason: str | None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkTrace:
    """Where the samples of a benchmark lie.

    Attributes:
        benchmark: its name.
        samples: in their order.
        documents: of the index.
        near: the containment asked of a near-duplicate.
        sure: the confidence asked of a clone of type 2 and a near-duplicate.
        calibrated: whether confidence was known; where it was not, nothing fell to it.
    """

    benchmark: str
    samples: tuple[SampleTrace, ...]
    documents: int
    near: float
    sure: float
    calibrated: bool

    @property
    def counts(self) -> Mapping[Kind, int]:
        """Samples of each kind."""
        counted = Counter(one.kind for one in self.samples)
        return {kind: counted[kind] for kind in KINDS}

    @property
    def judged(self) -> int:
        """Samples that are long enough to say something of."""
        return len(self.samples) - self.counts["too short"]

    def rate(self, *kinds: Kind) -> Estimate:
        """Share of the judged samples that are of one of these kinds, with an interval over their groups."""
        judged = [one for one in self.samples if one.kind != "too short"]
        return grouped_share([one.kind in kinds for one in judged], [one.group for one in judged])


def trace_benchmark(
    samples: Sequence[Sample],
    index: Searchable,
    *,
    benchmark: str,
    method: Method = "union",
    near: float = NEAR,
    sure: float = SURE,
    top: int = 5,
    progress: Callable[[int, int], None] | None = None,
) -> BenchmarkTrace:
    """Look for every sample of a benchmark in an index.

    Args:
        samples: of the benchmark; their text is looked for as it is.
        index: of the corpus.
        benchmark: its name.
        method: see `trace`.
        near: least containment of a near-duplicate.
        sure: least confidence of a clone of type 2 and of a near-duplicate; see `Match.confidence`.
        top: documents that each sample is compared with in full.
        progress: is called with samples done and to do.
    """
    found = []
    calibrated = True
    with index.snapshot():
        for done, sample in enumerate(samples, 1):
            traced = trace(sample.text, index, language=sample.language, method=method, top=top)
            calibrated &= all(one.confidence is not None or one.channel == "vector" for one in traced.matches)
            found.append(_judged(sample, traced, index, near, sure))
            if progress is not None:
                progress(done, len(samples))
        return BenchmarkTrace(benchmark, tuple(found), len(index), near, sure, calibrated)


def _judged(sample: Sample, traced: Trace, index: Searchable, near: float, sure: float) -> SampleTrace:
    if traced.too_short is not None:
        return SampleTrace(sample.id, "too short", None, (), traced.too_short, sample.group)
    texts = {one.id: one for one in index.documents([match.document_id for match in traced.matches])}
    kinds: dict[Kind, Match] = {}
    for match in traced.matches:
        document = texts[match.document_id]
        is_sure = match.confidence is None or match.confidence >= sure
        if stands_in(sample.text, document.text, "characters", sample.language, document.language):
            kinds.setdefault("type 1", match)
        elif is_sure and stands_in(sample.text, document.text, "tokens", sample.language, document.language):
            kinds.setdefault("type 2", match)
        elif is_sure and match.channel != "vector" and match.containment >= near:
            kinds.setdefault("near-duplicate", match)
    for kind in LIES_THERE:
        if kind in kinds:
            match = kinds[kind]
            return SampleTrace(sample.id, kind, match, traced.origins[match.document_id], None, sample.group)
    nearest = traced.matches[0] if traced.matches else None
    origins = traced.origins[nearest.document_id] if nearest else ()
    return SampleTrace(sample.id, "absent", nearest, origins, traced.why_none, sample.group)


def stands_in(text: str, document: str, form: Form, language: str | None, other: str | None) -> bool:
    """Whether the whole canonical form of a text is a stretch of a document's."""
    part, whole = _canonical(text, form, language), _canonical(document, form, other)
    if not len(part) or len(part) > len(whole):
        return False
    # one code point a unit: `in` is then a search in linear time, without a hash that could agree by accident
    _, numbers = np.unique(np.concatenate([part.units, whole.units]), return_inverse=True)
    spelled = "".join(map(chr, (numbers + _ABOVE_SURROGATES).tolist()))
    return spelled[: len(part)] in spelled[len(part) :]


_ABOVE_SURROGATES = 0xE000


def _canonical(text: str, form: Form, language: str | None) -> Canonical:
    source, rules = Source.of(text), lexical_rules(language)
    regions = find_regions(source, rules)
    return characters(source, regions) if form == "characters" else tokens(source, regions, rules)
