"""The rule that splits a text before a GGUF tokenizer merges letters.

A GGUF file names the rule; llama.cpp knows some eighty. transformers builds the rules of some tokenizers (Llama 3,
Qwen) and takes GPT-2's for all others, without a word. Then other tokens come out than the model was trained on: of 143
source files, 49 differ under SmolLM2's file. The rules of the code models StarCoder, SmolLM2 and DeepSeek-Coder are set
here, and a rule that is not known here is reported.
"""

import importlib
from collections.abc import Collection

from tokenizers import Regex, pre_tokenizers
from transformers import PreTrainedTokenizerBase

from assay.models.gguf_file import GgufFile

SINGLE_DIGITS = frozenset({"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"})
"""Rules that take each digit for itself, then split as GPT-2 does."""

GPT2 = frozenset({"gpt-2", "phi-2", "mellum", "mpt", "olmo", "jais", "trillion"})
"""Rules that split as GPT-2 does."""

DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}")


def set_splits(tokenizer: PreTrainedTokenizerBase, gguf: GgufFile) -> None:
    """Let a tokenizer that transformers read from a file split texts as the file says, where the rule is known here."""
    first: list[pre_tokenizers.PreTokenizer]
    if gguf.pre_tokenizer in SINGLE_DIGITS:
        first = [pre_tokenizers.Digits(individual_digits=True)]
        last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    elif gguf.pre_tokenizer == "deepseek-coder":
        first = [pre_tokenizers.Split(Regex(rule), "isolated") for rule in DEEPSEEK_CODER]
        last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    else:
        return
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*first, last])


def splits_note(gguf: GgufFile) -> str:
    """Return a sentence where texts may be split otherwise than the file says; "" where they are not."""
    rules = {"deepseek-coder"} | SINGLE_DIGITS | GPT2 | set(_rules_of_transformers())
    if gguf.vocabulary != "gpt2" or gguf.pre_tokenizer in rules:  # a SentencePiece vocabulary needs no such rule
        return ""
    return (
        f"The file splits texts by the rule {gguf.pre_tokenizer or '(none stated)'}, which transformers replaces by "
        "GPT-2's: some tokens may differ from the model's own. `llama:` and the file's path uses the rule itself."
    )


def _rules_of_transformers() -> Collection[str]:
    """Return the rules that this version of transformers builds; older versions have no list of them."""
    try:
        mapping = importlib.import_module("transformers.integrations.gguf.gguf_tokenizer_mapping")
    except ImportError:
        return ()
    rules: Collection[str] = getattr(mapping, "GGUF_PRE_TOKENIZER_SPLITS", ())
    return rules
