"""Encoders: text → one vector, near that of the function it was cut from."""

from assay.retrieval.encoding.bag import BagEncoder
from assay.retrieval.encoding.open import for_queries, holds_encoder, open_encoder
from assay.retrieval.encoding.settings import EncoderSettings

__all__ = ["BagEncoder", "EncoderSettings", "for_queries", "holds_encoder", "open_encoder"]
