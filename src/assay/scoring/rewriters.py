"""Who rewrites samples: our own engine, or a language model. What is rewritten: names, test cases, or both."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from assay.code import (
    Kind,
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
from assay.scoring.views import Rewritten, in_words, rewritten
from assay.types import Generator, Sample

Change = Literal["function", "variable", "tests"]
NAMES: tuple[Change, ...] = ("function", "variable")
CHANGES: tuple[Change, ...] = (*NAMES, "tests")
"""What a rewriting may change."""


class Rewriter(Protocol):
    """Makes rewritings of samples."""

    @property
    def name(self) -> str:
        """What tells its rewritings from another's."""
        ...

    @property
    def told(self) -> Mapping[str, int]:
        """What the reader should know of the rewritings so far → how often."""
        ...

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Rewritten]:
        """At most n verified rewritings of each sample."""
        ...


@dataclass(frozen=True, slots=True)
class Deterministic:
    """Our own engine: the same rewritings every time, names in every language that it knows, test cases in Python.

    Attributes:
        changes: what it rewrites.
        told: reason → how many samples keep their test cases, or their names, for it.
    """

    changes: tuple[Change, ...] = NAMES
    told: Counter[str] = field(default_factory=Counter, compare=False)

    @property
    def name(self) -> str:
        """With what it rewrites, where that is not names alone."""
        return _named("deterministic", self.changes)

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Rewritten]:
        """See `Rewriter`.

        Raises:
            SandboxUnavailable: test cases are to change, and solutions cannot be run safely here.
        """
        kinds = _kinds(self.changes)
        if "tests" not in self.changes:
            return [rewritten(sample, n, kinds) for sample in samples]
        shown = _shown(samples, lambda problems: replaced_tests(problems, n))
        return [
            _joined(sample, n, kinds, _renamed(sample, n, kinds), tests, told=self.told)
            for sample, tests in zip(samples, shown, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Written:
    """A language model, asked in the words of SrDetection (000, Tables 7 and 8).

    Names change in every language whose names can be followed, test cases in Python.

    Attributes:
        generator: the model.
        seed: of its first round of replies.
        changes: what it rewrites.
        told: reason → how many of its versions and replies did not count so far, and what stayed in how many samples.
    """

    generator: Generator
    seed: int = 0
    changes: tuple[Change, ...] = NAMES
    told: Counter[str] = field(default_factory=Counter, compare=False)

    @property
    def name(self) -> str:
        """The model's, with what it rewrites, where that is not names alone."""
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
        return [
            _joined(one, n, kinds, names.get((sample_language(one), one.text)), tests, told=self.told)
            for one, tests in zip(samples, shown, strict=True)
        ]

    def _names(self, samples: Sequence[Sample], n: int, kinds: Sequence[Kind]) -> dict[tuple[str, str], VariantSet]:
        """Other names for each text, by its language; none where nothing follows the names of a language."""
        names: dict[tuple[str, str], VariantSet] = {}
        for language in languages_with("variants"):
            texts = list(dict.fromkeys(one.text for one in samples if sample_language(one) == language))
            made = written_variants(texts, self.generator, n, language=language, seed=self.seed, kinds=kinds)
            for text, found in zip(texts, made, strict=True):
                names[language, text] = found
                self._count(found.rejections)
        return names

    def _tests(self, n: int) -> Callable[[Sequence[Problem]], Sequence[ReplacedTests]]:
        def write(problems: Sequence[Problem]) -> Sequence[ReplacedTests]:
            found = written_tests(problems, self.generator, n, seed=self.seed)
            for one in found:
                self._count(one.rejections)
            return found

        return write

    def _count(self, rejections: Mapping[str, int]) -> None:
        for reason, count in rejections.items():
            self.told[f"rejected: {reason}"] += count


def _named(engine: str, changes: Sequence[Change]) -> str:
    return engine if set(changes) == set(NAMES) else f"{engine} ({', '.join(changes)})"


def _kinds(changes: Sequence[Change]) -> tuple[Kind, ...]:
    return tuple(one for one in changes if one != "tests")


def _renamed(sample: Sample, n: int, kinds: Sequence[Kind]) -> VariantSet | None:
    return variants(sample.text, n, kinds=kinds) if kinds and is_python(sample) else None


def _shown(
    samples: Sequence[Sample], replace: Callable[[Sequence[Problem]], Sequence[ReplacedTests]]
) -> list[ReplacedTests]:
    """Other test cases of each sample, each problem once."""
    problems = [problem_of(one) for one in samples]
    distinct = list(dict.fromkeys(one for one in problems if one))
    found = dict(zip(distinct, replace(distinct), strict=True))
    return [
        found[problem] if problem else ReplacedTests(sample.text, (), "no solution in Python is known", {})
        for sample, problem in zip(samples, problems, strict=True)
    ]


def _joined(
    sample: Sample,
    n: int,
    kinds: Sequence[Kind],
    names: VariantSet | None,
    tests: ReplacedTests | None,
    *,
    told: Counter[str],
) -> Rewritten:
    """Names and test cases changed together, as far as both can be; what stays is counted."""
    if tests is None:
        return in_words(names, n) if names else rewritten(sample, n, kinds)
    if not tests.variants:
        told[f"samples keep their test cases: {_short(tests)}"] += 1
        if names is None:
            return rewritten(sample, n, kinds) if kinds else in_words(tests, n)
        return in_words(names, n)
    if names is None:
        return in_words(tests, n)
    if not names.variants:
        told[f"samples keep their names: {_short(names)}"] += 1
    return in_words(composed(tests, names, n, kinds=kinds), n)


def _short(found: VariantSet) -> str:
    return (found.reason or "").partition(":")[0]
