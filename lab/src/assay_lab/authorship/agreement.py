"""Detectors of generated code against the published code: values score by score, and time in one run.

`published` holds checkouts of MGTBench, fast-detect-gpt, Binoculars and LLM-generated-text-detection, by these names.
Nothing of theirs is copied: their functions are imported from there. Models are tiny
ones, made on the spot, but for the speed, which is measured on `builtin:small`.
"""

import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import neg
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import BartConfig, BartForConditionalGeneration, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from assay.errors import DataError
from assay.models import ModelSettings, TransformersModel, open_local
from assay.scores import Derived, Deriver, requests
from assay.scoring import plan, score_samples
from assay.types import Rejected, Sample
from assay_lab.columns import text_column
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.mappings import numbered
from assay_lab.measuring import interleaved, ratios
from assay_lab.methods.pair import ModelPair, PairedStatistics
from assay_lab.methods.perturbing import Copies, CopyStatistics, StylePerturbation
from assay_lab.methods.seq2seq import open_seq2seq

TEXTS = [
    "def add(a, b):\n    return a + b\n",
    "for i in range(10):\n    total += weights[i] * i\nprint(total)\n",
    "class R:\n    def __init__(self):\n        self.items = []\n\n    def top(self):\n        return self.items[0]\n",
    "import os\n\n# list the folder\nfor name in sorted(os.listdir('.')):\n    print(name, os.path.getsize(name))\n",
]
METRICS = "loss,rank,log_rank,entropy,lrr,fast_detect_gpt"


def stub(name: str, **members: object) -> None:
    """Put a module in place of one that the published file imports and that is not needed here."""
    module = ModuleType(name)
    for key, value in members.items():
        setattr(module, key, value)
    sys.modules[name] = module


def imported(path: Path, name: str) -> Any:  # noqa: ANN401  a module of others
    """Import one published file."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DataError(f"{path}: expected a file that Python can import")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def published(folder: Path) -> SimpleNamespace:
    """Import the functions that are compared; modules for data and plots are stubs."""
    nothing = lambda *_, **__: None  # noqa: E731
    stub("methods.utils", timeit=lambda function: function, get_clf_results=nothing)
    stub("methods.IntrinsicDim", PHD=nothing)
    stub("data_builder", load_data=nothing, save_data=nothing)
    stub("model", load_tokenizer=nothing, load_model=nothing, get_model_fullname=nothing, from_pretrained=nothing)
    stub("metrics", get_roc_metrics=nothing, get_precision_recall_metrics=nothing)
    stub("methods")
    return SimpleNamespace(
        mgt=imported(folder / "MGTBench" / "methods" / "metric_based.py", "methods.metric_based"),
        perturb=imported(folder / "MGTBench" / "methods" / "detectgpt.py", "methods.detectgpt"),
        fast=imported(folder / "fast-detect-gpt" / "scripts" / "fast_detect_gpt.py", "fast_detect_gpt"),
        baselines=imported(folder / "fast-detect-gpt" / "scripts" / "baselines.py", "baselines"),
        binoculars=imported(folder / "Binoculars" / "binoculars" / "metrics.py", "binoculars_metrics"),
        bart=imported(folder / "LLM-generated-text-detection" / "bart_score.py", "bart_score"),
    )


def tokenizer() -> PreTrainedTokenizerFast:
    """Return one token a byte, with special tokens around a text for the encoder-decoder model only."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = numbered(["<s>", "</s>", "<pad>", *letters])
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    names = dict(zip(("bos_token", "eos_token", "pad_token"), ("<s>", "</s>", "<pad>"), strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


def tiny_models(folder: Path) -> None:
    """Write two decoders and one encoder-decoder with random weights."""
    common: dict[str, Any] = {"vocab_size": 300, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    for seed in (1, 2):
        torch.manual_seed(seed)
        sizes: dict[str, Any] = {"n_embd": 48, "n_layer": 2, "n_head": 4, "n_positions": 512, "initializer_range": 0.3}
        GPT2LMHeadModel(GPT2Config(**common, **sizes)).save_pretrained(folder / f"decoder-{seed}")
        tokenizer().save_pretrained(folder / f"decoder-{seed}")
    torch.manual_seed(3)
    layers: dict[str, Any] = {
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
    }
    width: dict[str, Any] = {
        "d_model": 48,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "max_position_embeddings": 512,
    }
    config = BartConfig(**common, **layers, **width, init_std=0.3, decoder_start_token_id=1, forced_eos_token_id=None)
    BartForConditionalGeneration(config).save_pretrained(folder / "bart")
    whole = tokenizer()
    whole.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    whole.save_pretrained(folder / "bart")


class FixedCopies:
    """Copies that both sides score: the comparison is about scores, not about draws."""

    digest = "fixed"

    def __call__(self, texts: Sequence[str], n: int) -> Sequence[Copies]:
        """Return the copies of `StylePerturbation`."""
        return StylePerturbation()(texts, n)


def ours(folder: Path) -> dict[str, list[float]]:
    """Return our values of every compared score."""
    first, second = decoders_in(folder)
    pair = ModelPair(second, first, ModelSettings())
    derivers: dict[str, Deriver] = {
        "spans": CopyStatistics(FixedCopies(), first),
        "restored": Restored(folder),
        "pair": PairedStatistics(pair),
    }
    asked = requests(f"{METRICS},binoculars,detect_gpt:n=4,npr:n=4,bart_score")
    samples = list(map(Sample, map(str, range(len(TEXTS))), TEXTS))
    table = score_samples(samples, plan(asked, {"target": first}, derivers=derivers))
    values = {name.partition(":")[0]: column.tolist() for name, column in table.values.items()}
    crossed = score_samples(samples, plan(requests("fast_detect_gpt"), {"target": pair}))
    return values | {"fast_detect_gpt of two models": crossed.values["fast_detect_gpt"].tolist()}


class Restored:
    """Texts given fixed revisions."""

    digest = "fixed"

    def __init__(self, folder: Path) -> None:
        self.model = open_seq2seq(str(folder / "bart"))

    def __call__(self, samples: Sequence[Sample], n: int) -> list[Derived | Rejected]:
        """Return the statistics of each text given its revision."""
        texts = text_column(samples)
        return [Derived((row,) * n) for row in self.model.conditional(revisions(), texts)]


def revisions() -> list[str]:
    """Return one fixed revision of each text."""
    return [text.replace("a", "value") for text in TEXTS]


def decoders_in(folder: Path) -> tuple[TransformersModel, TransformersModel]:
    """Open both decoders."""
    return open_local(str(folder / "decoder-1")), open_local(str(folder / "decoder-2"))


def of_mgtbench(mgt: Any, model: Any, words: PreTrainedTokenizerFast) -> dict[str, list[float]]:  # noqa: ANN401
    """Return score → the values of MGTBench, in our orientation."""
    values: dict[str, list[float]] = {}
    for text, copies in zip(TEXTS, FixedCopies()(TEXTS, 4), strict=True):
        inputs = (model, words, "cpu")
        likelihood, log_rank = mgt.get_ll(text, *inputs), mgt.get_rank(text, *inputs, log=True)
        perturbed = mgt.get_lls(copies.texts, *inputs)
        ranks = mgt.get_ranks(copies.texts, *inputs, log=True)
        own = {
            "loss": likelihood,
            "rank": -mgt.get_rank(text, *inputs),
            "log_rank": -log_rank,
            "entropy": -mgt.get_entropy(text, *inputs),
            "lrr": -likelihood / log_rank,
            "detect_gpt": float((likelihood - np.mean(perturbed)) / (np.std(perturbed) or 1)),
            "npr": float(np.mean(ranks)) / log_rank,
        }
        for score, value in own.items():
            values.setdefault(score, []).append(value)
    return values


def theirs(code: SimpleNamespace, folder: Path) -> Iterator[tuple[str, str, list[float]]]:
    """Yield source, score and the published values, in our orientation."""
    first, second = decoders_in(folder)
    model, words = first.checkpoint.model, tokenizer()
    for score, values in of_mgtbench(code.mgt, model, words).items():
        yield "MGTBench", score, values
    rows = [words(text, return_tensors="pt", return_token_type_ids=False) for text in TEXTS]
    with torch.inference_mode():
        logits = [model(**row).logits[:, :-1] for row in rows]
        others = [second.checkpoint.model(**row).logits[:, :-1] for row in rows]
    labels = [row.input_ids[:, 1:] for row in rows]
    fast, base = code.fast.get_sampling_discrepancy_analytic, code.baselines
    yield "fast-detect-gpt", "loss", list(map(base.get_likelihood, logits, labels))
    yield "fast-detect-gpt", "rank", list(map(base.get_rank, logits, labels))
    yield "fast-detect-gpt", "log_rank", list(map(base.get_logrank, logits, labels))
    # the published function gives the entropy itself
    yield "fast-detect-gpt", "entropy", list(map(neg, map(base.get_entropy, logits, labels)))
    yield "fast-detect-gpt", "fast_detect_gpt", list(map(fast, logits, logits, labels))
    yield "fast-detect-gpt", "fast_detect_gpt of two models", list(map(fast, others, logits, labels))
    yield "Binoculars", "binoculars", list(map(partial(binocular, code, model, second.checkpoint.model), rows))
    # without its constructor, which would load a model of the hub
    scorer = code.bart.BARTScorer.__new__(code.bart.BARTScorer)
    restored = open_seq2seq(str(folder / "bart"))
    scorer.device, scorer.max_length, scorer.tokenizer = "cpu", 512, restored.checkpoint.tokenizer
    scorer.model, scorer.lsm = restored.checkpoint.model, torch.nn.LogSoftmax(dim=1)
    scorer.loss_fct = torch.nn.NLLLoss(reduction="none", ignore_index=2)
    yield "BARTScore", "bart_score", scorer.score(revisions(), TEXTS)


def binocular(code: SimpleNamespace, performer: Any, observer: Any, row: Any) -> float:  # noqa: ANN401
    """Return the published Binoculars score of one text, negated."""
    with torch.inference_mode():
        performed, observed = performer(**row).logits, observer(**row).logits
    surprise = code.binoculars.perplexity(row, performed)
    crossed = code.binoculars.entropy(observed, performed, row, pad_token_id=2)
    return -float(surprise[0] / crossed[0])


def agreement(code: SimpleNamespace) -> list[dict[str, object]]:
    """Return the largest relative difference of every score."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tiny_models(folder)
        own = ours(folder)
        rows = []
        for source, score, values in theirs(code, folder):
            found, expected = np.array(own[score]), np.array(values)
            difference = float(np.max(np.abs(found - expected) / np.maximum(np.abs(expected), 1e-9)))
            rows.append({"source": source, "score": score, "largest relative difference": difference})
        return rows


def speed(code: SimpleNamespace, count: int) -> dict[str, object]:
    """Return the seconds of the published loops and of ours for the same scores, in turns, on `builtin:small`."""
    model = open_local("builtin:small")
    network, words = model.checkpoint.model, model.checkpoint.tokenizer
    texts = [f"# text {at}\n" + TEXTS[at % len(TEXTS)] * 4 for at in range(count)]
    samples = [Sample(str(at), text, "python") for at, text in enumerate(texts)]
    mgt, inputs = code.mgt, (network, words, "cpu")

    def published_metrics() -> None:
        for text in texts:
            mgt.get_ll(text, *inputs)
            mgt.get_rank(text, *inputs)
            mgt.get_rank(text, *inputs, log=True)
            mgt.get_entropy(text, *inputs)
            # LRR computes both of its parts again
            mgt.get_ll(text, *inputs)
            mgt.get_rank(text, *inputs, log=True)

    def our_metrics() -> None:
        score_samples(samples, plan(requests("loss,rank,log_rank,entropy,lrr"), {"target": model}))

    def published_fast() -> None:
        for text in texts:
            row = words(text, return_tensors="pt", return_token_type_ids=False)
            with torch.no_grad():
                logits = network(**row).logits[:, :-1]
                code.fast.get_sampling_discrepancy_analytic(logits, logits, row.input_ids[:, 1:])

    def our_fast() -> None:
        score_samples(samples, plan(requests("fast_detect_gpt"), {"target": model}))

    def published_perturbed() -> None:
        for group in FixedCopies()(texts, 4):
            mgt.get_lls(group.texts, *inputs)
            mgt.get_ranks(group.texts, *inputs, log=True)

    def our_perturbed() -> None:
        derivers: dict[str, Deriver] = {"spans": CopyStatistics(FixedCopies(), model)}
        score_samples(samples, plan(requests("detect_gpt:n=4,npr:n=4"), {"target": model}, derivers=derivers))

    return {
        "texts": count,
        "five metrics": timed(published_metrics, our_metrics),
        "fast_detect_gpt": timed(published_fast, our_fast),
        "copies of detect_gpt and npr": timed(published_perturbed, our_perturbed),
    }


def timed(published_loop: Callable[[], None], our_loop: Callable[[], None], rounds: int = 3) -> dict[str, object]:
    """Return the processor time of both, in turns, and their ratio in each round."""
    seconds = interleaved({"published": published_loop, "ours": our_loop}, rounds, time.process_time)
    return {
        "published_seconds": float(np.median(seconds["published"])),
        "our_seconds": float(np.median(seconds["ours"])),
        "ratio": ratios(seconds["published"], seconds["ours"]),
    }


def run(count: int, seed: int, data: Data) -> Result:
    """Detectors of generated code against the published code: values score by score, and time in one run."""
    torch.set_num_threads(1)
    code = published(data["published"])
    return Result([*agreement(code), {"source": "speed", **speed(code, count)}])


NAMES = "MGTBench, fast-detect-gpt, Binoculars and LLM-generated-text-detection"
EXPERIMENTS = (
    Experiment(
        name="authorship/agreement",
        run=run,
        scales={"smoke": 4, "full": 24},
        needs={"published": f"a folder with checkouts of {NAMES}"},
        stored="authorship/agreement",
    ),
)
