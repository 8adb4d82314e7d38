"""Training of `builtin:fragments`: the vector of a fragment moves towards that of its function.

Every draw depends on the recipe's seed and the number of the step alone, so a run that is killed and started again ends
with the weights of an unbroken one, up to the rounding of the machine.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from assay.errors import DataError
from assay.retrieval.encoding import BagEncoder, Features, parameter_indices, sign_rows
from assay.training import (
    STATE,
    Batches,
    Processes,
    Schedule,
    Training,
    TrainingFolder,
    TrainingProgress,
    read_state,
    restore_parameters,
    train,
    trapezoid,
)
from assay.types import Encoder
from assay_lab.builtin.contrastive import Pairs, accumulate_gradient, clip_loss
from assay_lab.builtin.encoder_corpus import (
    MANIFEST,
    EncoderCorpus,
    EncoderCorpusRecipe,
    all_features,
    prepare_encoder_corpus,
    read_encoder_corpus,
)
from assay_lab.builtin.fragment_pairs import FragmentRecipe, draw_fragment
from assay_lab.builtin.shipped_files import manifest_digest
from assay_lab.columns import text_column
from assay_lab.training.processes import training_device
from assay_lab.training.recipes import RECIPE, keep_recipe, require_recipe

CORPUS = "corpus"
COMMAND = "assay lab builtin train-encoder"
HIGHEST_SCALE = 100.0
VALIDATION_EVERY = 50  # steps
VALIDATION_FRAGMENTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderRecipe:
    """All choices that determine the weights, up to the rounding of the machine.

    Attributes:
        corpus: of the training texts.
        fragments: how fragments are drawn and rewritten.
        dimensions: of a vector.
        row_bits: there are 2^row_bits learned rows.
        well_known: number of functions with a feature at which half of its learned row counts at the start.
        batch: pairs of fragment and function in one step, each the others' negatives.
        steps: of the whole run.
        row_rate, weight_rate, scale_rate: Adam's learning rates of rows, weights and logarithm of the scale.
        first_scale: inverse temperature at the beginning; never above 100.
        warm_up: steps in which the rates rise from 0.
        decay: share of the steps, at the end, in which they fall linearly to 0.
        seed: of initial rows and of every draw.
    """

    corpus: EncoderCorpusRecipe = field(default_factory=EncoderCorpusRecipe)
    fragments: FragmentRecipe = field(default_factory=FragmentRecipe)
    dimensions: int = 384
    row_bits: int = 13
    well_known: float = 500.0
    batch: int = 2048
    steps: int = 360
    row_rate: float = 0.003
    weight_rate: float = 0.005
    scale_rate: float = 0.01
    first_scale: float = 20.0
    warm_up: int = 10
    decay: float = 0.5
    seed: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderMachine:
    """Hardware settings; none of them changes the weights beyond rounding.

    Attributes:
        device: "cpu", "cuda" or "auto" (cuda where there is one).
        pairs_at_once: pairs whose graph is in memory at a time; the gradient is that of the whole batch.
        checkpoint_seconds: least time between two saved states.
        stop_after: stop after this number of steps of this call, with the state saved; None runs to the end.
    """

    device: str = "auto"
    pairs_at_once: int = 2048
    checkpoint_seconds: float = 120.0
    stop_after: int | None = None


class BagModel(nn.Module):
    """The parameters of a `BagEncoder`, and the inverse temperature.

    At first the learned rows are zero: training begins with the random projection, weighted by rarity. The weight of a
    learned row is high where a feature is frequent enough to be learned about.
    """

    signs: torch.Tensor

    def __init__(self, recipe: EncoderRecipe, corpus: EncoderCorpus) -> None:
        super().__init__()
        self.row_bits = recipe.row_bits
        # weights begin as inverse document frequencies, scaled to at most 1
        rarity = np.log((1 + corpus.trained) / (1 + corpus.seen)) / np.log(1 + corpus.trained)
        # a feature that was hardly seen has no learned row worth trusting yet: its random signs count alone
        frequent = corpus.seen / (corpus.seen + recipe.well_known)
        self.register_buffer("signs", torch.from_numpy(sign_rows(recipe.dimensions)), persistent=False)
        self.learned = nn.Parameter(torch.zeros(1 << recipe.row_bits, recipe.dimensions))
        self.weights = nn.Parameter(torch.from_numpy(np.stack([rarity, rarity * frequent]).astype(np.float32)))
        self.log_scale = nn.Parameter(torch.tensor(math.log(recipe.first_scale)))

    @property
    def scale(self) -> torch.Tensor:
        """Inverse temperature."""
        return self.log_scale.exp().clamp(max=HIGHEST_SCALE)

    def forward(self, texts: Features) -> torch.Tensor:
        """Return vectors [texts, d], not yet scaled to length 1."""
        device = self.learned.device
        at = parameter_indices(texts, self.row_bits)
        starts = torch.from_numpy(at.starts[:-1].astype(np.int32)).to(device)
        kinds = torch.from_numpy(at.weights).to(device)
        halves = (
            nn.functional.embedding_bag(
                torch.from_numpy(rows).to(device), table, starts, mode="sum", per_sample_weights=weights[kinds]
            )
            for rows, table, weights in zip((at.signs, at.rows), (self.signs, self.learned), self.weights, strict=True)
        )
        vectors: torch.Tensor = sum(halves, torch.zeros((), device=device))
        return vectors

    def encoder(self) -> BagEncoder:
        """Return the encoder with the weights as they are now."""
        learned, (signs, own) = self.learned.detach().cpu().numpy(), self.weights.detach().cpu().numpy()
        return BagEncoder("in training", "", learned, sign_weights=signs, learned_weights=own)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Features of fragments, and of the functions that they come from."""

    fragments: Features
    documents: Features


def train_encoder(
    out: Path, recipe: EncoderRecipe, machine: EncoderMachine, progress: TrainingProgress | None = None
) -> bool:
    """Train in the folder `out`, or continue the training there; return whether the last step is done.

    `out` then holds the corpus, the last state and the loss curve.

    Args:
        out: folder of the run, created if it is missing.
        recipe: of corpus, encoder and training.
        machine: hardware settings.
        progress: called after each step.

    Raises:
        DataError: `out` holds a run of another recipe or a damaged one, or the machine lacks the device.
        OSError: the state cannot be written; the last one stays.
    """
    device = training_device(machine.device)
    keep_recipe(out / RECIPE, asdict(recipe))
    prepare_encoder_corpus(out / CORPUS, recipe.corpus)
    corpus = read_encoder_corpus(out / CORPUS)
    if corpus.trained < recipe.batch:
        raise DataError(f"{corpus.trained} functions to train on: expected at least one batch of {recipe.batch}")
    model = BagModel(recipe, corpus).to(device)
    batches = batches_of(corpus.trained, recipe)

    def gradient(step: int) -> torch.Tensor:
        parts = _parts(corpus, batches(step), step=step, recipe=recipe, machine=machine)
        return accumulate_gradient(_embedding(model), parts, lambda f, d: clip_loss(f, d, model.scale))

    def after_step(step: int) -> Mapping[str, float]:
        columns = {"pairs": step * recipe.batch, "scale": round(model.scale.item(), 2)}
        if step % VALIDATION_EVERY == 0 or step == recipe.steps:
            columns["validation_mrr"] = round(validation_mrr(model.encoder(), corpus, recipe), 4)
        return columns

    training = Training(
        model=model,
        optimisers=[_optimiser(model, recipe)],
        gradient=gradient,
        steps=recipe.steps,
        schedule=schedule(recipe),
        seed=recipe.seed,
        after_step=after_step,
    )
    folder = TrainingFolder(out, command=COMMAND, inputs=_inputs(out), save_seconds=machine.checkpoint_seconds)
    processes = Processes(device)
    return train(training, processes=processes, folder=folder, stop_after=machine.stop_after, progress=progress)


def batches_of(functions: int, recipe: EncoderRecipe) -> Batches:
    """Return the functions of each step: every epoch in an order of its own, whole batches only."""
    return Batches(functions, recipe.batch, recipe.seed, whole_only=True)


def schedule(recipe: EncoderRecipe) -> Schedule:
    """Return the schedule of all rates: linear warm-up, constant, linear decay to 0."""
    return trapezoid(recipe.steps, warm_up=recipe.warm_up, decay=recipe.decay * recipe.steps)


def validation_mrr(encoder: Encoder, corpus: EncoderCorpus, recipe: EncoderRecipe) -> float:
    """Return the mean reciprocal rank of held-out functions among each other, for fragments drawn as in training."""
    held_out = corpus.snippets[corpus.trained :]
    queries = np.arange(0, len(held_out), max(1, len(held_out) // VALIDATION_FRAGMENTS))
    draw = random.Random(recipe.seed)  # noqa: S311  the same fragments each time
    fragments = [draw_fragment(held_out, int(index), recipe=recipe.fragments, draw=draw) for index in queries]
    similarities = encoder.encode(fragments) @ encoder.encode(text_column(held_out)).T
    # the rank of the right function is 1 + those that are strictly more similar
    above = (similarities > similarities[np.arange(len(queries)), queries][:, None]).sum(axis=1)
    return float(np.mean(1 / (1 + above)))


def load_trained(out: Path, recipe: EncoderRecipe) -> tuple[BagModel, EncoderCorpus, int, float]:
    """Return model and corpus of a run, the step of its last state, and the seconds trained so far.

    Raises:
        DataError: `out` holds no run, one of another recipe, or one without a state that can be read.
    """
    require_recipe(out / RECIPE, asdict(recipe), COMMAND)
    state = read_state(out / STATE, COMMAND, _inputs(out))
    corpus = read_encoder_corpus(out / CORPUS)
    model = BagModel(recipe, corpus)
    restore_parameters(out / STATE, state, dict(model.named_parameters()))
    return model, corpus, int(state["step"]), float(state["seconds"])


def _parts(
    corpus: EncoderCorpus, functions: NDArray[np.int64], step: int, recipe: EncoderRecipe, machine: EncoderMachine
) -> list[Part]:
    draw = random.Random(f"{recipe.seed} {step}")  # noqa: S311  reproducible, not secret
    # `draw_fragment` adds lines of other snippets: these must not be held-out ones
    trained = corpus.snippets[: corpus.trained]
    fragments = [draw_fragment(trained, int(index), recipe=recipe.fragments, draw=draw) for index in functions]
    starts = range(0, len(functions), machine.pairs_at_once)
    return [
        Part(
            all_features(fragments[start : start + machine.pairs_at_once]),
            corpus.features(functions[start : start + machine.pairs_at_once].tolist()),
        )
        for start in starts
    ]


def _embedding(model: BagModel) -> Callable[[Part], Pairs]:
    return lambda part: (model(part.fragments), model(part.documents))


def _optimiser(model: BagModel, recipe: EncoderRecipe) -> torch.optim.Adam:
    rates = (
        (model.learned, recipe.row_rate),
        (model.weights, recipe.weight_rate),
        (model.log_scale, recipe.scale_rate),
    )
    groups: Sequence[dict[str, Any]] = [{"params": [parameter], "lr": rate} for parameter, rate in rates]
    return torch.optim.Adam(groups, betas=(0.9, 0.98))


def _inputs(out: Path) -> str:
    """Return the digest of the functions that the run in a folder is trained on."""
    return manifest_digest(out / CORPUS / MANIFEST)
