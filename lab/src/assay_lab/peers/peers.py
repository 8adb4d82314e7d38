"""The way peers do it against assay: the same scores of the same texts.

`peers` is written here in the manner of the published programs, no line of them is copied: a text at a time, and each
program runs the model for itself and takes the softmax of all logits in float32.

- mink-plus-plus, `run.py`: one pass for loss, zlib, Min-K% and Min-K%++; `run_ref.py`: two more for lowercase;
- MGTBench: a pass each for rank, log-rank (both by sorting the vocabulary), entropy and LRR;
- a pass each for Fast-DetectGPT, Gap-K% and DC-PDD.

That is ten passes for twelve scores. `assay` runs the text and its lower-cased form. The values of both are compared.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.models import TransformersModel
from assay.scores import FrequencyTable, requests
from assay.scoring import plan, score_samples
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import interleaved, ratios, spreads, timed
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

TEXTS = {LARGE: 5, SMALL: 60, TINY: 6}
SCORES = "loss,zlib,min_k,min_k_plus_plus,lowercase,rank,log_rank,entropy,lrr,fast_detect_gpt,gap_k,dc_pdd"
K = 0.2
Values = Mapping[str, float]


class Peers:
    """A model and a tokenizer, run a text at a time by several programs that do not know of each other."""

    def __init__(self, model: TransformersModel, frequencies: FrequencyTable) -> None:
        self._model = model.checkpoint.model
        self._tokenizer = model.checkpoint.tokenizer
        self._surprise = frequencies.surprise
        self.programs: Mapping[str, Callable[[str], Values]] = {
            "mink-plus-plus run.py": self.likelihoods,
            "mink-plus-plus run_ref.py": self.lowercase,
            "MGTBench rank": lambda text: {"rank": -float(self._ranks(text).float().mean())},
            "MGTBench log-rank": lambda text: {"log_rank": -float(self._ranks(text).float().log().mean())},
            "MGTBench entropy": self.entropy,
            "MGTBench LRR": self.lrr,
            "Fast-DetectGPT": self.fast_detect_gpt,
            "Gap-K%": self.gap_k,
            "DC-PDD": self.dc_pdd,
        }

    def scores(self, texts: Sequence[str]) -> dict[str, list[float]]:
        """Every program over every text, one program after the other."""
        found: dict[str, list[float]] = {}
        for program in self.programs.values():
            for text in texts:
                for name, value in program(text).items():
                    found.setdefault(name, []).append(value)
        return found

    def likelihoods(self, text: str) -> Values:
        """Loss, zlib, Min-K% and Min-K%++ from one pass."""
        logits, targets = self._run(text)
        own, mean, variance = self._moments(logits, targets)
        log_likelihood = float(own.mean())
        standardised = (own - mean) / variance.sqrt()
        return {
            "loss": log_likelihood,
            "zlib": log_likelihood / len(zlib.compress(text.encode())),
            "min_k": _lowest(own),
            "min_k_plus_plus": _lowest(standardised),
        }

    def lowercase(self, text: str) -> Values:
        """Two passes: of the text and of its lower-cased form."""
        losses = []
        for form in (text, text.lower()):
            logits, targets = self._run(form)
            losses.append(float(torch.nn.functional.cross_entropy(logits.float(), targets)))
        return {"lowercase": losses[1] / losses[0]}

    def entropy(self, text: str) -> Values:
        """Negated mean entropy."""
        logits, _ = self._run(text)
        products = logits.float().softmax(-1) * logits.float().log_softmax(-1)
        return {"entropy": float(products.sum(-1).mean())}

    def lrr(self, text: str) -> Values:
        """Log-likelihood log-rank ratio."""
        logits, targets = self._run(text)
        own = logits.float().log_softmax(-1).gather(-1, targets[:, None])
        return {"lrr": -float(own.mean()) / float(_sorted_ranks(logits, targets).float().log().mean())}

    def fast_detect_gpt(self, text: str) -> Values:
        """The analytic form."""
        own, mean, variance = self._moments(*self._run(text))
        return {"fast_detect_gpt": float((own.sum() - mean.sum()) / variance.sum().sqrt())}

    def gap_k(self, text: str) -> Values:
        """Gap to the likeliest token, standardised, averaged over three tokens."""
        logits, targets = self._run(text)
        own, _, variance = self._moments(logits, targets)
        gap = (own - logits.float().log_softmax(-1).amax(-1)) / variance.sqrt()
        return {"gap_k": _lowest(gap.unfold(0, 3, 1).mean(-1))}

    def dc_pdd(self, text: str) -> Values:
        """First occurrences of each token against its frequency."""
        logits, targets = self._run(text)
        chances = logits.float().softmax(-1).gather(-1, targets[:, None]).squeeze(-1).cpu().numpy()
        # unique returns the first place of each token id, so each counts once
        ids, first = np.unique(targets.cpu().numpy(), return_index=True)
        return {"dc_pdd": float(np.minimum(chances[first].astype(np.float64) * self._surprise[ids], 0.01).mean())}

    def _run(self, text: str) -> tuple[Tensor, Tensor]:
        """Logits [n, V] and targets [n] of one text."""
        ids = torch.tensor(self._tokenizer.encode(text), device=self._model.device)[None]
        with torch.no_grad():
            logits = self._model(input_ids=ids).logits
        return logits[0, :-1], ids[0, 1:]

    def _ranks(self, text: str) -> Tensor:
        return _sorted_ranks(*self._run(text))

    @staticmethod
    def _moments(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probability of each target, and mean and variance of log p under p, each [n]."""
        chances, log_chances = logits.float().softmax(-1), logits.float().log_softmax(-1)
        mean = (chances * log_chances).sum(-1)
        variance = (chances * log_chances.square()).sum(-1) - mean.square()
        return log_chances.gather(-1, targets[:, None]).squeeze(-1), mean, variance


def _sorted_ranks(logits: Tensor, targets: Tensor) -> Tensor:
    # the whole vocabulary is sorted, as MGTBench does: this is what the timing is about
    return (logits.argsort(-1, descending=True) == targets[:, None]).nonzero()[:, 1] + 1


def _lowest(values: Tensor) -> float:
    return float(values.sort().values[: max(1, int(K * len(values)))].double().mean())


def measured(name: str, repeats: int) -> dict[str, object]:
    """One model."""
    model = open_subject(name)
    texts = library_texts(TEXTS[name])
    tokens = sum(token_counts(model, texts))
    frequencies = frequencies_of(model, texts)
    samples = samples_of(texts)
    peers = Peers(model, frequencies)

    def assay() -> Mapping[str, NDArray[np.float64]]:
        return score_samples(samples, plan(requests(SCORES), {"target": model}, frequencies)).values

    seconds = interleaved({"assay": assay, "peers": lambda: peers.scores(texts)}, repeats)
    return {
        "model": name,
        "vocabulary": model.vocabulary_size,
        "texts": len(texts),
        "tokens": tokens,
        "scores": SCORES.split(","),
        "seconds": spreads(seconds),
        "ratio": ratios(seconds["peers"], seconds["assay"]),
        "seconds_of_each_program": {
            program: timed(partial(scored, run, texts)) for program, run in peers.programs.items()
        },
        "largest_relative_difference": differences(assay(), peers.scores(texts)),
    }


def scored(program: Callable[[str], Values], texts: Sequence[str]) -> list[Values]:
    """What one program says of all texts."""
    return list(map(program, texts))


def differences(ours: Mapping[str, NDArray[np.float64]], theirs: Mapping[str, list[float]]) -> dict[str, float]:
    """Per score, the largest relative difference of any text."""
    return {name: float(np.max(np.abs(ours[name] - theirs[name]) / np.abs(theirs[name]))) for name in ours}


def run(scale: tuple[tuple[str, ...], int], seed: int, data: Data) -> Result:
    """The way peers do it against assay: the same scores of the same texts."""
    names, repeats = scale
    return Result(list(map(measured, names, repeat(repeats))))


EXPERIMENTS = (
    Experiment(
        name="peers/peers",
        run=run,
        scales={"smoke": ((TINY,), 1), "full": ((LARGE, SMALL), 3)},
        columns=("model", "texts", "tokens", ("seconds", "peers"), ("seconds", "assay"), "ratio"),
    ),
)
