"""Figures 19, 21 and 22 of DECo: how alike authors write, and whether vectors of their code fall apart."""

from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np
from sklearn.manifold import TSNE

from assay.retrieval import open_encoder
from assay.types import BooleanArray, Float32Array, Sample
from assay_lab.columns import label_column, own_group_column, text_column
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.finding import Finding, Picture, Value, ValueRow
from assay_lab.experiments.matrix import scatter
from assay_lab.experiments.reproduction import ANY, Reproduction
from assay_lab.mappings import enumerated, map_values
from assay_lab.papers.deco.collections import HUMAN, OF_TEXTS, PAPER, collection, heading
from assay_lab.papers.deco.linguistics import similarities
from assay_lab.papers.deco.tables import roles_at
from assay_lab.papers.printed import value_table

PICTURE = "The paper's figure is a picture without numbers."
TASKS = 100
"""Tasks of a language that the paper compares."""
FEWEST_POINTS = 8
ENCODER = "builtin:fragments"
PERPLEXITY = 30.0


def deco_figure_19(bench: Bench) -> Finding:
    """Similarity of the authors' code, by fingerprints."""
    texts = collection(bench)
    tasks = list(chain.from_iterable(texts.tasks(language)[:TASKS] for language in texts.strata))
    pairs = similarities(tasks)
    lines = []
    for author in texts.authors:
        shared = [pairs.get((min(author, other), max(author, other))) for other in texts.authors]
        lines.append(ValueRow(author, tuple(shared)))
    return Finding(
        name="deco/figure-19",
        title=f"Similarity between authors ({PAPER.title}, Figure 19)",
        tables=(value_table("similarity", "Jaccard similarity", head="author", columns=texts.authors, rows=lines),),
        notes=(
            PICTURE,
            f"Mean over {len(tasks)} tasks of two or more authors; fingerprints of tokens without names, not MOSS.",
            *texts.notes,
        ),
        seeds=bench.seeds,
    )


COLUMNS = (
    "texts",
    "person or generator, vectors",
    "person or generator, t-SNE",
    "person or generator, chance",
    "generator, vectors",
    "generator, t-SNE",
    "generator, chance",
)


def embedded(bench: Bench, number: int, languages: tuple[str, ...]) -> Finding:
    """Return how often the nearest text is by the same kind of author, in vectors and in their picture by t-SNE."""
    texts = collection(bench)
    roles = roles_at(bench)
    encoder = open_encoder(next(iter(bench.models), roles.get("embedder", ENCODER)))
    present = {stratum: str(texts.of(stratum)[0].language) for stratum in texts.strata}
    shown = [stratum for stratum in texts.strata if present[stratum] in languages]
    shown += [heading(language) for language in languages if language not in present.values()]
    lines: list[ValueRow] = []
    pictures: list[Picture] = []
    for language in shown:
        samples = texts.of(language)
        shares: list[Value] = [None] * (len(COLUMNS) - 1)
        if len(samples) >= FEWEST_POINTS:
            vectors = encoder.encode(text_column(samples))
            # t-SNE needs more than three points for each neighbour that it counts with
            perplexity = min(PERPLEXITY, (len(samples) - 1) / 3)
            # t-SNE's own initial positions by PCA are deterministic, random ones are not across versions
            flat = TSNE(perplexity=perplexity, init="pca", random_state=bench.seeds[0]).fit_transform(vectors)
            shares = separations(samples, vectors, flat)
            labels = np.array(list(map(str, label_column(samples))))
            points = {author: flat[labels == author].astype(float) for author in texts.authors if author in labels}
            words = f"{len(samples)} texts of {enumerated(map_values(len, points))}, placed by t-SNE of their vectors."
            drawn = partial(scatter, points, x="t-SNE, first", y="t-SNE, second")
            title = f"{heading(language)}: vectors by author"
            pictures.append(Picture(name=f"vectors-{len(pictures)}", title=title, description=words, draw=drawn))
        lines.append(ValueRow(heading(language), (float(len(samples)), *shares)))
    whole = "Nearest text of another task by the same author"
    return Finding(
        name=f"deco/figure-{number}",
        title=f"Vectors of code by author ({PAPER.title}, Figure {number})",
        tables=(value_table("neighbours", whole, head="language", columns=COLUMNS, rows=lines),),
        notes=(
            PICTURE,
            "Share of texts whose nearest text of another task has the same kind of author. Chance: of a random text.",
            f"Vectors of {label_of(encoder.name)}; the paper has CodeLlama 7B.",
            *texts.notes,
        ),
        seeds=bench.seeds,
        pictures=tuple(pictures),
    )


def separations(samples: Sequence[Sample], vectors: Float32Array, flat: Float32Array) -> list[Value]:
    """Return the shares of `embedded` for people against generators, and among generators."""
    labels = np.array(list(map(str, label_column(samples))))
    tasks = np.array(own_group_column(samples))
    person = labels == HUMAN
    values: list[Value] = []
    for kinds, rows in ((person.astype(str), np.ones(len(samples), bool)), (labels, ~person)):
        if len(set(kinds[rows])) < 2:  # noqa: PLR2004  two kinds
            values += [None] * 3
            continue
        shares = [neighbour_share(points[rows], kinds[rows], tasks[rows]) for points in (vectors, flat)]
        same = kinds[rows][:, None] == kinds[rows][None]
        other = tasks[rows][:, None] != tasks[rows][None]
        values += [*shares, float((same & other).sum() / max(1, other.sum()))]
    return values


def neighbour_share(
    points: Float32Array,
    kinds: np.ndarray[tuple[int], np.dtype[np.str_]],
    tasks: np.ndarray[tuple[int], np.dtype[np.str_]],
) -> float:
    """Return the share of points whose nearest point of another task is of the same kind."""
    # |a - b|² = |a|² + |b|² - 2ab, for all pairs at once
    squares = (points.astype(np.float64) ** 2).sum(1)
    distances = squares[:, None] + squares[None] - 2 * points.astype(np.float64) @ points.T.astype(np.float64)
    # texts of one task are alike whoever wrote them
    same_task: BooleanArray = tasks[:, None] == tasks[None]
    nearest = np.where(same_task, np.inf, distances).argmin(1)
    return float(np.mean(kinds[nearest] == kinds))


def deco_figure_21(bench: Bench) -> Finding:
    """Vectors of C and C++ by author."""
    return embedded(bench, 21, ("c", "cpp"))


def deco_figure_22(bench: Bench) -> Finding:
    """Vectors of Java and Python by author."""
    return embedded(bench, 22, ("java", "python"))


EXPERIMENTS = (
    Reproduction("deco", "figure-19", deco_figure_19, takes=ANY, models=1, models_with_data=0, seeds=1, keys=OF_TEXTS),
    *(
        Reproduction(
            "deco",
            name,
            run,
            takes=ANY,
            models=1,
            models_with_data=1,
            seeds=1,
            keys=(*OF_TEXTS, "roles"),
            checks=(roles_at,),
        )
        for name, run in (("figure-21", deco_figure_21), ("figure-22", deco_figure_22))
    ),
)
