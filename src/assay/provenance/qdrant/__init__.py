"""The distributed backend: an index in a Qdrant cluster. Needs the extra `qdrant`."""

from assay.provenance.qdrant.index import QdrantIndex

__all__ = ["QdrantIndex"]
