"""A SourceTracker that is trained here, beside the encoder that it began with and `builtin:fragments`.

The training snippets are functions of installed packages, none of them a near-duplicate of a function that is searched.
Searched are functions of Python's standard library, by vector alone; fragments are cut and altered as in
`hst/retrieval`. A row has the mean reciprocal rank of an encoder with a 95 % interval over modules, and the paired
differences of the trained encoder to the others. All that the weights depend on stands in `FULL_RECIPE`; it was
written down before the run.
"""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, product

import numpy as np

from assay.corpora import Document
from assay.evaluation import ShingleIndex, shingles
from assay.models import builtin_folder
from assay.retrieval import for_queries, open_encoder
from assay.types import Encoder, Int64Array
from assay_lab.columns import attributes, text_column
from assay_lab.evaluation.retrieval import reciprocal_rank_gain, retrieval_quality
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result
from assay_lab.papers.hst.corpus import SearchSpace, installed_functions, is_unseen, search_space
from assay_lab.papers.hst.queries import WINDOWS, Alteration, Query, queries
from assay_lab.papers.hst.source_tracker import TrackerMachine, TrackerRecipe, long_enough, train_tracker

TRAINED, UNTRAINED, OURS = "trained", "untrained", "builtin:fragments"
KINDS: tuple[Alteration, ...] = ("type 1", "type 2")
NEAR = 0.5
"""Share of shingles from which a training snippet is too near to a searched function."""
SEED = 0
PAIRS_AT_ONCE = 32
"""Pairs of which the graph is in memory at a time; the gradient is that of the whole batch."""


@dataclass(frozen=True, slots=True)
class TrackerTrial:
    """How much is trained and searched.

    Attributes:
        recipe: of the training; its model is the one that is given.
        read: installed functions that are read, by path, the standard library first.
        snippets: to train on, drawn from the packages.
        searched: functions of the standard library.
        targets: of them that are searched for.
        most: fragments of one length and kind.
        windows: tokens of a fragment.
    """

    recipe: TrackerRecipe
    read: int
    snippets: int
    searched: int
    targets: int
    most: int
    windows: tuple[int, ...] = WINDOWS


# The rate of the paper is for a batch of 2,048; it falls with the square root of the batch. The steps are those of some
# 70 minutes of one core.
FULL_RECIPE = TrackerRecipe(
    model="", layers=None, batch=128, steps=96, warm_up=5, rate=6e-4 * (128 / 2048) ** 0.5, max_length=128
)
SMOKE_RECIPE = replace(FULL_RECIPE, layers=1, dimensions=32, batch=8, steps=2, warm_up=1)


def run(scale: TrackerTrial, seed: int, data: Data) -> Result:
    """A SourceTracker after a short training beside the encoder untrained, and `builtin:fragments`."""
    model = str(data.get("model", builtin_folder("small")))
    recipe = replace(scale.recipe, model=model)
    documents = list(islice(installed_functions(), scale.read))
    library = list(filter(is_unseen, documents))
    # a small scale reads no package: it trains on what is left of the library
    packages = list(filter(lambda document: not is_unseen(document), documents))
    space = search_space(library, smallest=scale.searched, targets=scale.targets, long=max(scale.windows), seed=SEED)
    searched = space.documents[: scale.searched]
    pool = apart(packages or space.documents[scale.searched :], searched)
    snippets = long_enough(pool, recipe.tokens)
    chosen = random.Random(SEED).sample(snippets, min(scale.snippets, len(snippets)))  # noqa: S311  no secret
    began = time.process_time()
    machine = TrackerMachine(device="cpu", pairs_at_once=PAIRS_AT_ONCE)
    tracker = train_tracker(data[WORK] / "run", chosen, recipe, machine=machine)
    seconds = time.process_time() - began
    encoders = {TRAINED: tracker.folder, UNTRAINED: model, OURS: OURS}
    about = {"searched": len(searched), "snippets": tracker.trained, "steps": tracker.steps}
    fragments = {
        (window, kind): queries(space, window, kind, most=scale.most, seed=SEED)
        for window, kind in product(scale.windows, KINDS)
    }
    ranks = {
        name: ranks_of(open_encoder(place), searched, space=space, fragments=fragments)
        for name, place in encoders.items()
    }
    rows: list[dict[str, object]] = [{"training_seconds": seconds, "recipe": asdict(replace(recipe, model=""))}]
    for cell, searches in fragments.items():
        groups = attributes(searches, "group")
        own = {name: of_encoder[cell] for name, of_encoder in ranks.items()}
        gains = reciprocal_rank_gain(own[TRAINED], {name: own[name] for name in (UNTRAINED, OURS)}, groups, seed=SEED)
        for name, found in own.items():
            quality = retrieval_quality(found, groups, seed=SEED)
            row = about | {"encoder": name, "tokens": cell[0], "kind": cell[1], "n": len(searches)}
            row |= {measure: asdict(quality[measure]) for measure in ("mrr", "recall@1", "recall@10", "recall@100")}
            if name in gains:
                row["trained_over_it"] = asdict(gains[name])
            rows.append(row)
    return Result(rows)


def apart(documents: Sequence[Document], searched: Sequence[Document]) -> list[Document]:
    """Return the documents that are near to none of the searched ones."""
    index = ShingleIndex(text_column(searched))
    codes: dict[str, int] = {}
    kept = []
    for document in documents:
        own = shingles(document.text, codes)
        # containment in the smaller text: a copied part of a long function counts
        smaller = np.maximum(np.minimum(index.sizes, len(own)), 1)
        if not (index.shared(own) >= NEAR * smaller).any():
            kept.append(document)
    return kept


def ranks_of(
    encoder: Encoder,
    searched: Sequence[Document],
    space: SearchSpace,
    fragments: Mapping[tuple[int, Alteration], Sequence[Query]],
) -> dict[tuple[int, Alteration], Int64Array]:
    """Return the rank of the first right function by vector for each fragment, int64 [q], by length and kind."""
    vectors = encoder.encode(text_column(searched))
    ranks = {}
    for cell, searches in fragments.items():
        similarities = for_queries(encoder).encode(text_column(searches)) @ vectors.T
        best = np.empty(len(searches))
        for at, query in enumerate(searches):
            right = [place for place in space.right[query.target] if place < len(searched)]
            best[at] = similarities[at, right].max()
        # equal similarities count in favour of the fragment
        ranks[cell] = 1 + (similarities > best[:, None]).sum(axis=1)
    return ranks


EXPERIMENTS = (
    Experiment(
        name="provenance/source_tracker",
        run=run,
        scales={
            "smoke": TrackerTrial(
                SMOKE_RECIPE, read=1_200, snippets=100, searched=200, targets=30, most=10, windows=(15, 60)
            ),
            "full": TrackerTrial(FULL_RECIPE, read=40_000, snippets=5_000, searched=1_000, targets=300, most=100),
        },
        columns=("encoder", "tokens", "kind", "n", "mrr", "recall@10", "trained_over_it"),
        needs={"model": "a folder with the weights of an encoder of transformers, as all-MiniLM-L6-v2"},
        smoke_does_without=True,
        stored="provenance/source_tracker",
    ),
)
