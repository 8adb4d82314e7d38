"""LongRoPE (Ding et al. 2024, arXiv:2402.13753): models that read long sequences with other frequencies.

Phi-3 with 128k tokens of context is one. A sequence longer than the context of its first training is read
with the long frequencies from its first token on, and so is everything that shares its batch. What a text
gets must not depend on its neighbours, so the two kinds never meet.
"""

from collections.abc import Iterable
from typing import TypeVar

from transformers import PretrainedConfig

from assay.models.batching import Sized

NAMES = ("longrope", "su")
"""What configurations call it; Phi-3's first ones said "su"."""

Work = TypeVar("Work", bound=Sized)


def original_context(config: PretrainedConfig) -> int | None:
    """The longest sequence read with the short frequencies, in tokens; None for a model without LongRoPE."""
    stated = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    # newer configurations have one entry for each kind of layer, older ones a single table
    for rope in [value for value in stated.values() if isinstance(value, dict)] or [stated]:
        if rope.get("rope_type", rope.get("type")) in NAMES:
            limit = rope.get("original_max_position_embeddings")
            return limit or getattr(config, "original_max_position_embeddings", None)
    return None


def apart(work: Iterable[Work], limit: int | None) -> tuple[list[Work], list[Work]]:
    """Work of more than `limit` tokens, and the rest; all of it is the rest where there is no limit."""
    beyond: list[Work] = []
    within: list[Work] = []
    for piece in work:
        (within if limit is None or piece.tokens <= limit else beyond).append(piece)
    return beyond, within
