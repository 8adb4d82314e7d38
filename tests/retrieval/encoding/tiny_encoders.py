"""Tiny encoders made on the spot, in the folders that transformers and sentence-transformers write."""

import json

import torch
from safetensors.torch import save_file
from transformers import (
    BartConfig,
    BartModel,
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    LlamaConfig,
    LlamaModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetModel,
    Qwen2Config,
    Qwen2Model,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5EncoderModel,
    T5Model,
)

from support.tiny_models import byte_tokenizer

WIDTH = 16
CONTEXT = 64
_COMMON = {"vocab_size": 300, "initializer_range": 0.3, "pad_token_id": 2, "bos_token_id": 0, "eos_token_id": 1}
_BERT = _COMMON | {
    "hidden_size": WIDTH,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": CONTEXT,
}
_T5 = _COMMON | {"d_model": WIDTH, "d_ff": 24, "d_kv": 8, "num_layers": 2, "num_heads": 2, "initializer_factor": 2.0}
_BART = _COMMON | {
    "d_model": WIDTH,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": CONTEXT,
    "init_std": 0.3,
}
_DISTIL = _COMMON | {"dim": WIDTH, "hidden_dim": 24, "n_layers": 2, "n_heads": 2, "max_position_embeddings": CONTEXT}

FAMILIES = {
    "bert": (BertModel, BertConfig, _BERT),
    "roberta": (RobertaModel, RobertaConfig, _BERT),
    "distilbert": (DistilBertModel, DistilBertConfig, _DISTIL),
    "mpnet": (MPNetModel, MPNetConfig, _BERT),
    "modernbert": (ModernBertModel, ModernBertConfig, _BERT | {"cls_token_id": 0, "sep_token_id": 1}),
    "t5": (T5Model, T5Config, _T5),
    "t5-encoder": (T5EncoderModel, T5Config, _T5),
    "bart": (BartModel, BartConfig, _BART),
    "llama": (LlamaModel, LlamaConfig, _BERT | {"num_key_value_heads": 1}),
    "qwen2": (Qwen2Model, Qwen2Config, _BERT | {"num_key_value_heads": 1}),
}


def tiny_encoder(folder, family="bert", *, template=None, length=None):
    """A model of that family in a folder, the same at every call; returns the model."""
    kind, configuration, settings = FAMILIES[family]
    torch.manual_seed(1)
    model = kind(configuration(**settings)).eval()
    model.save_pretrained(folder)
    tokenizer = byte_tokenizer(template)
    tokenizer.pad_token = "<pad>"  # noqa: S105  a token of the vocabulary
    if length is not None:
        tokenizer.model_max_length = length
    tokenizer.save_pretrained(folder)
    return model


def sentence_folder(folder, pooling, *, dense=None, inner="", prompts=None, limits=None):
    """What sentence-transformers adds to a model folder; returns the weights of the dense layer, if there is one."""
    kinds = [("Transformer", inner), ("Pooling", "1_Pooling")]
    if dense:
        kinds.append(("Dense", "2_Dense"))
    kinds.append(("Normalize", "3_Normalize"))
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (kind, path) in enumerate(kinds)
    ]
    write(folder / "modules.json", modules)
    write(folder / "1_Pooling" / "config.json", pooling)
    write(folder / inner / "sentence_bert_config.json", limits or {"max_seq_length": 32, "do_lower_case": False})
    if prompts:
        write(folder / "config_sentence_transformers.json", {"prompts": prompts})
    if not dense:
        return None
    torch.manual_seed(2)
    weights = {"linear.weight": torch.randn(dense, WIDTH), "linear.bias": torch.randn(dense)}
    write(folder / "2_Dense" / "config.json", {"activation_function": "torch.nn.modules.activation.Tanh"})
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    return weights


def write(path, content):
    """A JSON file, with the folder it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
