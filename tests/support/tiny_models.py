"""Tiny tokenizers and models, made on the spot; random weights, so large that no distribution is flat."""

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    CodeGenConfig,
    CodeGenForCausalLM,
    DeepseekV2Config,
    DeepseekV2ForCausalLM,
    DeepseekV3Config,
    DeepseekV3ForCausalLM,
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    GraniteConfig,
    GraniteForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Starcoder2Config,
    Starcoder2ForCausalLM,
)

CONTEXT = 64
VOCABULARY = 300
SPECIALS = ["<s>", "</s>", "<pad>"]

TEXTS = [
    "def f(x):\n    return x + 1\n",
    "import os\n\nprint(os.sep)  # naïve — 例\n",
    "",
    "x",
    "xy",
    "for i in range(10):\n    total += i * weights[i]\n" * 4,
    "class A:\n    pass\n",
    "def f(x):\n    return x + 1\n",
]
"""Among them: nothing, one token, two tokens, a text longer than the tiny contexts, and one text twice."""


def byte_tokenizer(
    template: str | None = None, *, specials: bool = True, merges: tuple[tuple[str, str], ...] = ()
) -> PreTrainedTokenizerFast:
    """One token a byte, and one for each merge; `template` says what the tokenizer itself puts around a text."""
    names = SPECIALS if specials else []
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate(names + letters + ["".join(pair) for pair in merges])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=list(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    if template is not None:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=template, special_tokens=[(name, vocabulary[name]) for name in names]
        )
    named = {"bos_token": "<s>", "eos_token": "</s>"} if specials else {}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


_COMMON = {"vocab_size": VOCABULARY, "initializer_range": 0.3, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
_ROTARY = _COMMON | {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": CONTEXT,
}
_EARLY = _COMMON | {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT}
_LATENT = _ROTARY | {
    "num_key_value_heads": 4,
    "moe_intermediate_size": 16,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "n_group": 2,
    "topk_group": 1,
}

FAMILIES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "llama": (LlamaForCausalLM, LlamaConfig, _ROTARY),
    "llama-tied": (LlamaForCausalLM, LlamaConfig, _ROTARY | {"tie_word_embeddings": True}),
    "deepseek-coder": (
        LlamaForCausalLM,
        LlamaConfig,
        _ROTARY | {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 100_000.0}},
    ),
    "deepseek-v2": (DeepseekV2ForCausalLM, DeepseekV2Config, _LATENT),
    "deepseek-v3": (DeepseekV3ForCausalLM, DeepseekV3Config, _LATENT),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, _ROTARY),
    "mistral": (MistralForCausalLM, MistralConfig, _ROTARY | {"sliding_window": 16}),
    "gemma2": (
        Gemma2ForCausalLM,
        Gemma2Config,
        _ROTARY | {"head_dim": 8, "sliding_window": 16, "final_logit_softcapping": 5.0, "attn_logit_softcapping": 10.0},
    ),
    "gemma3": (
        Gemma3ForCausalLM,
        Gemma3TextConfig,
        _ROTARY | {"head_dim": 16, "sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]},
    ),
    "granite": (GraniteForCausalLM, GraniteConfig, _ROTARY | {"logits_scaling": 2.0, "embedding_multiplier": 3.0}),
    "starcoder2": (Starcoder2ForCausalLM, Starcoder2Config, _ROTARY | {"sliding_window": 16}),
    "phi-3": (Phi3ForCausalLM, Phi3Config, _ROTARY),
    "codegen": (CodeGenForCausalLM, CodeGenConfig, _EARLY | {"rotary_dim": 4}),
    "gpt-2": (GPT2LMHeadModel, GPT2Config, _EARLY),
    "gpt-neox": (GPTNeoXForCausalLM, GPTNeoXConfig, _ROTARY),
    "opt": (
        OPTForCausalLM,
        OPTConfig,
        _COMMON
        | {
            "hidden_size": 32,
            "ffn_dim": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "max_position_embeddings": CONTEXT,
            "init_std": 0.3,
            "word_embed_proj_dim": 32,
        },
    ),
}


def tiny(family: str, **changes: Any) -> PreTrainedModel:
    """A model of that family, the same at every call."""
    architecture, configuration, settings = FAMILIES[family]
    torch.manual_seed(1)
    model: PreTrainedModel = architecture(configuration(**(settings | changes))).eval()
    return model
