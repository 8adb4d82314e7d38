"""Continued pre-training on rows of tokens: LoRA or full, on a CPU, one GPU or several, killed and gone on with.

The order of the rows and the random numbers of a step follow from seed, step and process alone, so a run that is killed
and started again from its last state ends with the weights of one that was not. Several processes (accelerate starts
them) share each batch; gradients are added up once a step, so their number changes nothing beyond rounding.
"""

import math
import pickle
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from assay.errors import DataError, MissingExtra
from assay.models import ModelSettings, load_checkpoint, quiet
from assay.training.processes import Processes
from assay.training.resuming import LOG, Progress, Record, cut_log, keep_recipe, log_step, write_state
from assay.training.rows import Ids
from assay.training.settings import TrainingSettings

TRAIN = "train"
STATE = "state.pt"
RECIPE = "training.json"
SAVE_SECONDS = 120.0
CPU_MICRO, GPU_MICRO = 2, 8
IGNORED = -100


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is trained on what.

    Attributes:
        model: base model's name.
        revision: of a hub model.
        members, general: rows of tokens; an epoch shows each once.
        training: how.
        seed: of the order, of dropout and of LoRA's first weights.
    """

    model: str
    revision: str | None
    members: Sequence[Ids]
    general: Sequence[Ids]
    training: TrainingSettings
    seed: int

    @property
    def rows(self) -> list[Ids]:
        """Members, then general text."""
        return [*self.members, *self.general]

    @property
    def steps_per_epoch(self) -> int:
        """Optimiser steps of one epoch."""
        return math.ceil(len(self.rows) / self.training.batch)

    @property
    def steps(self) -> int:
        """Optimiser steps of the whole run."""
        return self.steps_per_epoch * self.training.epochs

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The order of the rows in an epoch, counted from 0."""
        return np.random.default_rng([self.seed, epoch]).permutation(len(self.rows))

    def facts(self) -> dict[str, object]:
        """What decides the weights, for the record and for the check on going on."""
        return {
            "model": self.model,
            "revision": self.revision,
            "training": asdict(self.training),
            "seed": self.seed,
            "member_rows": len(self.members),
            "member_tokens": int(sum(map(len, self.members))),
            "general_rows": len(self.general),
            "general_tokens": int(sum(map(len, self.general))),
        }


def finetune(out: Path, task: Task, *, stop_after: int | None = None, progress: Progress | None = None) -> bool:
    """Train, or go on training, in the folder `out`; returns whether the last step is done.

    `out` then holds `epoch-N/` for each checkpoint that was asked for (a model folder, or an adapter), the last state
    and the loss curve.

    Args:
        out: folder of the training, made if it is not there.
        task: what is trained on what.
        stop_after: stop after so many steps of this call, as if killed after a state was saved; None runs to the end.
        progress: told after each step.

    Raises:
        DataError: `out` holds the training of another task, or a state that cannot be read; or there is no row.
        ModelError: the base model cannot be loaded.
        MissingExtra: peft is not installed where LoRA is asked for, or accelerate where several processes train.
    """
    if not task.members:
        raise DataError("no text of two tokens or more to train on; expected at least one")
    processes = Processes(task.training.device)
    if processes.first:
        keep_recipe(out / RECIPE, task.facts())
    processes.wait()
    with torch.random.fork_rng(devices=processes.cuda_devices):
        return _train(out, task, processes, stop_after, progress)


def checkpoint_folder(out: Path, epoch: int) -> Path:
    """Where the model after an epoch lies."""
    return out / f"epoch-{epoch}"


def rate_at(step: int, training: TrainingSettings) -> float:
    """The learning rate of a step: a linear rise, then constant."""
    return training.rate * min(1.0, (step + 1) / max(1, training.warm_up))


def _train(out: Path, task: Task, processes: Processes, stop_after: int | None, progress: Progress | None) -> bool:
    training, rows = task.training, task.rows
    torch.manual_seed(task.seed)
    model, tokenizer = _open(task, processes.device)
    parameters = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW([p for _, p in parameters], lr=training.rate, weight_decay=training.weight_decay)
    first, seconds_before = _restore(out, parameters, optimiser)
    if processes.first:
        cut_log(out / LOG, first)
    last = task.steps if stop_after is None else min(task.steps, first + stop_after)
    started = saved_at = time.monotonic()
    model.train()
    for step in range(first, last):
        epoch, within = divmod(step, task.steps_per_epoch)
        chosen = task.order(epoch)[within * training.batch : (within + 1) * training.batch]
        batch = [rows[i] for i in chosen]
        torch.manual_seed(_step_seed(task.seed, step, processes.rank))
        share = batch[processes.rank :: processes.count]
        predictions = sum(len(row) - 1 for row in batch)
        loss = _accumulate(model, share, task, processes.device, scale=1 / predictions)
        loss = processes.add_up([p for _, p in parameters], loss)
        torch.nn.utils.clip_grad_norm_([p for _, p in parameters], training.clip)
        optimiser.param_groups[0]["lr"] = rate_at(step, training)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        if not processes.first:
            continue
        now = time.monotonic()
        record: Record = {
            "step": step + 1,
            "epoch": round((step + 1) / task.steps_per_epoch, 4),
            "loss": round(float(loss), 4),
            "rate": rate_at(step, training),
            "seconds": round(seconds_before + now - started, 1),
        }
        log_step(out / LOG, record)
        if progress is not None:
            progress(record, task.steps)
        if within + 1 == task.steps_per_epoch and epoch + 1 in training.checkpoints:
            _export(checkpoint_folder(out, epoch + 1), model, tokenizer)
        if step + 1 == last or now - saved_at > SAVE_SECONDS:
            saved_at = now
            _save(out / STATE, parameters, optimiser, step=step + 1, seconds=record["seconds"])
    processes.wait()
    return last == task.steps


def _open(task: Task, device: torch.device) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    training = task.training
    found = load_checkpoint(task.model, ModelSettings(revision=task.revision, dtype=training.dtype, device=str(device)))
    model: Any = found.model
    model.config.use_cache = False
    with quiet():
        if training.gradient_checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if training.method == "lora":
            model = _with_lora(model, training)
    return model, found.tokenizer


def _with_lora(model: PreTrainedModel, training: TrainingSettings) -> Any:  # noqa: ANN401  peft publishes no types
    try:
        from peft import LoraConfig, get_peft_model  # noqa: PLC0415  an optional part
    except ImportError as error:
        raise MissingExtra("peft", extra="testbed", purpose="training with LoRA") from error
    settings = LoraConfig(
        r=training.rank,
        lora_alpha=training.alpha,
        lora_dropout=training.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, settings)


def _accumulate(
    model: PreTrainedModel, rows: Sequence[Ids], task: Task, device: torch.device, *, scale: float
) -> torch.Tensor:
    """Adds the gradient of `scale` times the summed loss of the rows, a few of about the same length at a time."""
    micro = task.training.micro or (GPU_MICRO if device.type == "cuda" else CPU_MICRO)
    ordered = sorted(rows, key=len)
    loss = torch.zeros((), device=device)
    for start in range(0, len(ordered), micro):
        inputs, mask, targets = (t.to(device) for t in padded(ordered[start : start + micro]))
        with torch.autocast(device.type, torch.bfloat16, enabled=task.training.dtype == "bfloat16"):
            logits = model(input_ids=inputs, attention_mask=mask).logits
        partial = scale * torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum"
        )
        partial.backward()
        loss += partial.detach()
    return loss


def padded(rows: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Inputs, mask and targets, int64 [rows, longest - 1]: each token but the first is predicted."""
    width = max(map(len, rows)) - 1
    inputs = torch.zeros((len(rows), width), dtype=torch.int64)
    mask = torch.zeros_like(inputs)
    targets = torch.full_like(inputs, IGNORED)
    for i, row in enumerate(rows):
        length = len(row) - 1
        inputs[i, :length] = torch.from_numpy(row[:-1])
        mask[i, :length] = 1
        targets[i, :length] = torch.from_numpy(row[1:])
    return inputs, mask, targets


def _step_seed(seed: int, step: int, rank: int) -> int:
    return int(np.random.SeedSequence([seed, step, rank]).generate_state(1)[0])


def _export(folder: Path, model: Any, tokenizer: PreTrainedTokenizerBase) -> None:  # noqa: ANN401  with or without LoRA
    """The model as it is now: a folder that is there only when it is whole."""
    partial = folder.with_name(folder.name + ".partial")
    for old in (partial, folder):
        shutil.rmtree(old, ignore_errors=True)
    with quiet():
        model.save_pretrained(partial)
        if not hasattr(model, "peft_config"):
            tokenizer.save_pretrained(partial)
    partial.rename(folder)


def _save(
    path: Path,
    parameters: Sequence[tuple[str, torch.nn.Parameter]],
    optimiser: torch.optim.Optimizer,
    *,
    step: int,
    seconds: float,
) -> None:
    state = {
        "step": step,
        "seconds": seconds,
        "trained": {name: parameter.detach() for name, parameter in parameters},
        "optimiser": optimiser.state_dict(),
    }
    write_state(path, state)


def _restore(
    out: Path, parameters: Sequence[tuple[str, torch.nn.Parameter]], optimiser: torch.optim.Optimizer
) -> tuple[int, float]:
    """Loads the last state, if there is one; returns its step and the seconds trained until then."""
    path = out / STATE
    if not path.exists():
        return 0, 0.0
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        with torch.no_grad():
            for name, parameter in parameters:
                parameter.copy_(state["trained"][name])
        optimiser.load_state_dict(state["optimiser"])
        return int(state["step"]), float(state["seconds"])
    except (EOFError, RuntimeError, KeyError, pickle.UnpicklingError) as error:
        raise DataError(f"{path}: expected the state of this training; remove the folder to begin again") from error
