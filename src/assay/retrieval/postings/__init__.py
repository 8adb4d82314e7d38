"""Postings: the documents of each fingerprint, on disk and in memory."""

from assay.retrieval.postings.index import CANDIDATES, POSTINGS_READ, Postings
from assay.retrieval.postings.overlap import Overlap

__all__ = ["CANDIDATES", "POSTINGS_READ", "Overlap", "Postings"]
