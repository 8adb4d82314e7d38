"""Stand-ins of models: the architecture of each id that a paper names, with random weights and a tokenizer of ours."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoConfig, PreTrainedTokenizerFast

from assay.files import write_text
from assay.models import quiet
from assay_lab.experiments.papers import all_hub_ids
from assay_lab.stand_ins.home import mark
from assay_lab.stand_ins.texts import LANGUAGES, functions, invented, passages

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
SENTINELS = tuple(map("<extra_id_{}>".format, range(100)))
VOCABULARY = 700
SPREAD = 0.2
"""Standard deviation of the weights: with the usual .02 all texts have nearly the same likelihood."""
CHAT = "{% for m in messages %}<s>{{ m['content'] }}</s>{% endfor %}"
DECODER = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 2048,
}


@dataclass(frozen=True, slots=True)
class Architecture:
    """How a family of models is built small.

    Attributes:
        kind: `model_type` of transformers.
        sizes: of its configuration.
        head: class of the model.
        frame: what the tokenizer puts around a text.
    """

    kind: str
    sizes: Mapping[str, Any] = field(default_factory=lambda: DECODER)
    head: str = "AutoModelForCausalLM"
    frame: str = "$A"


LLAMA = Architecture("llama", frame="<s> $A")
ROBERTA = Architecture(
    "roberta",
    {**DECODER, "max_position_embeddings": 514, "type_vocab_size": 1},
    head="AutoModelForMaskedLM",
    frame="<s> $A </s>",
)
T5 = Architecture(
    "t5",
    {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "n_positions": 512},
    head="AutoModelForSeq2SeqLM",
    frame="$A </s>",
)
BART = Architecture(
    "bart",
    {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "max_position_embeddings": 1024,
    },
    head="AutoModelForSeq2SeqLM",
    frame="<s> $A </s>",
)
CODEGEN = Architecture("codegen", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "n_positions": 2048})
FALCON = Architecture("falcon", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4})
GEMMA, GEMMA_2 = Architecture("gemma", frame="<s> $A"), Architecture("gemma2", frame="<s> $A")
OF_NAME: Mapping[str, Architecture] = {
    "codellama": LLAMA,
    "codebert": ROBERTA,
    "unixcoder": ROBERTA,
    "roberta": ROBERTA,
    "codet5": T5,
    "t5": T5,
    "bart": BART,
    "codegen": CODEGEN,
    "starcoder2": Architecture("starcoder2"),
    "codegemma": GEMMA,
    "gemma-2": GEMMA_2,
    "falcon": FALCON,
    "mistral": Architecture("mistral", frame="<s> $A"),
    "phi-3": Architecture("phi3"),
    "qwen2": Architecture("qwen2"),
    "deepseek-coder": LLAMA,
    "llama": LLAMA,
    "polycoder": Architecture("gpt_neox"),
}
"""Part of an id → its architecture; the first that fits. Phi-3-small ships its own code, so Phi-3 stands in."""


def architecture_of(name: str) -> Architecture:
    """Return the architecture of a hub id.

    Raises:
        KeyError: none is known for it.
    """
    for part, architecture in OF_NAME.items():
        if part in name.partition("/")[2].lower():
            return architecture
    raise KeyError(f"no architecture is known for {name}")


def lay_models(hub: Path, names: Iterable[str] = ()) -> list[str]:
    """Write a stand-in of each model into a hub cache; return the ids.

    Args:
        hub: the folder `hub` of a home.
        names: ids; none for all that the papers name.
    """
    chosen = list(names) or sorted(all_hub_ids())
    # the seeds of stand-ins leave the generator of the caller alone
    with quiet(), torch.random.fork_rng():
        for name in chosen:
            lay_model(hub, name)
    return chosen


def lay_model(hub: Path, name: str) -> None:
    """Write one model as the hub's client keeps it: `refs/main` names the commit, `snapshots` holds the files."""
    folder = mark(hub / f"models--{name.replace('/', '--')}")
    commit = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    (folder / "refs").mkdir(exist_ok=True)
    write_text(folder / "refs" / "main", commit)
    snapshot = mark(folder / "snapshots" / commit)
    architecture = architecture_of(name)
    tokenizer = tokenizer_of(architecture, chat="nstruct" in name)
    tokenizer.save_pretrained(snapshot)
    # families call the spread of their weights differently
    sizes = {"initializer_range": SPREAD, "init_std": SPREAD, "initializer_factor": 1.0, **architecture.sizes}
    tokens = {
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    # T5 begins to write with its padding token
    if architecture.kind == "t5":
        tokens["decoder_start_token_id"] = tokenizer.pad_token_id
    # seeded by the id: the same weights, whatever else is laid down
    torch.manual_seed(int(commit[:8], 16))
    model = getattr(transformers, architecture.head).from_config(
        AutoConfig.for_model(architecture.kind, **sizes, **tokens)
    )
    model.save_pretrained(snapshot)


@cache
def trained_tokenizer(*, sentinels: bool) -> str:
    """Return a byte-level BPE tokenizer that is trained on our texts, as JSON; with the sentinels of T5 or without."""
    texts = [*functions(80), *passages(128, 40)]
    for language in LANGUAGES:
        texts += map(partial(invented, language, author=0), range(20))
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[*SPECIAL, *(SENTINELS if sentinels else ())],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(texts, trainer)
    return raw.to_str()


def tokenizer_of(architecture: Architecture, *, chat: bool) -> PreTrainedTokenizerFast:
    """Return the tokenizer of an architecture: ours, with the frame that the architecture puts around a text."""
    raw = Tokenizer.from_str(trained_tokenizer(sentinels=architecture.kind == "t5"))
    raw.post_processor = processors.TemplateProcessing(
        single=architecture.frame, special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        **dict(zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), SPECIAL, strict=True)),
        model_max_length=512 if architecture.kind in ("roberta", "t5") else 2048,
    )
    if chat:
        tokenizer.chat_template = CHAT
    return tokenizer
