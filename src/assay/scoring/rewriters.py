"""Rewriters of samples: our own engine, or a language model. They change names, test cases, or both."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Literal, Protocol

from assay.code import (
    WORD_LISTS,
    Extent,
    NameKind,
    NamePool,
    NameSource,
    Problem,
    ReplacedTests,
    VariantSet,
    composed,
    replaced_tests,
    variants,
    written_tests,
    written_variants,
)
from assay.languages import languages_with
from assay.scoring.solutions import is_python, problem_of, sample_language
from assay.scoring.views import Rewritten, rewritten, with_short_reason
from assay.types import Generator, Sample

Change = Literal["function", "variable", "tests"]
NAMES: tuple[Change, ...] = ("function", "variable")
CHANGES: tuple[Change, ...] = (*NAMES, "tests")
"""Everything that a rewriting may change."""


class Rewriter(Protocol):
    """Makes rewritings of samples."""

    @property
    def name(self) -> str:
        """Identifies its rewritings in calibration files and results."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Event that a reader should know of → its number so far."""

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Rewritten]:
        """Return at most n verified rewritings of each sample."""


@dataclass(frozen=True, slots=True)
class Deterministic:
    """Our own engine: the same rewritings every time, names in every language that it knows, test cases in Python.

    Attributes:
        changes: what it rewrites.
        names: source of the new names.
        rename: "all" names in each rewriting, or "one".
        counts: reason → how many samples keep their test cases, or their names, for it.
    """

    changes: tuple[Change, ...] = NAMES
    names: NameSource = WORD_LISTS["dictionary"]
    rename: Extent = "all"
    counts: Counter[str] = field(default_factory=Counter, compare=False)

    @property
    def name(self) -> str:
        """The engine with the source of its names, and what it rewrites where that is not names alone."""
        parts = ["deterministic"]
        if _kinds(self.changes):
            parts.append(self.names.name)
        if self.rename == "one":
            parts.append("one at a time")
        return _named(", ".join(parts), self.changes)

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Rewritten]:
        """See `Rewriter`.

        Raises:
            SandboxUnavailable: test cases are to change, and solutions cannot be run safely here.
            ModelError: the source of the names is a model that cannot be run.
        """
        kinds = _kinds(self.changes)
        pools = self._pools(samples, kinds)
        rows = []
        if "tests" not in self.changes:
            for sample, pool in zip(samples, pools, strict=True):
                rows.append(rewritten(sample, n, kinds, pool=pool, rename=self.rename))
            return rows
        shown = _shown(samples, partial(replaced_tests, n=n))
        for sample, tests, pool in zip(samples, shown, pools, strict=True):
            names = self._renamed(sample, n, kinds, pool=pool)
            rows.append(_joined(sample, n, kinds, names=names, tests=tests, counts=self.counts))
        return rows

    def _renamed(
        self, sample: Sample, n: int, kinds: Sequence[NameKind], *, pool: NamePool | None
    ) -> VariantSet | None:
        # test cases can be replaced in Python alone, so names are joined with them there alone
        if not kinds or not is_python(sample):
            return None
        return variants(sample.text, n, kinds=kinds, pool=pool, rename=self.rename)

    def _pools(self, samples: Sequence[Sample], kinds: Sequence[NameKind]) -> Sequence[NamePool | None]:
        """Return the pool of each sample, None where its language has no variants; equal texts share one."""
        pools: dict[tuple[str, str], NamePool] = {}
        # a source may be a model: it is asked about all texts of a language at once, about each text once
        for language, texts in _by_language(samples).items():
            pools |= zip(zip(repeat(language), texts), self.names.pools(texts, language, kinds), strict=True)
        return [pools.get((sample_language(sample), sample.text)) for sample in samples]


@dataclass(frozen=True, slots=True)
class ModelRewriter:
    """A language model, asked with the prompts of SrDetection (Tables 7 and 8).

    Names change in every language whose names can be followed, test cases in Python.

    Attributes:
        generator: the model.
        seed: of its first round of replies.
        changes: what it rewrites.
        counts: reason → how many of its versions and replies were rejected so far; and how many samples keep their test
            cases, or their names.
    """

    generator: Generator
    seed: int = 0
    changes: tuple[Change, ...] = NAMES
    counts: Counter[str] = field(default_factory=Counter, compare=False)

    @property
    def name(self) -> str:
        """The model's name, and what it rewrites where that is not names alone."""
        return _named(self.generator.name, self.changes)

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Rewritten]:
        """See `Rewriter`; equal texts are asked for once.

        Raises:
            ModelError: the model cannot be run.
            SandboxUnavailable: test cases are to change, and solutions cannot be run safely here.
        """
        kinds = _kinds(self.changes)
        names = self._names(samples, n, kinds) if kinds else {}
        shown: Sequence[ReplacedTests | None] = [None] * len(samples)
        if "tests" in self.changes:
            shown = _shown(samples, self._tests(n))
        rows = []
        for sample, tests in zip(samples, shown, strict=True):
            own = names.get((sample_language(sample), sample.text))
            rows.append(_joined(sample, n, kinds, names=own, tests=tests, counts=self.counts))
        return rows

    def _names(self, samples: Sequence[Sample], n: int, kinds: Sequence[NameKind]) -> dict[tuple[str, str], VariantSet]:
        """Return other names for each text, by its language; none for a language whose names cannot be followed."""
        names: dict[tuple[str, str], VariantSet] = {}
        for language, texts in _by_language(samples).items():
            sets = written_variants(texts, self.generator, n, language=language, seed=self.seed, kinds=kinds)
            for text, variant_set in zip(texts, sets, strict=True):
                names[language, text] = variant_set
                self._count(variant_set.rejections)
        return names

    def _tests(self, n: int) -> Callable[[Sequence[Problem]], Sequence[ReplacedTests]]:
        def write(problems: Sequence[Problem]) -> Sequence[ReplacedTests]:
            replaced = written_tests(problems, self.generator, n, seed=self.seed)
            for tests in replaced:
                self._count(tests.rejections)
            return replaced

        return write

    def _count(self, rejections: Mapping[str, int]) -> None:
        for reason, count in rejections.items():
            self.counts[f"rejected: {reason}"] += count


def _named(engine: str, changes: Sequence[Change]) -> str:
    if set(changes) == set(NAMES):
        return engine
    return f"{engine} ({', '.join(changes)})"


def _by_language(samples: Sequence[Sample]) -> dict[str, list[str]]:
    """Return the distinct texts of each language that has variants."""
    # a dictionary for each language keeps the order of the texts, and each once
    texts: dict[str, dict[str, None]] = {language: {} for language in languages_with("variants")}
    for sample in samples:
        if (language := sample_language(sample)) in texts:
            texts[language][sample.text] = None
    return dict(zip(texts, map(list, texts.values()), strict=True))


def _kinds(changes: Sequence[Change]) -> tuple[NameKind, ...]:
    return tuple(change for change in changes if change != "tests")


def _shown(
    samples: Sequence[Sample], replace: Callable[[Sequence[Problem]], Sequence[ReplacedTests]]
) -> list[ReplacedTests]:
    """Return other test cases of each sample; each problem is replaced once."""
    # a problem runs in the sandbox, which costs more than all else here: equal ones run once
    problems = list(map(problem_of, samples))
    distinct = list(dict.fromkeys(filter(None, problems)))
    replaced = dict(zip(distinct, replace(distinct), strict=True))
    shown = []
    for sample, problem in zip(samples, problems, strict=True):
        if problem is None:
            reason = "no solution in Python is known"
            shown.append(ReplacedTests(sample.text, (), reason=reason, kept={}))
        else:
            shown.append(replaced[problem])
    return shown


def _joined(
    sample: Sample,
    n: int,
    kinds: Sequence[NameKind],
    *,
    names: VariantSet | None,
    tests: ReplacedTests | None,
    counts: Counter[str],
) -> Rewritten:
    """Change names and test cases together, as far as both can be; what stays is counted."""
    if tests is None:
        return with_short_reason(names, n) if names else rewritten(sample, n, kinds)
    # what cannot be changed stays as it is: a rewriting of one part is better than none, and the report counts it
    if not tests.variants:
        counts[f"samples keep their test cases: {_short(tests)}"] += 1
        if names is None and kinds:
            return rewritten(sample, n, kinds)
        return with_short_reason(names or tests, n)
    if names is None:
        return with_short_reason(tests, n)
    if not names.variants:
        counts[f"samples keep their names: {_short(names)}"] += 1
    return with_short_reason(composed(tests, names, n, kinds=kinds), n)


def _short(variant_set: VariantSet) -> str:
    return (variant_set.reason or "").partition(":")[0]
