"""Tables 3, 5, 6 and 9 and Figures 20 and 23 of DECo: which author wrote a text, with comments and without.

The paper fine-tunes three encoders whose weights cannot be had here. In their place stands a linear model on character
n-grams, which sees comments and white space as they do; the paper's values are printed beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, f1_score

from assay.datasets import split_by_group
from assay.evaluation import Estimate
from assay.types import Float64Array, Sample
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, Value, ValueRow, ValueTable, over_seeds
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.papers.deco.collections import PAPER, AuthorTexts, collection, heading
from assay_lab.papers.deco.tables import OVERALL

OURS = "linear, characters (ours)"
SEEDS = 5
SPLIT = {"training": 0.8, "validation": 0.1, "test": 0.1}
STRENGTHS = (0.3, 3.0, 30.0)
"""Inverse regularisation, chosen on the validation part, where the paper chooses rate and batch."""
FEWEST = 2
MEASURES = ("Macro F1", "Accuracy")
COMMENTS = {True: "O", False: "X"}


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A classifier on the test part of one split.

    Attributes:
        f1: macro-F1 over the authors of the training part.
        accuracy: share of right answers.
        confusion: float64 [authors, authors], rows sum to 1: true author, answer.
    """

    f1: float
    accuracy: float
    confusion: Float64Array


def attributed(samples: Sequence[Sample], authors: Sequence[str], seed: int) -> Result | None:
    """Fit on eight tenths of the tasks, and judge on one tenth; None where a part lacks texts of two authors."""
    parts = split_by_group(samples, SPLIT, seed=seed)
    labels = {name: [str(s.label) for s in part] for name, part in parts.items()}
    if min(len(set(labels[name])) for name in ("training", "test")) < FEWEST:
        return None
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 3), min_df=2, sublinear_tf=True, max_features=50_000)
    rows = {name: vectorizer.fit_transform([s.text for s in parts[name]]) for name in ("training",)}
    rows |= {
        name: vectorizer.transform([s.text for s in part]) for name, part in parts.items() if part and name in SPLIT
    }
    best, quality = None, -1.0
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=300, class_weight="balanced")
        model.fit(rows["training"], labels["training"])
        judged = "validation" if parts["validation"] else "training"
        accuracy = float(model.score(rows[judged], labels[judged]))
        if accuracy > quality:
            best, quality = model, accuracy
    assert best is not None  # noqa: S101  there is a strength
    answers = best.predict(rows["test"])
    present = [author for author in authors if author in set(labels["test"])]
    matrix = confusion_matrix(labels["test"], answers, labels=list(authors), normalize="true")
    f1 = float(f1_score(labels["test"], answers, labels=present, average="macro", zero_division=0))
    return Result(f1, float(np.mean(answers == np.array(labels["test"]))), matrix)


def results(bench: Bench, texts: AuthorTexts) -> dict[str, list[Result]]:
    """Return language → one result for each of five seeds; languages with one author are left out."""
    seeds = range(bench.seeds[0], bench.seeds[0] + SEEDS)
    by_language: dict[str, list[Result]] = {}
    for language in texts.strata:
        samples = texts.of(language)
        own = [attributed(samples, texts.authors, seed) for seed in seeds]
        kept = [result for result in own if result is not None]
        if kept:
            by_language[language] = kept
    return by_language


def estimates(by_language: dict[str, list[Result]], measure: str) -> list[Value]:
    """Return the mean over seeds by language, and overall: the mean over seeds of the mean over languages."""
    column = {
        language: [result.f1 if measure == MEASURES[0] else result.accuracy for result in own]
        for language, own in by_language.items()
    }
    overall = [float(np.mean(values)) for values in zip(*column.values(), strict=False)]
    return [seeds_mean(values) for values in [*column.values(), overall]]


def seeds_mean(values: Sequence[float]) -> Estimate | None:
    """Return the mean over seeds with Student's interval."""
    return over_seeds([Estimate(value, np.nan, np.nan, reason="one seed") for value in values], share=True)


def comparison(bench: Bench, number: str, title: str, *, comments: Sequence[bool]) -> Finding:
    """Return ours beside the models of a table of the paper."""
    whole = collection(bench)
    printed = PAPER.tables[number]
    by_language = {kept: results(bench, whole if kept else whole.bare()) for kept in comments}
    languages = [*by_language[comments[0]], OVERALL] if by_language[comments[0]] else []
    heads = (*map(heading, languages), *(f"{column} (paper)" for column in printed.columns))
    tables = []
    for measure in MEASURES:
        lines = []
        for kept in comments:
            ours = estimates(by_language[kept], measure) if by_language[kept] else []
            ours = [*ours, *[None] * (len(languages) - len(ours))]
            name = OURS if len(comments) == 1 else f"{OURS}, {COMMENTS[kept]}"
            lines.append(ValueRow(name, (*ours, *[None] * len(printed.columns))))
        for row, values in printed.rows(measure).items():
            below = values if isinstance(values, dict) else {"": values}
            for key in below:
                path = (measure, row, key) if key else (measure, row)
                theirs = [printed.value(*path, column=column) for column in printed.columns]
                lines.append(ValueRow(f"{row}, {key}" if key else row, (*[None] * len(languages), *theirs)))
        tables.append(ValueTable(measure.lower().replace(" ", "-"), measure, "model", heads, tuple(lines), "percent"))
    return Finding(
        name=f"deco/{number}",
        title=f"{title} ({PAPER.title}, {printed.source})",
        tables=tuple(tables),
        notes=(*whole.notes, *attribution_notes(whole)),
        seeds=bench.seeds,
    )


def attribution_notes(texts: AuthorTexts) -> tuple[str, ...]:
    """Return how ours differs from the paper."""
    return (
        f"{len(texts.authors)} authors: the accuracy of guessing is about {1 / max(1, len(texts.authors)):.0%}.",
        f"Split 8:1:1 by task, {SEEDS} seeds; brackets: Student's intervals over seeds.",
        "The paper's models are fine-tuned encoders. They are dropped here, because their weights cannot be had.",
    )


def deco_table_3(bench: Bench) -> Finding:
    """Attribution of code to its author."""
    return comparison(bench, "table-3", "Attribution", comments=[True])


def deco_table_5(bench: Bench) -> Finding:
    """Attribution with comments and without, beside CodeBERT."""
    return comparison(bench, "table-5", "Attribution without comments", comments=[True, False])


def deco_table_6(bench: Bench) -> Finding:
    """Standard deviations of attribution over seeds."""
    whole, printed = collection(bench), PAPER.tables["table-6"]
    by_language = results(bench, whole)
    heads = (*map(heading, by_language), *(f"{column} (paper)" for column in printed.columns))
    tables = []
    for measure in MEASURES:
        ours = [
            float(np.std([r.f1 if measure == MEASURES[0] else r.accuracy for r in own], ddof=1))
            if len(own) > 1
            else None
            for own in by_language.values()
        ]
        lines = [ValueRow(OURS, (*ours, *[None] * len(printed.columns)))]
        lines += [
            ValueRow(
                row, (*[None] * len(by_language), *(printed.value(measure, row, column=c) for c in printed.columns))
            )
            for row in printed.rows(measure)
        ]
        name = measure.lower().replace(" ", "-")
        tables.append(ValueTable(name, f"{measure}, deviation over seeds", "model", heads, tuple(lines), "percent"))
    return Finding(
        name="deco/table-6",
        title=f"Spread of attribution ({PAPER.title}, {printed.source})",
        tables=tuple(tables),
        notes=(*whole.notes, *attribution_notes(whole)),
        seeds=bench.seeds,
    )


def deco_table_9(bench: Bench) -> Finding:
    """Attribution with comments and without, beside the two detectors of prose."""
    return comparison(bench, "table-9", "Attribution without comments", comments=[True, False])


def confusion(bench: Bench, number: int, *, comments: bool) -> Finding:
    """Return the confusion matrix over all languages, the mean over seeds and languages."""
    whole = collection(bench)
    by_language = results(bench, whole if comments else whole.bare())
    matrices = [result.confusion for own in by_language.values() for result in own]
    mean = np.mean(matrices, axis=0) if matrices else np.full((len(whole.authors),) * 2, np.nan)
    lines = tuple(
        ValueRow(author, tuple(None if np.isnan(v) else float(v) for v in row))
        for author, row in zip(whole.authors, mean, strict=True)
    )
    words = "with" if comments else "without"
    return Finding(
        name=f"deco/figure-{number}",
        title=f"Confusion of authors {words} comments ({PAPER.title}, Figure {number})",
        tables=(
            ValueTable("confusion", "Share of answers, by true author", "author", whole.authors, lines, "percent"),
        ),
        notes=("The paper's figure is a picture without numbers.", *whole.notes, *attribution_notes(whole)),
        seeds=bench.seeds,
    )


def deco_figure_20(bench: Bench) -> Finding:
    """Confusion matrix of attribution."""
    return confusion(bench, 20, comments=True)


def deco_figure_23(bench: Bench) -> Finding:
    """Confusion matrix of attribution without comments."""
    return confusion(bench, 23, comments=False)


EXPERIMENTS = (
    *(
        Reproduction("deco", f"table-{number}", run)
        for number, run in ((3, deco_table_3), (5, deco_table_5), (6, deco_table_6), (9, deco_table_9))
    ),
    Reproduction("deco", "figure-20", deco_figure_20),
    Reproduction("deco", "figure-23", deco_figure_23),
)
