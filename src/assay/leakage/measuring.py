"""First step of an audit: every text is scored under the audited model, and under the control."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from assay.leakage.calibration_file import UnseenScores
from assay.leakage.heat_map import TokenKeeper
from assay.leakage.inputs import AuditInputs
from assay.leakage.negative_control import ControlScores, control_scores, divided
from assay.leakage.parts import PartKeeper
from assay.leakage.texts import groups_of, is_labelled, without
from assay.scoring import ScoreTable, has_parts, score_samples
from assay.types import Float64Array, Sample


@dataclass(frozen=True, slots=True)
class UnseenSide:
    """The unseen texts of an audit, scored.

    Attributes:
        source: in words.
        groups: of every text, scorable or not.
        values: score → float64 [unseen texts], NaN where unscorable; empty without unseen texts.
    """

    source: str
    groups: Sequence[Hashable]
    values: Mapping[str, Float64Array]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredAudit:
    """The scores of all texts; nothing is compared yet.

    Attributes:
        inputs: of the audit.
        fresh: unseen texts that are not in the benchmark.
        overlap: a note where unseen texts were in the benchmark.
        values: score → float64 [samples], NaN where unscorable.
        reasons: score → reason or None per sample.
        counts: (score, words) → total over all texts.
        groups: of the samples.
        unseen: the unseen texts, or those of a calibration file.
        control: scores under the control; None where none was run.
        tokens: the samples that a heat map can show.
        parts: scores of the parts of the tasks; None where they are not compared.
    """

    inputs: AuditInputs
    fresh: tuple[Sample, ...]
    overlap: tuple[str, ...]
    values: Mapping[str, Float64Array]
    reasons: Mapping[str, tuple[str | None, ...]]
    counts: Mapping[tuple[str, str], int]
    groups: Sequence[Hashable]
    unseen: UnseenSide
    control: ControlScores | None
    tokens: TokenKeeper
    parts: PartKeeper | None


def measure_texts(inputs: AuditInputs) -> MeasuredAudit:
    """Score the benchmark and the unseen texts under the audited model, then under the control.

    Raises:
        DataError: all unseen texts are in the benchmark.
        ModelError: a model cannot be run.
    """
    samples, comparison = inputs.samples, inputs.comparison
    fresh, overlap = without(comparison.unseen, samples)
    # in one call: batches are by length, whichever side a text is of
    texts, count = (*samples, *fresh), len(samples)
    tokens, parts = TokenKeeper(samples), _part_keeper(inputs, fresh)
    inputs.begin(f"scoring {inputs.benchmark}")
    observers = (tokens,) if parts is None else (tokens, parts)
    table = score_samples(texts, inputs.plan, progress=inputs.progress_of(inputs.plan, texts), observe=observers)
    control = None
    if comparison.control is not None and fresh:
        inputs.begin(f"scoring {inputs.benchmark} under the control")
        progress = inputs.progress_of(comparison.control.plan, texts)
        control = control_scores(comparison.control, samples, fresh, progress=progress)
    values, others = divided(table.values, count)
    unseen = _of_file(comparison.calibration, table)
    if fresh:
        unseen = UnseenSide(comparison.unseen_source, groups_of(fresh, "unseen"), others)
    return MeasuredAudit(
        inputs=inputs,
        fresh=fresh,
        overlap=overlap,
        values=values,
        reasons={name: reasons[:count] for name, reasons in table.reasons.items()},
        counts=table.counts,
        groups=groups_of(samples),
        unseen=unseen,
        control=control,
        tokens=tokens,
        parts=parts,
    )


def _part_keeper(inputs: AuditInputs, fresh: Sequence[Sample]) -> PartKeeper | None:
    """Return what scores the parts of the tasks; None where the benchmark is labelled, or nothing is unseen."""
    headline = inputs.headline
    if not fresh or is_labelled(inputs.samples) or headline is None or not has_parts(headline):
        return None
    return PartKeeper([*inputs.samples, *fresh], headline, inputs.plan.frequencies)


def _of_file(calibration: UnseenScores | None, table: ScoreTable) -> UnseenSide:
    """Return the unseen texts of a calibration file, with the scores of the audit."""
    if calibration is None:
        return UnseenSide("", (), {})
    # a file may hold more scores than this audit asks for
    values = {name: calibration.values[name] for name in table.values if name in calibration.values}
    return UnseenSide(calibration.source, calibration.group_keys, values)
