"""Training of `builtin:small`: a small Llama from scratch, on one device or on several processes of a CPU.

Rows, doses and schedule are fixed before the first step, so a run that is killed and started again ends with the
weights of an unbroken one.
"""

import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch.multiprocessing.spawn import ProcessException, spawn
from transformers import LlamaForCausalLM

from assay.errors import DataError
from assay.training import (
    STATE,
    Processes,
    Schedule,
    Training,
    TrainingFolder,
    TrainingProgress,
    accumulate,
    read_state,
    train,
    trapezoid,
)
from assay_lab.builtin import prepared
from assay_lab.builtin.base_corpus import CorpusRecipe
from assay_lab.builtin.base_tokenizer import PAD_ID
from assay_lab.builtin.small_llama import build_llama, llama_optimisers, summed_loss, trained_llama
from assay_lab.training.packing import TokenIds
from assay_lab.training.processes import JoinedProcesses, training_device
from assay_lab.training.recipes import RECIPE, keep_recipe, require_recipe

CORPUS = "corpus"
COMMAND = "assay lab builtin train-base"
FAULT = "fault"
_VALIDATION_ROWS = 64
_VALIDATION_EVERY = 200  # steps

SummedLoss = Callable[[LlamaForCausalLM, torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecipe:
    """All choices that determine the weights, up to the rounding of the machine.

    Attributes:
        corpus: of the training texts.
        hidden_size, layers, heads, intermediate_size: of the Llama; embeddings are tied.
        batch_rows: rows of `context` predictions in one step.
        muon_rate: learning rate of the hidden matrices.
        adam_rate: learning rate of embedding and norms.
        weight_decay: of the hidden matrices, times the learning rate.
        warm_up: share of the steps in which the rate rises from 0.
        decay: share of the steps, at the end, in which the rate falls linearly to 0.
        seed: of the initial weights.
    """

    corpus: CorpusRecipe = field(default_factory=CorpusRecipe)
    hidden_size: int = 192
    layers: int = 4
    heads: int = 3
    intermediate_size: int = 512
    batch_rows: int = 16
    muon_rate: float = 0.02
    adam_rate: float = 0.005
    weight_decay: float = 0.01
    warm_up: float = 0.02
    decay: float = 0.5
    seed: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Hardware settings; none of them changes the weights beyond rounding.

    Attributes:
        device: "cpu", "cuda" or "auto" (cuda where there is one).
        processes: data-parallel processes, one thread each, on a CPU; `batch_rows` is a multiple of it.
        micro_rows: rows in one forward pass; None chooses by device.
        compile: use torch.compile (on a CPU it needs a C++ compiler).
        checkpoint_seconds: least time between two saved states.
        stop_after: stop after this number of steps of this call, with the state saved; None runs to the end.
    """

    device: str = "auto"
    processes: int = 1
    micro_rows: int | None = None
    compile: bool = False
    checkpoint_seconds: float = 120.0
    stop_after: int | None = None


def train_base(out: Path, recipe: TrainingRecipe, machine: Machine, progress: TrainingProgress | None = None) -> bool:
    """Train in the folder `out`, or continue the training there; return whether the last step is done.

    `out` then holds the corpus as rows, the last state and the loss curve.

    Args:
        out: folder of the run, created if it is missing.
        recipe: of corpus, model and training.
        machine: hardware settings.
        progress: called after each step; a function of a module, because it is pickled for other processes.

    Raises:
        DataError: `out` holds a run of another recipe or a damaged one, the batch cannot be shared among the processes,
            or the machine lacks a device or compiler.
        OSError: the state cannot be written; the last one stays.
    """
    _check_machine(machine)
    if recipe.batch_rows % machine.processes:
        raise DataError(f"{machine.processes} processes cannot share {recipe.batch_rows} rows evenly: give a divisor")
    keep_recipe(out / RECIPE, asdict(recipe))
    prepared.prepare_corpus(out / CORPUS, recipe.corpus)
    if machine.processes == 1:
        _worker(0, _Run(out=out, recipe=recipe, machine=machine, meeting="", progress=progress))
    else:
        with tempfile.TemporaryDirectory() as meeting:
            address = f"file://{meeting}/store"
            run = _Run(out=out, recipe=recipe, machine=machine, meeting=address, progress=progress)
            try:
                spawn(_worker, (run,), nprocs=machine.processes)
            except ProcessException as error:
                fault = Path(meeting, FAULT)
                # spawn reports the first process that ended, which may only have lost its connection to the failed
                # process; the failed process has written the cause to this file
                if fault.exists():
                    raise OSError(fault.read_text("utf-8")) from error
                raise
    return int(read_state(out / STATE, COMMAND, _inputs(out))["step"]) == step_count(out, recipe)


def build_model(recipe: TrainingRecipe) -> LlamaForCausalLM:
    """Return the untrained model; its weights depend on the recipe's seed alone."""
    return build_llama(recipe, vocabulary_size=recipe.corpus.vocabulary_size, context=recipe.corpus.context)


def step_count(out: Path, recipe: TrainingRecipe) -> int:
    """Return the steps of the whole run: every row once."""
    rows = np.load(out / CORPUS / prepared.ROWS, mmap_mode="r")
    return math.ceil(len(rows) / recipe.batch_rows)


def row_order(count: int, recipe: TrainingRecipe) -> NDArray[np.int64]:
    """Return the shuffled order of the rows: neighbouring rows are pieces of one file."""
    return np.random.default_rng(recipe.seed).permutation(count)


def schedule(steps: int, recipe: TrainingRecipe) -> Schedule:
    """Return the schedule of both rates: linear warm-up, constant, linear decay to 0 (WSD)."""
    return trapezoid(steps, warm_up=recipe.warm_up * steps, decay=recipe.decay * steps)


def load_trained(out: Path, recipe: TrainingRecipe) -> tuple[LlamaForCausalLM, int, float]:
    """Return the model of the last state, its step, and the seconds trained so far.

    Raises:
        DataError: `out` holds no run, one of another recipe, or one without a state that can be read.
    """
    require_recipe(out / RECIPE, asdict(recipe), COMMAND)
    state = read_state(out / STATE, COMMAND, _inputs(out))
    return trained_llama(build_model(recipe), out / STATE, state)


def mean_loss(model: LlamaForCausalLM, rows: TokenIds, *, device: torch.device) -> float:
    """Return the mean negative log-likelihood of the rows' predictions, in nats, padding left out."""
    total, count = 0.0, 0
    with torch.no_grad():
        for start in range(0, len(rows), 8):
            batch = torch.from_numpy(rows[start : start + 8].astype(np.int64)).to(device)
            total += float(_summed_loss(model, batch))
            count += int((batch[:, 1:] != PAD_ID).sum())
    return total / count


@dataclass(frozen=True, slots=True)
class _Run:
    """Arguments of each process; `meeting` is the address at which they connect."""

    out: Path
    recipe: TrainingRecipe
    machine: Machine
    meeting: str
    progress: TrainingProgress | None


def _worker(rank: int, run: _Run) -> None:
    processes = run.machine.processes
    if processes > 1:
        # the processes share the cores already
        torch.set_num_threads(1)
        dist.init_process_group("gloo", init_method=run.meeting, rank=rank, world_size=processes)
    try:
        _train(run)
    except OSError as error:
        if processes > 1:
            Path(run.meeting.removeprefix("file://")).with_name(FAULT).write_text(str(error), "utf-8")
        raise
    finally:
        if processes > 1:
            dist.destroy_process_group()


def _train(run: _Run) -> None:
    out, recipe, machine = run.out, run.recipe, run.machine
    processes = JoinedProcesses(_device(machine).type)
    steps = step_count(out, recipe)
    model = build_model(recipe)
    model.to(processes.device)  # type: ignore[arg-type]  # transformers wraps Module.to so that mypy misses its self
    rows = np.load(out / CORPUS / prepared.ROWS, mmap_mode="r")
    training = Training(
        model=model,
        optimisers=llama_optimisers(model, recipe),
        gradient=_gradient(model, rows, run=run, processes=processes),
        steps=steps,
        schedule=schedule(steps, recipe),
        seed=recipe.seed,
        after_step=lambda step: _columns(out, recipe, model=model, step=step, rows=len(rows)),
    )
    folder = TrainingFolder(out, command=COMMAND, inputs=_inputs(out), save_seconds=machine.checkpoint_seconds)
    train(training, processes=processes, folder=folder, stop_after=machine.stop_after, progress=run.progress)


def _gradient(
    model: LlamaForCausalLM, rows: TokenIds, *, run: _Run, processes: Processes
) -> Callable[[int], torch.Tensor]:
    """Return the function that adds this process's share of a step's gradient, a few rows at a time."""
    recipe, device = run.recipe, processes.device
    order = row_order(len(rows), recipe)
    summed: SummedLoss = torch.compile(_summed_loss) if run.machine.compile else _summed_loss
    micro = run.machine.micro_rows or (64 if device.type == "cuda" else 2)

    def gradient(step: int) -> torch.Tensor:
        batch = order[step * recipe.batch_rows : (step + 1) * recipe.batch_rows]
        share = torch.from_numpy(rows[batch[processes.rank :: processes.count]].astype(np.int64)).to(device)
        # over the whole step, so that the gradients of passes and processes add up to the mean of the step
        scale = 1 / (len(batch) * recipe.corpus.context)

        def loss(part: torch.Tensor) -> torch.Tensor:
            # on a CPU half precision is slower than float32
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                return summed(model, part) * scale

        return accumulate(loss, share.split(micro) if len(share) else (), device)

    return gradient


def _summed_loss(model: LlamaForCausalLM, rows: torch.Tensor) -> torch.Tensor:
    """Return the summed negative log-likelihood of the rows' predictions, in nats, padding left out."""
    return summed_loss(model, rows, PAD_ID)


def _check_machine(machine: Machine) -> None:
    device = _device(machine)
    if machine.device == "cuda" and machine.processes > 1:
        raise DataError(f"{machine.processes} processes are for a CPU; expected one process on a GPU")
    compiler = os.environ.get("CXX", "g++")
    if machine.compile and device.type == "cpu" and shutil.which(compiler) is None:
        raise DataError(f"no C++ compiler {compiler!r} for torch.compile; expected one, or training without it")


def _device(machine: Machine) -> torch.device:
    return training_device("cpu" if machine.device == "auto" and machine.processes > 1 else machine.device)


def _columns(
    out: Path, recipe: TrainingRecipe, *, model: LlamaForCausalLM, step: int, rows: int
) -> Mapping[str, float]:
    """Return columns of the log: tokens, and every 200 steps the loss on held-out package files."""
    columns: dict[str, float] = {"tokens": min(step * recipe.batch_rows, rows) * recipe.corpus.context}
    if step % _VALIDATION_EVERY == 0:
        held_out = np.load(out / CORPUS / prepared.VALIDATION)
        spread = held_out[:: max(1, len(held_out) // _VALIDATION_ROWS)]
        columns["validation_loss"] = round(mean_loss(model, spread, device=model.device), 4)
    return columns


def _inputs(out: Path) -> str:
    """Return the digest of the rows that the run in a folder is trained on.

    Raises:
        DataError: the rows are missing.
    """
    return prepared.input_digest(out / CORPUS / prepared.ROWS, f"that `{COMMAND}` wrote")
