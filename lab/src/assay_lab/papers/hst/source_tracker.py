"""SourceTracker: an encoder of transformers that learns to find the whole of a code snippet from a fragment of it.

Section III-B of HybridSourceTracker: the first layers of an encoder, a projection, the symmetric loss of CLIP over
large batches; half of the fragments are rewritten by Algorithm 1. The result is a folder that `assay index build
--encoder` takes. Every draw depends on the seed and the number of the step alone, so a run that was killed continues.
"""

import hashlib
import math
import random
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn

from assay.corpora import Document, SourceText, by_function, source_texts
from assay.errors import DataError, ModelError
from assay.files import atomic_folder, write_json
from assay.models import quiet
from assay.retrieval import for_queries, open_encoder
from assay.retrieval.encoding import TransformersEncoder
from assay.training import (
    STATE,
    Batches,
    Processes,
    Training,
    TrainingFolder,
    TrainingProgress,
    adamw,
    read_state,
    train,
    trapezoid,
)
from assay.types import Encoder
from assay_lab.builtin.contrastive import Pairs, accumulate_gradient, clip_loss
from assay_lab.builtin.fragment_pairs import FragmentRecipe, Snippet, draw_fragment
from assay_lab.builtin.training_record import versions
from assay_lab.clones import TokenizedText
from assay_lab.columns import at_places, text_column
from assay_lab.training.processes import training_device
from assay_lab.training.recipes import RECIPE, keep_recipe

ENCODER, RECORD = "encoder", "record.json"
"""Folder of the trained encoder in that of its run, and the record beside it."""
COMMAND = "assay lab train-encoder"
FIRST_SCALE, HIGHEST_SCALE = 1 / 0.07, 100.0
"""Inverse temperature at the beginning and at most: those of CLIP (Radford et al. 2021, arXiv:2103.00020)."""
PADDED_TOGETHER = 16
"""Texts of like length that are padded to one length."""
HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 500
"""Of the snippets, as in the paper, and at most: they are not trained on, and searched at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerRecipe:
    """All choices that determine the weights, up to rounding; the defaults are the paper's.

    Attributes:
        model: folder or hub id of the encoder that training begins with.
        layers: of it that are kept, from the first on; None for all.
        dimensions: of a vector, after the projection.
        batch: pairs of a fragment and its snippet in a step, each the others' negatives.
        steps: of the run.
        rate: of AdamW.
        warm_up: steps in which the rate rises from 0.
        tokens: of the code, in a fragment; shorter snippets are not trained on.
        adapted_share: of the fragments that Algorithm 1 rewrites.
        max_length: tokens that the encoder reads of a text; None as the model states.
        seed: of the projection and of every draw.
    """

    model: str
    layers: int | None = 9
    dimensions: int = 1024
    batch: int = 2048
    steps: int = 2000
    rate: float = 6e-4
    warm_up: int = 500
    tokens: int = 60
    adapted_share: float = 0.5
    max_length: int | None = None
    seed: int = 0

    @property
    def fragments(self) -> FragmentRecipe:
        """How fragments are cut: comments stay, all have the same length, nothing but Algorithm 1 changes them."""
        return FragmentRecipe(
            tokens=self.tokens,
            tokens_share=1.0,
            bare_share=0.0,
            adapted_share=self.adapted_share,
            renamed_share=0.0,
            variant_share=0.0,
            edited_share=0.0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerMachine:
    """Hardware settings; none of them changes the weights beyond rounding.

    Attributes:
        device: "cpu", "cuda" or "auto".
        pairs_at_once: pairs whose graph is in memory at a time; the gradient is that of the whole batch.
        save_seconds: least time between two saved states.
        stop_after: steps of this call; None runs to the end.
    """

    device: str = "auto"
    pairs_at_once: int = 128
    save_seconds: float = 120.0
    stop_after: int | None = None


class SourceTracker(nn.Module):
    """The first layers of an encoder, its pooling, a projection, and the inverse temperature."""

    def __init__(self, encoder: TransformersEncoder, recipe: TrackerRecipe) -> None:
        super().__init__()
        self.encoder = encoder
        self.transformer = encoder.model.requires_grad_(requires_grad=True)
        self.projection = nn.Linear(encoder.dimensions, recipe.dimensions, bias=False)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(recipe.seed)
            # orthonormal columns keep all cosines: training begins with the geometry that the encoder has
            nn.init.orthogonal_(self.projection.weight)
        self.log_scale = nn.Parameter(torch.tensor(math.log(FIRST_SCALE)))

    def train(self, mode: bool = True) -> Self:  # noqa: FBT001, FBT002  as torch has it
        """Set the mode; dropout stays off, because the gradient of a large batch embeds each text twice."""
        super().train(mode)
        self.transformer.eval()
        return self

    @property
    def scale(self) -> torch.Tensor:
        """Inverse temperature."""
        return self.log_scale.exp().clamp(max=HIGHEST_SCALE)

    def forward(self, texts: Sequence[str]) -> torch.Tensor:
        """Return vectors [texts, d], of any length."""
        rows = self.encoder.token_ids(texts)
        order = np.argsort(list(map(len, rows)), kind="stable")
        # texts of like length together: otherwise half of the work would be padding
        parts = np.array_split(order, -(-len(order) // PADDED_TOGETHER))
        vectors = torch.cat([self.encoder.pooled(at_places(rows, part.tolist())) for part in parts])
        back = torch.from_numpy(np.argsort(order)).to(vectors.device)
        projected: torch.Tensor = self.projection(vectors[back])
        return projected


@dataclass(frozen=True, slots=True)
class TrainedTracker:
    """The outcome of a run.

    Attributes:
        folder: of the encoder.
        finished: True after the last step.
        steps: that are done.
        trained: snippets that are trained on.
        held_out: snippets that are not.
        mrr: mean reciprocal rank of the held-out snippets among each other, for fragments as in training.
        untrained_mrr: the same of the encoder that training began with.
    """

    folder: str
    finished: bool
    steps: int
    trained: int
    held_out: int
    mrr: float
    untrained_mrr: float


def snippets_of(corpora: Sequence[str], tokens: int) -> list[Snippet]:
    """Return the distinct functions of corpora, and files without functions, of at least so many tokens.

    Raises:
        DataError: a corpus does not exist or cannot be read.
    """
    return long_enough(by_function(source_texts(corpora)), tokens)


def long_enough(texts: Iterable[SourceText | Document], tokens: int) -> list[Snippet]:
    """Return the distinct texts of at least so many tokens, as snippets."""
    languages = {text.text: text.language or "" for text in texts}
    snippets = []
    for text, language in languages.items():
        # a token has one character at least
        if len(text) >= tokens and len(TokenizedText.of(text, language or None)) >= tokens:
            snippets.append(Snippet(text, text, language))
    return snippets


def train_tracker(
    out: Path,
    snippets: Sequence[Snippet],
    recipe: TrackerRecipe,
    *,
    machine: TrackerMachine,
    progress: TrainingProgress | None = None,
) -> TrainedTracker:
    """Train in the folder `out`, or continue there, and write the encoder to its folder `encoder`.

    Args:
        out: folder of the run, created if it is missing.
        snippets: of the corpus; a tenth of them is held out.
        recipe: of encoder and training.
        machine: hardware settings.
        progress: called after each step.

    Raises:
        DataError: `out` holds another run, or the corpus has fewer snippets than a batch.
        ModelError: the model is no encoder of transformers, has fewer layers, or dense layers of its own.
    """
    held_out, trained = divided(snippets)
    if len(trained) < recipe.batch:
        raise DataError(
            f"{len(trained):,} snippets of at least {recipe.tokens} tokens to train on; "
            f"expected at least one batch of {recipe.batch:,}"
        )
    keep_recipe(out / RECIPE, asdict(recipe))
    device = training_device(machine.device)
    model = SourceTracker(first_layers(recipe), recipe).to(device)
    batches = Batches(len(trained), recipe.batch, recipe.seed, whole_only=True)

    def gradient(step: int) -> torch.Tensor:
        draw = random.Random(f"{recipe.seed} {step}")  # noqa: S311  reproducible, not secret
        chosen = batches(step).tolist()
        fragments = [draw_fragment(trained, at, recipe=recipe.fragments, draw=draw) for at in chosen]
        pairs = list(zip(fragments, text_column(at_places(trained, chosen)), strict=True))
        # the whole batch is contrasted, and only so many pairs need memory at a time (`accumulate_gradient`)
        parts = [pairs[start : start + machine.pairs_at_once] for start in range(0, len(pairs), machine.pairs_at_once)]
        return accumulate_gradient(partial(embedded, model), parts, lambda f, d: clip_loss(f, d, model.scale))

    training = Training(
        model=model,
        optimisers=[adamw(model, rate=recipe.rate, weight_decay=0.01)],
        gradient=gradient,
        steps=recipe.steps,
        schedule=trapezoid(recipe.steps, warm_up=recipe.warm_up),
        clip=1.0,
        seed=recipe.seed,
        after_step=lambda step: {"pairs": step * recipe.batch, "scale": round(model.scale.item(), 2)},
    )
    folder = TrainingFolder(out, command=COMMAND, inputs=digest_of(snippets), save_seconds=machine.save_seconds)
    before = held_out_mrr(first_layers(recipe), held_out, recipe)
    finished = train(
        training,
        processes=Processes(device),
        folder=folder,
        stop_after=machine.stop_after,
        progress=progress,
    )
    steps = int(read_state(out / STATE, COMMAND, folder.inputs)["step"])
    export(model, out / ENCODER)
    result = TrainedTracker(
        folder=str(out / ENCODER),
        finished=finished,
        steps=steps,
        trained=len(trained),
        held_out=len(held_out),
        mrr=held_out_mrr(open_encoder(str(out / ENCODER)), held_out, recipe),
        untrained_mrr=before,
    )
    record = asdict(result) | {"recipe": asdict(recipe), "corpus_sha256": folder.inputs}
    write_json(out / RECORD, record | {"versions": versions("assay", "torch", "transformers", "numpy")})
    return result


def embedded(model: SourceTracker, pairs: Sequence[tuple[str, str]]) -> Pairs:
    """Return the vectors of fragments and of the snippets that they are from."""
    fragments, documents = zip(*pairs, strict=True)
    return model(fragments), model(documents)


def divided(snippets: Sequence[Snippet]) -> tuple[list[Snippet], list[Snippet]]:
    """Return the snippets that are held out, and those to train on, by the digests of their texts."""
    # the order of digests is random, and the same for any order of the corpus
    ordered = sorted(snippets, key=lambda snippet: hashlib.sha256(snippet.text.encode("utf-8", "replace")).digest())
    held_out = min(MOST_HELD_OUT, int(len(ordered) * HELD_OUT_SHARE))
    return ordered[:held_out], ordered[held_out:]


def digest_of(snippets: Sequence[Snippet]) -> str:
    """Return the digest of the texts of a run, whatever their order."""
    whole = hashlib.sha256()
    for text in sorted(text_column(snippets)):
        whole.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return whole.hexdigest()


def first_layers(recipe: TrackerRecipe) -> TransformersEncoder:
    """Open an encoder and keep its first layers.

    Raises:
        ModelError: it is no encoder of transformers, has fewer layers, or dense layers of its own.
    """
    encoder = open_encoder(recipe.model, max_length=recipe.max_length, dtype="float32")
    if not isinstance(encoder, TransformersEncoder):
        raise ModelError(f"{recipe.model}: received a bag of features; expected an encoder of transformers")
    if encoder.dense:
        raise ModelError(f"{recipe.model}: received dense layers after its pooling; expected a transformer alone")
    if recipe.layers is not None:
        keep_layers(encoder, recipe.layers)
    return encoder


def keep_layers(encoder: TransformersEncoder, count: int) -> None:
    """Remove all but the first layers from a model.

    Raises:
        ModelError: it has fewer, or its layers are not recognised.
    """
    config = encoder.model.config
    own = config.num_hidden_layers
    if not 1 <= count <= own:
        raise ModelError(f"{encoder.name}: received {count} layers to keep; expected 1 to {own}")
    # whatever an architecture calls them, its layers are the list that is as long as its configuration says
    modules = encoder.model.named_modules()
    lists = {name: each for name, each in modules if isinstance(each, nn.ModuleList) and len(each) == own}
    if len(lists) != 1:
        raise ModelError(f"{encoder.name}: received {len(lists)} lists of {own} layers; expected one")
    ((name, layers),) = lists.items()
    parent, _, attribute = name.rpartition(".")
    setattr(encoder.model.get_submodule(parent), attribute, layers[:count])
    config.num_hidden_layers = count
    if getattr(config, "layer_types", None):
        # some architectures state the kind of each layer beside their number
        config.layer_types = config.layer_types[:count]


def held_out_mrr(encoder: Encoder, held_out: Sequence[Snippet], recipe: TrackerRecipe) -> float:
    """Return the mean reciprocal rank of held-out snippets among each other, for fragments drawn as in training."""
    draw = random.Random(recipe.seed)  # noqa: S311  the same fragments each time
    fragments = [draw_fragment(held_out, at, recipe=recipe.fragments, draw=draw) for at in range(len(held_out))]
    # rank of the right snippet: 1 + those that are strictly more similar
    similarities = for_queries(encoder).encode(fragments) @ encoder.encode(text_column(held_out)).T
    above = (similarities > similarities.diagonal()[:, None]).sum(axis=1)
    return float(np.mean(1 / (1 + above))) if len(held_out) else math.nan


def export(model: SourceTracker, folder: Path) -> None:
    """Write the encoder as a model of sentence-transformers: transformer, pooling, projection."""
    encoder, steps = model.encoder, model.encoder.steps
    shutil.rmtree(folder, ignore_errors=True)
    with atomic_folder(folder) as unfinished, quiet():
        model.transformer.save_pretrained(unfinished)
        encoder.tokenizer.save_pretrained(unfinished)
        kinds = ("Transformer", "Pooling", "Dense")
        places = ("", "1_Pooling", "2_Dense")
        for place in places[1:]:
            (unfinished / place).mkdir()
        modules = [
            {"idx": at, "name": str(at), "path": place, "type": f"sentence_transformers.models.{kind}"}
            for at, (kind, place) in enumerate(zip(kinds, places, strict=True))
        ]
        write_json(unfinished / "modules.json", modules)
        limits = {"max_seq_length": steps.max_length, "do_lower_case": steps.lower_case}
        write_json(unfinished / "sentence_bert_config.json", limits)
        prompts = {"query": without_place(steps.query_template), "document": without_place(steps.template)}
        write_json(unfinished / "config_sentence_transformers.json", {"prompts": prompts})
        pooling = {"pooling_mode": list(steps.poolings), "word_embedding_dimension": encoder.dimensions}
        write_json(unfinished / "1_Pooling" / "config.json", pooling)
        sizes = {"in_features": model.projection.in_features, "out_features": model.projection.out_features}
        dense = sizes | {"bias": False, "activation_function": "torch.nn.modules.linear.Identity"}
        write_json(unfinished / "2_Dense" / "config.json", dense)
        weights = {"linear.weight": model.projection.weight.detach().cpu().contiguous()}
        save_file(weights, unfinished / "2_Dense" / "model.safetensors")


def without_place(template: str) -> str:
    """Return a template as a prefix, where the text comes at its end."""
    return template.removesuffix("{text}")
