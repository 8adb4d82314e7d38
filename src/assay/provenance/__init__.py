"""Where code comes from: corpora become documents, documents an index, and a snippet is traced back to its sources."""

from assay.provenance.document import UNKNOWN_LICENCE, Document, Origin

__all__ = ["UNKNOWN_LICENCE", "Document", "Origin"]
