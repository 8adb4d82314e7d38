"""Shortcuts of a labelled data set: superficial differences between code of people and of generators.

A linear model on characters is fitted again and again while one superficial difference after the other is removed. If
the AUROC falls towards .5, the data set separates by those differences and not by how code is written.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, permutations
from types import MappingProxyType

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from assay.authorship import PYTHON, Code, Kind, code_of, without_comments
from assay.errors import DataError
from assay.evaluation import Ranking, auroc, rank_score
from assay.reports import TabularResult
from assay.types import BooleanArray, Float64Array, Int64Array
from assay_lab.classifiers.fitting import balanced_weights, subsample
from assay_lab.classifiers.labelled import LabelledCode

FOLDS = 4
COLUMNS = 2**18
LONGEST = 3
SHORTEST_LENGTH = 200
_HEADER = re.compile(
    r"^\s*(?:import\b|from\s+\S+\s+import\b|#\s*(?:include|pragma)\b|package\b|using\b).*\n?", re.MULTILINE
)
_BLANK = re.compile(r"\n(?:[ \t]*\n)+")


def without_tabs(text: str, _: str | None) -> str:
    """Replace tabs by four spaces."""
    return text.replace("\t", "    ")


def without_carriage_returns(text: str, _: str | None) -> str:
    """End every line with a line feed alone."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def without_trailing_space(text: str, _: str | None) -> str:
    """Remove white space at the end of lines and of the text."""
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).strip("\n")


def without_blank_lines(text: str, _: str | None) -> str:
    """Remove blank lines."""
    return _BLANK.sub("\n", text).lstrip("\n")


def without_docstrings(text: str, language: str | None) -> str:
    """Remove strings of Python that are statements, and white space beside what is left."""
    if language != PYTHON:
        return text
    return spelled(code_of(text, language))


def without_headers(text: str, _: str | None) -> str:
    """Remove lines that import, include or name a package."""
    return _HEADER.sub("", text)


def without_layout(text: str, language: str | None) -> str:
    """Write one space between tokens and one line end between lines."""
    return spelled(code_of(text, language))


def without_names(text: str, language: str | None) -> str:
    """Replace every name by one word, and literals by their kind."""
    words = {Kind.NAME: "name", Kind.LITERAL: "literal", Kind.NUMBER: "number"}
    return spelled(code_of(text, language), words)


def spelled(code: Code, words: Mapping[Kind, str] = MappingProxyType({})) -> str:
    """Return code with one space between tokens and one line end between lines.

    Args:
        code: the tokens.
        words: kind → word that is written for every token of the kind.
    """
    lines = []
    for line in code.lines:
        spellings = [words.get(token.kind, token.text) for token in line]
        lines.append(" ".join(spellings))
    return "\n".join(lines)


Removal = Callable[[str, str | None], str]
REMOVALS: Mapping[str, Removal] = MappingProxyType(
    {
        "tabs": without_tabs,
        "carriage returns": without_carriage_returns,
        "trailing space": without_trailing_space,
        "blank lines": without_blank_lines,
        "comments": without_comments,
        "docstrings": without_docstrings,
        "headers": without_headers,
        "layout": without_layout,
        "names": without_names,
    }
)
"""Superficial differences in the order in which they are removed."""

LENGTH = "length"
"""Removed last: every text is cut at the length of the shorter class's lower quartile."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShortcutAudit(TabularResult):
    """AUROC of a linear model on characters while superficial differences are removed.

    Attributes:
        steps: what has been removed last, "nothing" first → the ranking by grouped cross-validation.
        alone: what alone is removed from the raw text → AUROC.
        transfer: (collection that was fitted, collection that was tested) → AUROC, comments and layout removed.
        people: texts of people.
        generated: generated texts.
    """

    steps: Mapping[str, Ranking]
    alone: Mapping[str, float]
    transfer: Mapping[tuple[str, str], float]
    people: int
    generated: int


def audit_shortcuts(labelled: LabelledCode, *, per_class: int | None = 300, seed: int = 0) -> ShortcutAudit:
    """Return the AUROC that remains as each superficial difference is removed, and the transfer between collections.

    Args:
        labelled: texts of both classes.
        per_class: most texts of one class, collection and language.
        seed: of the choice of texts.

    Raises:
        DataError: one class is missing, or there are too few groups to cross-validate.
    """
    labelled = labelled.take(subsample(labelled, per_class, seed))
    people, generated = int(labelled.human.sum()), int((~labelled.human).sum())
    if not (people and generated):
        raise DataError(f"{people} texts by people and {generated} by generators, expected some of each")
    if len(set(labelled.groups)) < FOLDS:
        raise DataError(f"{len(set(labelled.groups))} groups, expected at least {FOLDS} for cross-validation")
    texts = labelled.texts
    steps = {"nothing": _cross_validated(texts, labelled)}
    first = steps["nothing"].auroc.value
    # no fold has both classes on one side and one of them on the other
    if np.isnan(first):
        of_people, of_machines = (len(set(compress(labelled.groups, side))) for side in _sides(labelled))
        raise DataError(
            f"texts by people are in {of_people} groups and those by generators in {of_machines}, expected more of "
            "each for cross-validation"
        )
    alone = {"nothing": first}
    removed = texts
    for name, removal in REMOVALS.items():
        alone_texts = _applied(removal, texts, labelled)
        alone[name] = first if alone_texts == texts else _cross_validated(alone_texts, labelled).auroc.value
        removed = _applied(removal, removed, labelled)
        steps[name] = _cross_validated(removed, labelled)
    transfer = _transfer(_vectors(_applied(without_layout, texts, labelled)), labelled)
    steps[LENGTH] = _cross_validated(_cut(removed, labelled), labelled)
    return ShortcutAudit(steps=steps, alone=alone, transfer=transfer, people=people, generated=generated)


def _applied(removal: Removal, texts: Sequence[str], labelled: LabelledCode) -> list[str]:
    return list(map(removal, texts, labelled.languages))


def _sides(labelled: LabelledCode) -> tuple[BooleanArray, BooleanArray]:
    """Return the texts of people and those of generators."""
    return labelled.human, ~labelled.human


def _cut(texts: Sequence[str], labelled: LabelledCode) -> list[str]:
    lengths = np.array(list(map(len, texts)))
    quartiles = [float(np.quantile(lengths[side], 0.25)) for side in _sides(labelled)]
    size = max(SHORTEST_LENGTH, int(min(quartiles)))
    return [text[:size] for text in texts]


def _vectors(texts: Sequence[str]) -> sparse.csr_matrix:
    # an analyzer of our own: the one for characters joins white space before it counts
    vectorizer = HashingVectorizer(
        analyzer=_character_ngrams, n_features=COLUMNS, lowercase=False, alternate_sign=False
    )
    matrix = vectorizer.transform(texts)
    # so that a long text does not decide by its counts
    matrix.data = np.sqrt(matrix.data)
    return sparse.csr_matrix(matrix)


def _character_ngrams(text: str) -> list[str]:
    ngrams: list[str] = []
    for length in range(1, LONGEST + 1):
        ngrams += [text[at : at + length] for at in range(len(text) - length + 1)]
    return ngrams


def _model() -> LogisticRegression:
    return LogisticRegression(C=3.0, solver="liblinear", max_iter=100)


def _cross_validated(texts: Sequence[str], labelled: LabelledCode) -> Ranking:
    matrix, machine = _vectors(texts), ~labelled.human
    scores = np.full(len(labelled), np.nan)
    for fitted, tested in GroupKFold(FOLDS).split(np.arange(len(labelled)), machine, labelled.groups):
        if _has_both_classes(labelled, fitted):
            model = _model().fit(matrix[fitted], machine[fitted], sample_weight=balanced_weights(labelled, fitted))
            scores[tested] = model.decision_function(matrix[tested])
    return rank_score("characters", scores, machine, groups=labelled.groups)


def _has_both_classes(labelled: LabelledCode, rows: Int64Array) -> bool:
    return 0 < int(labelled.human[rows].sum()) < len(rows)


def _transfer(matrix: sparse.csr_matrix, labelled: LabelledCode) -> dict[tuple[str, str], float]:
    groups = np.array(labelled.groups, object)
    collections = labelled.rows_of("collection")
    both = [name for name, rows in collections.items() if _has_both_classes(labelled, rows)]
    areas = {}
    for fitted_name, tested_name in permutations(both, 2):
        rows, tested = collections[fitted_name], collections[tested_name]
        fitted = rows[~np.isin(groups[rows], groups[tested])]
        areas[fitted_name, tested_name] = _area(matrix, labelled, fitted=fitted, tested=tested)
    return areas


def _area(matrix: sparse.csr_matrix, labelled: LabelledCode, *, fitted: Int64Array, tested: Int64Array) -> float:
    if not _has_both_classes(labelled, fitted):
        return float("nan")
    machine = ~labelled.human
    model = _model().fit(matrix[fitted], machine[fitted], sample_weight=balanced_weights(labelled, fitted))
    scores: Float64Array = model.decision_function(matrix[tested])
    return float(auroc(scores, machine[tested]))
