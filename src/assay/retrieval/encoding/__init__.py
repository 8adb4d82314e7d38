"""Encoders: text → vectors, near that of the function it was cut from."""

from assay.retrieval.encoding.bag import BagEncoder
from assay.retrieval.encoding.open import document_vectors, for_queries, open_encoder
from assay.retrieval.encoding.settings import EncoderSettings

__all__ = ["BagEncoder", "EncoderSettings", "document_vectors", "for_queries", "open_encoder"]
