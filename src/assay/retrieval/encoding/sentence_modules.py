"""The modules that a sentence-transformers model adds to a transformers model: modules.json and the folders it names.

The files are few and small, so they are read without the package. A module of another kind than these four is refused,
not ignored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from assay.errors import ModelError, plain_reason
from assay.files import parse_json

Find = Callable[[str], Path | None]
"""Path within a model to the file, or None if there is none."""

MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt",
    "pooling_mode_weightedmean_tokens": "weighted_mean",
    "pooling_mode_lasttoken": "last",
}
"""Switches of a pooling configuration, in the order in which several are concatenated."""

SPELLINGS = {"lasttoken": "last", "weightedmean": "weighted_mean", "mean_sqrt_len_tokens": "mean_sqrt"}
"""Names of modes in newer configurations that differ from ours."""


@dataclass(frozen=True, slots=True)
class SentenceModules:
    """Modules of a sentence-transformers model after its transformer.

    Attributes:
        folder: of the transformer within the model; "" for the model itself.
        poolings: names of poolings, whose results are concatenated.
        dense: layers after pooling.
        max_length: in tokens, if stated.
        lower_case: texts are lower-cased first.
        prompts: text before a text, by "query" and "document".
        files: all files that were read, for the digest.
    """

    folder: str = ""
    poolings: tuple[str, ...] = ("mean",)
    dense: tuple[nn.Module, ...] = ()
    max_length: int | None = None
    lower_case: bool = False
    prompts: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


def read_modules(name: str, find: Find) -> SentenceModules:
    """Return the modules of a model; the defaults if it is not a sentence-transformers model.

    Raises:
        ModelError: a module of another kind, or a file that is missing or damaged.
    """
    reader = _Reader(name, find, [])
    listing = reader.path("modules.json")
    if listing is None:
        return SentenceModules()
    modules = _listed(name, reader.json(listing))
    folders = dict(modules)
    if "Pooling" not in folders:
        raise ModelError(f"{name}: modules.json names no pooling; expected a Pooling module")
    folder = folders.get("Transformer", "")
    pooling = reader.settings(f"{folders['Pooling']}/config.json")
    limits = reader.settings(str(PurePosixPath(folder, "sentence_bert_config.json")))
    prompts = reader.settings("config_sentence_transformers.json").get("prompts") or {}
    if not pooling.get("include_prompt", True) and any(prompts.values()):
        raise ModelError(f"{name}: pooling leaves its prompts out; expected a model that pools over all tokens")
    return SentenceModules(
        folder=folder,
        poolings=_poolings(name, pooling),
        dense=tuple(_dense(reader, path) for kind, path in modules if kind == "Dense"),  # vectors get length 1 anyway
        max_length=limits.get("max_seq_length"),
        lower_case=bool(limits.get("do_lower_case")),
        prompts={key: prompts.get(key) or prompts.get(other) or "" for key, other in PROMPTS.items()},
        files=tuple(reader.files),
    )


def _listed(name: str, listing: Any) -> list[tuple[str, str]]:  # noqa: ANN401  JSON
    """Return kind and folder of the modules that a model lists.

    Raises:
        ModelError: one of them is of another kind, or lies outside of the model.
    """
    modules = []
    try:
        for module in listing:
            modules.append((str(module["type"]).rpartition(".")[2], str(module["path"]).rstrip("/")))
    except (TypeError, KeyError) as error:
        raise ModelError(f"{name}: modules.json is no list of modules with type and path") from error
    for kind, path in modules:
        # a forged list must not lead out of the folder of the model
        if Path(path).is_absolute() or ".." in Path(path).parts:
            raise ModelError(f"{name}: modules.json names the folder {path!r:.80}, expected one inside of the model")
        if kind not in ("Transformer", "Pooling", "Dense", "Normalize"):
            raise ModelError(
                f"{name}: module {kind!r} of modules.json; expected Transformer, Pooling, Dense, Normalize"
            )
    return modules


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reader of the files of one model; it records their paths."""

    name: str
    find: Find
    files: list[Path]

    def path(self, path: str) -> Path | None:
        """Return the path of a file, or None if there is none."""
        file = self.find(path)
        if file is not None:
            self.files.append(file)
        return file

    def settings(self, path: str) -> dict[str, Any]:
        """Return a JSON object; empty if there is no such file."""
        file = self.path(path)
        content = self.json(file) if file else {}
        return content if isinstance(content, dict) else {}

    def json(self, file: Path) -> Any:  # noqa: ANN401  any JSON value; the caller checks it
        """Return the content of a JSON file."""
        try:
            return parse_json(file.read_text("utf-8"))
        except ValueError as error:
            raise ModelError(f"{self.name}: {file.name} is not a JSON file: {plain_reason(error)}") from error


PROMPTS = {"query": "query", "document": "passage"}
"""The two roles, and the other name of each that models use."""


def _poolings(name: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
    named = settings.get("pooling_mode")
    if named is not None:
        # older files have a switch for each mode, newer ones name the modes, one or several
        modes = [named] if isinstance(named, str) else list(named)
        chosen = tuple(SPELLINGS.get(mode, mode) for mode in modes)
    else:
        chosen = tuple(mode for switch, mode in MODES.items() if settings.get(switch))
    if not chosen or not set(chosen) <= set(MODES.values()):
        raise ModelError(f"{name}: pooling {chosen or 'of no mode'}; expected some of {', '.join(MODES.values())}")
    return chosen


def _dense(reader: _Reader, path: str) -> nn.Module:
    weights = reader.path(f"{path}/model.safetensors")
    if weights is None:
        raise ModelError(f"{reader.name}: {path} has no model.safetensors; expected its weights in that format")
    settings = reader.settings(f"{path}/config.json")
    activation = str(settings.get("activation_function", "Tanh")).rpartition(".")[2]
    if activation not in ("Identity", "Tanh", "ReLU", "GELU", "Sigmoid"):
        raise ModelError(f"{reader.name}: activation {activation!r} of a dense layer; expected a common one")
    # the layer may have any name before its weight and bias
    state = {key.rpartition(".")[2]: value.float() for key, value in load_file(weights).items()}
    if "weight" not in state:
        raise ModelError(f"{weights}: expected linear.weight, received {', '.join(state)}")
    rows, columns = state["weight"].shape
    layer = nn.Linear(columns, rows, bias="bias" in state)
    layer.load_state_dict(state)
    return nn.Sequential(layer, getattr(nn, activation)()).eval().requires_grad_(requires_grad=False)


def apply_dense(layers: tuple[nn.Module, ...], pooled: torch.Tensor) -> torch.Tensor:
    """Return the pooled vectors after every dense layer."""
    for layer in layers:
        pooled = layer.to(pooled.device)(pooled)
    return pooled
