"""The fingerprints of a query, with boilerplate marked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from assay.provenance.index import Searchable
from assay.provenance.search.boilerplate import Boilerplate, find_boilerplate
from assay.retrieval import Fingerprints, Form, Hashes, Overlap, Profile, TooShort, fingerprint


@dataclass(frozen=True, slots=True)
class ChannelEvidence:
    """Counts of a query's fingerprints in one channel: the answer to "why is there no match?".

    Attributes:
        form: of the channel.
        units: length of the canonical form: code without comments and layout, in characters or tokens.
        fingerprints: distinct ones.
        template: fingerprints within a template of boilerplate.
        common: fingerprints of so many owners of projects that they are boilerplate.
        absent: of the others, those that no document has.
        too_common: those in more documents than may be read.
        left: those that were not looked up, because the budget was spent.
        looked_up: those whose documents were read; 0 where the method does not look up fingerprints.
        documents: that share at least one of these.
        too_short: reason why this channel decides nothing; None where it can.
    """

    form: Form
    units: int
    fingerprints: int = 0
    template: int = 0
    common: int = 0
    absent: int = 0
    too_common: int = 0
    left: int = 0
    looked_up: int = 0
    documents: int = 0
    too_short: str | None = None

    @property
    def distinctive(self) -> int:
        """Fingerprints that are not boilerplate."""
        return self.fingerprints - self.template - self.common


@dataclass(frozen=True, slots=True, eq=False)
class SearchQuery:
    """The text of a search with its fingerprints.

    Attributes:
        text: unchanged.
        language: as `Sample.language` spells it, or None.
        profile: of the fingerprints.
        fingerprints: form by form.
        distinct: uint64 [|Q|], form by form, in text order; forms that the text is too short for are left out.
        distinctive: those of `distinct` that are not boilerplate; it may be empty.
        evidence: the counts.
    """

    text: str
    language: str | None
    profile: Profile
    fingerprints: Mapping[Form, Fingerprints | TooShort]
    distinct: Mapping[Form, Hashes]
    distinctive: Mapping[Form, Hashes]
    evidence: tuple[ChannelEvidence, ...]

    @property
    def units(self) -> int:
        """Length in the last channel of the profile: tokens, where it has them."""
        return self.evidence[-1].units

    @property
    def too_short(self) -> str | None:
        """Reason why no channel decides anything; None where one can."""
        reasons = list(filter(None, map(attrgetter("too_short"), self.evidence)))
        # the first channel needs the least
        return reasons[0] if reasons and len(reasons) == len(self.evidence) else None


def read_query(text: str, language: str | None, index: Searchable, boilerplate: Boilerplate) -> SearchQuery:
    """Fingerprint a text as the documents of an index are, and mark boilerplate."""
    fingerprints = fingerprint(text, language, index.profile)
    distinct: dict[Form, Hashes] = {}
    distinctive: dict[Form, Hashes] = {}
    evidence = []
    for form, channel in fingerprints.items():
        if isinstance(channel, TooShort):
            evidence.append(ChannelEvidence(form, channel.units, too_short=channel.reason))
            continue
        # np.unique sorts by hash; the sorted first positions restore the order of the text
        _, first = np.unique(channel.hashes, return_index=True)
        first.sort()
        template, common = (mask[first] for mask in find_boilerplate(channel, language, index, boilerplate=boilerplate))
        distinct[form] = channel.hashes[first]
        distinctive[form] = distinct[form][~(template | common)]
        evidence.append(
            ChannelEvidence(
                form=form,
                units=channel.units,
                fingerprints=len(first),
                template=int(template.sum()),
                common=int(common.sum()),
            )
        )
    return SearchQuery(
        text=text,
        language=language,
        profile=index.profile,
        fingerprints=fingerprints,
        distinct=distinct,
        distinctive=distinctive,
        evidence=tuple(evidence),
    )


def add_lookup(evidence: ChannelEvidence, overlap: Overlap | None) -> ChannelEvidence:
    """Return the counts with those of a look-up."""
    if overlap is None:
        return evidence
    return replace(
        evidence,
        absent=overlap.absent,
        too_common=overlap.too_common,
        left=overlap.left,
        looked_up=overlap.looked_up,
        documents=overlap.matched,
    )
