"""Section III-B of HybridSourceTracker: an encoder trained with its settings, beside the same untrained."""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from assay.corpora import Document
from assay.files import write_json
from assay.models import builtin_folder
from assay_lab.experiments.bench import PAPER_SCALE, RUNS, Bench, label_of
from assay_lab.experiments.finding import Finding, ValueRow
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.scales import sizes_of
from assay_lab.papers.hst.corpus import corpus_functions, installed_functions
from assay_lab.papers.hst.retrieval import CORPUS
from assay_lab.papers.hst.source_tracker import TrackerMachine, TrackerRecipe, long_enough, train_tracker
from assay_lab.papers.hst.trial import SIZES
from assay_lab.papers.printed import value_table


def source_tracker(bench: Bench) -> Finding:
    """A SourceTracker by the paper's recipe: fragments of held-out functions, before and after the training.

    The paper begins with the first 9 layers of ModularStarEncoder; any encoder of transformers stands here.
    """
    size = sizes_of(bench, "hst", SIZES)
    seed = bench.seeds[0]
    default = paper("hst").roles["unixcoder"] if bench.scale == PAPER_SCALE else str(builtin_folder("small"))
    recipe = TrackerRecipe(
        model=next(iter(bench.models), default),
        layers=size.layers,
        batch=size.batch,
        steps=size.steps,
        warm_up=size.warm_up,
        seed=seed,
    )
    folder = bench.out / RUNS / f"source-tracker-{Path(bench.scale).stem}-seed-{seed}"
    bench.watchers.begin(f"run {folder.name}")
    snippets = long_enough(functions_of(bench.data.get(CORPUS), size.read), recipe.tokens)
    done = train_tracker(folder, snippets, recipe, machine=TrackerMachine())
    write_json(folder / "outcome.json", asdict(done))
    rows = [ValueRow("trained", (done.mrr,)), ValueRow("untrained", (done.untrained_mrr,))]
    table = value_table(
        "held-out",
        f"Mean reciprocal rank among {done.held_out:,} held-out functions, fragments of {recipe.tokens} tokens",
        head="encoder",
        columns=("MRR",),
        rows=rows,
    )
    shown = asdict(recipe) | {"model": label_of(recipe.model)}
    settings = ", ".join(f"{name} {value}" for name, value in shown.items())
    return Finding(
        name="hst/source-tracker",
        title="SourceTracker trained (HybridSourceTracker, Section III-B)",
        tables=(table,),
        notes=(
            f"{done.steps:,} steps on {done.trained:,} functions; half of the fragments after Algorithm 1.",
            f"Settings: {settings}.",
            f"`assay index build --encoder` takes the encoder, {'/'.join(Path(done.folder).parts[-3:])} in --out.",
        ),
        seeds=(seed,),
    )


def functions_of(corpus: Path | None, most: int | None) -> Iterable[Document]:
    """Return functions of the user's corpus, else installed ones, at most so many."""
    return islice(installed_functions() if corpus is None else corpus_functions(corpus), most)


EXPERIMENTS = (
    Reproduction("hst", "source-tracker", source_tracker, takes=(CORPUS,), models=1, models_with_data=1, seeds=1),
)
