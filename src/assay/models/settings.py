"""How a model is opened: one frozen value."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from assay.errors import ModelError
from assay.models.spending import SpendingLimits
from assay.settings import MODEL_OPTION, Setting

Bos = Literal["auto", "always", "never"]
"""A beginning-of-sequence token before each text: as the tokenizer does it, always, or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings(SpendingLimits):
    """Settings of a model. The defaults suit every kind of model."""

    PANEL: ClassVar[str] = "Model"
    device: Annotated[str, Setting("auto, cpu, cuda, cuda:N, or balanced.", metavar="DEVICE", common=True)] = "auto"
    revision: Annotated[str | None, Setting("Branch, tag or commit of a hub model.", inside=MODEL_OPTION)] = None
    dtype: Annotated[
        str,
        Setting(
            "auto: float32 on a CPU, where half precision is slow and coarse; the checkpoint's own elsewhere.",
            metavar="auto|float32|bfloat16|float16",
            inside=MODEL_OPTION,
        ),
    ] = "auto"
    attention: Annotated[
        str | None,
        Setting(
            "Attention implementation; transformers chooses without it.",
            metavar="eager|sdpa|flash_attention_2",
            inside=MODEL_OPTION,
        ),
    ] = None
    adapter: Annotated[
        str | Path | None,
        Setting("Folder or hub id of a PEFT adapter to put on the model (extra: hf).", inside=MODEL_OPTION),
    ] = None
    trust_remote_code: Annotated[
        bool, Setting("Run the Python code that comes with a checkpoint.", inside=MODEL_OPTION)
    ] = False
    bos: Annotated[
        Bos,
        Setting("Beginning-of-sequence token: as the tokenizer does (auto), always, or never.", inside=MODEL_OPTION),
    ] = "auto"
    chat_template: Annotated[
        bool, Setting("Score each text as an assistant's reply in the model's chat template.", inside=MODEL_OPTION)
    ] = False
    stride: Annotated[
        int | None,
        Setting(
            "Step between windows of texts longer than the context (512, at most half the context).",
            least=1,
            inside=MODEL_OPTION,
        ),
    ] = None
    max_length: Annotated[
        int | None, Setting("Context length in tokens, at most the model's own.", least=2, inside=MODEL_OPTION)
    ] = None
    batch_tokens: Annotated[
        int | None,
        Setting(
            "Padded tokens of a batch, halved on lack of memory (1024 on a CPU, 4096 to generate; 32768 elsewhere).",
            least=1,
            inside=MODEL_OPTION,
        ),
    ] = None
    concurrency: Annotated[
        int, Setting("Requests at a time to a server.", least=1, decides=False, inside=MODEL_OPTION)
    ] = 8
    cache: Annotated[bool, Setting("Read and write the statistics cache.", decides=False, inside=MODEL_OPTION)] = True

    @property
    def limits(self) -> SpendingLimits:
        """The limits of a model behind a server."""
        return SpendingLimits(**{field.name: getattr(self, field.name) for field in fields(SpendingLimits)})

    def require_only(self, supported: frozenset[str], name: str) -> None:
        """Refuse a setting that means nothing to this kind of model.

        Args:
            supported: names of the settings that the kind of model has.
            name: the model's name; its prefix is the kind.

        Raises:
            ModelError: another setting differs from its default.
        """
        # a setting that is silently without effect would be believed: it is refused
        surplus = [setting for setting in self.changed() if setting not in supported | {"cache"}]
        if surplus:
            kind = name.partition(":")[0]
            raise ModelError(f"model {name!r}: {kind} models take no {', '.join(surplus).replace('_', '-')}")
