"""The data sets Binary and Multi from texts of people and replies of generators: clean, filter, anonymise, split."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress, pairwise
from typing import Literal

import numpy as np

from assay.datasets import split_by_group
from assay.types import Rejected, Sample
from assay_lab.classifiers.labelled import HUMAN
from assay_lab.columns import at_places
from assay_lab.rewrites.anonymising import anonymised
from assay_lab.rewrites.cleaning import Regexes, clean_reply
from assay_lab.rewrites.collecting import Collected
from assay_lab.rewrites.rules import RemovalRule, text_fault
from assay_lab.rewrites.similarity import mostly_lost, similarity, too_similar

SplitKind = Literal["repository", "source", "paper"]
"""What no split cuts: a repository, a text of a person with its rewritings, or nothing, as in the paper."""

FRACTIONS: Mapping[str, float] = {"train": 0.8, "validation": 0.1, "test": 0.1}
DataSetName = Literal["binary", "multi"]
DATA_SETS: tuple[DataSetName, ...] = ("binary", "multi")


@dataclass(frozen=True, slots=True)
class AssemblyRequest:
    """Options of the steps after the replies.

    Attributes:
        regexes: expressions of cleaning and of anonymising; "paper" for those that the paper prints.
        split: what no split cuts.
        seed: of the split.
    """

    regexes: Regexes = "repaired"
    split: SplitKind = "repository"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ReplyOutcome:
    """One reply, and the rule that removed it.

    Attributes:
        source: id of the text that was rewritten.
        generator: its name in the data set.
        reply: as it came; None where the model refused.
        rule: that removed it; None where it stayed.
        detail: reason of a refusal; "" elsewhere.
    """

    source: str
    generator: str
    reply: str | None
    rule: RemovalRule | None
    detail: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class RewriteSets:
    """Both data sets, and what became of every text.

    Attributes:
        generators: names in the order of the request.
        binary: every text of a person, then the rewritings that stayed; metadata as of `Collected`.
        multi: texts of people that every generator rewrote, with these rewritings; empty without a generator.
        outcomes: one for each reply.
        anonymised: author → number of texts in which something was replaced.
        split: what no split cuts.
        seed: of the split.
    """

    generators: tuple[str, ...]
    binary: tuple[Sample, ...]
    multi: tuple[Sample, ...]
    outcomes: tuple[ReplyOutcome, ...]
    anonymised: Counter[str]
    split: SplitKind = "repository"
    seed: int = 0
    _parts: dict[str, dict[str, tuple[Sample, ...]]] = field(default_factory=dict, repr=False)

    def samples(self, name: DataSetName) -> tuple[Sample, ...]:
        """Return the samples of a data set."""
        return self.binary if name == "binary" else self.multi

    def parts(self, name: DataSetName) -> dict[str, tuple[Sample, ...]]:
        """Return train, validation and test, 8:1:1 by what the split does not cut."""
        if name not in self._parts:
            self._parts[name] = split_samples(self.samples(name), self.split, self.seed)
        return self._parts[name]

    def counts(self, name: DataSetName) -> Counter[tuple[str, str]]:
        """Return (language, author) → number of samples."""
        return Counter((str(sample.language), str(sample.label)) for sample in self.samples(name))

    def removed(self, generator: str) -> Counter[RemovalRule]:
        """Return rule → number of replies of a generator that it removed."""
        rules = (outcome.rule for outcome in self.outcomes if outcome.generator == generator)
        return Counter(rule for rule in rules if rule is not None)

    def replies(self, generator: str) -> int:
        """Return the number of replies of a generator, refusals included."""
        return sum(outcome.generator == generator for outcome in self.outcomes)


def assemble(
    collected: Collected, replies: Mapping[str, Sequence[str | Rejected]], request: AssemblyRequest
) -> RewriteSets:
    """Return the data sets: replies are cleaned, then filtered, and all texts that stay are anonymised.

    Args:
        collected: texts of people.
        replies: generator → its reply to each of these texts, in their order.
        request: options.
    """
    rewritings: list[tuple[Sample, str, str]] = []
    outcomes: list[ReplyOutcome] = []
    for generator, own in replies.items():
        for sample, reply in zip(collected.samples, own, strict=True):
            text, outcome = _outcome(sample, generator, reply=reply, regexes=request.regexes)
            outcomes.append(outcome)
            if outcome.rule is None:
                rewritings.append((sample, generator, text))
    # the percentile of similarity is over all rewritings of a language and generator, so it comes after the others
    alike = [((sample.language, generator), similarity(sample.text, text)) for sample, generator, text in rewritings]
    removed = {(sample.id, generator) for sample, generator, _ in compress(rewritings, too_similar(alike))}
    for place, outcome in enumerate(outcomes):
        if (outcome.source, outcome.generator) in removed:
            outcomes[place] = replace(outcome, rule=RemovalRule.SIMILAR)
    changed: Counter[str] = Counter()
    anonymise = partial(_anonymised, regexes=request.regexes, changed=changed)
    people = [anonymise(sample, HUMAN, sample.text) for sample in collected.samples]
    generated = []
    for sample, generator, text in rewritings:
        if (sample.id, generator) not in removed:
            kept = anonymise(sample, generator, text)
            generated.append(kept)
    return RewriteSets(
        generators=tuple(replies),
        binary=(*people, *generated),
        multi=rewritten_by_all(people, generated, len(replies)),
        outcomes=tuple(outcomes),
        anonymised=changed,
        split=request.split,
        seed=request.seed,
    )


def rewritten_by_all(people: Sequence[Sample], generated: Sequence[Sample], generators: int) -> tuple[Sample, ...]:
    """Return the texts of people of which a rewriting of every generator stayed, each followed by these rewritings."""
    by_source: dict[object, list[Sample]] = {}
    for sample in generated:
        # the id of a rewriting names its generator too, so the source joins it with its original
        by_source.setdefault(sample.metadata["source"], []).append(sample)
    complete: list[Sample] = []
    for sample in people:
        own = by_source.get(sample.metadata["source"], [])
        if generators and len(own) == generators:
            complete += [sample, *own]
    return tuple(complete)


def split_samples(samples: Sequence[Sample], kind: SplitKind, seed: int) -> dict[str, tuple[Sample, ...]]:
    """Return train, validation and test, 8:1:1 in expectation.

    Args:
        samples: of one data set.
        kind: "repository" and "source" never cut one; "paper" shuffles the samples one by one.
        seed: another seed gives another split.
    """
    if kind != "paper":
        own, grouped = {}, []
        for sample in samples:
            own[sample.id] = sample
            group = sample.group if kind == "repository" else sample.metadata["source"]
            # only the split sees this group; the samples that are returned keep their repository
            grouped.append(replace(sample, group=str(group)))
        chosen = {}
        for name, part in split_by_group(grouped, FRACTIONS, seed=seed).items():
            chosen[name] = tuple(own[sample.id] for sample in part)
        return chosen
    order = np.random.default_rng(seed).permutation(len(samples)).tolist()
    shuffled = at_places(samples, order)
    ends = np.cumsum([round(share * len(samples)) for share in FRACTIONS.values()][:-1]).tolist()
    # the last part takes what rounding leaves
    bounds = pairwise([0, *ends, len(samples)])
    return {name: tuple(shuffled[start:stop]) for name, (start, stop) in zip(FRACTIONS, bounds, strict=True)}


def _outcome(sample: Sample, generator: str, *, reply: str | Rejected, regexes: Regexes) -> tuple[str, ReplyOutcome]:
    """Return the code of a reply, "" where a rule removes it, and what became of it; similarity comes later."""
    if isinstance(reply, Rejected):
        # "too long" is a rule of `rewritten_by`; every other reason is the server's own
        too_long = reply.reason == RemovalRule.TOO_LONG
        refused = RemovalRule.TOO_LONG if too_long else RemovalRule.REFUSED
        return "", ReplyOutcome(sample.id, generator, reply=None, rule=refused, detail=reply.reason)
    clean = clean_reply(reply, str(sample.language), regexes)
    rule = clean.fault or text_fault(clean.text, str(sample.language))
    if rule is None and mostly_lost(sample.text, clean.text):
        rule = RemovalRule.MOSTLY_LOST
    return ("" if rule else clean.text), ReplyOutcome(sample.id, generator, reply=reply, rule=rule)


def _anonymised(sample: Sample, author: str, text: str, *, regexes: Regexes, changed: Counter[str]) -> Sample:
    result = anonymised(text, sample.language, regexes)
    changed[author] += result != text
    name = sample.id if author == HUMAN else f"{sample.id} ({author})"
    return replace(sample, id=name, text=result, label=author)
