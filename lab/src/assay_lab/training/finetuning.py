"""Continued pre-training on rows of tokens: LoRA or full, on a CPU, one GPU or several, resumed after a kill."""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from assay.errors import DataError
from assay.files import LOCK, atomic_folder, sole_process
from assay.models import ModelSettings, combined, files_digest, load_checkpoint, quiet
from assay.training import (
    Batches,
    Ids,
    Processes,
    TrainingFolder,
    TrainingProgress,
    TrainingSettings,
    causal_training,
    prepared,
    train,
)
from assay_lab.training.processes import JoinedProcesses
from assay_lab.training.recipes import RECIPE, keep_recipe

TRAIN = "train"
COMMAND = "assay lab testbed train"


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A base model, the rows to train on and the settings.

    Attributes:
        model: name of the base model.
        revision: of a hub model.
        members, general: rows of tokens; an epoch shows each once.
        training: the settings.
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
    def batches(self) -> Batches:
        """Rows of each step."""
        return Batches(len(self.members) + len(self.general), self.training.batch, self.seed)

    def facts(self, base_digest: str) -> dict[str, object]:
        """Return all that determines the weights, for the record and for the check of a resumed run.

        Args:
            base_digest: of the files of the base model.
        """
        return {
            "model": self.model,
            "revision": self.revision,
            "base_sha256": base_digest,
            "training": asdict(self.training),
            "seed": self.seed,
            "member_rows": len(self.members),
            "member_tokens": int(sum(map(len, self.members))),
            "general_rows": len(self.general),
            "general_tokens": int(sum(map(len, self.general))),
            "rows_sha256": _rows_digest(self.rows),
        }


def finetune(out: Path, task: Task, *, stop_after: int | None = None, progress: TrainingProgress | None = None) -> bool:
    """Train in the folder `out`, or continue the training there; return whether the last step is done.

    `out` then holds `epoch-N/` for each checkpoint (a model folder, or an adapter), the last state and the loss curve.

    Args:
        out: folder of the training, created where it is missing.
        task: model, rows and settings.
        stop_after: stop after this number of steps of this call, with the state saved; None runs to the end.
        progress: called after each step.

    Raises:
        DataError: `out` holds the training of another task, or a state that cannot be read; another process trains
            there; or there is no row.
        ModelError: the base model cannot be loaded.
        MissingExtra: peft is not installed for LoRA, or accelerate for several processes.
    """
    if not task.members:
        raise DataError("no text of two tokens or more to train on; expected at least one")
    processes = JoinedProcesses(task.training.device)
    with ExitStack() as stack:
        if not processes.rank:
            out.mkdir(parents=True, exist_ok=True)
            busy = f"{out}: another process is training there; expected it to end first, or another folder"
            stack.enter_context(sole_process(out / LOCK, DataError(busy)))
        return _finetuned(out, task, processes=processes, stop_after=stop_after, progress=progress)


def _finetuned(
    out: Path, task: Task, *, processes: Processes, stop_after: int | None, progress: TrainingProgress | None
) -> bool:
    with torch.random.fork_rng(devices=processes.cuda_devices):
        torch.manual_seed(task.seed)
        settings = ModelSettings(revision=task.revision, dtype=task.training.dtype, device=str(processes.device))
        base = load_checkpoint(task.model, settings)
        facts = task.facts(files_digest(base.folders))
        if not processes.rank:
            keep_recipe(out / RECIPE, facts)
        processes.wait()
        model = prepared(base.model, task.training)
        training = causal_training(model, task.rows, settings=task.training, processes=processes, seed=task.seed)
    per_epoch = task.batches.per_epoch

    def after_step(step: int) -> Mapping[str, float]:
        epoch, rest = divmod(step, per_epoch)
        if not rest and epoch in task.training.checkpoints:
            _export(checkpoint_folder(out, epoch), model, base.tokenizer)
        return {"epoch": round(step / per_epoch, 4)}

    return train(
        replace(training, after_step=after_step),
        processes=processes,
        folder=TrainingFolder(out, COMMAND, combined(facts)),
        stop_after=stop_after,
        progress=progress,
    )


def checkpoint_folder(out: Path, epoch: int) -> Path:
    """Return the folder of the model after an epoch."""
    return out / f"epoch-{epoch}"


def _export(folder: Path, model: Any, tokenizer: PreTrainedTokenizerBase) -> None:  # noqa: ANN401  with or without LoRA
    """Write the current model to a folder, which exists only when it is complete.

    Raises:
        DataError: the folder cannot be written.
    """
    # of a run that was killed after the export and repeats its last steps
    shutil.rmtree(folder, ignore_errors=True)
    with atomic_folder(folder) as unfinished, quiet():
        model.save_pretrained(unfinished)
        if not hasattr(model, "peft_config"):
            tokenizer.save_pretrained(unfinished)


def _rows_digest(rows: Sequence[Ids]) -> str:
    """Return the SHA-256 of the rows, in their order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(len(row).to_bytes(8, "little") + row.astype("<i8").tobytes())
    return digest.hexdigest()
