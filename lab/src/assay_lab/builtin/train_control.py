"""Training of `builtin:control`: a small Llama on eight languages, with a schedule that can end at any step.

The schedule is warm-up, constant, decay (WSD). The constant phase has no planned end: it is stopped and continued at
will, on short rows, where attention is cheap. The decay starts from any state of it, on rows of the whole context,
with rates that fall to 0, and leaves the constant state as it is, so that training can go on afterwards.
"""

import json
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from assay.errors import DataError
from assay.files import atomic_path
from assay.training import (
    STATE,
    Batches,
    Processes,
    Schedule,
    Training,
    TrainingFolder,
    TrainingProgress,
    accumulate,
    read_state,
    train,
)
from assay_lab.builtin.base_tokenizer import BOS_ID
from assay_lab.builtin.build_control_command import CORPUS_FOLDER
from assay_lab.builtin.control_prepared import HELD_OUT, STREAM
from assay_lab.builtin.prepared import input_digest
from assay_lab.builtin.small_llama import build_llama, llama_optimisers, summed_loss, trained_llama
from assay_lab.training.packing import TokenIds
from assay_lab.training.processes import training_device
from assay_lab.training.recipes import RECIPE, keep_recipe, require_recipe

CONSTANT = "constant"
DECAY = "decay"
COMMAND = "assay lab builtin train-control"
_FAR = 2**40
"""Steps of a phase without an end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlTraining:
    """All choices that determine the weights, given the corpus and the number of steps.

    Attributes:
        vocabulary_size: of the tokenizer.
        context: tokens that the model sees at most; rows of the decay have this length.
        short_row: predictions in a row of the constant phase.
        hidden_size, layers, heads, intermediate_size: of the Llama; embeddings are tied.
        step_tokens: predictions in one optimiser step.
        muon_rate: learning rate of the hidden matrices.
        adam_rate: learning rate of embedding and norms.
        weight_decay: of the hidden matrices, times the learning rate.
        warm_up: steps in which the rates rise from 0.
        bfloat16: matrix products in bfloat16, weights and optimiser in float32.
        seed: of the initial weights and of the order of the rows.
    """

    vocabulary_size: int = 6144
    context: int = 2048
    short_row: int = 512
    hidden_size: int = 256
    layers: int = 5
    heads: int = 4
    intermediate_size: int = 640
    step_tokens: int = 8192
    muon_rate: float = 0.02
    adam_rate: float = 0.005
    weight_decay: float = 0.01
    warm_up: int = 20
    bfloat16: bool = True
    seed: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlMachine:
    """Hardware settings; none of them changes the weights beyond rounding.

    Attributes:
        device: "cpu", "cuda" or "auto" (cuda where there is one).
        pass_tokens: predictions in one forward pass; None chooses by device.
        compile: use torch.compile.
        checkpoint_seconds: least time between two saved states.
    """

    device: str = "auto"
    pass_tokens: int | None = None
    compile: bool = False
    checkpoint_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Phase:
    """One part of the schedule.

    Attributes:
        folder: of state and log.
        row: predictions in a row.
        steps: step after which it ends.
        schedule: factor of the rates.
        seed: of the order of the rows.
    """

    folder: Path
    row: int
    steps: int
    schedule: Schedule
    seed: int


def train_constant(
    out: Path,
    recipe: ControlTraining,
    machine: ControlMachine,
    *,
    steps: int | None,
    progress: TrainingProgress | None = None,
) -> int:
    """Begin the constant phase in `out`, or continue it; return the last step.

    Args:
        out: folder of the run, with its corpus.
        recipe: of model and training.
        machine: hardware settings.
        steps: of the whole phase; None continues until the process is stopped.
        progress: called after each step.

    Raises:
        DataError: there is no corpus, or `out` holds a run of another recipe or a damaged one.
        OSError: the state cannot be written; the last one stays.
    """
    stream = out / CORPUS_FOLDER / STREAM
    if not stream.exists():
        raise DataError(f"{stream} is missing, expected the corpus of `assay lab builtin build-control-corpus`")
    keep_recipe(out / RECIPE, asdict(recipe))
    folder = out / CONSTANT
    folder.mkdir(exist_ok=True)
    phase = Phase(folder, row=recipe.short_row, steps=steps or _FAR, schedule=warm_up(recipe.warm_up), seed=recipe.seed)
    _train_phase(out, recipe, machine=machine, phase=phase, progress=progress)
    return last_step(out, folder)


def train_decay(
    out: Path, recipe: ControlTraining, machine: ControlMachine, *, steps: int, progress: TrainingProgress | None = None
) -> Path:
    """Let the rates fall to 0 from the last state of the constant phase, or continue such a decay; return its folder.

    Args:
        out: folder of the run.
        recipe: of model and training.
        machine: hardware settings.
        steps: of the decay.
        progress: called after each step.

    Raises:
        DataError: the constant phase has no state, or `out` holds a run of another recipe or a damaged one.
        OSError: the state cannot be written; the last one stays.
    """
    require_recipe(out / RECIPE, asdict(recipe), COMMAND)
    first = last_step(out, out / CONSTANT)
    folder = out / f"{DECAY}-{first}-{steps}"
    folder.mkdir(exist_ok=True)
    if not (folder / STATE).exists():
        # a copy, so that the constant phase can go on from its own state
        with atomic_path(folder / STATE) as unfinished:
            shutil.copyfile(out / CONSTANT / STATE, unfinished)
    # another seed: the decay must not read the rows in the order in which the constant phase read them
    phase = Phase(folder, row=recipe.context, steps=first + steps, schedule=falling(first, steps), seed=recipe.seed + 1)
    _train_phase(out, recipe, machine=machine, phase=phase, progress=progress)
    return folder


def warm_up(steps: int) -> Schedule:
    """Return a schedule that rises linearly from 0 and then stays at 1."""
    return lambda step: min(1.0, (step + 1) / max(1, steps))


def falling(first: int, steps: int) -> Schedule:
    """Return a schedule that falls linearly from 1 before step `first` to 0 after the last of `steps` steps."""
    return lambda step: min(1.0, (first + steps - step) / (steps + 1))


def build_model(recipe: ControlTraining) -> LlamaForCausalLM:
    """Return the untrained model; its weights depend on the recipe's seed alone."""
    return build_llama(recipe, vocabulary_size=recipe.vocabulary_size, context=recipe.context)


def load_phase(out: Path, folder: Path, recipe: ControlTraining) -> tuple[LlamaForCausalLM, int, float]:
    """Return the model of the last state of a phase, its step, and the seconds trained so far.

    Raises:
        DataError: `out` holds no run, one of another recipe, or the phase has no state that can be read.
    """
    require_recipe(out / RECIPE, asdict(recipe), COMMAND)
    state = read_state(folder / STATE, COMMAND, _inputs(out))
    return trained_llama(build_model(recipe).eval(), folder / STATE, state)


def last_step(out: Path, folder: Path) -> int:
    """Return the step of the last state of a phase.

    Raises:
        DataError: it has none that can be read.
    """
    return int(read_state(folder / STATE, COMMAND, _inputs(out))["step"])


def rows_of(stream: TokenIds, row: int) -> TokenIds:
    """Cut the stream into rows of `row` predictions, uint16 [R, row + 1]; the rest of the stream is left out.

    Neighbouring rows share a token, so that each token but the first is predicted once.
    """
    count = (len(stream) - 1) // row
    starts = np.arange(count)[:, None] * row
    rows: TokenIds = stream[starts + np.arange(row + 1)]
    return rows


def bits_per_byte(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, texts: Sequence[str], *, context: int
) -> float:
    """Return the mean bits that the model needs for a byte of the texts, each cut into pieces of `context` tokens.

    Every piece starts after `<bos>`, so models of different contexts differ in how much they see before a token.
    """
    nats, size = 0.0, 0
    with torch.no_grad():
        for text in texts:
            ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            size += len(text.encode())
            for start in range(0, len(ids), context - 1):
                piece = torch.tensor([[BOS_ID, *ids[start : start + context - 1]]])
                nats += float(summed_loss(model, piece))
    return nats / math.log(2) / size


def held_out_texts(out: Path, *, characters: int) -> dict[str, list[str]]:
    """Return held-out texts by language, up to a number of characters each."""
    texts: dict[str, list[str]] = {}
    for file in json.loads((out / CORPUS_FOLDER / HELD_OUT).read_text("utf-8")):
        of_language = texts.setdefault(file["language"], [])
        if sum(map(len, of_language)) + len(file["text"]) <= characters:
            of_language.append(file["text"])
    return dict(sorted(texts.items()))


def _train_phase(
    out: Path, recipe: ControlTraining, *, machine: ControlMachine, phase: Phase, progress: TrainingProgress | None
) -> None:
    processes = Processes(training_device(machine.device))
    model = build_model(recipe)
    model.to(processes.device)  # type: ignore[arg-type]  # transformers wraps Module.to so that mypy misses its self
    stream = np.load(out / CORPUS_FOLDER / STREAM, mmap_mode="r")
    training = Training(
        model=model,
        optimisers=llama_optimisers(model, recipe),
        gradient=_gradient(model, rows_of(stream, phase.row), recipe=recipe, machine=machine, phase=phase),
        steps=phase.steps,
        schedule=phase.schedule,
        seed=recipe.seed,
        after_step=lambda step: {"tokens": float(step * recipe.step_tokens)},
    )
    folder = TrainingFolder(phase.folder, command=COMMAND, inputs=_inputs(out), save_seconds=machine.checkpoint_seconds)
    train(training, processes=processes, folder=folder, progress=progress)


def _gradient(
    model: LlamaForCausalLM, rows: TokenIds, *, recipe: ControlTraining, machine: ControlMachine, phase: Phase
) -> Callable[[int], torch.Tensor]:
    """Return the function that adds the gradient of a step, a few rows at a time."""
    device = model.device
    batches = Batches(len(rows), recipe.step_tokens // phase.row, phase.seed, whole_only=True)
    tokens = machine.pass_tokens or (65_536 if device.type == "cuda" else 2048)
    summed = torch.compile(summed_loss) if machine.compile else summed_loss

    def loss(part: torch.Tensor) -> torch.Tensor:
        with torch.autocast(device.type, torch.bfloat16, enabled=recipe.bfloat16):
            return summed(model, part) / recipe.step_tokens

    def gradient(step: int) -> torch.Tensor:
        batch = torch.from_numpy(rows[batches(step)].astype(np.int64)).to(device)
        return accumulate(loss, batch.split(max(1, tokens // phase.row)), device)

    return gradient


def _inputs(out: Path) -> str:
    """Return the digest of the stream that the run is trained on.

    Raises:
        DataError: it is missing.
    """
    return input_digest(out / CORPUS_FOLDER / STREAM, "of `assay lab builtin build-control-corpus`")
