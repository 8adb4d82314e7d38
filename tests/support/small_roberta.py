"""A RoBERTa of random weights, as CodeBERT but small, with the tokenizer of `builtin:small`."""

from pathlib import Path

import torch
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForSequenceClassification

from assay.models import located


def save_small_roberta(folder: Path, seed: int = 0) -> str:
    """Write the model to a folder; return its name."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
        config = RobertaConfig(vocab_size=4352, max_position_embeddings=66, pad_token_id=2, **sizes)
        RobertaForSequenceClassification(config).save_pretrained(folder)
    PreTrainedTokenizerFast.from_pretrained(located("builtin:small"), local_files_only=True).save_pretrained(folder)
    return str(folder)
