"""Where code comes from: corpora become documents, documents an index, and a snippet is traced back to its sources."""

from assay.provenance.document import UNKNOWN_LICENCE, Document, Origin
from assay.provenance.index import CodeIndex
from assay.provenance.stored import AddCounts, IndexInfo, SeenFile, StoredDocument
from assay.provenance.trace import Trace, trace

__all__ = [
    "UNKNOWN_LICENCE",
    "AddCounts",
    "CodeIndex",
    "Document",
    "IndexInfo",
    "Origin",
    "SeenFile",
    "StoredDocument",
    "Trace",
    "trace",
]
