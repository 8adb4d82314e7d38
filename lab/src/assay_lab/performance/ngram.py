"""n-gram accuracy from ranks against generating the n-grams.

The papers' way: from a start position, give the model all tokens before it, let it write n = 5 tokens greedily, and
see whether they are the text's. Both baselines do that with the model's own `generate` and its key-value cache:

- `one by one`: a prompt at a time;
- `batched`: prompts sorted by length, padded on the left, under the token budget that assay has.

`starts` is `all` (every position, the default of assay) or `paper` (five in a text). The values must be equal, and the
script ends with an error where they are not.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from assay.models import TokenBudget, TransformersModel
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay_lab.columns import attributes
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import interleaved, ratios_to, spreads
from assay_lab.performance.subjects import LARGE, SMALL, TINY, library_texts, open_subject, samples_of, token_counts

N = 5
STARTS = 5


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured: where the n-grams start, how many texts of which length, and whether also one by one."""

    model: str
    starts: str
    texts: int
    characters: tuple[int, int]
    one_by_one: bool


CASES = (
    Case(SMALL, "all", texts=3, characters=(600, 1000), one_by_one=True),
    Case(SMALL, "paper", texts=24, characters=(600, 1000), one_by_one=True),
    Case(LARGE, "all", texts=1, characters=(400, 400), one_by_one=False),
    Case(LARGE, "paper", texts=3, characters=(600, 1000), one_by_one=False),
)
SMOKE = (
    Case(TINY, "all", texts=1, characters=(60, 80), one_by_one=True),
    Case(TINY, "paper", texts=2, characters=(60, 80), one_by_one=True),
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """All tokens before one start, and the n tokens that follow."""

    text: int
    ids: list[int]
    following: list[int]

    @property
    def tokens(self) -> int:
        """Positions it takes in a batch."""
        return len(self.ids) + N


def prompts(model: TransformersModel, texts: Sequence[str], starts: str) -> Iterator[Prompt]:
    """Every prompt of every text."""
    for index, encoded in enumerate(model.encoder.encode(texts)):
        last = encoded.scored - N
        chosen = range(last + 1) if starts == "all" else np.unique(np.linspace(0, last, STARTS).round().astype(int))
        ids = encoded.ids.tolist()
        for start in (encoded.first + int(place) for place in chosen):
            yield Prompt(index, ids[:start], ids[start : start + N])


def generated(model: TransformersModel, batch: Sequence[Prompt]) -> list[tuple[int, bool]]:
    """For each prompt its text, and whether greedy decoding writes the tokens that follow."""
    width = max(map(len, attributes(batch, "ids")))
    ids = torch.zeros((len(batch), width), dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(batch):
        # padding on the left, since generation goes on at the right end
        ids[row, width - len(prompt.ids) :] = torch.tensor(prompt.ids)
        mask[row, width - len(prompt.ids) :] = 1
    network: Any = model.checkpoint.model
    with torch.inference_mode():
        output = network.generate(
            ids.to(network.device),
            attention_mask=mask.to(network.device),
            max_new_tokens=N,
            do_sample=False,
            use_cache=True,
            pad_token_id=0,
        )
    written = output[:, width:].tolist()
    return [(prompt.text, row == prompt.following) for prompt, row in zip(batch, written, strict=True)]


def accuracies(found: Sequence[tuple[int, bool]]) -> NDArray[np.float64]:
    """The share of hits of each text."""
    texts, hits = np.array(found, np.int64).T
    shares: NDArray[np.float64] = np.bincount(texts, hits) / np.bincount(texts)
    return shares


def ways(model: TransformersModel, texts: Sequence[str], case: Case) -> dict[str, Callable[[], NDArray[np.float64]]]:
    """What is compared; each gives the accuracy of each text."""
    samples = samples_of(texts)
    name = f"ngram_accuracy:n={N}:starts={case.starts}"

    def assay() -> NDArray[np.float64]:
        return score_samples(samples, plan(requests(name), {"target": model})).values[name]

    def batched() -> NDArray[np.float64]:
        work = prompts(model, texts, case.starts)
        budget = TokenBudget(model.budget.tokens)
        return accuracies(list(chain.from_iterable(budget.run(work, partial(generated, model)))))

    def one_by_one() -> NDArray[np.float64]:
        work = prompts(model, texts, case.starts)
        return accuracies(list(chain.from_iterable(generated(model, [prompt]) for prompt in work)))

    compared = {"assay": assay, "batched": batched}
    if case.one_by_one:
        compared["one by one"] = one_by_one
    return compared


def measured(case: Case, repeats: int) -> dict[str, object]:
    """One case.

    Raises:
        AssertionError: the ways do not give the same values.
    """
    model = open_subject(case.model)
    shortest, longest = case.characters
    texts = library_texts(case.texts, shortest=shortest, longest=longest)
    tokens = token_counts(model, texts)
    compared = ways(model, texts, case)
    values = {way: run() for way, run in compared.items()}
    for way, found in values.items():
        # a way that gives other values is not compared for speed
        np.testing.assert_allclose(found, values["assay"], rtol=1e-12, err_msg=f"{way}, {case}")
    seconds = interleaved(compared, repeats)
    return {
        "model": case.model,
        "starts": case.starts,
        "texts": case.texts,
        "tokens": sum(tokens),
        "prompts": sum(1 for _ in prompts(model, texts, case.starts)),
        "mean_accuracy": float(values["assay"].mean()),
        "values_equal": True,
        "seconds": spreads(seconds),
        "ratio": ratios_to("assay", seconds),
    }


def run(scale: tuple[tuple[Case, ...], int], seed: int, data: Data) -> Result:
    """n-gram accuracy from ranks against generating the n-grams."""
    cases, repeats = scale
    return Result(list(map(measured, cases, repeat(repeats))))


EXPERIMENTS = (
    Experiment(
        name="performance/ngram",
        run=run,
        scales={"smoke": (SMOKE, 1), "full": (CASES, 3)},
        columns=("model", "starts", "tokens", "prompts", "mean_accuracy", ("seconds", "assay"), ("ratio", "batched")),
    ),
)
