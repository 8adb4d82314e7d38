"""VeilProbe (Hu et al., IJCAI 2025, arXiv:2506.19399): a sequence-to-sequence model learns the answers of the model.

As in the paper and its program (github.com/STAIR-BUPT/VeilProbe): the audited model continues each text three times
(temperature 0.2). A BERT-style encoder-decoder of 6 + 6 layers, 512 wide, with random weights, learns to give these
answers for the texts, without labels: for the labelled texts and for those to be judged. The features of a text are
the mean hidden states of all layers, of the encoder that reads the text and of the decoder at its first token; and how
far each moves when the key tokens of the text are replaced, where Welch's t-test on the labelled texts has p < 0.01
(else 0). A prototype network is fitted on the labelled texts: a text is classified by the nearer class mean in a
learned space of 16 dimensions.

Settled where paper, program and this package differ:

- A text here is a whole function, after which there is nothing to continue; the texts of the paper are passages. So
  the prompt, and the text that the mapping reads, is the first half; `prompt="whole"` sends all of it.
- The tokens are those of `builtin:small`, since the tokenizer of BERT does not ship.
- An answer has 128 tokens at most, so that text and answer fit in a small context; the program asks for 512.
- One mapping reads the original and the perturbed text, as in the program; it is trained on the original ones.
- Means are over the tokens of a text; the program's include its padding.
- Key tokens are found by one proxy model: `assay_lab.methods.key_tokens`.

Departures are options: `texts="labelled half"` keeps the judged texts from the mapping, which is then trained on half
of the labelled ones while the prototypes are fitted on the other half; `decoder="answer"` lets the decoder read the
answer; `perturbation="names"` replaces all names; sizes, epochs and
rate of the mapping.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import ttest_ind
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BertConfig,
    EncoderDecoderConfig,
    EncoderDecoderModel,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from assay.models import located, one_line, open_local, quiet, resolve_device
from assay.scoring import cut_texts, rewritten
from assay.training import Batches, Processes, Training, TrainingProgress, accumulate, adamw, train, trapezoid
from assay.types import Generator, Rejected, Sample, Score
from assay_lab.columns import among, at_places, present, text_column
from assay_lab.methods.key_tokens import perturbed
from assay_lab.methods.labelled import CUT, Completion, FittedOnTexts, TrainingTexts, check_classes

NAME = "veil_probe"
LONGEST = 512
"""Tokens of a text, and of an answer, that the mapping reads."""
HIDDEN, DIMENSIONS = 64, 16
"""Widths of the prototype network: of its hidden layers and of its space."""
EPISODES, SHOTS = 500, 5
"""Episodes of the prototype network, and support and query texts of each class in one."""
PROTOTYPE_RATE, PROTOTYPE_DECAY, BOTTLENECK = 3e-4, 1e-5, 1e-3
"""Of the prototype network: learning rate, weight decay, weight of the bottleneck loss."""
SIGNIFICANT = 0.01
"""Two-sided p-value of Welch's t-test below which the movement of a hidden unit counts."""
IGNORED = -100
Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class VeilProbeSettings:
    """Settings of VeilProbe.

    Attributes:
        texts: the texts that the mapping is trained on: "all", unlabelled, or the "labelled half".
        prompt: sent to the audited model, and read by the mapping: the first "half" of a text, or the "whole".
        answers: sampled for each text.
        temperature: of sampling; 0 is greedy.
        answer_tokens: most tokens of an answer.
        mapping: a sequence-to-sequence model to begin with, a folder or a hub id; None is a new one.
        layers, width, heads, feed_forward, dropout: of a new mapping, encoder and decoder alike.
        epochs, rate, batch, weight_decay: of its training; the rate falls linearly to 0.
        decoder: reads only its "start" token for the features, or the first "answer".
        perturbation: replaces the "key tokens" or all "names".
        key_share: share of the tokens that are key tokens.
        proxy: the open model that finds them.
        device: of mapping and proxy.
    """

    texts: Literal["all", "labelled half"] = "all"
    prompt: Literal["half", "whole"] = "half"
    answers: int = 3
    temperature: float = 0.2
    answer_tokens: int = 128
    mapping: str | None = None
    layers: int = 6
    width: int = 512
    heads: int = 8
    feed_forward: int = 2048
    dropout: float = 0.1
    epochs: int = 2
    rate: float = 5e-5
    batch: int = 2
    weight_decay: float = 0.01
    decoder: Literal["start", "answer"] = "start"
    perturbation: Literal["key tokens", "names"] = "key tokens"
    key_share: float = 0.1
    proxy: str = "builtin:small"
    device: str = "auto"


PUBLISHED = VeilProbeSettings()


@dataclass(frozen=True, slots=True, eq=False)
class Mapping:
    """The sequence-to-sequence model and its tokenizer."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True, eq=False)
class Prototypes:
    """The mean of each class in a learned space.

    Attributes:
        significant: bool [features], features that count; the others are 0.
        space: features → the space.
        points: float32 [2, dimensions], of non-members and of members.
    """

    significant: NDArray[np.bool_]
    space: torch.nn.Module
    points: torch.Tensor

    def nearer(self, rows: Rows) -> Rows:
        """Return float64 [texts]: distance to the non-members' point minus that to the members'."""
        with torch.inference_mode():
            away = torch.cdist(self.space(_tensor(rows, self.significant)), self.points)
        return (away[:, 0] - away[:, 1]).double().numpy()


@dataclass(frozen=True, slots=True, eq=False)
class VeilProbe(FittedOnTexts):
    """A fitted detector.

    Attributes:
        mapping: trained on answers of the audited model.
        prototypes: fitted on features of labelled texts.
        settings: of the method.
    """

    mapping: Mapping
    prototypes: Prototypes
    settings: VeilProbeSettings

    def scores(self, samples: Sequence[Sample]) -> list[Score]:
        """Return how much nearer each sample is to the members' prototype than to the others'.

        Raises:
            DataError: a sample, or one of its group, is among the labelled; or the mapping does not know it.
            ModelError: a model cannot be run.
        """
        self.refuse(samples, "mapping")
        rows, reasons = features(samples, self.generator, self.mapping, settings=self.settings, seed=self.labelled.seed)
        values = np.full(len(samples), np.nan)
        scored = ~np.isnan(rows).any(axis=1)
        if scored.any():
            values[scored] = self.prototypes.nearer(rows[scored])
        return [
            Score(sample.id, NAME, value=float(value), reason=reason)
            for sample, value, reason in zip(samples, values, reasons, strict=True)
        ]


def fit(
    samples: Sequence[Sample],
    labels: Sequence[bool],
    generator: Generator,
    *,
    unlabelled: Sequence[Sample] = (),
    settings: VeilProbeSettings = PUBLISHED,
    seed: int = 0,
) -> VeilProbe:
    """Fit on texts of known membership.

    Args:
        samples: the labelled texts.
        labels: True for a member.
        generator: the audited model.
        unlabelled: the texts to be judged.
        settings: of the method.
        seed: of the halves, of sampling, of random weights and of the order of training.

    Raises:
        DataError: too few texts of a class that can be scored, or too few groups.
        ModelError: a model cannot be opened or run.
    """
    labelled = TrainingTexts(tuple(samples), tuple(map(bool, labels)), seed)
    texts, fitting, judged = labelled.divided(settings.texts, unlabelled)
    prompts = present(prompts_of(texts, generator, settings))
    pairs = answered(prompts, generator, settings, answers=settings.answers, seed=seed)
    mapping = open_mapping(settings, seed=seed)
    learn(mapping, among(pairs, "reason", (None,)), settings, seed=seed)
    rows, _ = features(at_places(samples, fitting), generator, mapping, settings=settings, seed=seed)
    scored = ~np.isnan(rows).any(axis=1)
    truths = np.array(at_places(labelled.labels, fitting))[scored]
    check_classes(truths, len(fitting), "words that can be replaced")
    return VeilProbe(
        labelled=labelled,
        judged=judged,
        generator=generator,
        mapping=mapping,
        prototypes=prototypes(rows[scored], truths, seed=seed),
        settings=settings,
    )


def prompts_of(texts: Sequence[str], generator: Generator, settings: VeilProbeSettings) -> list[str | None]:
    """Return what is sent to the audited model for each text; None for a text that is too short to be cut."""
    if settings.prompt == "whole":
        return list(texts)
    return [str(cut.question.prompt) if cut.truth else None for (cut,) in cut_texts(CUT, texts, generator)]


def answered(
    prompts: Sequence[str], generator: Generator, settings: VeilProbeSettings, *, answers: int, seed: int
) -> list[Completion]:
    """Return so many sampled answers for each prompt, those of one prompt together.

    That the model ends a text where the prompt ends is an answer too, an empty one without a reason.

    Raises:
        ModelError: the model cannot be run.
    """
    # each prompt so many times in a row
    repeated = list(chain.from_iterable(zip(*[prompts] * answers, strict=True)))
    sampled = generator.generate(
        repeated, max_new_tokens=settings.answer_tokens, temperature=settings.temperature, seed=seed
    )
    return [
        Completion(prompt, "", answer.reason) if isinstance(answer, Rejected) else Completion(prompt, answer)
        for prompt, answer in zip(repeated, sampled, strict=True)
    ]


def open_mapping(settings: VeilProbeSettings, *, seed: int) -> Mapping:
    """Open the sequence-to-sequence model of the settings; without a name, a new one of random weights.

    Raises:
        ModelError: it cannot be opened.
    """
    place = located(settings.mapping or "builtin:small")
    device = resolve_device(settings.device)
    with quiet(), one_line(settings.mapping or "builtin:small"), torch.random.fork_rng():
        torch.manual_seed(seed)
        tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=Path(place).is_dir())
        if settings.mapping is not None:
            model = AutoModelForSeq2SeqLM.from_pretrained(place, local_files_only=Path(place).is_dir())
        else:
            model = _new_mapping(tokenizer, settings)
    return Mapping(model.to(device).eval(), tokenizer)


def _new_mapping(tokenizer: PreTrainedTokenizerBase, settings: VeilProbeSettings) -> EncoderDecoderModel:
    sizes: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": settings.width,
        "num_hidden_layers": settings.layers,
        "num_attention_heads": settings.heads,
        "intermediate_size": settings.feed_forward,
        "hidden_dropout_prob": settings.dropout,
        "attention_probs_dropout_prob": settings.dropout,
        "max_position_embeddings": LONGEST + 1,
        "pad_token_id": tokenizer.eos_token_id or 0,
    }
    config = EncoderDecoderConfig.from_encoder_decoder_configs(BertConfig(**sizes), BertConfig(**sizes))
    config.pad_token_id = config.decoder_start_token_id = tokenizer.eos_token_id or 0
    return EncoderDecoderModel(config)


def learn(
    mapping: Mapping,
    pairs: Sequence[Completion],
    settings: VeilProbeSettings,
    *,
    seed: int,
    progress: TrainingProgress | None = None,
) -> None:
    """Train the mapping, in place, to give the answer for each text."""
    if not pairs:
        return
    batches = Batches(len(pairs), settings.batch, seed)
    steps = batches.per_epoch * settings.epochs
    model = mapping.model

    def gradient(step: int) -> torch.Tensor:
        batch = at_places(pairs, batches(step))
        return accumulate(lambda part: _answer_loss(mapping, part), [batch], model.device)

    training = Training(
        model=model,
        optimisers=[adamw(model, rate=settings.rate, weight_decay=settings.weight_decay)],
        gradient=gradient,
        steps=steps,
        schedule=trapezoid(steps, decay=steps),
        clip=1.0,
        seed=seed,
    )
    train(training, processes=Processes(model.device), progress=progress)


def _answer_loss(mapping: Mapping, pairs: Sequence[Completion]) -> torch.Tensor:
    """Return the mean cross-entropy of the tokens of the answers, the end token included."""
    end = torch.tensor([mapping.tokenizer.eos_token_id or 0])
    answers = [torch.cat([_answer_ids(mapping, pair.answer), end]) for pair in pairs]
    targets = pad_sequence(answers, batch_first=True, padding_value=IGNORED).to(mapping.model.device)
    logits = mapping.model(**inputs(mapping, pairs, answers=True)).logits
    return cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)


def inputs(mapping: Mapping, pairs: Sequence[Completion], *, answers: bool) -> dict[str, torch.Tensor]:
    """Return the arguments of the mapping, padded: int64 [texts, longest].

    Args:
        mapping: the model.
        pairs: texts and answers.
        answers: whether the decoder reads the answer after its start token, or the start token alone.
    """
    start = torch.tensor([mapping.model.config.decoder_start_token_id or 0])
    texts = [_ids(mapping.tokenizer, pair.prompt, LONGEST) for pair in pairs]
    read = [torch.cat([start, _answer_ids(mapping, pair.answer)]) if answers else start for pair in pairs]
    tensors = {
        "input_ids": texts,
        "attention_mask": list(map(torch.ones_like, texts)),
        "decoder_input_ids": read,
        "decoder_attention_mask": list(map(torch.ones_like, read)),
    }
    return {name: pad_sequence(rows, batch_first=True).to(mapping.model.device) for name, rows in tensors.items()}


def _answer_ids(mapping: Mapping, answer: str) -> torch.Tensor:
    if not answer:
        return torch.empty(0, dtype=torch.int64)
    return _ids(mapping.tokenizer, answer, LONGEST - 1)


def _ids(tokenizer: PreTrainedTokenizerBase, text: str, longest: int) -> torch.Tensor:
    ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    # the end of a long text, which its continuation follows; an encoder cannot read nothing
    return torch.tensor(ids[-longest:] or [0], dtype=torch.int64)


def features(
    samples: Sequence[Sample], generator: Generator, mapping: Mapping, settings: VeilProbeSettings, *, seed: int
) -> tuple[Rows, list[str | None]]:
    """Return float64 [texts, 2 d], d the hidden states of the mapping, and why a row is NaN (None where it is not).

    The first half of a row are the states of the text, the second by how much those of the perturbed text differ.
    """
    own = prompts_of(text_column(samples), generator, settings)
    changed = _perturbed(samples, own, generator, settings=settings, seed=seed)
    both = [(first, second) for first, second in zip(own, changed, strict=True) if first is not None and second]
    pairs = iter(_read_by_decoder(list(chain.from_iterable(both)), generator, settings, seed=seed))
    rows: list[Rows | None] = []
    reasons: list[str | None] = []
    for prompt, other in zip(own, changed, strict=True):
        if prompt is None or not other:
            rows.append(None)
            reasons.append("no words to replace" if prompt else "too short to be cut")
            continue
        first, second = next(pairs), next(pairs)
        reasons.append(first.reason or second.reason)
        if reasons[-1] is None:
            state = states(mapping, first, settings)
            rows.append(np.concatenate([state, np.abs(states(mapping, second, settings) - state)]))
        else:
            rows.append(None)
    width = next(map(len, present(rows)), 1)
    return np.stack([np.full(width, np.nan) if row is None else row for row in rows]), reasons


def _perturbed(
    samples: Sequence[Sample],
    prompts: Sequence[str | None],
    generator: Generator,
    settings: VeilProbeSettings,
    *,
    seed: int,
) -> list[str | None]:
    """Return each prompt perturbed; None where it cannot be."""
    if settings.perturbation == "names":
        variants = [rewritten(sample, 1).texts for sample in samples]
        renamed = iter(prompts_of([texts[0] for texts in variants if texts], generator, settings))
        return [next(renamed) if texts else None for texts in variants]
    return list(_key_tokens_replaced(tuple(prompt or "" for prompt in prompts), settings, seed))


# labelled and judged texts: checkpoints of one run are audited one after the other, on the same
@lru_cache(maxsize=2)
def _key_tokens_replaced(prompts: tuple[str, ...], settings: VeilProbeSettings, seed: int) -> tuple[str | None, ...]:
    """Return each prompt with its key tokens replaced, which does not depend on the audited model."""
    proxy = open_local(settings.proxy, dtype="float32", device=settings.device)
    return tuple(perturbed(prompts, proxy, share=settings.key_share, seed=seed))


def _read_by_decoder(
    prompts: Sequence[str], generator: Generator, settings: VeilProbeSettings, *, seed: int
) -> list[Completion]:
    """Return each prompt with the answer that the decoder reads; an empty one where it reads its start alone."""
    if settings.decoder == "start":
        return list(map(Completion, prompts, repeat("")))
    return answered(prompts, generator, settings, answers=1, seed=seed)


def states(mapping: Mapping, pair: Completion, settings: VeilProbeSettings) -> Rows:
    """Return float64 [d]: mean hidden states of all layers, of the encoder, then of the decoder."""
    with torch.inference_mode():
        output = mapping.model(
            **inputs(mapping, [pair], answers=settings.decoder == "answer"), output_hidden_states=True
        )
    layers = (*output.encoder_hidden_states, *output.decoder_hidden_states)
    return np.concatenate([layer[0].mean(0).double().cpu().numpy() for layer in layers])


def prototypes(rows: Rows, truths: NDArray[np.bool_], *, seed: int) -> Prototypes:
    """Learn a space in which each class gathers around its mean.

    Args:
        rows: float64 [texts, features], states and movements.
        truths: bool [texts], True for a member; at least two of each class.
        seed: of weights and episodes.
    """
    significant = np.ones(rows.shape[1], np.bool_)
    half = rows.shape[1] // 2
    moved = rows[:, half:]
    significant[half:] = False
    if (varies := moved.std(0) > 0).any():
        # a unit that never moves has no variance, and a t-test of it is no number
        p = ttest_ind(moved[truths][:, varies], moved[~truths][:, varies], equal_var=False).pvalue
        significant[half:][varies] = p < SIGNIFICANT
    table = _tensor(rows, significant)
    classes = [np.flatnonzero(~truths), np.flatnonzero(truths)]
    # a class gives support and query, which share no text
    shots = [min(SHOTS, len(members) // 2) for members in classes]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        space = torch.nn.Sequential(
            torch.nn.Linear(rows.shape[1], HIDDEN),
            torch.nn.ReLU(),
            torch.nn.Linear(HIDDEN, HIDDEN),
            torch.nn.ReLU(),
            torch.nn.Linear(HIDDEN, DIMENSIONS),
        )

    def gradient(step: int) -> torch.Tensor:
        draw = np.random.default_rng([seed, step])
        drawn = [draw.permutation(members)[: 2 * count] for members, count in zip(classes, shots, strict=True)]
        return accumulate(lambda episode: _episode_loss(space, table, episode), [drawn], torch.device("cpu"))

    training = Training(
        model=space,
        optimisers=[torch.optim.Adam(space.parameters(), lr=PROTOTYPE_RATE, weight_decay=PROTOTYPE_DECAY, fused=True)],
        gradient=gradient,
        steps=EPISODES,
        seed=seed,
    )
    train(training, processes=Processes(torch.device("cpu")))
    with torch.inference_mode():
        points = centres(space, table, classes)
    return Prototypes(significant, space, points)


def _episode_loss(space: torch.nn.Module, table: torch.Tensor, drawn: Sequence[NDArray[np.int64]]) -> torch.Tensor:
    """Return cross-entropy of the queries by squared distance to the class means, plus the bottleneck loss."""
    support = [members[: len(members) // 2] for members in drawn]
    query = [members[len(members) // 2 :] for members in drawn]
    points = centres(space, table, support)
    vectors = space(table[np.concatenate(query)])
    classes = torch.tensor(np.repeat(range(len(query)), list(map(len, query))))
    bottleneck = torch.log1p(vectors.var(0)).sum()
    return cross_entropy(-(torch.cdist(vectors, points) ** 2), classes) + BOTTLENECK * bottleneck


def centres(space: torch.nn.Module, table: torch.Tensor, classes: Iterable[NDArray[np.int64]]) -> torch.Tensor:
    """Return the mean of each class in the learned space, float32 [classes, dimensions]."""
    return torch.stack([space(table[members]).mean(0) for members in classes])


def _tensor(rows: Rows, significant: NDArray[np.bool_]) -> torch.Tensor:
    """Return float32 [texts, features], 0 where a feature does not count."""
    return torch.from_numpy(np.where(significant, rows, 0.0)).float()
