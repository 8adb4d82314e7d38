"""Training of `builtin:small`: a small Llama from scratch, on one device or on several processes of a CPU.

Everything that training reads in order (rows, doses, schedule) is fixed before the first step, so a run that is killed
and started again ends with the same weights as one that was not.
"""

import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch.multiprocessing.spawn import ProcessException, spawn
from transformers import LlamaConfig, LlamaForCausalLM

from assay.errors import DataError
from assay.training.muon import Muon
from assay.training.packing import Tokens
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
from builtin import prepared
from builtin.base_corpus import CorpusRecipe
from builtin.base_tokenizer import BOS_ID, EOS_ID, PAD_ID

CORPUS = "corpus"
COMMAND = "python -m builtin train-base"
FAULT = "fault"
_VALIDATION_ROWS = 64
_VALIDATION_EVERY = 200  # steps

SummedLoss = Callable[[LlamaForCausalLM, torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecipe:
    """All choices that decide the weights, up to the rounding of the machine.

    Attributes:
        corpus: what is trained on.
        hidden_size, layers, heads, intermediate_size: of the Llama; embeddings are tied.
        batch_rows: rows of `corpus.context` predictions in one step.
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
    """How to compute; none of it changes what is learnt, beyond rounding.

    Attributes:
        device: "cpu", "cuda" or "auto" (cuda where there is one).
        processes: data-parallel processes, one thread each, on a CPU; `batch_rows` is a multiple of it.
        micro_rows: rows in one forward pass; None chooses by device.
        compile: whether to use torch.compile (on a CPU it needs a C++ compiler).
        checkpoint_seconds: least time between two checkpoints.
        stop_after: stop after so many steps of this call, as if killed after a checkpoint; None runs to the end.
    """

    device: str = "auto"
    processes: int = 1
    micro_rows: int | None = None
    compile: bool = False
    checkpoint_seconds: float = 120.0
    stop_after: int | None = None


def train_base(out: Path, recipe: TrainingRecipe, machine: Machine, progress: Progress | None = None) -> bool:
    """Trains, or goes on training, in the folder `out`; returns whether the last step is done.

    `out` then holds the corpus as rows, the last checkpoint and the loss curve.

    Args:
        out: folder of the run, made if it is not there.
        recipe: what is trained on what.
        machine: how it is computed.
        progress: told after each step; a module's function, so that it reaches other processes.

    Raises:
        DataError: `out` holds a run of another recipe or a damaged one, the batch cannot be shared among the processes,
            or the machine lacks what it is told to use.
        OSError: `out` cannot be written; the last checkpoint stays.
    """
    _check_machine(machine)
    if recipe.batch_rows % machine.processes:
        raise DataError(f"{machine.processes} processes cannot share {recipe.batch_rows} rows evenly: give a divisor")
    keep_recipe(out / RECIPE, asdict(recipe))
    prepared.prepare_corpus(out / CORPUS, recipe.corpus)
    if machine.processes == 1:
        _worker(0, _Run(out, recipe, machine, "", progress))
    else:
        with tempfile.TemporaryDirectory() as meeting:
            run = _Run(out, recipe, machine, f"file://{meeting}/store", progress)
            try:
                spawn(_worker, (run,), nprocs=machine.processes)
            except ProcessException as error:
                fault = Path(meeting, FAULT)
                if fault.exists():  # what stopped one process; the other may have died of the first one's silence
                    raise OSError(fault.read_text("utf-8")) from error
                raise
    return int(read_state(out / CHECKPOINT, COMMAND)["step"]) == step_count(out, recipe)


def build_model(recipe: TrainingRecipe) -> LlamaForCausalLM:
    """The untrained model; weights depend on the recipe's seed alone."""
    torch.manual_seed(recipe.seed)
    config = LlamaConfig(
        vocab_size=recipe.corpus.vocabulary_size,
        hidden_size=recipe.hidden_size,
        intermediate_size=recipe.intermediate_size,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.heads,
        max_position_embeddings=recipe.corpus.context,
        tie_word_embeddings=True,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
        pad_token_id=PAD_ID,
    )
    model = LlamaForCausalLM(config)
    for name, parameter in model.named_parameters():
        if name.endswith(("o_proj.weight", "down_proj.weight")):  # keeps the residual stream's scale, as GPT-2 does
            parameter.data.mul_((2 * recipe.layers) ** -0.5)
    return model


def step_count(out: Path, recipe: TrainingRecipe) -> int:
    """Steps of the whole run: every row once."""
    rows = np.load(out / CORPUS / prepared.ROWS, mmap_mode="r")
    return math.ceil(len(rows) / recipe.batch_rows)


def row_order(count: int, recipe: TrainingRecipe) -> NDArray[np.int64]:
    """The order in which rows are trained on: neighbouring rows are pieces of one file, so they are shuffled."""
    return np.random.default_rng(recipe.seed).permutation(count)


def rate_at(step: int, steps: int, recipe: TrainingRecipe) -> float:
    """Learning-rate factor of a step: linear warm-up, constant, linear decay to 0 (WSD)."""
    warm_up = (step + 1) / max(1.0, recipe.warm_up * steps)
    decay = (steps - step) / max(1.0, recipe.decay * steps)
    return min(1.0, warm_up, decay)


def load_checkpoint(out: Path, recipe: TrainingRecipe) -> tuple[LlamaForCausalLM, int, float]:
    """The model of the last checkpoint, its step, and the seconds trained so far.

    Raises:
        DataError: `out` holds no run, one of another recipe, or one without a checkpoint that can be read.
    """
    require_recipe(out / RECIPE, asdict(recipe), COMMAND)
    state = read_state(out / CHECKPOINT, COMMAND)
    model = build_model(recipe)
    model.load_state_dict(state["model"])
    return model, int(state["step"]), float(state["seconds"])


def mean_loss(model: LlamaForCausalLM, rows: Tokens, *, device: torch.device) -> float:
    """Mean negative log-likelihood of the rows' predictions, in nats, padding left out."""
    total, count = 0.0, 0
    with torch.no_grad():
        for start in range(0, len(rows), 8):
            batch = torch.from_numpy(rows[start : start + 8].astype(np.int64)).to(device)
            total += float(_summed_loss(model, batch))
            count += int((batch[:, 1:] != PAD_ID).sum())
    return total / count


@dataclass(frozen=True, slots=True)
class _Run:
    """What each process is told; `meeting` is where they find one another."""

    out: Path
    recipe: TrainingRecipe
    machine: Machine
    meeting: str
    progress: Progress | None


def _worker(rank: int, run: _Run) -> None:
    processes = run.machine.processes
    if processes > 1:
        torch.set_num_threads(1)
        dist.init_process_group("gloo", init_method=run.meeting, rank=rank, world_size=processes)
    try:
        _train(rank, run)
    except OSError as error:
        if processes > 1:
            Path(run.meeting.removeprefix("file://")).with_name(FAULT).write_text(str(error), "utf-8")
        raise
    finally:
        if processes > 1:
            dist.destroy_process_group()


def _train(rank: int, run: _Run) -> None:
    out, recipe, machine = run.out, run.recipe, run.machine
    device = _device(machine)
    rows = np.load(out / CORPUS / prepared.ROWS, mmap_mode="r")
    order = row_order(len(rows), recipe)
    steps = step_count(out, recipe)
    model = build_model(recipe)
    model.to(device)  # type: ignore[arg-type]  # transformers wraps Module.to so that mypy misses its self
    optimisers = _optimisers(model, recipe)
    first, seconds_before = _restore(out, model, optimisers)
    if rank == 0:
        cut_log(out / LOG, first)
    summed: SummedLoss = torch.compile(_summed_loss) if machine.compile else _summed_loss
    micro = machine.micro_rows or (64 if device.type == "cuda" else 2)
    last = steps if machine.stop_after is None else min(steps, first + machine.stop_after)
    started = saved_at = time.monotonic()
    for step in range(first, last):
        chosen = order[step * recipe.batch_rows : (step + 1) * recipe.batch_rows]
        share = torch.from_numpy(rows[chosen[rank :: machine.processes]].astype(np.int64)).to(device)
        loss = _accumulate(model, summed, share, micro=micro, scale=1 / (len(chosen) * recipe.corpus.context))
        if machine.processes > 1:
            loss = _sum_over_processes(list(model.parameters()), loss)
        factor = rate_at(step, steps, recipe)
        for optimiser, rate in zip(optimisers, (recipe.muon_rate, recipe.adam_rate), strict=True):
            optimiser.param_groups[0]["lr"] = rate * factor
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        if rank == 0:
            now = time.monotonic()
            record: Record = {
                "step": step + 1,
                "tokens": min((step + 1) * recipe.batch_rows, len(rows)) * recipe.corpus.context,
                "loss": round(float(loss), 4),
                "rate": round(factor, 4),
                "seconds": round(seconds_before + now - started, 1),
            }
            _append(out, record, model)
            if run.progress is not None:
                run.progress(record, steps)
            if step + 1 == last or now - saved_at > machine.checkpoint_seconds:
                saved_at = now
                _write_checkpoint(out, model, optimisers, step=step + 1, seconds=record["seconds"])


def _optimisers(model: LlamaForCausalLM, recipe: TrainingRecipe) -> tuple[torch.optim.Optimizer, ...]:
    matrices = [p for p in model.model.layers.parameters() if p.ndim == 2]  # noqa: PLR2004  a matrix
    others = [p for p in model.parameters() if all(p is not matrix for matrix in matrices)]
    return (
        Muon(matrices, lr=recipe.muon_rate, weight_decay=recipe.weight_decay),
        torch.optim.AdamW(others, lr=recipe.adam_rate, betas=(0.9, 0.95), weight_decay=0.0),
    )


def _accumulate(
    model: LlamaForCausalLM, summed: SummedLoss, rows: torch.Tensor, *, micro: int, scale: float
) -> torch.Tensor:
    """Adds the gradient of `scale` times the summed loss of the rows, `micro` of them at a time."""
    loss = torch.zeros((), device=rows.device)
    for part in rows.split(micro) if len(rows) else ():
        with torch.autocast(rows.device.type, torch.bfloat16, enabled=rows.device.type == "cuda"):
            partial = summed(model, part) * scale
        partial.backward()
        loss += partial.detach()
    return loss


def _summed_loss(model: LlamaForCausalLM, rows: torch.Tensor) -> torch.Tensor:
    """Summed negative log-likelihood of every token of the rows but the first, in nats, padding left out."""
    hidden = model.model(rows[:, :-1], use_cache=False).last_hidden_state
    logits = model.lm_head(hidden).float()
    targets = rows[:, 1:].reshape(-1)
    return torch.nn.functional.cross_entropy(
        logits.view(-1, logits.shape[-1]), targets, ignore_index=PAD_ID, reduction="sum"
    )


def _sum_over_processes(parameters: list[torch.nn.Parameter], loss: torch.Tensor) -> torch.Tensor:
    """Adds up gradients and loss over all processes, in one message."""
    grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
    flat = torch.cat([loss.reshape(1), *(grad.reshape(-1) for grad in grads)])
    dist.all_reduce(flat)
    sizes = [p.numel() for p in parameters]
    for parameter, grad in zip(parameters, flat[1:].split(sizes), strict=True):
        parameter.grad = grad.view_as(parameter)
    return flat[0]


def _check_machine(machine: Machine) -> None:
    device = _device(machine)
    if machine.device == "cuda" and machine.processes > 1:
        raise DataError(f"{machine.processes} processes are for a CPU; expected one process on a GPU")
    compiler = os.environ.get("CXX", "g++")
    if machine.compile and device.type == "cpu" and shutil.which(compiler) is None:
        raise DataError(f"no C++ compiler {compiler!r} for torch.compile; expected one, or training without it")


def _device(machine: Machine) -> torch.device:
    return training_device("cpu" if machine.device == "auto" and machine.processes > 1 else machine.device)


def _write_checkpoint(
    out: Path,
    model: LlamaForCausalLM,
    optimisers: tuple[torch.optim.Optimizer, ...],
    *,
    step: int,
    seconds: float,
) -> None:
    state = {
        "step": step,
        "seconds": seconds,
        "model": model.state_dict(),
        "optimisers": [optimiser.state_dict() for optimiser in optimisers],
    }
    write_state(out / CHECKPOINT, state)


def _restore(out: Path, model: LlamaForCausalLM, optimisers: tuple[torch.optim.Optimizer, ...]) -> tuple[int, float]:
    """Loads the last checkpoint, if there is one; returns its step and the seconds trained until then."""
    if not (out / CHECKPOINT).exists():
        return 0, 0.0
    state = read_state(out / CHECKPOINT, COMMAND)
    model.load_state_dict(state["model"])
    for optimiser, saved in zip(optimisers, state["optimisers"], strict=True):
        optimiser.load_state_dict(saved)
    return int(state["step"]), float(state["seconds"])


def _append(out: Path, record: Record, model: LlamaForCausalLM) -> None:
    """Adds a step to the loss curve; now and then with the loss on held-out package files."""
    if record["step"] % _VALIDATION_EVERY == 0:
        held_out = np.load(out / CORPUS / prepared.VALIDATION)
        spread = held_out[:: max(1, len(held_out) // _VALIDATION_ROWS)]
        record["validation_loss"] = round(mean_loss(model, spread, device=model.device), 4)
    log_step(out / LOG, record)
