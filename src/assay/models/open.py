"""One string → a model: `builtin:small`, a folder, a hub id, a GGUF file, `vllm:ID`, or `openai:MODEL@URL`.

`MODELS` is the table of prefixes; other distributions add theirs through entry points of the group `assay.models`.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from assay.errors import ModelError, require
from assay.garbage import garbage_collection_paused
from assay.models.names import builtin_name
from assay.models.settings import ModelSettings
from assay.models.spending import SpendingLimits
from assay.plug_ins import PlugIns
from assay.types import Generator

if TYPE_CHECKING:
    from assay.models.llama_cpp_backend import LlamaCppModel
    from assay.models.openai_http import OpenAIChat, OpenAICompletions
    from assay.models.transformers_backend import TransformersModel
    from assay.models.vllm_backend import VllmModel

DEFAULTS = ModelSettings()
SERVER_SETTINGS = frozenset({"concurrency", *map(attrgetter("name"), fields(SpendingLimits))})
VLLM_SETTINGS = frozenset({"revision", "dtype", "trust_remote_code", "max_length", "concurrency"})
BUILTIN = "builtin"
LLAMA_SETTINGS = frozenset({"revision", "device", "bos", "stride", "max_length"})
ModelFactory = Callable[[str, ModelSettings], Generator]
"""The whole name and the settings → a model that generates text; it may be a `TokenScorer` or `LogProbScorer` too."""


def open_model(name: str, settings: ModelSettings = DEFAULTS, **changes: object) -> Generator:
    """Open a model by name. Its type says what it can do.

    Args:
        name: `builtin:small` (ships with assay), a folder as save_pretrained writes it, a hub id, `PATH.gguf` or
            `hub-id:FILE.gguf` (extra `gguf`), `llama:` and such a file (extra `llama`), `vllm:ID` (extra `vllm`),
            `openai:MODEL@http://host:port/v1` for the end point /completions of an OpenAI-compatible server,
            `openai-chat:…` for its /chat/completions, or the prefix of a plug-in, a colon and what it takes.
        settings: how to open it.
        changes: single settings by name, for example `device="cuda"`.

    Raises:
        ModelError: there is no such model, it does not work, or it does not have a setting; one line says why.
        MissingExtra: it needs an optional dependency.
        PlugInError: the plug-in of that prefix cannot be used.
    """
    settings = replace(settings, **changes)  # type: ignore[arg-type]  # a wrong name raises TypeError, as any call does
    prefix, colon, _ = name.partition(":")
    model = MODELS[prefix if colon and prefix in MODELS else BUILTIN](name, settings)
    if not isinstance(model, Generator):
        raise ModelError(f"model {name!r} is of type {type(model).__name__}; expected one that generates text")
    return model


def open_local(name: str, settings: ModelSettings = DEFAULTS, **changes: object) -> "TransformersModel":
    """Open a model from its weights, through transformers.

    Args:
        name: `builtin:small` (ships with assay), a folder as save_pretrained writes it, a hub id, or a GGUF file.
        settings: how to open it.
        changes: single settings by name.

    Raises:
        ModelError: there is no such model, or it does not work; one line says why.
        MissingExtra: it needs an optional dependency.
    """
    return _open_weights(name, replace(settings, **changes))  # type: ignore[arg-type]  # see open_model


def _open_local(name: str, settings: ModelSettings) -> "TransformersModel":
    """Open a model from its weights; a built-in one imports transformers only when it has to."""
    if builtin_name(name) is not None:
        require("torch", "transformers", purpose=f"model {name!r}")
        with garbage_collection_paused():
            from assay.models.builtin_model import BuiltinModel, reads  # noqa: PLC0415  as torch, in _open_weights

        if reads(name, settings):
            return BuiltinModel(name, settings)
    return _open_weights(name, settings)


def _open_weights(name: str, settings: ModelSettings) -> "TransformersModel":
    """Open a model of transformers that only decodes."""
    require("torch", "transformers", purpose=f"model {name!r}")
    # torch takes seconds to import; listing scores or opening a table model does not wait for it
    with garbage_collection_paused():
        from assay.models.loading import load_checkpoint  # noqa: PLC0415
        from assay.models.transformers_backend import TransformersModel  # noqa: PLC0415

    checkpoint = load_checkpoint(name, settings)
    if checkpoint.model.config.is_encoder_decoder:
        raise ModelError(f"{name} is an encoder-decoder model: expected one that only decodes, such as GPT-2 or Llama")
    return TransformersModel(checkpoint, settings)


def _open_server(name: str, settings: ModelSettings) -> "OpenAICompletions | OpenAIChat":
    from assay.models.openai_http import open_openai  # noqa: PLC0415  httpx, only for servers

    settings.require_only(SERVER_SETTINGS, name)
    return open_openai(name, concurrency=settings.concurrency, limits=settings.limits)


def _open_vllm(name: str, settings: ModelSettings) -> "VllmModel":
    from assay.models.vllm_backend import open_vllm  # noqa: PLC0415  as torch, in _open_weights

    settings.require_only(VLLM_SETTINGS, name)
    return open_vllm(name, settings)


def _open_llama(name: str, settings: ModelSettings) -> "LlamaCppModel":
    require("torch", purpose=f"model {name!r}")
    from assay.models.llama_cpp_backend import open_llama  # noqa: PLC0415  as torch, in _open_weights

    settings.require_only(LLAMA_SETTINGS, name)
    return open_llama(name, settings)


MODELS: PlugIns[ModelFactory] = PlugIns(
    "assay.models",
    accepts=callable,
    description="a function of a name and ModelSettings that returns a model",
    own={
        BUILTIN: _open_local,
        "openai": _open_server,
        "openai-chat": _open_server,
        "vllm": _open_vllm,
        "llama": _open_llama,
    },
)
"""Prefix of a model's name → what opens it; a name without prefix is opened as a folder, a file or a hub id."""
