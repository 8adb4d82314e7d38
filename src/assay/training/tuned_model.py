"""The audited model after LoRA fine-tuning on texts: measured, then taken off again. Nothing on disk changes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from operator import methodcaller
from pathlib import Path
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

from assay.errors import DataError, ModelError
from assay.models import JointPass, ModelStore, StatisticsCache, TransformersModel, combined, measured, quiet
from assay.training.causal import Ids, member_rows, prepared, tune
from assay.training.loop import TrainingFolder
from assay.training.resuming import TrainingProgress
from assay.training.settings import TrainingSettings

COMMAND = "assay"
PROJECTIONS = (
    ("q_proj", "v_proj"),
    ("q_proj", "kv_b_proj"),
    ("q_b_proj", "kv_b_proj"),
    ("q_lin", "v_lin"),
    ("wq", "wv"),
    ("query", "value"),
    ("query_key_value",),
    ("qkv_proj",),
    ("Wqkv",),
    ("c_attn",),
    ("qkv",),
)
"""Names of query and value projections by family; where both are one layer with the keys, that layer."""
KERNEL_DIVERGENCE = TrainingSettings(
    method="lora",
    optimiser="sgd",
    warm_up=0,
    batch=4,
    epochs=1,
    checkpoints=(1,),
    clip=None,
    rank=8,
    alpha=32,
    dropout=0.1,
)
"""Fine-tuning of Choi et al. 2025, Table 9: plain gradient descent at a constant rate, on query and value layers."""


def query_value_projections(model: torch.nn.Module, name: str) -> tuple[str, ...]:
    """Return the names of a model's query and value projections.

    Raises:
        ModelError: it has none of a name that is in use.
    """
    present = {path.rpartition(".")[2] for path, module in model.named_modules() if hasattr(module, "weight")}
    for names in PROJECTIONS:
        if present.issuperset(names):
            return names
    raise ModelError(
        f"{name} has no query and value projections that LoRA could be put on: expected layers called "
        f"{', '.join(map(' and '.join, PROJECTIONS))}"
    )


def linear_layers(model: torch.nn.Module) -> tuple[str, ...]:
    """Return the names of a model's linear layers, without the one that gives the logits."""
    head = getattr(model, "get_output_embeddings", lambda: None)()
    names = set()
    for path, each in model.named_modules():
        if isinstance(each, torch.nn.Linear | Conv1D) and each is not head:
            names.add(path.rpartition(".")[2])
    return tuple(sorted(names))


def texts_as_rows(model: TransformersModel, texts: Sequence[str]) -> list[Ids]:
    """Return texts as rows of tokens to train on.

    Raises:
        DataError: no text has two tokens.
    """
    rows = member_rows(model.checkpoint.tokenizer, texts, context=model.context)
    if not rows:
        raise DataError(f"none of {len(texts)} texts has two tokens; expected at least one to fine-tune on")
    return rows


class TunedModel:
    """A model after fine-tuning on texts. It is trained when the first text has to be run.

    The LoRA weights are on the model only while texts are run, so the model itself can be used in between.

    Attributes:
        digest: of the model, the texts, the settings and the seed; entries in the cache are kept under it.
    """

    def __init__(
        self,
        model: TransformersModel,
        texts: Sequence[str],
        settings: TrainingSettings,
        *,
        seed: int,
        cache: StatisticsCache | None = None,
        folder: Path | None = None,
        progress: TrainingProgress | None = None,
    ) -> None:
        """Prepare the fine-tuning.

        Args:
            model: whose weights stay as they are.
            texts: an epoch shows each once.
            settings: with LoRA; without targets, the query and value projections are trained.
            seed: of the order of the texts, of dropout and of LoRA's first weights.
            cache: keeps what is measured; None keeps nothing.
            folder: keeps the state of the training, so that a killed one continues; None keeps nothing.
            progress: called after each step of the training.

        Raises:
            ModelError: the model has no query and value projections.
            DataError: no text has two tokens.
        """
        self._model, self._seed, self._progress = model, seed, progress
        inner: torch.nn.Module = model.checkpoint.model
        self._settings = replace(settings, targets=settings.targets or query_value_projections(inner, model.name))
        self._rows = texts_as_rows(model, texts)
        # tokens, not texts: what the digest covers is what the model is trained on
        rows = list(map(methodcaller("tolist"), self._rows))
        self.digest = combined([model.digest, asdict(self._settings), seed, rows])
        self._store = None if cache is None else ModelStore(cache, self.digest, f"{model.name}, fine-tuned")
        self._folder = folder
        self._weights: dict[str, torch.Tensor] | None = None

    @property
    def steps(self) -> int:
        """Steps of the fine-tuning."""
        return self._settings.epochs * -(-len(self._rows) // self._settings.batch)

    def measure(self, texts: Sequence[str], *, layer: int = -1) -> JointPass:
        """Return statistics and last hidden states of texts under the fine-tuned model, from one pass.

        Raises:
            ModelError: see `assay.models.measured`.
            MissingExtra: peft is not installed.
        """
        return measured(self._model, texts, layer=layer, store=self._store, running=self.attached)

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Put the LoRA weights on the model, for as long as the block runs."""
        inner = self._model.checkpoint.model
        use_cache = inner.config.use_cache
        if self._weights is None:
            tuned = self._trained()
        else:
            tuned = with_lora(inner, self._settings, self._seed)
            # the weights of LoRA are small beside the model: putting them on again costs little
            tuned.load_state_dict(self._weights, strict=False)
        tuned.eval()
        try:
            yield
        finally:
            with quiet():
                tuned.unload()
            inner.config.use_cache = use_cache

    def _trained(self) -> Any:  # noqa: ANN401  peft publishes no types
        # the digest covers model, settings, seed and texts, so a state in its folder can be of this training alone
        folder = None
        if self._folder is not None:
            place = self._folder / self.digest[:16]
            place.mkdir(parents=True, exist_ok=True)
            folder = TrainingFolder(place, COMMAND, self.digest)
        tuned = tune(
            self._model.checkpoint.model,
            self._rows,
            self._settings,
            seed=self._seed,
            folder=folder,
            progress=self._progress,
        )
        # only the LoRA weights are kept: unloading them gives the model back as it was
        self._weights = {key: value.clone() for key, value in tuned.state_dict().items() if "lora_" in key}
        return tuned


def with_lora(model: Any, settings: TrainingSettings, seed: int) -> Any:  # noqa: ANN401  peft publishes no types
    """Return a model with new LoRA weights, drawn with a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return prepared(model, settings)
