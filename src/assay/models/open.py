"""One string → a model: `builtin:small`, a folder, or a hub id."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ModelError

if TYPE_CHECKING:
    from assay.models.encoding import Bos
    from assay.models.transformers_backend import TransformersModel

BUILTIN = Path(__file__).parent / "builtin"
BUILTIN_PREFIX = "builtin:"
KINDS = "builtin:NAME, a model folder or a Hugging Face id"


def open_model(
    name: str,
    *,
    revision: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
    attention: str | None = None,
    adapter: str | None = None,
    trust_remote_code: bool = False,
    bos: "Bos" = "auto",
    stride: int | None = None,
    max_length: int | None = None,
    batch_tokens: int | None = None,
) -> "TransformersModel":
    """Open a model by name.

    Args:
        name: `builtin:small` (ships with assay), a folder as save_pretrained writes it, or a hub id.
        revision: branch, tag or commit of a hub id.
        dtype: "auto" (float32 on the CPU, the checkpoint's own elsewhere), "float32", "bfloat16" or
            "float16".
        device: "auto", a torch device such as "cuda:1", or "balanced" to spread the model over all
            accelerators.
        attention: transformers' name of an attention implementation; None lets transformers choose.
        adapter: folder or id of a PEFT adapter to put on the model.
        trust_remote_code: run the Python code that comes with a checkpoint.
        bos: "auto" as the tokenizer does, "always" or "never" a beginning-of-sequence token before each text.
        stride: distance between the windows of a text longer than the context; None means 512.
        max_length: context to use, at most the model's own, which None means.
        batch_tokens: padded tokens in one batch; None chooses by device.

    Raises:
        ModelError: no such model, or it does not work; one line says why.
        MissingExtra: an optional dependency is needed for it.
    """
    # torch takes seconds to import; whoever only lists scores or opens a table model does not wait for it.
    from assay.models.loading import load_checkpoint  # noqa: PLC0415
    from assay.models.transformers_backend import TransformersModel  # noqa: PLC0415

    checkpoint = load_checkpoint(
        located(name),
        revision=revision,
        dtype=dtype,
        device=device,
        attention=attention,
        adapter=adapter,
        trust_remote_code=trust_remote_code,
    )
    return TransformersModel(
        replace(checkpoint, name=name),
        bos=bos,
        stride=stride,
        max_length=max_length,
        batch_tokens=batch_tokens,
    )


def located(name: str) -> str:
    """The folder or hub id behind a model's name.

    Raises:
        ModelError: no built-in model of that name, or a kind of model that this version does not open.
    """
    kind, colon, rest = name.partition(":")
    if colon and kind in ("vllm", "openai"):
        raise ModelError(f"model {name!r}: this version opens no {kind} models, only {KINDS}")
    return str(builtin_folder(rest)) if f"{kind}{colon}" == BUILTIN_PREFIX else name


def builtin_folder(name: str) -> Path:
    """Where a model that ships with assay lies.

    Raises:
        ModelError: none of that name; the line lists those there are.
    """
    known = sorted(folder.parent.name for folder in BUILTIN.glob("*/config.json"))
    if name not in known:
        raise ModelError(f"no built-in model {name!r}: expected one of {', '.join(known) or '(none are installed)'}")
    return BUILTIN / name
