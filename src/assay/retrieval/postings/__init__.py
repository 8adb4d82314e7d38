"""Postings: which documents have a fingerprint, on disk and in memory."""

from assay.retrieval.postings.index import CANDIDATES, READING, Postings
from assay.retrieval.postings.overlap import Overlap

__all__ = ["CANDIDATES", "READING", "Overlap", "Postings"]
