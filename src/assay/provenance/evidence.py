"""What a text brings to a search: its fingerprints, without those that are everybody's."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.provenance.boilerplate import Boilerplate, ignored
from assay.provenance.searchable import Searchable
from assay.retrieval import Fingerprints, Form, Hashes, Overlap, Profile, TooShort, fingerprint


@dataclass(frozen=True, slots=True)
class ChannelEvidence:
    """What became of a query's fingerprints in one channel: the answer to "why no match?".

    Attributes:
        form: of the channel.
        units: length of the canonical form: code without comments and layout, in characters or tokens.
        fingerprints: distinct ones.
        template: of them, those within a template of boilerplate.
        common: those in so many documents that they are boilerplate.
        absent: of the others, those that no document has.
        too_common: those in more documents than may be read.
        left: those that fell to the budget of look-ups.
        looked_up: those whose documents were read; 0 where the method does not look up fingerprints.
        documents: that share at least one of these.
        too_short: why nothing can be said in this channel; None where something can.
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
    def telling(self) -> int:
        """Fingerprints that are no boilerplate: all evidence that there is."""
        return self.fingerprints - self.template - self.common


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A text as a search sees it.

    Attributes:
        text: as it was given.
        language: as `Sample.language` spells it, or None.
        profile: of the fingerprints.
        fingerprints: form by form.
        distinct: uint64 [|Q|], form by form, in text order; forms that the text is too short for are left out.
        telling: those of `distinct` that are no boilerplate; maybe none.
        evidence: the counts.
    """

    text: str
    language: str | None
    profile: Profile
    fingerprints: Mapping[Form, Fingerprints | TooShort]
    distinct: Mapping[Form, Hashes]
    telling: Mapping[Form, Hashes]
    evidence: tuple[ChannelEvidence, ...]

    @property
    def units(self) -> int:
        """Length in the last channel of the profile: tokens, where it has them."""
        return self.evidence[-1].units

    @property
    def too_short(self) -> str | None:
        """Why nothing can be said at all; None where one channel can."""
        reasons = [one.too_short for one in self.evidence]
        return "; ".join(reason for reason in reasons if reason) if all(reasons) else None


def read_query(text: str, language: str | None, index: Searchable, boilerplate: Boilerplate) -> Query:
    """Fingerprint a text as the index was, and tell boilerplate apart."""
    found = fingerprint(text, language, index.profile)
    distinct: dict[Form, Hashes] = {}
    telling: dict[Form, Hashes] = {}
    evidence = []
    for form, one in found.items():
        if isinstance(one, TooShort):
            evidence.append(ChannelEvidence(form, one.units, too_short=one.reason))
            continue
        _, first = np.unique(one.hashes, return_index=True)
        first.sort()
        left_out = ignored(one, language, index, boilerplate)
        of_template, common = left_out.template[first], left_out.common[first]
        distinct[form] = one.hashes[first]
        telling[form] = distinct[form][~(of_template | common)]
        evidence.append(
            ChannelEvidence(form, one.units, len(first), template=int(of_template.sum()), common=int(common.sum()))
        )
    return Query(text, language, index.profile, found, distinct, telling, tuple(evidence))


def with_lookup(evidence: ChannelEvidence, overlap: Overlap | None) -> ChannelEvidence:
    """The counts with those of a look-up."""
    if overlap is None:
        return evidence
    return ChannelEvidence(
        evidence.form,
        evidence.units,
        evidence.fingerprints,
        evidence.template,
        evidence.common,
        absent=overlap.absent,
        too_common=overlap.too_common,
        left=overlap.left,
        looked_up=overlap.looked_up,
        documents=overlap.found,
    )
