"""Scores of code that people have certainly written, and the p-values that follow from them.

p = (1 + #{reference scores >= s}) / (m + 1) holds on average over reference sets. A user has one reference set, so the
decision uses a stricter bound: with confidence `BOUND_LEVEL` over the drawing of the reference set, at most a share
alpha of the user's human code is flagged. The share flagged by "at most k of m reference scores are as high" has the
distribution Beta(k + 1, m - k) (Vovk 2012; Bates et al. 2023), which gives the bound in closed form.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import chain, repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
from scipy.special import betaincinv

from assay.authorship.forward import NOMINAL, ForwardCheck, NewerPieces, forward_checks
from assay.authorship.normalising import Code
from assay.authorship.units import ReferenceUnit
from assay.codec import decode
from assay.errors import DataError, plain_reason
from assay.evaluation import FlagRate, flag_rate
from assay.files import write_json
from assay.guard import json_file
from assay.reports import TabularResult
from assay.types import Float64Array

BOUND_LEVEL = 0.9
STYLE_CHANGES = "the style of these people changes: their newer code is as unusual for their older code"
FEWEST = 45
"""Reference scores below which nothing can be flagged at 5 % with this confidence: 1 - 0.1^(1/45) = .05."""

ADVISED = 200
FORMAT = 3
SHORTEST, LONGEST = 30, 20_000
"""Tokens of a text that is judged."""

LONGEST_LINES = 60
"""Mean tokens per line above which the layout is that of minified or generated text."""

_BOUNDS = (SHORTEST, 200, 1000, LONGEST + 1)
_CLASSES = ("30 to 199 tokens", "200 to 999 tokens", "1,000 tokens and more")


def length_class(tokens: int) -> str | None:
    """Return the class of a length in tokens; None for a text that is too short or too long to be judged."""
    at = int(np.searchsorted(_BOUNDS, tokens, side="right")) - 1
    return _CLASSES[at] if 0 <= at < len(_CLASSES) else None


def has_long_lines(code: Code) -> bool:
    """Return True for the layout of minified or generated text, which is not judged."""
    return len(code.tokens) >= SHORTEST and len(code.tokens) / max(1, len(code.lines)) > LONGEST_LINES


def judged_rows(codes: Sequence[Code], most: int | None, seed: int = 0) -> list[int]:
    """Return the rows of texts that can be judged by their length and layout, ascending.

    Args:
        codes: tokens of the texts.
        most: rows of one language and length class, drawn at random; None for all.
        seed: of the draw.
    """
    cells: dict[tuple[str, str], list[int]] = {}
    for row, code in enumerate(codes):
        name = length_class(len(code.tokens))
        if name is not None and not has_long_lines(code):
            cells.setdefault((str(code.language), name), []).append(row)
    # cells in the order of their names, so that a draw does not depend on which file came first
    generator = np.random.default_rng(seed)
    chosen: list[int] = []
    for _, rows in sorted(cells.items()):
        chosen += generator.permutation(rows)[:most].tolist()
    return sorted(chosen)


def _fewest_tokens(name: str) -> int:
    """Return the least length of a class."""
    return _BOUNDS[_CLASSES.index(name)]


def _bound(reached: int, m: int) -> float:
    return float(betaincinv(reached + 1, m - reached, BOUND_LEVEL))


def _cut(m: int) -> float:
    """Return the highest p-value among m scores whose bound is nominal; 0 where there is none."""
    highest = 0.0
    # the bound is above k / m, so that no k beyond a tenth of m can be nominal
    for k in range(min(m // 10 + 1, m)):
        if _bound(k, m) <= NOMINAL:
            highest = (k + 1) / (m + 1)
    return highest


@dataclass(frozen=True, slots=True)
class ReferenceAnswer:
    """A score beside the user's own human code.

    Attributes:
        p_value: share of human code with such a score or a higher one, on average over reference sets.
        bound: upper bound of that share, with confidence `BOUND_LEVEL`.
        compared: reference scores that it was compared with.
        abstained: why there is no answer; None where there is one.
        level: p-value that an unusual piece does not exceed.
    """

    p_value: float | None = None
    bound: float | None = None
    compared: int = 0
    abstained: str | None = None
    level: float = NOMINAL

    @property
    def unusual(self) -> bool:
        """True if at most the nominal share of the user's human code scores that high, by bound and by level."""
        return self.bound is not None and self.bound <= NOMINAL and (self.p_value or 0.0) <= self.level


@dataclass(frozen=True, eq=False, repr=False)
class Reference(TabularResult):
    """Scores of human code by language and length class.

    Attributes:
        detector: name and digest of what gave the scores.
        cells: (language, length class) → float64 [m], ascending.
        groups: (language, length class) → one name per score, in the same order, for intervals.
        digests: (language, length class) → the digest of the text behind each score, in the same order.
        source: where the code came from, in words.
        before: the date that the code is older than; None where the user vouches for it.
        unit: pieces of code that it holds; None where it was not recorded.
        checks: newer pieces of the same people, judged by the older ones; empty where no history dates them.
    """

    detector: str
    cells: Mapping[tuple[str, str], Float64Array]
    groups: Mapping[tuple[str, str], tuple[str, ...]]
    digests: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    source: str = ""
    before: str | None = None
    unit: ReferenceUnit | None = None
    checks: tuple[ForwardCheck, ...] = ()

    @classmethod
    def of(
        cls,
        detector: str,
        scores: Sequence[float],
        languages: Sequence[str | None],
        tokens: Sequence[int],
        groups: Sequence[str],
        *,
        digests: Sequence[str] | None = None,
        **about: Any,  # noqa: ANN401  fields of this class
    ) -> Self:
        """Return the reference of these scores; a text without a score, or of no length class, is left out.

        Args:
            detector: name and digest of what gave the scores.
            scores: one per text.
            languages: of the texts.
            tokens: lengths of the texts.
            groups: names of the files or projects of the texts, for intervals.
            digests: of the texts; None where no text of the reference will be judged by it.
            about: further fields.

        Raises:
            DataError: fewer than `FEWEST` scores in every language.
        """
        rows: dict[tuple[str, str], list[tuple[float, str, str]]] = {}
        texts = zip(scores, languages, tokens, groups, digests or [""] * len(scores), strict=True)
        for score, language, count, group, digest in texts:
            name = length_class(count)
            if name is not None and not np.isnan(score):
                rows.setdefault((str(language), name), []).append((float(score), group, digest))
        # scores are stored in ascending order, so that a place among them is one binary search
        cells: dict[tuple[str, str], Float64Array] = {}
        groups_of: dict[tuple[str, str], tuple[str, ...]] = {}
        digests_of: dict[tuple[str, str], tuple[str, ...]] = {}
        for key, entries in sorted(rows.items()):
            values, groups_of[key], digests_of[key] = zip(*sorted(entries), strict=True)
            cells[key] = np.array(values)
        reference = cls(detector, cells=cells, groups=groups_of, digests=digests_of, **about)
        if all(len(reference._joined(keys)) < FEWEST for keys in reference._neighbours.values()):
            raise DataError(
                f"{len(reference)} texts of people that can be scored, expected at least {FEWEST} of a "
                f"language (better {ADVISED}); texts of {SHORTEST} to {LONGEST:,} tokens count"
            )
        return reference

    def __len__(self) -> int:
        return sum(map(len, self.cells.values()))

    @cached_property
    def texts(self) -> frozenset[str]:
        """Digests of the texts of this reference."""
        return frozenset(filter(None, chain(*self.digests.values())))

    def check(self, detector: str) -> None:
        """Check that a detector is the one of this reference.

        Args:
            detector: name and digest, or the name alone where the digest is not known yet.

        Raises:
            DataError: it is another one.
        """
        if detector not in (self.detector, self.detector.partition(" ")[0]):
            raise DataError(
                f"the reference was made with {self.detector}, but these pieces are scored with {detector}; calibrate "
                "again with the same detector"
            )

    def judge(self, score: float, language: str | None, tokens: int, *, digest: str = "") -> ReferenceAnswer:
        """Return where a score lies among those of human code of the same language and length class.

        Neighbouring classes with fewer than `FEWEST` scores are compared together.

        Args:
            score: of the text.
            language: of the text.
            tokens: length of the text.
            digest: of the text; it is not compared with itself. "" for a text that is not in the reference.
        """
        name = length_class(tokens)
        if name is None:
            return ReferenceAnswer(abstained=f"{tokens:,} tokens; texts of {SHORTEST} to {LONGEST:,} are judged")
        if np.isnan(score):
            return ReferenceAnswer(abstained="the text has no score")
        scores = self._joined(self._neighbours.get((str(language), name), ()), digest)
        if len(scores) < FEWEST:
            reason = f"{len(scores)} texts of people in {language or 'an unknown language'}, expected {FEWEST}"
            return ReferenceAnswer(compared=len(scores), abstained=reason)
        # all checks of a language have the same level
        check = next((check for check in self.checks if check.language == str(language)), None)
        level = NOMINAL if check is None else check.level
        if level is None:
            return ReferenceAnswer(compared=len(scores), abstained=STYLE_CHANGES)
        m = len(scores)
        # reference scores at or above this one: a tie counts as higher, which keeps the p-value conservative
        reached = m - int(np.searchsorted(scores, score, side="left"))
        # the share that "at most k of m are as high" flags has the law Beta(k + 1, m - k): its quantile is the bound
        bound = 1.0 if reached >= m else _bound(reached, m)
        return ReferenceAnswer(p_value=(1 + reached) / (m + 1), bound=bound, compared=m, level=level)

    def checked(self, newer: Mapping[str, str]) -> Self:
        """Return the reference with the checks of its newer texts, each judged by the older texts alone.

        Args:
            newer: digest of each newer text → project.
        """
        older: dict[tuple[str, str], Float64Array] = {}
        for key, scores in self.cells.items():
            older[key] = scores[~np.isin(self.digests[key], list(newer))]
        # without digests, because a newer text is not among the older ones
        half = replace(self, cells=older, groups={}, digests={})
        # the older half gives the p-value, and the whole reference the cut: what will be used later is what is checked
        tested: dict[tuple[str, str], list[tuple[float, float, str]]] = {}
        for key, scores in self.cells.items():
            tokens, cut = _fewest_tokens(key[1]), _cut(len(self._joined(self._neighbours[key])))
            for score, group, digest in zip(scores.tolist(), self.groups[key], self.digests[key], strict=True):
                if digest not in newer:
                    continue
                p_value = half.judge(score, key[0], tokens).p_value
                if p_value is not None:
                    tested.setdefault((newer[digest], key[0]), []).append((p_value, cut, group))
        parts = []
        for (project, language), rows in sorted(tested.items()):
            p_values, cuts, files = zip(*rows, strict=True)
            parts.append(
                NewerPieces(
                    project=project, language=language, p_values=np.array(p_values), cuts=np.array(cuts), files=files
                )
            )
        return replace(self, checks=forward_checks(parts))

    def realised(self, seed: int = 0) -> FlagRate | None:
        """Return the share of the reference itself that is flagged, each half of its groups judged by the other.

        None where the halves are too small to flag anything.
        """
        generator = np.random.default_rng(seed)
        p_values: list[float] = []
        groups: list[str] = []
        for keys in dict.fromkeys(self._neighbours.values()):
            (language, length), scores = keys[0], np.concatenate(list(map(self._scores, keys)))
            names = np.array(list(chain(*(self.groups.get(key, ()) for key in keys))), object)
            distinct = np.array(sorted(set(names.tolist())), object)
            # whole groups go to one half: files of one project are alike, and would judge each other too kindly
            first = np.isin(names, generator.permutation(distinct)[: len(distinct) // 2])
            if min(first.sum(), (~first).sum()) < FEWEST:
                continue
            for judging, tested in ((first, ~first), (~first, first)):
                cell = {(language, length): np.sort(scores[judging])}
                half = Reference(self.detector, cells=cell, groups=dict.fromkeys(cell, ()))
                for score in scores[tested].tolist():
                    answer = half.judge(score, language, _fewest_tokens(length))
                    p_values.append(float(not answer.unusual))
                groups += names[tested].tolist()
        return flag_rate(p_values, NOMINAL, groups=groups) if p_values else None

    def save(self, path: Path) -> None:
        """Write the scores, and digests of the texts; the file holds no text.

        Raises:
            DataError: the file cannot be written.
        """
        cells = []
        for (language, name), scores in self.cells.items():
            groups, digests = list(self.groups[language, name]), list(self.digests[language, name])
            cells.append(
                {
                    "language": language,
                    "length": name,
                    "scores": scores.tolist(),
                    "groups": groups,
                    "digests": digests,
                }
            )
        about = {"detector": self.detector, "source": self.source, "before": self.before, "unit": self.unit}
        checks = list(map(asdict, self.checks))
        write_json(path, {"format": FORMAT, **about, "checks": checks, "cells": cells})

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file of `save`.

        Raises:
            DataError: the file cannot be read, or is not one.
        """
        try:
            content = json_file(path)
            if content["format"] != FORMAT:
                raise ValueError(f"format {content['format']!r:.40}, expected {FORMAT}; calibrate again")  # noqa: TRY301  one line for all
            reference = cls._of_content(content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
            raise DataError(
                f"{path}: expected a file of `assay authorship calibrate` ({plain_reason(error)})"
            ) from error
        return reference

    @classmethod
    def _of_content(cls, content: Any) -> Self:  # noqa: ANN401  whatever JSON can hold
        """Return the reference of a file.

        Raises:
            ValueError: it is not one; other errors of access to what JSON holds mean the same.
        """
        cells: dict[tuple[str, str], Float64Array] = {}
        groups: dict[tuple[str, str], tuple[str, ...]] = {}
        digests: dict[tuple[str, str], tuple[str, ...]] = {}
        for cell in decode(list, content["cells"]):
            key = decode(str, cell["language"]), cell["length"]
            if key in cells or key[1] not in _CLASSES:
                raise ValueError(f"{key[0]:.40}, {key[1]!r:.40}: a class that is unknown or stands twice")
            cells[key] = scores = np.array(decode(tuple[float, ...], cell["scores"]), np.float64)
            groups[key] = decode(tuple[str, ...], cell["groups"])
            digests[key] = decode(tuple[str, ...], cell["digests"])
            # ascending, because places are found by binary search: a file of a stranger may be out of order
            counts = {scores.size, len(groups[key]), len(digests[key])}
            if len(counts) > 1 or not np.isfinite(scores).all() or (scores[1:] < scores[:-1]).any():
                raise ValueError(f"scores of {key[0]:.40} that are not those of texts in ascending order")
        before = content["before"]
        if before is not None:
            date.fromisoformat(decode(str, before))
        unit = content.get("unit")
        if unit not in (None, *get_args(ReferenceUnit)):
            raise ValueError(f"unit {unit!r:.40}")
        checks = decode(tuple[ForwardCheck, ...], content["checks"])
        # each newer piece is itself one of the texts
        texts: Counter[str] = Counter()
        for (language, _), scores in cells.items():
            texts[language] += scores.size
        for check in checks:
            texts[check.language] -= check.newer
            if not check.is_possible or texts[check.language] < 0:
                raise ValueError(f"newer texts of {check.project:.40} as no calibration counts them")
        return cls(
            decode(str, content["detector"]),
            cells=cells,
            groups=groups,
            digests=digests,
            source=decode(str, content["source"]),
            before=before,
            unit=unit,
            checks=checks,
        )

    @cached_property
    def _neighbours(self) -> Mapping[tuple[str, str], tuple[tuple[str, str], ...]]:
        """(language, length class) → the classes that are compared together, `FEWEST` texts where there are as many.

        They depend on the reference alone, and a text is compared in the same way whether it calibrates or is judged.
        If only the pieces of a small class took all lengths, more than the nominal share of human code could be
        flagged: a score may rise with the length.
        """
        joined: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        for language in dict.fromkeys(map(itemgetter(0), self.cells)):
            # fill a part class by class until it is large enough; what is left at the end joins the part before
            parts: list[list[tuple[str, str]]] = [[]]
            for name in _CLASSES:
                if self._size(parts[-1]) >= FEWEST:
                    parts.append([])
                parts[-1].append((language, name))
            if len(parts) > 1 and self._size(parts[-1]) < FEWEST:
                parts[-2:] = [[*parts[-2], *parts[-1]]]
            for part in parts:
                joined |= dict.fromkeys(part, tuple(part))
        return joined

    def _size(self, keys: Sequence[tuple[str, str]]) -> int:
        return sum(map(len, map(self._scores, keys)))

    def _joined(self, keys: Sequence[tuple[str, str]], digest: str = "") -> Float64Array:
        return np.sort(np.concatenate([np.zeros(0), *map(self._scores, keys, repeat(digest))]))

    def _scores(self, key: tuple[str, str], digest: str = "") -> Float64Array:
        """Return the scores of a cell without that of one text."""
        scores = self.cells.get(key, np.zeros(0))
        if digest not in self.texts or key not in self.digests:
            return scores
        others = np.array(self.digests[key]) != digest
        return np.asarray(scores[others], np.float64)
