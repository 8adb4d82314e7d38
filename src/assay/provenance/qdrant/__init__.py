"""The distributed road: the same index in a Qdrant cluster. Needs the extra `qdrant`."""

from assay.provenance.qdrant.index import QdrantIndex

__all__ = ["QdrantIndex"]
