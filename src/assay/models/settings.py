"""How a model is opened: one frozen value."""

from dataclasses import dataclass, fields
from typing import Literal

from assay.errors import ModelError
from assay.models.spending import SpendingLimits

Bos = Literal["auto", "always", "never"]
"""A beginning-of-sequence token before each text: as the tokenizer does it, always, or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Settings of a model. The defaults suit every kind of model.

    Attributes:
        revision: branch, tag or commit of a hub id.
        dtype: "auto" (float32 on the CPU, where half precision is slow and coarse; the checkpoint's own elsewhere),
            "float32", "bfloat16" or "float16".
        device: "auto" (the accelerator if there is one), a torch device such as "cuda:1", or "balanced" to spread the
            model over all accelerators.
        attention: attention implementation by transformers' name ("sdpa", "eager", "flash_attention_2"); None lets
            transformers choose.
        adapter: folder or hub id of a PEFT adapter to put on the model.
        trust_remote_code: run the Python code that comes with a checkpoint.
        bos: beginning-of-sequence token before each text.
        chat_template: score and continue each text as an assistant's reply in the model's chat template.
        stride: distance in tokens between the windows of a text longer than the context; None means 512, or half the
            context where that is not longer than 512.
        max_length: context to use in tokens, at most the model's own, which None means.
        batch_tokens: padded tokens in one batch; None means 1024 on the CPU (4096 to generate), 32768 elsewhere.
        concurrency: requests at a time to a server.
        max_requests: requests to a server in all; None for no limit, here and below.
        max_tokens: tokens that a server reads and writes in all.
        price: of a million tokens of a server.
        max_cost: of a server in all; it needs a price.
        requests_per_minute: rate of requests to a server.
        ray: address of the Ray cluster whose workers open the model; None for this process.
    """

    revision: str | None = None
    dtype: str = "auto"
    device: str = "auto"
    attention: str | None = None
    adapter: str | None = None
    trust_remote_code: bool = False
    bos: Bos = "auto"
    chat_template: bool = False
    stride: int | None = None
    max_length: int | None = None
    batch_tokens: int | None = None
    concurrency: int = 8
    max_requests: int | None = None
    max_tokens: int | None = None
    price: float | None = None
    max_cost: float | None = None
    requests_per_minute: float | None = None
    ray: str | None = None

    @property
    def limits(self) -> SpendingLimits:
        """Return the limits of a model behind a server.

        Raises:
            ModelError: a limit of the cost without a price.
        """
        return SpendingLimits(**{field.name: getattr(self, field.name) for field in fields(SpendingLimits)})

    def deciding(self) -> dict[str, object]:
        """Return the settings that can change a value, by name: limits and workers cannot."""
        without = {"concurrency", "ray", *(limit.name for limit in fields(SpendingLimits))}
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in without}

    def require_only(self, supported: frozenset[str], name: str) -> None:
        """Refuse a setting that means nothing to this kind of model.

        Args:
            supported: names of the settings that the kind of model has.
            name: the model's name; its prefix is the kind.

        Raises:
            ModelError: another setting differs from its default.
        """
        changed = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        surplus = [name for name in changed if name not in supported]
        if surplus:
            kind = name.partition(":")[0]
            raise ModelError(f"model {name!r}: {kind} models take no {', '.join(surplus).replace('_', '-')}")
