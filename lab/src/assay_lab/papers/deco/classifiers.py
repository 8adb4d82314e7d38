"""Tables 3, 5, 6 and 9 and Figures 20 and 23 of DECo: which author wrote a text, with comments and without.

The paper fine-tunes three encoders, and so does the scale "paper"; `--model` names others. Beside them stands a linear
model on character n-grams, which sees comments and white space as they do.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, product
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, f1_score

from assay.evaluation import Estimate
from assay.models import combined
from assay.types import Float64Array, Int64Array, Sample
from assay_lab.classifiers.fine_tuning import PARTS, RESULT, fine_tune
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.classifiers.settings import Protocol
from assay_lab.columns import at_places, attributes, label_column, own_group_column, text_column
from assay_lab.experiments.bench import PAPER_SCALE, Bench, label_of
from assay_lab.experiments.finding import Finding, HeatMap, Value, ValueRow, ValueTable, over_seeds
from assay_lab.experiments.papers import PrintedTable
from assay_lab.experiments.reproduction import ANY, Reproduction
from assay_lab.mappings import mapped
from assay_lab.papers.deco.collections import OF_TEXTS, PAPER, AuthorTexts, collection, heading, sizes_at, stratum_of
from assay_lab.papers.deco.tables import OVERALL
from assay_lab.papers.printed import paper_headings, printed_values, value_table

OURS = "linear, characters (ours)"
FINE_TUNED = " (fine-tuned here)"
CLASSIFIERS = "classifiers"
"""Folder of the encoders in the folder of experiments."""
SEEDS = 5
SPLIT = ("training", "validation", "test")
STRENGTHS = (0.3, 3.0, 30.0)
"""Inverse regularisation, chosen on the validation part, where the paper chooses rate and batch."""
FEWEST = 2
MEASURES = {"Macro F1": "f1", "Accuracy": "accuracy"}
"""Measure → field of a result."""
COMMENTS = {True: "O", False: "X"}


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A classifier on the test part of one split.

    Attributes:
        seed: of the split, or of the fine-tuning.
        f1: macro-F1 over the authors of the training part.
        accuracy: share of right answers.
        confusion: float64 [authors, authors], rows sum to 1: true author, answer.
    """

    seed: int
    f1: float
    accuracy: float
    confusion: Float64Array


def attributed(samples: Sequence[Sample], authors: Sequence[str], seed: int) -> Result | None:
    """Fit on eight tenths of the tasks, and judge on one tenth; None where a part lacks texts of two authors."""
    texts, labels = {}, {}
    parts = {}
    for name, rows in exact_split(samples, seed).items():
        parts[name] = part = at_places(samples, rows.tolist())
        texts[name] = text_column(part)
        labels[name] = list(map(str, label_column(part)))
    if min(len(set(labels["training"])), len(set(labels["test"]))) < FEWEST:
        return None
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 3), min_df=2, sublinear_tf=True, max_features=50_000)
    rows = vectorizer.fit_transform(texts["training"])
    # too few tasks for a validation part leave the training part to choose the strength by
    judged, judged_rows = labels["training"], rows
    if parts["validation"]:
        judged, judged_rows = labels["validation"], vectorizer.transform(texts["validation"])
    best, quality = None, -1.0
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=300, class_weight="balanced")
        model.fit(rows, labels["training"])
        accuracy = float(model.score(judged_rows, judged))
        if accuracy > quality:
            best, quality = model, accuracy
    assert best is not None  # noqa: S101  there is a strength
    truths = labels["test"]
    answers = best.predict(vectorizer.transform(texts["test"]))
    # an author without a text in the test part does not count in the mean
    present = list(filter(truths.__contains__, authors))
    return Result(
        seed=seed,
        f1=float(f1_score(truths, answers, labels=present, average="macro", zero_division=0)),
        accuracy=float(np.mean(answers == np.array(truths))),
        confusion=confusion_matrix(truths, answers, labels=list(authors), normalize="true"),
    )


def exact_split(samples: Sequence[Sample], seed: int) -> dict[str, Int64Array]:
    """Return the rows of each part: eight, one and one tenth of the tasks, exact to one task."""
    tasks = np.array(own_group_column(samples))
    names = np.unique(tasks)
    places = np.random.default_rng(seed).permutation(len(names))
    tested = max(1, round(len(names) / 10))
    order = dict(zip(names[places].tolist(), range(len(names)), strict=True))
    # tasks and not texts are dealt, so that no task stands in two parts
    place = np.array(at_places(order, tasks.tolist()))
    part = np.where(place < tested, 2, np.where(place < 2 * tested, 1, 0))
    return {name: np.flatnonzero(part == at) for at, name in enumerate(SPLIT)}


def encoders_of(bench: Bench, printed: PrintedTable | None = None) -> dict[str, str]:
    """Return row → encoder that is fine-tuned: those of the user, or at the scale "paper" those of a table.

    Args:
        bench: of the experiment.
        printed: the table; None for the encoders of all tables.
    """
    if bench.models and bench.data:
        return dict(zip(map(label_of, bench.models), bench.models, strict=True))
    if bench.scale != PAPER_SCALE:
        return {}
    rows = PAPER.classifiers if printed is None else printed.rows("Accuracy")
    return mapped(PAPER.classifiers.__getitem__, rows)


def fine_tuned(bench: Bench, texts: AuthorTexts, model: str) -> dict[str, list[Result]]:
    """Return language → one result for each seed of a fine-tuned encoder; runs that are finished are read."""
    sizes = sizes_at(bench)
    first = bench.seeds[0]
    protocol = Protocol(
        rates=sizes.rates, batches=sizes.batches, epochs=sizes.epochs, seeds=tuple(range(first, first + sizes.seeds))
    )
    by_language: dict[str, list[Result]] = {}
    for language in texts.strata:
        samples = texts.of(language)
        if len(texts.labels(language)) < FEWEST:
            continue
        bench.watchers.begin(f"{model} on {language}")
        split = exact_split(samples, first)
        rows = dict(zip(PARTS, split.values(), strict=True))
        # bound to the protocol and to every text, so that a finished run is read for the same question alone
        key = combined([model, asdict(protocol), text_column(samples), list(map(str, label_column(samples)))])[:16]
        folder = bench.out / CLASSIFIERS / key
        if not folder.exists():
            labelled = LabelledCode.of(samples, stratum_of)
            fine_tune(labelled, model, protocol, rows=rows, out=folder, progress=bench.watchers.training)
        stored = json.loads((folder / RESULT).read_text("utf-8"))
        by_language[language] = [result_of(run, stored["classes"], texts.authors) for run in stored["runs"]]
    return by_language


def result_of(run: Mapping[str, Any], classes: Sequence[str], authors: Sequence[str]) -> Result:
    """Return the result of one seed, its confusion matrix with all authors in rows and columns, rows of sum 1."""
    counts = np.zeros((len(authors), len(authors)))
    places = list(map(list(authors).index, classes))
    counts[np.ix_(places, places)] = run["confusion"]
    overall = run["test"]["overall"]
    # an author without a text in the test part keeps a row of zeros
    totals = np.maximum(counts.sum(1, keepdims=True), 1)
    return Result(seed=run["seed"], f1=overall["macro_f1"], accuracy=overall["accuracy"], confusion=counts / totals)


def results(bench: Bench, texts: AuthorTexts) -> dict[str, list[Result]]:
    """Return language → one result for each of five seeds; languages with one author are left out."""
    seeds = range(bench.seeds[0], bench.seeds[0] + SEEDS)
    by_language: dict[str, list[Result]] = {}
    for language in texts.strata:
        attribute = partial(attributed, texts.of(language), texts.authors)
        if measured := list(filter(None, map(attribute, seeds))):
            by_language[language] = measured
    return by_language


def columns_of(
    by_language: Mapping[str, Sequence[Result]], measure: str, languages: Sequence[str]
) -> list[list[float]]:
    """Return the values of a measure over seeds, a list for each language; an empty one where it has no result."""
    value = attrgetter(MEASURES[measure])
    return [list(map(value, by_language.get(language, ()))) for language in languages]


def estimates(by_language: Mapping[str, Sequence[Result]], measure: str, languages: Sequence[str]) -> list[Value]:
    """Return the mean over seeds by language, and overall: the mean over seeds of the mean over languages.

    Overall counts the seeds that every language with a result has.
    """
    value = attrgetter(MEASURES[measure])
    by_seed: dict[int, list[float]] = {}
    for result in chain.from_iterable(by_language.values()):
        by_seed.setdefault(result.seed, []).append(value(result))
    # a mean over some of the languages would compare seeds by which languages they lack
    overall = [float(np.mean(values)) for values in by_seed.values() if len(values) == len(by_language)]
    return list(map(seeds_mean, [*columns_of(by_language, measure, languages), overall]))


def languages_in(by_row: Iterable[Mapping[str, Sequence[Result]]]) -> list[str]:
    """Return the languages of which any classifier has a result."""
    return list(dict.fromkeys(chain.from_iterable(by_row)))


def lacking_note(by_language: Mapping[str, Sequence[Result]]) -> tuple[str, ...]:
    """Return a sentence on the languages that lack a seed of the linear model; none where no language does."""
    short = [f"{heading(language)} {len(own)}" for language, own in by_language.items() if len(own) < SEEDS]
    words = f"Seeds, of {SEEDS}, whose parts have texts of two authors: {', '.join(short)}."
    return (f"{words} {heading(OVERALL)}: those of all languages.",) if short else ()


def seeds_mean(values: Sequence[float]) -> Estimate | None:
    """Return the mean over seeds with Student's interval."""
    return over_seeds([Estimate(value, np.nan, np.nan, reason="one seed") for value in values], share=True)


def all_results(bench: Bench, texts: AuthorTexts, printed: PrintedTable | None) -> dict[str, dict[str, list[Result]]]:
    """Return classifier → language → results: the n-grams, then the encoders."""
    by_row = {OURS: results(bench, texts)}
    for row, model in encoders_of(bench, printed).items():
        by_row[f"{row}{FINE_TUNED}"] = fine_tuned(bench, texts, model)
    return by_row


def comparison(bench: Bench, number: str, title: str, *, comments: Sequence[bool]) -> Finding:
    """Return ours beside the models of a table of the paper."""
    whole = collection(bench)
    printed = PAPER.tables[number]
    measured = {kept: all_results(bench, whole if kept else whole.bare(), printed) for kept in comments}
    languages = languages_in(chain.from_iterable(map(dict.values, measured.values())))
    ours_heads = [*map(heading, languages), OVERALL] if languages else []
    heads = [*ours_heads, *paper_headings(printed.columns)]
    no_paper, no_ours = [None] * len(printed.columns), [None] * len(ours_heads)
    tables = []
    for measure in MEASURES:
        lines = []
        for row, kept in product(measured[comments[0]], comments):
            ours = estimates(measured[kept][row], measure, languages) if languages else []
            name = row if len(comments) == 1 else f"{row}, {COMMENTS[kept]}"
            lines.append(ValueRow(name, (*ours, *no_paper)))
        for name, path in printed_paths(printed, measure):
            lines.append(ValueRow(name, (*no_ours, *printed_values(printed, *path))))
        tables.append(measure_table(measure, measure, heads=heads, lines=lines))
    return finding(bench, number, title=title, texts=whole, tables=tables, ours=measured[comments[0]][OURS])


def printed_paths(printed: PrintedTable, measure: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield name and keys of each row that the paper prints of a measure; some rows have two below them."""
    for row, values in printed.rows(measure).items():
        if not isinstance(values, dict):
            yield row, (measure, row)
            continue
        for key in values:
            yield f"{row}, {key}", (measure, row, key)


def measure_table(measure: str, title: str, heads: Sequence[str], lines: Sequence[ValueRow]) -> ValueTable:
    """Return the table of one measure."""
    name = measure.lower().replace(" ", "-")
    return value_table(name, title, head="model", columns=heads, rows=lines, unit="percent")


def finding(
    bench: Bench,
    number: str,
    title: str,
    *,
    texts: AuthorTexts,
    tables: Sequence[ValueTable],
    ours: Mapping[str, Sequence[Result]],
) -> Finding:
    """Return the tables of one table of the paper, and how ours differ from it; `ours` are of the linear model."""
    return Finding(
        name=f"deco/{number}",
        title=f"{title} ({PAPER.title}, {PAPER.tables[number].source})",
        tables=tuple(tables),
        notes=(*texts.notes, *attribution_notes(texts), *lacking_note(ours)),
        seeds=bench.seeds,
    )


def attribution_notes(texts: AuthorTexts) -> tuple[str, ...]:
    """Return how ours differs from the paper."""
    return (
        f"{len(texts.authors)} authors: the accuracy of guessing is about {1 / max(1, len(texts.authors)):.0%}.",
        f"Split 8:1:1 by task, {SEEDS} seeds; brackets: Student's intervals over seeds.",
        (
            "The paper fine-tunes encoders: at the scale `paper` these, else those of `--model` with `--data`; all "
            "seeds of an encoder share one split. The linear model on character n-grams is ours."
        ),
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
    by_row = all_results(bench, whole, printed)
    languages = languages_in(by_row.values())
    heads = [*map(heading, languages), *paper_headings(printed.columns)]
    no_paper, no_ours = [None] * len(printed.columns), [None] * len(languages)
    tables = []
    for measure in MEASURES:
        lines = []
        for row, by_language in by_row.items():
            ours = list(map(deviation, columns_of(by_language, measure, languages)))
            lines.append(ValueRow(row, (*ours, *no_paper)))
        lines += [ValueRow(row, (*no_ours, *printed_values(printed, measure, row))) for row in printed.rows(measure)]
        tables.append(measure_table(measure, f"{measure}, deviation over seeds", heads=heads, lines=lines))
    return finding(bench, "table-6", title="Spread of attribution", texts=whole, tables=tables, ours=by_row[OURS])


def deviation(values: Sequence[float]) -> float | None:
    """Return the standard deviation over seeds; None of one seed."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def deco_table_9(bench: Bench) -> Finding:
    """Attribution with comments and without, beside the two detectors of prose."""
    return comparison(bench, "table-9", "Attribution without comments", comments=[True, False])


def confusion(bench: Bench, number: int, *, comments: bool) -> Finding:
    """Return the confusion matrix over all languages, the mean over seeds and languages, of each classifier."""
    whole = collection(bench)
    tables, maps = [], []
    for at, (row, by_language) in enumerate(all_results(bench, whole if comments else whole.bare(), None).items()):
        matrices = attributes(chain.from_iterable(by_language.values()), "confusion")
        mean = np.mean(matrices, axis=0) if matrices else np.full((len(whole.authors),) * 2, np.nan)
        # None where an author has no text in any test part
        rows = map(ValueRow, whole.authors, map(without_nan, mean))
        title = f"Share of answers, by true author: {row}"
        tables.append(
            value_table(
                f"confusion-{at}" if at else "confusion",
                title,
                head="author",
                columns=whole.authors,
                rows=rows,
                unit="percent",
            )
        )
        pairs = dict(zip(product(whole.authors, whole.authors), mean.ravel().tolist(), strict=True))
        maps.append(HeatMap(f"confusion-{at}", title, pairs, middle=0.0))
    words = "with" if comments else "without"
    return Finding(
        name=f"deco/figure-{number}",
        title=f"Confusion of authors {words} comments ({PAPER.title}, Figure {number})",
        tables=tuple(tables),
        notes=("The paper's figure is a picture without numbers.", *whole.notes, *attribution_notes(whole)),
        seeds=bench.seeds,
        heat_maps=tuple(maps),
    )


def without_nan(values: Float64Array) -> tuple[float | None, ...]:
    """Return values with None in place of NaN."""
    return tuple(None if math.isnan(value) else value for value in values.tolist())


def deco_figure_20(bench: Bench) -> Finding:
    """Confusion matrix of attribution."""
    return confusion(bench, 20, comments=True)


def deco_figure_23(bench: Bench) -> Finding:
    """Confusion matrix of attribution without comments."""
    return confusion(bench, 23, comments=False)


TRAINED = (*OF_TEXTS, "epochs", "rates", "batches", "seeds")
EXPERIMENTS = (
    Reproduction("deco", "table-3", deco_table_3, takes=ANY, models=1, seeds=1, keys=TRAINED),
    Reproduction("deco", "table-5", deco_table_5, takes=ANY, models=1, seeds=1, keys=TRAINED),
    Reproduction("deco", "table-6", deco_table_6, takes=ANY, models=1, seeds=1, keys=TRAINED),
    Reproduction("deco", "table-9", deco_table_9, takes=ANY, models=1, seeds=1, keys=TRAINED),
    Reproduction("deco", "figure-20", deco_figure_20, takes=ANY, models=1, seeds=1, keys=TRAINED),
    Reproduction("deco", "figure-23", deco_figure_23, takes=ANY, models=1, seeds=1, keys=TRAINED),
)
