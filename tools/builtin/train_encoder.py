"""Training of `builtin:fragments`: fragments are drawn towards the functions that they are from.

Every draw depends on the recipe's seed and the number of the step alone, so a run that is killed and started again ends
with the weights of one that was not, up to the rounding of the machine.
"""

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from assay.errors import DataError
from assay.retrieval.encoding.bag import BagEncoder, places, sign_rows
from assay.retrieval.encoding.features import Features
from assay.training.processes import training_device
from assay.training.resuming import (
    CHECKPOINT,
    LOG,
    RECIPE,
    Progress,
    Record,
    cut_log,
    keep_recipe,
    log_step,
    read_state,
    require_recipe,
    write_state,
)
from assay.types import Encoder
from builtin.contrastive import Pairs, accumulate_gradient, clip_loss
from builtin.encoder_corpus import (
    EncoderCorpus,
    EncoderCorpusRecipe,
    all_features,
    prepare_encoder_corpus,
    read_encoder_corpus,
)
from builtin.fragment_pairs import FragmentRecipe, draw_fragment

CORPUS = "corpus"
COMMAND = "python -m builtin train-encoder"
HIGHEST_SCALE = 100.0
VALIDATION_EVERY = 50  # steps
VALIDATION_FRAGMENTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderRecipe:
    """All choices that decide the weights, up to the rounding of the machine.

    Attributes:
        corpus: what is trained on.
        fragments: how fragments are drawn and rewritten.
        dimensions: of a vector.
        row_bits: there are 2^row_bits learned rows.
        well_known: functions that a feature stands in for half of its learned row to count, at first.
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
    steps: int = 120
    row_rate: float = 0.003
    weight_rate: float = 0.005
    scale_rate: float = 0.01
    first_scale: float = 20.0
    warm_up: int = 10
    decay: float = 0.5
    seed: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderMachine:
    """How to compute; none of it changes what is learnt, beyond rounding.

    Attributes:
        device: "cpu", "cuda" or "auto" (cuda where there is one).
        pairs_at_once: pairs whose graph is in memory at a time; the gradient is that of the whole batch.
        checkpoint_seconds: least time between two checkpoints.
        stop_after: stop after so many steps of this call, as if killed after a checkpoint; None runs to the end.
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
        rarity = np.log((1 + corpus.trained) / (1 + corpus.seen)) / np.log(1 + corpus.trained)
        known = corpus.seen / (corpus.seen + recipe.well_known)
        self.register_buffer("signs", torch.from_numpy(sign_rows(recipe.dimensions)), persistent=False)
        self.learned = nn.Parameter(torch.zeros(1 << recipe.row_bits, recipe.dimensions))
        self.weights = nn.Parameter(torch.from_numpy(np.stack([rarity, rarity * known]).astype(np.float32)))
        self.log_scale = nn.Parameter(torch.tensor(math.log(recipe.first_scale)))

    @property
    def scale(self) -> torch.Tensor:
        """Inverse temperature."""
        return self.log_scale.exp().clamp(max=HIGHEST_SCALE)

    def forward(self, found: Features) -> torch.Tensor:
        """[texts, d], not yet scaled to length 1."""
        device = self.learned.device
        at = places(found, self.row_bits)
        starts = torch.from_numpy(at.starts[:-1].astype(np.int32)).to(device)
        chosen = torch.from_numpy(at.weights).to(device)
        halves = (
            nn.functional.embedding_bag(
                torch.from_numpy(rows).to(device), table, starts, mode="sum", per_sample_weights=weights[chosen]
            )
            for rows, table, weights in zip((at.signs, at.rows), (self.signs, self.learned), self.weights, strict=True)
        )
        vectors: torch.Tensor = sum(halves, torch.zeros((), device=device))
        return vectors

    def encoder(self) -> BagEncoder:
        """As it encodes text."""
        learned, weights = self.learned.detach().cpu().numpy(), self.weights.detach().cpu().numpy()
        return BagEncoder("in training", "", learned, *weights)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Features of some fragments, and of the functions that they are from."""

    fragments: Features
    documents: Features


def train_encoder(out: Path, recipe: EncoderRecipe, machine: EncoderMachine, progress: Progress | None = None) -> bool:
    """Trains, or goes on training, in the folder `out`; returns whether the last step is done.

    `out` then holds the corpus, the last checkpoint and the loss curve.

    Args:
        out: folder of the run, made if it is not there.
        recipe: what is trained on what.
        machine: how it is computed.
        progress: told after each step.

    Raises:
        DataError: `out` holds a run of another recipe or a damaged one, or the machine lacks what it is told to use.
        OSError: `out` cannot be written; the last checkpoint stays.
    """
    device = training_device(machine.device)
    keep_recipe(out / RECIPE, asdict(recipe))
    prepare_encoder_corpus(out / CORPUS, recipe.corpus)
    corpus = read_encoder_corpus(out / CORPUS)
    if corpus.trained < recipe.batch:
        raise DataError(f"{corpus.trained} functions to train on: expected at least one batch of {recipe.batch}")
    model = BagModel(recipe, corpus).to(device)
    optimiser = _optimiser(model, recipe)
    first, seconds_before = _restore(out, model, optimiser)
    cut_log(out / LOG, first)
    order = Order(corpus.trained, recipe)
    last = recipe.steps if machine.stop_after is None else min(recipe.steps, first + machine.stop_after)
    started = saved_at = time.monotonic()
    for step in range(first, last):
        chosen = order.batch(step)
        parts = _parts(corpus, chosen, step, recipe, machine)
        factor = rate_at(step, recipe)
        for group in optimiser.param_groups:
            group["lr"] = group["full_rate"] * factor
        optimiser.zero_grad(set_to_none=True)
        loss = accumulate_gradient(_embedding(model), parts, lambda f, d: clip_loss(f, d, model.scale))
        optimiser.step()
        now = time.monotonic()
        record: Record = {
            "step": step + 1,
            "pairs": (step + 1) * recipe.batch,
            "loss": round(loss.item(), 4),
            "scale": round(model.scale.item(), 2),
            "rate": round(factor, 4),
            "seconds": round(seconds_before + now - started, 1),
        }
        if (step + 1) % VALIDATION_EVERY == 0 or step + 1 == recipe.steps:
            record["validation_mrr"] = round(validation_mrr(model.encoder(), corpus, recipe), 4)
        log_step(out / LOG, record)
        if progress is not None:
            progress(record, recipe.steps)
        if step + 1 == last or now - saved_at > machine.checkpoint_seconds:
            saved_at = now
            weights = {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
            write_state(out / CHECKPOINT, {"step": step + 1, "seconds": record["seconds"], **weights})
    return last == recipe.steps


@dataclass(frozen=True, slots=True)
class Order:
    """Which functions are in which step: every epoch in an order of its own, whole batches only."""

    functions: int
    recipe: EncoderRecipe

    def batch(self, step: int) -> NDArray[np.int64]:
        """Indices of the functions of a step, none twice."""
        epoch, within = divmod(step, self.functions // self.recipe.batch)
        shuffled = np.random.default_rng([self.recipe.seed, epoch]).permutation(self.functions)
        return shuffled[within * self.recipe.batch : (within + 1) * self.recipe.batch]


def rate_at(step: int, recipe: EncoderRecipe) -> float:
    """Learning-rate factor of a step: linear warm-up, constant, linear decay to 0."""
    warm_up = (step + 1) / max(1, recipe.warm_up)
    decay = (recipe.steps - step) / max(1.0, recipe.decay * recipe.steps)
    return min(1.0, warm_up, decay)


def validation_mrr(encoder: Encoder, corpus: EncoderCorpus, recipe: EncoderRecipe) -> float:
    """Mean reciprocal rank of held-out functions among all held-out ones, for fragments drawn as in training."""
    held_out = corpus.snippets[corpus.trained :]
    asked = np.arange(0, len(held_out), max(1, len(held_out) // VALIDATION_FRAGMENTS))
    draw = random.Random(recipe.seed)  # noqa: S311  the same fragments each time
    fragments = [draw_fragment(held_out, int(index), recipe.fragments, draw) for index in asked]
    similarities = encoder.encode(fragments) @ encoder.encode([snippet.text for snippet in held_out]).T
    above = (similarities > similarities[np.arange(len(asked)), asked][:, None]).sum(axis=1)
    return float(np.mean(1 / (1 + above)))


def load_trained(out: Path, recipe: EncoderRecipe) -> tuple[BagModel, EncoderCorpus, int, float]:
    """Model and corpus of a run, the step of its last checkpoint, and the seconds trained so far.

    Raises:
        DataError: `out` holds no run, one of another recipe, or one without a checkpoint that can be read.
    """
    require_recipe(out / RECIPE, asdict(recipe), COMMAND)
    state = read_state(out / CHECKPOINT, COMMAND)
    corpus = read_encoder_corpus(out / CORPUS)
    model = BagModel(recipe, corpus)
    model.load_state_dict(state["model"])
    return model, corpus, int(state["step"]), float(state["seconds"])


def _parts(
    corpus: EncoderCorpus, chosen: NDArray[np.int64], step: int, recipe: EncoderRecipe, machine: EncoderMachine
) -> list[Part]:
    draw = random.Random(f"{recipe.seed} {step}")  # noqa: S311  reproducible, not secret
    # an added line comes from what is trained on too
    trained = corpus.snippets[: corpus.trained]
    fragments = [draw_fragment(trained, int(index), recipe.fragments, draw) for index in chosen]
    starts = range(0, len(chosen), machine.pairs_at_once)
    return [
        Part(
            all_features(fragments[start : start + machine.pairs_at_once]),
            corpus.features(chosen[start : start + machine.pairs_at_once].tolist()),
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
    groups: Sequence[dict[str, Any]] = [{"params": [one], "lr": rate, "full_rate": rate} for one, rate in rates]
    return torch.optim.Adam(groups, betas=(0.9, 0.98))


def _restore(out: Path, model: BagModel, optimiser: torch.optim.Adam) -> tuple[int, float]:
    """Loads the last checkpoint, if there is one; returns its step and the seconds trained until then."""
    if not (out / CHECKPOINT).exists():
        return 0, 0.0
    state = read_state(out / CHECKPOINT, COMMAND)
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    return int(state["step"]), float(state["seconds"])
