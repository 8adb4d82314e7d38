"""Slices by date: figures of the texts from before and after the day from which a model can have seen nothing."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Literal

from assay.evaluation import Estimate
from assay.types import Float64Array, Sample
from assay_lab.bugs.content import content_memberships
from assay_lab.bugs.exposure import PairExposure
from assay_lab.bugs.pairs import SamplePair, bug_groups
from assay_lab.bugs.preference import mean_of, preference
from assay_lab.bugs.probes import ProbeName, ProbeResult
from assay_lab.columns import at_places, attributes

DATES = ("date", "created_at", "commit_timestamp", "released")
"""Metadata that may hold the date of a text, the first one wins."""
Slice = Literal["before", "after"]
SLICES: tuple[Slice, ...] = ("before", "after")


def date_of(sample: Sample) -> date | None:
    """Return the date of a text from its metadata; None where there is none that can be read."""
    for column in DATES:
        value = sample.metadata.get(column)
        # a datetime is a date too, so it is asked for first
        if isinstance(value, datetime):
            return value.date()
        if isinstance(value, date):
            return value
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value).date()
            except ValueError:
                # words such as "unknown" are no date; a later column may have one
                continue
    return None


def slices_of(samples: Sequence[Sample], cutoff: date) -> Mapping[Slice, list[int]]:
    """Return slice → its texts; a slice without a text, and texts without a date, are left out."""
    rows: dict[Slice, list[int]] = {name: [] for name in SLICES}
    for at, day in enumerate(map(date_of, samples)):
        if day is not None:
            rows["before" if day < cutoff else "after"].append(at)
    return {name: of for name, of in rows.items() if of}


def rates_by_slice(
    pairs: Sequence[SamplePair],
    slices: Mapping[Slice, Sequence[int]],
    values: Float64Array,
    *,
    probes: Mapping[ProbeName, ProbeResult],
    exposures: Sequence[PairExposure],
) -> Mapping[str, Mapping[Slice, Estimate]]:
    """Return rate → slice → value: the preference for the fix, the probes, and the texts that a corpus holds.

    Args:
        pairs: [bugs].
        slices: slice → its bugs.
        values: float64 [bugs], preference for the fix.
        probes: results of the probes; empty where none was run.
        exposures: [bugs]; empty where no index was searched.
    """
    rates: defaultdict[str, dict[Slice, Estimate]] = defaultdict(dict)
    for name, rows in slices.items():
        bugs = list(map(pairs.__getitem__, rows))
        groups = bug_groups(bugs)
        rates["fix likelier"][name] = preference(values[list(rows)], groups).share
        ids = set(attributes(bugs, "id"))
        for probe, result in probes.items():
            tasks = [at for at, of_bug in enumerate(result.ids) if of_bug in ids]
            of_tasks = list(map(result.groups.__getitem__, tasks))
            rates[f"probe of the {probe}, right"][name] = mean_of(result.values[tasks], of_tasks)
        if exposures:
            by_side = content_memberships(attributes(at_places(exposures, rows), "content"), groups)
            for side, membership in by_side.items():
                rates[f"{side} in the corpus"][name] = membership.share
    return rates
