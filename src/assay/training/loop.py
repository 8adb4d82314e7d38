"""The optimiser loop: every training of assay runs through `train`.

A caller brings the model, its optimisers and a function that computes the gradient of a step. Order and random numbers
of a step follow from seed, step and process alone, so a run that is killed and started again from its last state ends
with the weights of an unbroken one. Several processes each compute a share of the gradient; the shares are summed once
a step, so the number of processes changes nothing but rounding.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter, methodcaller
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from assay.training.resuming import (
    LOG,
    STATE,
    Record,
    TrainingProgress,
    cut_log,
    log_step,
    read_state,
    restore_optimisers,
    restore_parameters,
    write_state,
)

FUSED = ("cpu", "cuda")
"""Devices on which every supported torch updates weights in one pass."""
Part = TypeVar("Part")
Schedule = Callable[[int], float]
"""Step, counted from 0 → factor of every learning rate."""
Gradient = Callable[[int], torch.Tensor]
"""Add the gradient of a step (from 0) to the parameters and return its loss, a scalar without a graph."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Training:
    """One training: what is optimised, by which steps.

    Attributes:
        model: its parameters that require a gradient are trained and saved.
        optimisers: over those parameters; the `lr` of each group is its full rate, which the schedule scales.
        gradient: of a step. With several processes each computes the share of its rank.
        steps: of the whole training.
        schedule: of the learning rates; constant by default.
        clip: largest norm of the gradient; None leaves it as it is.
        seed: of the random numbers of each step, as dropout draws them.
        after_step: called on the first process after each step (counted from 1), for checkpoints and validation;
            returns columns for the log.
    """

    model: torch.nn.Module
    optimisers: Sequence[torch.optim.Optimizer]
    gradient: Gradient
    steps: int
    schedule: Schedule = lambda _: 1.0
    clip: float | None = None
    seed: int = 0
    after_step: Callable[[int], Mapping[str, float]] = lambda _: {}


class Processes:
    """The processes that share a training: this one alone; a subclass may join others.

    Attributes:
        device: of this process.
        rank: number of this process, from 0; the first alone writes files.
        count: how many there are.
    """

    rank, count = 0, 1

    def __init__(self, device: torch.device) -> None:
        self.device = device

    @property
    def cuda_devices(self) -> list[int]:
        """The GPU of this process, if it has one."""
        return [self.device.index or 0] if self.device.type == "cuda" else []

    def wait(self) -> None:
        """Wait until all processes have called this."""

    def add_up(self, parameters: Sequence[torch.nn.Parameter], loss: torch.Tensor) -> torch.Tensor:  # noqa: ARG002  for subclasses
        """Sum gradients and loss over all processes; return the loss."""
        return loss


@dataclass(frozen=True, slots=True)
class TrainingFolder:
    """The folder in which a training keeps its last state and its log.

    Attributes:
        path: an existing folder.
        command: the command that trains in it, for error messages.
        inputs: digest of the texts and files that the training reads; a state of other inputs is refused.
        save_seconds: least time between two saved states.
    """

    path: Path
    command: str
    inputs: str
    save_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Batches:
    """The rows of each step: every epoch has all rows in an order of its own.

    Attributes:
        rows: number of rows.
        size: rows in a step.
        seed: of the orders.
        whole_only: leave out the rows of an epoch that do not fill a batch.
    """

    rows: int
    size: int
    seed: int
    whole_only: bool = False

    @property
    def per_epoch(self) -> int:
        """Steps of one epoch."""
        # -(-a // b) rounds up: the last, smaller batch counts as a step
        return self.rows // self.size if self.whole_only else -(-self.rows // self.size)

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Order of the rows in an epoch, counted from 0."""
        return np.random.default_rng([self.seed, epoch]).permutation(self.rows)

    def __call__(self, step: int) -> NDArray[np.int64]:
        """Rows of a step, counted from 0."""
        # rows follow from the step alone: nothing has to be stored to continue in the middle of an epoch
        epoch, within = divmod(step, self.per_epoch)
        return self.order(epoch)[within * self.size : (within + 1) * self.size]


def trapezoid(steps: int, *, warm_up: float = 0, decay: float = 0) -> Schedule:
    """Return a schedule that rises linearly from 0, stays at 1 and falls linearly to 0.

    Args:
        steps: of the whole training.
        warm_up: steps of the rise; 0 for none.
        decay: steps of the fall; 0 for none.
    """

    def factor(step: int) -> float:
        return min(1.0, (step + 1) / max(1.0, warm_up), (steps - step) / max(1.0, decay))

    return factor


def adamw(model: torch.nn.Module, *, rate: float, weight_decay: float) -> torch.optim.AdamW:
    """Return AdamW over the parameters that require a gradient.

    Where torch can, a step is one pass over the weights: on a CPU that takes a fifth of the time of its default.
    """
    trained = list(filter(attrgetter("requires_grad"), model.parameters()))
    fused = all(each.device.type in FUSED for each in trained)
    return torch.optim.AdamW(trained, lr=rate, weight_decay=weight_decay, fused=fused)


def accumulate(loss: Callable[[Part], torch.Tensor], parts: Iterable[Part], device: torch.device) -> torch.Tensor:
    """Add the gradients of the losses of all parts, the graph of one part in memory at a time; return their sum."""
    total = torch.zeros((), device=device)
    for part in parts:
        value = loss(part)
        value.backward()
        total += value.detach()
    return total


def train(
    training: Training,
    *,
    processes: Processes | None = None,
    folder: TrainingFolder | None = None,
    stop_after: int | None = None,
    progress: TrainingProgress | None = None,
) -> bool:
    """Train in place, or continue from the last state in the folder; return whether the last step is done.

    Args:
        training: what is optimised.
        processes: that share each step; None for this process alone.
        folder: holds state and log; None keeps nothing on disk.
        stop_after: stop after this number of steps of this call, with the state saved; None runs to the end.
        progress: called after each step.

    Raises:
        DataError: the folder holds a state that is damaged, of other inputs or of other parameters.
        OSError: the folder cannot be written; the last saved state stays.
    """
    processes = processes or Processes(torch.device("cpu"))
    mode = training.model.training
    # the random numbers of the caller stay as they were
    with torch.random.fork_rng(devices=processes.cuda_devices):
        training.model.train()
        try:
            return _run(training=training, processes=processes, folder=folder, stop_after=stop_after, progress=progress)
        finally:
            training.model.train(mode)


def _run(
    training: Training,
    processes: Processes,
    folder: TrainingFolder | None,
    stop_after: int | None,
    progress: TrainingProgress | None,
) -> bool:
    # by name, as a saved state has them
    parameters = {name: each for name, each in training.model.named_parameters() if each.requires_grad}
    # before the state is restored, which brings back the scaled rates of its step
    rates = list(map(_rates, training.optimisers))
    first, seconds_before = _restore(folder, parameters, training.optimisers) if folder else (0, 0.0)
    if folder and not processes.rank:
        cut_log(folder.path / LOG, first)
    last = training.steps if stop_after is None else min(training.steps, first + stop_after)
    started = saved_at = time.monotonic()
    for step in range(first, last):
        loss = _step(
            training=training, step=step, parameters=list(parameters.values()), rates=rates, processes=processes
        )
        # one process writes: all hold the same parameters after the step
        if processes.rank:
            continue
        now = time.monotonic()
        record: Record = {
            "step": step + 1,
            "loss": round(float(loss), 4),
            "rate": rates[0][0] * training.schedule(step),
            "seconds": round(seconds_before + now - started, 1),
            **training.after_step(step + 1),
        }
        if folder:
            log_step(folder.path / LOG, record)
        if progress is not None:
            progress(record, training.steps)
        if folder and (step + 1 == last or now - saved_at > folder.save_seconds):
            saved_at = now
            state = {
                "step": step + 1,
                "seconds": record["seconds"],
                "inputs": folder.inputs,
                "parameters": {name: each.detach() for name, each in parameters.items()},
                "optimisers": list(map(methodcaller("state_dict"), training.optimisers)),
            }
            write_state(folder.path / STATE, state)
    processes.wait()
    return last == training.steps


def _rates(optimiser: torch.optim.Optimizer) -> list[float]:
    return list(map(itemgetter("lr"), optimiser.param_groups))


def _step(
    training: Training,
    step: int,
    parameters: Sequence[torch.nn.Parameter],
    rates: Sequence[Sequence[float]],
    processes: Processes,
) -> torch.Tensor:
    """Do one optimiser step and return its loss."""
    # the random numbers of a step follow from the step, so a resumed run draws what an unbroken one draws
    torch.manual_seed(int(np.random.SeedSequence([training.seed, step, processes.rank]).generate_state(1)[0]))
    # one sum a step, not one a pass: each process may split its share as its memory allows
    loss = processes.add_up(parameters, training.gradient(step))
    if training.clip is not None:
        torch.nn.utils.clip_grad_norm_(parameters, training.clip)
    factor = training.schedule(step)
    for optimiser, full in zip(training.optimisers, rates, strict=True):
        for group, rate in zip(optimiser.param_groups, full, strict=True):
            group["lr"] = rate * factor
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return loss


def _restore(
    folder: TrainingFolder, parameters: Mapping[str, torch.nn.Parameter], optimisers: Sequence[torch.optim.Optimizer]
) -> tuple[int, float]:
    """Load the last state, if there is one; return its step and the seconds trained until then."""
    path = folder.path / STATE
    if not path.exists():
        return 0, 0.0
    state = read_state(path, folder.command, folder.inputs)
    restore_parameters(path, state, parameters)
    restore_optimisers(path, state, optimisers)
    return int(state["step"]), float(state["seconds"])
