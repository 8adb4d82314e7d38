"""One string → a model: `builtin:small`, a folder, a hub id, `vllm:ID`, or `openai:MODEL@URL`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ModelError

if TYPE_CHECKING:
    from assay.models.encoding import Bos
    from assay.models.openai_http import OpenAIChat, OpenAICompletions
    from assay.models.transformers_backend import TransformersModel
    from assay.models.vllm_backend import VllmModel

BUILTIN = Path(__file__).parent / "builtin"
BUILTIN_PREFIX = "builtin:"
SERVER_PREFIXES = ("openai:", "openai-chat:")
VLLM_PREFIX = "vllm:"
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
    concurrency: int = 8,
) -> "TransformersModel | VllmModel | OpenAICompletions | OpenAIChat":
    """Open a model by name; what it can do is its type.

    Args:
        name: what `open_local` takes, or `vllm:ID` (extra `vllm`), or `openai:MODEL@http://host:port/v1` for the
            end point /completions of an OpenAI-compatible server, `openai-chat:…` for its /chat/completions.
        revision: as `open_local`; vLLM takes it too.
        dtype: likewise.
        device: as `open_local`.
        attention: likewise.
        adapter: likewise.
        trust_remote_code: as `open_local`; vLLM takes it too.
        bos: as `open_local`.
        stride: likewise.
        max_length: as `open_local`; vLLM takes it too.
        batch_tokens: as `open_local`.
        concurrency: requests at a time to a server.

    Raises:
        ModelError: no such model, it does not work, or it does not take a setting; one line says why.
        MissingExtra: an optional dependency is needed for it.
    """
    of_weights = {
        "revision": revision,
        "dtype": dtype,
        "trust_remote_code": trust_remote_code,
        "max_length": max_length,
    }
    of_network = {"device": device, "attention": attention, "adapter": adapter, "bos": bos, "stride": stride}
    of_network |= {"batch_tokens": batch_tokens}
    if name.startswith(SERVER_PREFIXES):
        from assay.models.openai_http import open_openai  # noqa: PLC0415  httpx, for those who ask a server

        _take_no(name, of_weights | of_network)
        return open_openai(name, concurrency=concurrency)
    if name.startswith(VLLM_PREFIX):
        from assay.models.vllm_backend import open_vllm  # noqa: PLC0415  see open_local

        _take_no(name, of_network)
        return open_vllm(
            name, revision=revision, dtype=dtype, trust_remote_code=trust_remote_code, max_length=max_length
        )
    return open_local(name, bos=bos, **of_weights, **{k: v for k, v in of_network.items() if k != "bos"})  # type: ignore[arg-type]  # the signature above


def _take_no(name: str, settings: Mapping[str, object]) -> None:
    """Raises ModelError where a setting was given that means nothing to this kind of model."""
    given = [key for key, value in settings.items() if value not in (None, False, "auto")]
    if given:
        kind = name.partition(":")[0]
        raise ModelError(f"model {name!r}: {kind} models take no {', '.join(given).replace('_', '-')}")


def open_local(
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
    """Open a model from its weights, through transformers.

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
    if colon and kind in ("vllm", "openai", "openai-chat"):
        raise ModelError(f"model {name!r} gives neither weights nor a tokenizer: expected {KINDS}")
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
