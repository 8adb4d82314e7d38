"""The distributed backend: an index in a Qdrant cluster."""

from assay_qdrant.index import QdrantIndex

__all__ = ["QdrantIndex"]
