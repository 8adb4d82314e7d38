"""Settings of one continued pre-training."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """Settings of a continued pre-training.

    Attributes:
        method: "lora" (peft) or "full".
        optimiser: "adamw", or "sgd" without momentum.
        rate: learning rate after the warm-up.
        schedule: "constant", so that a checkpoint at epoch e is what a run of e epochs gives, or "linear": falls to 0.
        warm_up: steps in which the rate rises from 0.
        batch: rows in one optimiser step, over all processes.
        epochs: passes over members and general text.
        checkpoints: epochs after which the model is kept.
        weight_decay: of the optimiser.
        clip: largest norm of the gradient; None for no limit.
        rank, alpha, dropout: of LoRA.
        targets: names of the layers that get LoRA, such as "q_proj"; none for all linear layers.
        context: tokens in a row; None for the model's own context.
        micro: rows in one forward pass; None chooses by device.
        dtype: "float32" or "bfloat16", of the frozen weights and of what is computed.
        gradient_checkpointing: less memory for more time.
        device: "auto", "cpu" or "cuda".
        processes: started through accelerate; each has its own GPU, or its share of the CPU.
    """

    method: Literal["lora", "full"] = "lora"
    optimiser: Literal["adamw", "sgd"] = "adamw"
    rate: float = 1e-4
    schedule: Literal["constant", "linear"] = "constant"
    warm_up: int = 4
    batch: int = 32
    epochs: int = 5
    checkpoints: tuple[int, ...] = (1, 3, 5)
    weight_decay: float = 0.0
    clip: float | None = 1.0
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: tuple[str, ...] = ()
    context: int | None = None
    micro: int | None = None
    dtype: Literal["float32", "bfloat16"] = "float32"
    gradient_checkpointing: bool = False
    device: Literal["auto", "cpu", "cuda"] = "auto"
    processes: int = 1
