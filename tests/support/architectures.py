"""The architectures of the paper's models, small: random weights, the tokenizer of `builtin:small`."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from assay.models import located

SIZES = {
    "vocab_size": 4352,  # 4096, and room for the specials that a family adds by itself
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}
ROPE = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def qwen():
    """Qwen2.5: grouped queries, biases on the projections, tied embeddings in the small ones only."""
    return Qwen2ForCausalLM(Qwen2Config(**SIZES, tie_word_embeddings=False))


def llama():
    """LLaMA-3.1: grouped queries, scaled rotary positions."""
    scaled = ROPE | {"original_max_position_embeddings": 64, "rope_theta": 500000.0}
    return LlamaForCausalLM(LlamaConfig(**SIZES, rope_parameters=scaled, tie_word_embeddings=False))


ARCHITECTURES = {"Qwen2.5": qwen, "LLaMA-3.1": llama}


def saved(name, folder):
    """A folder that holds such a model and a tokenizer."""
    torch.manual_seed(0)
    ARCHITECTURES[name]().save_pretrained(folder)
    PreTrainedTokenizerFast.from_pretrained(located("builtin:small"), local_files_only=True).save_pretrained(folder)
    return folder
