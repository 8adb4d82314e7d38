"""VeilProbe (Hu et al., IJCAI 2025): a sequence-to-sequence model learns how the audited model answers.

A small encoder-decoder learns to give, for the beginning of a text, what the audited model writes behind it. Its hidden
states say how beginning and answer belong together; how far they move when the names in the text are replaced is the
second part of the features. Prototypes of the two classes decide: the mean of the members and that of the others in a
space learned for it from few labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import ttest_ind
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    T5Config,
    T5ForConditionalGeneration,
)

from assay.leakage.labelled import Completion, TrainingTexts, check_classes, completions
from assay.models import located, one_line, quiet
from assay.scores import SRDETECTION, fitted
from assay.scoring import rewritten
from assay.types import Generator, Sample, Score

NAME = "veil_probe"
LONGEST = 256
"""Tokens of a beginning, and of what was written, that the mapping reads."""
DIMENSIONS = 16
"""Of the space of the prototypes."""
EPISODES = 200
SIGNIFICANT = 0.01
"""Two-sided p-value of Welch's t-test below which the movement of a hidden unit counts."""
IGNORED = -100
Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Mapping:
    """The sequence-to-sequence model and its tokenizer."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True, eq=False)
class Prototypes:
    """Two points in a learned space.

    Attributes:
        centre: float64 [features], mean of each feature.
        spread: float64 [features], its standard deviation; 1 where it does not vary.
        kept: bool [features], which features count.
        space: features → the space.
        points: float32 [2, dimensions], of non-members and of members.
    """

    centre: Rows
    spread: Rows
    kept: NDArray[np.bool_]
    space: torch.nn.Module
    points: torch.Tensor

    def nearer(self, rows: Rows) -> Rows:
        """float64 [texts]: squared distance to the non-members' point minus that to the members'."""
        with torch.inference_mode():
            away = torch.cdist(self.space(standard(rows, self.centre, self.spread)[:, self.kept]), self.points) ** 2
        return (away[:, 0] - away[:, 1]).double().numpy()


@dataclass(frozen=True, slots=True, eq=False)
class VeilProbe:
    """A fitted detector.

    Attributes:
        taught: the labelled texts.
        generator: the audited model.
        mapping: learned from half of them.
        prototypes: from the features of the other half.
    """

    taught: TrainingTexts
    generator: Generator
    mapping: Mapping
    prototypes: Prototypes

    @property
    def labels(self) -> int:
        """How many labelled texts it was fitted on."""
        return len(self.taught.labels)

    def scores(self, samples: Sequence[Sample]) -> list[Score]:
        """How much nearer each sample is to the members' prototype than to the others'.

        Raises:
            DataError: a sample, or one of its group, is among the labelled.
            ModelError: the audited model cannot be run.
        """
        self.taught.refuse_overlap(samples)
        rows, reasons = features(samples, self.generator, self.mapping)
        values = np.full(len(samples), np.nan)
        scored = ~np.isnan(rows).any(axis=1)
        if scored.any():
            values[scored] = self.prototypes.nearer(rows[scored])
        return [
            Score(one.id, NAME, float(value), reason)
            for one, value, reason in zip(samples, values, reasons, strict=True)
        ]


@fitted(
    name=NAME,
    title="VeilProbe",
    formula="squared distance to the prototype of the non-members - that to the prototype of the members",
    reference="Hu et al., IJCAI 2025",
    names_in={SRDETECTION: "VeilProbe"},
)
def fit(
    samples: Sequence[Sample],
    labels: Sequence[bool],
    generator: Generator,
    *,
    mapping: str | None = None,
    epochs: int = 10,
    rate: float = 1e-3,
    batch: int = 8,
    seed: int = 0,
) -> VeilProbe:
    """Fit on texts of known membership.

    Args:
        samples: the texts.
        labels: True for a member.
        generator: the audited model.
        mapping: a sequence-to-sequence model to begin with, a folder or a hub id; None is a small T5 of random weights.
        epochs: how often the mapping reads its half.
        rate: its learning rate.
        batch: texts a step.
        seed: of the halves, of random weights and of the order of training.

    Raises:
        DataError: too few texts of a class that can be scored, or too few groups.
        ModelError: a model cannot be opened or run.
    """
    taught = TrainingTexts(tuple(samples), tuple(bool(one) for one in labels), seed)
    first, second = taught.halves()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        found = open_mapping(mapping)
        pairs = completions([samples[i].text for i in first], generator)
        learn(found, [one for one in pairs if one.written], epochs=epochs, rate=rate, batch=batch, seed=seed)
        rows, _ = features([samples[i] for i in second], generator, found)
        scored = ~np.isnan(rows).any(axis=1)
        truths = np.array([taught.labels[i] for i in second])[scored]
        check_classes(truths, len(second), "two halves, in a language whose names can be replaced")
        return VeilProbe(taught, generator, found, prototypes(rows[scored], truths, seed=seed))


def open_mapping(name: str | None) -> Mapping:
    """The sequence-to-sequence model of that name; without one a small T5 of random weights.

    Raises:
        ModelError: it cannot be opened.
    """
    place = located(name or "builtin:small")
    with quiet(), one_line(name or "builtin:small"):
        tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=Path(place).is_dir())
        if name is not None:
            return Mapping(
                AutoModelForSeq2SeqLM.from_pretrained(place, local_files_only=Path(place).is_dir()), tokenizer
            )
    end = tokenizer.eos_token_id or 0
    settings = T5Config(
        vocab_size=len(tokenizer),
        d_model=128,
        d_kv=32,
        d_ff=256,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        pad_token_id=end,
        eos_token_id=end,
    )
    settings.decoder_start_token_id = end
    return Mapping(T5ForConditionalGeneration(settings), tokenizer)


def learn(
    mapping: Mapping, pairs: Sequence[Completion], *, epochs: int, rate: float, batch: int, seed: int
) -> list[float]:
    """Train the mapping, in place, to give what was written for each beginning; the mean loss of each epoch."""
    optimiser = torch.optim.AdamW(mapping.model.parameters(), lr=rate)
    order, losses = np.random.default_rng(seed), []
    mapping.model.train()
    for _ in range(epochs):
        shuffled, loss_sum = order.permutation(len(pairs)), 0.0
        for start in range(0, len(pairs), batch):
            chosen = [pairs[i] for i in shuffled[start : start + batch]]
            loss = mapping.model(**inputs(mapping.tokenizer, chosen)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(mapping.model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            loss_sum += float(loss.detach()) * len(chosen)
        losses.append(loss_sum / max(1, len(pairs)))
    mapping.model.eval()
    return losses


def inputs(tokenizer: PreTrainedTokenizerBase, pairs: Sequence[Completion]) -> dict[str, torch.Tensor]:
    """Beginnings and what was written, in tokens, padded: int64 [texts, longest]."""
    beginnings = [_ids(tokenizer, one.beginning) for one in pairs]
    written = [_ids(tokenizer, one.written) for one in pairs]
    return {
        "input_ids": pad_sequence(beginnings, batch_first=True),
        "attention_mask": pad_sequence([torch.ones_like(one) for one in beginnings], batch_first=True),
        "labels": pad_sequence(written, batch_first=True, padding_value=IGNORED),
    }


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> torch.Tensor:
    return torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"][-LONGEST:] or [0], dtype=torch.int64)


def features(samples: Sequence[Sample], generator: Generator, mapping: Mapping) -> tuple[Rows, list[str | None]]:
    """float64 [texts, 4 d], d the width of the mapping, and why a row is NaN; None where it is not.

    The first half of a row are the states of the text's own pair, the second by how much those of the pair with
    replaced names differ from them.
    """
    renamed = [rewritten(one, 1) for one in samples]
    own = completions([one.text for one in samples], generator)
    changed = iter(completions([one.texts[0] for one in renamed if one.texts], generator))
    others = [next(changed) if one.texts else None for one in renamed]
    rows: dict[int, Rows] = {}
    reasons: list[str | None] = []
    for place, (pair, other, names) in enumerate(zip(own, others, renamed, strict=True)):
        if other is None:
            reasons.append(names.reason or "no names to replace")
        elif not pair.written or not other.written:
            reasons.append(pair.reason or other.reason)
        else:
            first, second = states(mapping, pair), states(mapping, other)
            rows[place] = np.concatenate([first, np.abs(second - first)])
            reasons.append(None)
    width = next((len(row) for row in rows.values()), 1)
    found = np.full((len(samples), width), np.nan)
    for place, row in rows.items():
        found[place] = row
    return found, reasons


def states(mapping: Mapping, pair: Completion) -> Rows:
    """float64 [2 d]: mean last hidden state of the encoder over the beginning, and of the decoder over the answer."""
    with torch.inference_mode():
        found = mapping.model(**inputs(mapping.tokenizer, [pair]), output_hidden_states=True)
    both = (found.encoder_last_hidden_state, found.decoder_hidden_states[-1])
    return np.concatenate([one[0].mean(0).double().numpy() for one in both])


def prototypes(rows: Rows, truths: NDArray[np.bool_], *, seed: int) -> Prototypes:
    """A space in which each class gathers around its mean, learned from few texts.

    Args:
        rows: float64 [texts, features].
        truths: bool [texts], True for a member; at least two of each class.
        seed: of the episodes.
    """
    centre, spread = rows.mean(0), rows.std(0)
    spread[spread == 0] = 1
    half = rows.shape[1] // 2
    kept = np.ones(rows.shape[1], np.bool_)
    moved = rows[:, half:]
    varies = moved.std(0) > 0
    kept[half:] = False
    if varies.any():
        p = ttest_ind(moved[truths][:, varies], moved[~truths][:, varies], equal_var=False).pvalue
        kept[half:][varies] = p < SIGNIFICANT
    given = standard(rows, centre, spread)[:, kept]
    space = torch.nn.Sequential(torch.nn.Linear(int(kept.sum()), 64), torch.nn.ReLU(), torch.nn.Linear(64, DIMENSIONS))
    optimiser = torch.optim.AdamW(space.parameters(), lr=1e-3, weight_decay=1e-2)
    draw = np.random.default_rng(seed)
    classes = [np.flatnonzero(truths == label) for label in (False, True)]
    for _ in range(EPISODES):
        shuffled = [draw.permutation(one) for one in classes]
        support = [one[: len(one) // 2] for one in shuffled]
        query = [one[len(one) // 2 :] for one in shuffled]
        points = torch.stack([space(given[one]).mean(0) for one in support])
        away = torch.cdist(space(given[np.concatenate(query)]), points) ** 2
        wanted = torch.tensor([label for label, one in enumerate(query) for _ in one])
        cross_entropy(-away, wanted).backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    with torch.inference_mode():
        points = torch.stack([space(given[one]).mean(0) for one in classes])
    return Prototypes(centre, spread, kept, space, points)


def standard(rows: Rows, centre: Rows, spread: Rows) -> torch.Tensor:
    """float32 [texts, features], standardised."""
    return torch.from_numpy((rows - centre) / spread).float()
