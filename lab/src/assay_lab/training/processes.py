"""Several processes of one training: those that accelerate started, or a process group of torch."""

import os
from collections.abc import Sequence
from typing import Any

import torch

from assay.errors import DataError, MissingExtra
from assay.models import resolve_device
from assay.training import Processes


def launched() -> bool:
    """Return whether this process is one of several that accelerate started."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def training_device(name: str) -> torch.device:
    """Return the device of a training: "auto" (a GPU where there is one), "cpu" or "cuda".

    Raises:
        DataError: it is none of these, or there is no GPU for "cuda".
    """
    if name not in ("auto", "cpu", "cuda"):
        raise DataError(f"no device {name!r} to train on; expected auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise DataError("no GPU that torch can use; expected one, or the device cpu")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


class JoinedProcesses(Processes):
    """The processes of one training: those that accelerate started, a process group of torch, or this one alone."""

    def __init__(self, device: str) -> None:
        """Join the other processes, if there are any.

        Args:
            device: "auto" (a GPU where there is one), "cpu" or "cuda".

        Raises:
            DataError: no GPU for "cuda".
            MissingExtra: this is one of several processes, and accelerate is not installed.
        """
        if device == "cuda" and not torch.cuda.is_available():
            raise DataError("training.device = 'cuda': no GPU that torch can use; expected one, or 'cpu'")
        self._state = _joined(device) if launched() else None
        self._grouped = False
        if self._state:
            super().__init__(self._state.device)
            self.rank, self.count = self._state.process_index, self._state.num_processes
            return
        super().__init__(resolve_device(device))
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            self._grouped = True
            self.rank, self.count = torch.distributed.get_rank(), torch.distributed.get_world_size()

    def wait(self) -> None:
        """Wait until all processes have called this."""
        if self._state:
            self._state.wait_for_everyone()
        elif self._grouped:
            torch.distributed.barrier()

    def add_up(self, parameters: Sequence[torch.nn.Parameter], loss: torch.Tensor) -> torch.Tensor:
        """Sum gradients and loss over all processes, in one message; return the loss."""
        if self.count == 1:
            return loss
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        # a single all-reduce: latency is paid once a step, not once a parameter
        flat = torch.cat([loss.reshape(1), *(grad.reshape(-1).float() for grad in grads)])
        torch.distributed.all_reduce(flat)
        sizes = list(map(torch.numel, parameters))
        for parameter, grad in zip(parameters, flat[1:].split(sizes), strict=True):
            parameter.grad = grad.view_as(parameter).to(parameter.dtype)
        return flat[0]


def _joined(device: str) -> Any:  # noqa: ANN401  accelerate publishes no types
    try:
        from accelerate import PartialState  # noqa: PLC0415  an optional part
    except ImportError as error:
        raise MissingExtra("accelerate", purpose="training in several processes") from error
    return PartialState(cpu=device == "cpu" or not torch.cuda.is_available())
