"""A model and its tokenizer → one GGUF file, with the writer and the quantiser of the package gguf.

For tests and measurements, where the same model is needed as floats and quantised. It knows the architectures whose
weights differ from transformers' in order or scale only: Llama (Mistral, SmolLM2), Qwen2, GPT-2, StarCoder2, Phi-3,
Gemma 2 and Gemma 3, with a byte-level BPE tokenizer.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from gguf import (
    MODEL_ARCH_NAMES,
    GGMLQuantizationType,
    GGUFWriter,
    LlamaFileType,
    RopeScalingType,
    TokenType,
    get_tensor_name_map,
)
from gguf.quants import quantize
from numpy.typing import NDArray
from transformers import PreTrainedModel, PreTrainedTokenizerBase

BLOCK = 32
"""Weights that share a scale in the formats Q4_0 to Q8_0; a row of another length stays float32, as in llama.cpp."""

GEMMA = ("gemma2", "gemma3")

ARCHITECTURES = dict(zip(MODEL_ARCH_NAMES.values(), MODEL_ARCH_NAMES, strict=True))


def export_gguf(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    path: Path,
    quantization: str = "F32",
    *,
    splits: str = "gpt-2",
) -> Path:
    """Write a model as a GGUF file, and return its path.

    Args:
        model: of one of the architectures above.
        tokenizer: its tokenizer, byte-level BPE.
        path: the file.
        quantization: number format of the matrices: F32, F16, Q4_0, Q4_1, Q5_0, Q5_1 or Q8_0.
        splits: rule that splits texts before the merges, by llama.cpp's name.
    """
    config: Any = model.config
    architecture = _architecture(config)
    writer = GGUFWriter(path, architecture)
    writer.add_name("made for a test")
    writer.add_file_type(LlamaFileType[f"{'ALL' if quantization == 'F32' else 'MOSTLY'}_{quantization}"])
    _add_configuration(writer, config)
    _add_tokenizer(writer, tokenizer, config)
    writer.add_tokenizer_pre(splits)
    names = get_tensor_name_map(ARCHITECTURES[architecture], config.num_hidden_layers)
    tied = bool(config.tie_word_embeddings)
    for name, value in model.state_dict().items():
        stem, _, suffix = name.rpartition(".")
        if stem == "lm_head" and tied:
            continue
        weight = _as_llama_cpp(architecture, name, weight=value.float().numpy(), config=config)
        kind = GGMLQuantizationType[quantization]
        if weight.ndim == 1 or weight.shape[-1] % BLOCK:
            kind = GGMLQuantizationType.F32
        writer.add_tensor(
            f"{names.get_name(stem)}.{suffix}", quantize(np.ascontiguousarray(weight), kind), raw_dtype=kind
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _architecture(config: Any) -> str:  # noqa: ANN401  each family has a class of its own
    """Return llama.cpp's name of the architecture; transformers calls the text part of Gemma 3 `gemma3_text`."""
    return str(config.model_type).removesuffix("_text")


def _add_configuration(writer: GGUFWriter, config: Any) -> None:  # noqa: ANN401  each family has a class of its own
    heads = config.num_attention_heads
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(getattr(config, "intermediate_size", 4 * config.hidden_size))
    writer.add_head_count(heads)
    writer.add_vocab_size(config.vocab_size)
    if config.model_type == "gpt2":
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        return
    writer.add_head_count_kv(config.num_key_value_heads)
    rope = config.rope_parameters
    # Gemma 3 has a table for each kind of layer; a file has this one alone
    rope = rope.get("full_attention", rope)
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    head = getattr(config, "head_dim", None) or config.hidden_size // heads
    writer.add_rope_dimension_count(head)
    if config.model_type == "starcoder2":
        writer.add_layer_norm_eps(config.norm_epsilon)
    else:
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if _architecture(config) in GEMMA:
        writer.add_key_length(head)
        writer.add_value_length(head)
        writer.add_sliding_window(config.sliding_window)
    if config.model_type == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)


def _add_tokenizer(writer: GGUFWriter, tokenizer: PreTrainedTokenizerBase, config: Any) -> None:  # noqa: ANN401  see above
    """Write the vocabulary, filled up to the rows of the embedding, and the merges."""
    backend = json.loads(tokenizer.backend_tokenizer.to_str())
    size = config.vocab_size
    special = set(tokenizer.all_special_ids)
    tokens = {index: token for token, index in tokenizer.get_vocab().items()}
    writer.add_tokenizer_model("gpt2")
    kinds = [TokenType.UNUSED] * size
    for index in tokens:
        kinds[index] = TokenType.NORMAL
    for index in special:
        kinds[index] = TokenType.CONTROL
    writer.add_token_list([tokens.get(index, f"[PAD{index}]") for index in range(size)])
    writer.add_token_types(kinds)
    writer.add_token_merges(list(map(" ".join, backend["model"]["merges"])))
    for add, token in (
        (writer.add_bos_token_id, tokenizer.bos_token_id),
        (writer.add_eos_token_id, tokenizer.eos_token_id),
        (writer.add_pad_token_id, config.pad_token_id),
    ):
        if token is not None:
            add(token)
    writer.add_add_bos_token(tokenizer("x")["input_ids"][:1] == [tokenizer.bos_token_id])


def _as_llama_cpp(architecture: str, name: str, weight: NDArray[np.float32], config: Any) -> NDArray[np.float32]:  # noqa: ANN401  see above
    """Return a weight in the order and on the scale in which llama.cpp keeps it."""
    if architecture == "llama" and ("q_proj" in name or "k_proj" in name):
        # llama.cpp rotates neighbouring pairs of a head, transformers its two halves.
        heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
        paired = weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
        return paired.swapaxes(1, 2).reshape(weight.shape)
    if architecture == "gpt2" and weight.ndim == 2 and ".h." in name:  # noqa: PLR2004  GPT-2 keeps matrices transposed
        return weight.T
    if architecture in GEMMA and name.endswith("norm.weight"):
        return weight + 1
    return weight
