"""All one-pass scores against the fastest bare forward pass of the same texts.

- `single`: a bare pass. The model's own forward pass of one text after the other, `model(input_ids)`, logits included
  and thrown away. Tokens were made before the clock starts. The fastest bare pass on a CPU.
- `batched`: the same in length-sorted, padded batches of `BATCH` tokens, `model(input_ids, attention_mask)`. The
  fastest on a GPU.
- `statistics`: assay's token statistics: tokenising, sorting, batching, the forward pass, seven numbers a token.
- `scores`: the whole of assay: plan, statistics, and every score that one pass gives.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat

import torch
from torch import Tensor

from assay.models import TokenBudget, TransformersModel
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay_lab.columns import attributes
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import interleaved, ratios_to, spreads
from assay_lab.performance.subjects import (
    LARGE,
    SMALL,
    TINY,
    frequencies_of,
    library_texts,
    open_subject,
    samples_of,
    token_counts,
)

TEXTS = {LARGE: 6, SMALL: 60, TINY: 8}
BATCH = 4096
"""Padded tokens of one batch of the bare pass."""


@dataclass(frozen=True, slots=True)
class Row:
    """One text as the model reads it: the last token is predicted, never read."""

    ids: list[int]

    @property
    def tokens(self) -> int:
        """Positions it takes in a batch."""
        return len(self.ids)


def batches(model: TransformersModel, texts: Sequence[str]) -> list[tuple[Tensor, Tensor]]:
    """Ids and attention mask of each batch, both int64 [batch, length] and on the model's device."""
    device = model.checkpoint.model.device

    def padded(rows: list[Row]) -> tuple[Tensor, Tensor]:
        # the longest row of a batch comes first
        ids = torch.zeros((len(rows), rows[0].tokens), dtype=torch.int64)
        mask = torch.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : row.tokens] = torch.tensor(row.ids)
            mask[place, : row.tokens] = 1
        return ids.to(device), mask.to(device)

    rows = [Row(encoded.ids[:-1].tolist()) for encoded in model.encoder.encode(texts)]
    return list(TokenBudget(BATCH).run(rows, padded))


def one_by_one(prepared: Sequence[tuple[Tensor, Tensor]]) -> list[Tensor]:
    """Ids of each text of the batches, int64 [1, length], without padding."""
    alone: list[Tensor] = []
    for ids, mask in prepared:
        # a view of the same ids without their padding
        alone += [row[None, : int(own.sum())] for row, own in zip(ids, mask, strict=True)]
    return alone


def ways(model: TransformersModel, texts: Sequence[str]) -> dict[str, Callable[[], object]]:
    """What is compared."""
    samples = samples_of(texts)
    frequencies = frequencies_of(model, texts)
    prepared = batches(model, texts)
    alone = one_by_one(prepared)
    run = model.checkpoint.model

    def single() -> None:
        with torch.inference_mode():
            for ids in alone:
                run(input_ids=ids, use_cache=False)

    def batched() -> None:
        with torch.inference_mode():
            for ids, mask in prepared:
                run(input_ids=ids, attention_mask=mask, use_cache=False)

    def statistics() -> None:
        for _ in model.completed(texts):
            pass

    def scores() -> None:
        score_samples(samples, plan(requests("one-pass"), {"target": model}, frequencies))

    return {"single": single, "batched": batched, "statistics": statistics, "scores": scores}


def measured(name: str, repeats: int) -> dict[str, object]:
    """One model."""
    model = open_subject(name)
    texts = library_texts(TEXTS[name])
    tokens = sum(token_counts(model, texts))
    # of one thread the processor's time counts, which other programs disturb less
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    seconds = interleaved(ways(model, texts), repeats, clock)
    fastest = min(("single", "batched"), key=lambda way: sorted(seconds[way])[repeats // 2])
    return {
        "model": name,
        "vocabulary": model.vocabulary_size,
        "parameters": model.checkpoint.model.num_parameters(),
        "texts": len(texts),
        "tokens": tokens,
        "batch_tokens": model.budget.tokens,
        "scores": attributes(requests("one-pass"), "name"),
        "seconds": spreads(seconds),
        "tokens_per_second": {way: tokens / sorted(found)[len(found) // 2] for way, found in seconds.items()},
        "clock": clock.__name__,
        "fastest_bare": fastest,
        "ratio_to_fastest": ratios_to(fastest, seconds, "statistics", "scores"),
    }


def run(scale: tuple[tuple[str, ...], int], seed: int, data: Data) -> Result:
    """All one-pass scores against the fastest bare forward pass of the same texts."""
    names, repeats = scale
    return Result(list(map(measured, names, repeat(repeats))))


EXPERIMENTS = (
    Experiment(
        name="performance/one_pass",
        run=run,
        scales={"smoke": ((TINY,), 1), "full": ((LARGE, SMALL), 5)},
        columns=("model", "tokens", ("seconds", "scores"), ("ratio_to_fastest", "scores")),
    ),
)
