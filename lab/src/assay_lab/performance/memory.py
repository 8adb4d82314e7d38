"""Peak memory against vocabulary size; the naive way takes 9 GB at 256k.

Each figure comes from a fresh process: the model is loaded and has run once on a short text, then the high-water mark
is set back, 2,048 tokens are run in one batch, and the growth is read.

- `assay`: token statistics.
- `bare`: the model's own forward pass; its logits are there and nothing is done with them.
- `full log-softmax`: the same seven statistics from a log-softmax of all logits in float32.
"""

import time
from itertools import islice

import torch
from torch import Tensor

from assay.models import Checkpoint, ModelSettings, TransformersModel
from assay_lab.builtin.base_tokenizer import train_tokenizer
from assay_lab.columns import attributes
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import PeakMemory, fresh
from assay_lab.performance.subjects import library_sources, random_llama

TEXTS, LENGTH = 8, 256
WAYS = ("assay", "bare", "full log-softmax")


def growth(way: str, vocabulary: int) -> dict[str, float]:
    """MiB above the loaded model, and seconds, of one batch; runs in a process of its own."""
    tokenizer = train_tokenizer(["def f(x): return x"], vocabulary_size=259, context=1024)
    network = random_llama(vocabulary=vocabulary, width=256, layers=2, heads=4)
    checkpoint = Checkpoint("random", model=network, tokenizer=tokenizer, folders=())
    model = TransformersModel(checkpoint, ModelSettings(batch_tokens=TEXTS * LENGTH))
    source = "".join(islice(library_sources(), 8)).encode("ascii", "replace").decode()
    texts = [source[start : start + LENGTH] for start in range(0, TEXTS * LENGTH, LENGTH)]
    run = {"assay": of_assay, "bare": bare, "full log-softmax": full_log_softmax}[way]
    # once before the mark: what is loaded at the first run is no cost of a batch
    run(model, [texts[0][:8]])
    with PeakMemory() as peak:
        start = time.perf_counter()
        run(model, texts)
        seconds = time.perf_counter() - start
    return {"mebibytes": peak.growth, "seconds": seconds}


def of_assay(model: TransformersModel, texts: list[str]) -> None:
    """Token statistics as assay takes them."""
    for _ in model.completed(texts):
        pass


def bare(model: TransformersModel, texts: list[str]) -> None:
    """The forward pass alone."""
    _logits(model, texts)


def full_log_softmax(model: TransformersModel, texts: list[str]) -> None:
    """The statistics by their definitions, over all logits at once."""
    logits, targets = _logits(model, texts)
    log_chances = logits.float().log_softmax(-1)
    # the naive way at its best: only one array of that size more than it must have
    del logits
    own = log_chances.gather(-1, targets[..., None])
    (log_chances > own).sum(-1).add(1).cpu()
    log_chances.amax(-1).cpu()
    chances = log_chances.exp()
    mean = (chances * log_chances).sum(-1, keepdim=True)
    (chances * (log_chances - mean).square()).sum(-1).cpu()
    ((log_chances < own) * chances).sum(-1).cpu()


def _logits(model: TransformersModel, texts: list[str]) -> tuple[Tensor, Tensor]:
    network = model.checkpoint.model
    ids = torch.stack(list(map(torch.from_numpy, attributes(model.encoder.encode(texts), "ids")))).to(network.device)
    with torch.inference_mode():
        return network(input_ids=ids[:, :-1], use_cache=False).logits, ids[:, 1:]


def run(scale: tuple[int, ...], seed: int, data: Data) -> Result:
    """Peak memory against vocabulary size."""
    rows = []
    for vocabulary in scale:
        # each way in a process of its own, because a peak never falls
        grown = {way: fresh(growth, way, vocabulary) for way in WAYS}
        rows.append({"vocabulary": vocabulary, "tokens": TEXTS * LENGTH, "ways": grown})
    return Result(rows)


EXPERIMENTS = (
    Experiment(
        name="performance/memory",
        run=run,
        scales={"smoke": (1_000,), "full": (32_000, 128_000, 256_000)},
        columns=("vocabulary", *(("ways", way, "mebibytes") for way in WAYS)),
    ),
)
