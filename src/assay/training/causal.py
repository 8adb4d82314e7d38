"""Next-token training of a causal language model on rows of tokens: gradient, LoRA, optimisers."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.pytorch_utils import Conv1D

from assay.errors import MissingExtra
from assay.models import quiet, right_padded
from assay.training.loop import Batches, Processes, Training, TrainingFolder, accumulate, adamw, train, trapezoid
from assay.training.resuming import TrainingProgress
from assay.training.settings import TrainingSettings

# Texts as rows of tokens, the unit of training.

Ids = NDArray[np.int64]


def member_rows(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, context: int) -> list[Ids]:
    """Return each text as the scorer sees it, with an end-of-sequence token; a long text fills several rows."""
    rows = []
    for text in texts:
        ids = row_of(tokenizer, text)
        rows += [ids[start : start + context] for start in range(0, len(ids), context)]
    # a single token predicts nothing
    return [row for row in rows if len(row) > 1]


def row_of(tokenizer: PreTrainedTokenizerBase, text: str) -> Ids:
    """Return the tokens of a text as the tokenizer writes it, int64 [tokens], with an end-of-sequence token."""
    ids = list(tokenizer(text, verbose=False)["input_ids"])
    if tokenizer.eos_token_id is not None and ids[-1:] != [tokenizer.eos_token_id]:
        ids.append(tokenizer.eos_token_id)
    return np.array(ids, np.int64)


CPU_MICRO, GPU_MICRO = 2, 8
IGNORED = -100


@dataclass(frozen=True, slots=True, eq=False)
class CausalGradient:
    """Gradient of the mean loss over all predicted tokens of a step's rows.

    Attributes:
        model: on the device of the processes.
        rows: of tokens, each of two or more.
        batches: the rows of each step.
        processes: each computes every n-th row.
        micro: rows in one forward pass; None chooses by device.
        bfloat16: compute in bfloat16.
    """

    model: PreTrainedModel
    rows: Sequence[Ids]
    batches: Batches
    processes: Processes
    micro: int | None = None
    bfloat16: bool = False

    def __call__(self, step: int) -> torch.Tensor:
        """Add the gradient of this process's share of a step; return the share's part of the loss."""
        batch = list(map(self.rows.__getitem__, self.batches(step)))
        # over the tokens of the whole step, not of a pass: sums over passes and processes are then the mean of the step
        scale = 1 / (sum(map(len, batch)) - len(batch))
        share = sorted(batch[self.processes.rank :: self.processes.count], key=len)  # similar lengths: little padding
        device = self.processes.device
        micro = self.micro or (GPU_MICRO if device.type == "cuda" else CPU_MICRO)
        parts = [share[start : start + micro] for start in range(0, len(share), micro)]
        return accumulate(lambda part: scale * self._summed_loss(part), parts, device)

    def _summed_loss(self, rows: Sequence[Ids]) -> torch.Tensor:
        device = self.processes.device
        inputs, mask, targets = map(methodcaller("to", device), padded(rows))
        with torch.autocast(device.type, torch.bfloat16, enabled=self.bfloat16):
            logits = self.model(input_ids=inputs, attention_mask=mask).logits
        return torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum"
        )


def padded(rows: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return inputs, mask and targets, int64 [rows, longest - 1]: each token but the first is predicted."""
    # the last token is never read, as nothing follows it; padding is a target that the loss ignores
    return *right_padded([row[:-1] for row in rows]), right_padded([row[1:] for row in rows], IGNORED)[0]


def causal_training(
    model: Any,  # noqa: ANN401  peft publishes no types
    rows: Sequence[Ids],
    settings: TrainingSettings,
    processes: Processes,
    seed: int,
) -> Training:
    """Return the training of a causal model, with LoRA already added or not, on rows of tokens.

    Args:
        model: its parameters that require a gradient are trained.
        rows: of tokens, each of two or more; an epoch shows each once.
        settings: rate, batch, epochs and the rest.
        processes: that share each step.
        seed: of the order of the rows and of dropout.
    """
    batches = Batches(len(rows), settings.batch, seed)
    steps = batches.per_epoch * settings.epochs
    return Training(
        model=model,
        optimisers=[_optimiser(model, settings)],
        gradient=CausalGradient(
            model=model,
            rows=rows,
            batches=batches,
            processes=processes,
            micro=settings.micro,
            bfloat16=settings.dtype == "bfloat16",
        ),
        steps=steps,
        schedule=trapezoid(steps, warm_up=settings.warm_up, decay=steps if settings.schedule == "linear" else 0),
        clip=settings.clip,
        seed=seed,
    )


def tune(
    model: PreTrainedModel,
    rows: Sequence[Ids],
    settings: TrainingSettings,
    *,
    seed: int,
    folder: TrainingFolder | None = None,
    progress: TrainingProgress | None = None,
) -> Any:  # noqa: ANN401  peft publishes no types
    """Train a loaded model on rows of tokens, in this process; return it, or it with LoRA.

    The weights of the model change in place where `settings.method` is "full". Device and number of processes are the
    model's and one, whatever the settings say.

    Args:
        model: returned in evaluation mode.
        rows: of tokens, each of two or more; an epoch shows each once.
        settings: rate, batch, epochs and the rest.
        seed: of the order of the rows, of dropout and of LoRA's first weights.
        folder: keeps the state, so that a killed training continues; None keeps nothing on disk.
        progress: called after each step.
    """
    processes = Processes(model.device)
    with torch.random.fork_rng(devices=processes.cuda_devices):
        torch.manual_seed(seed)
        use_cache = model.config.use_cache
        model.requires_grad_(requires_grad=settings.method == "full")
        tuned = prepared(model, settings)
        training = causal_training(model=tuned, rows=rows, settings=settings, processes=processes, seed=seed)
        train(training, processes=processes, folder=folder, progress=progress)
    tuned.eval().requires_grad_(requires_grad=False)
    model.config.use_cache = use_cache
    return tuned


def prepared(model: PreTrainedModel, settings: TrainingSettings) -> Any:  # noqa: ANN401  peft publishes no types
    """Return a model ready for training: without a cache of keys and values, with LoRA where the settings say so."""
    model.config.use_cache = False
    if settings.gradient_checkpointing:
        with quiet():
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return _with_lora(model, settings) if settings.method == "lora" else model


def _with_lora(model: PreTrainedModel, settings: TrainingSettings) -> Any:  # noqa: ANN401  peft publishes no types
    """Return the model with new LoRA weights, the only ones that are trained; they start from torch's random state.

    Raises:
        MissingExtra: peft is not installed.
    """
    try:
        from peft import LoraConfig, get_peft_model  # noqa: PLC0415  an optional part
    except ImportError as error:
        raise MissingExtra("peft", purpose="training with LoRA") from error
    lora = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets) or "all-linear",
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),
        task_type="CAUSAL_LM",
    )
    with quiet():
        return get_peft_model(model, lora)


def _optimiser(model: torch.nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    if settings.optimiser == "sgd":
        trained = list(filter(attrgetter("requires_grad"), model.parameters()))
        return torch.optim.SGD(trained, lr=settings.rate, weight_decay=settings.weight_decay)
    return adamw(model, rate=settings.rate, weight_decay=settings.weight_decay)
