"""Source code as such: verified variants of Python texts, and a sandbox to run them in."""

from assay.code.neighbors import neighbors_of
from assay.code.pools import DictionaryPool, NamePool, NeighborPool
from assay.code.renamable import Analysis, Kind, Renamable, analysis, keywords_of
from assay.code.sandbox import DEFAULT_LIMITS, Execution, Limits, require_sandbox, run, run_python
from assay.code.variants import Variant, VariantSet, variants
from assay.code.verification import Verifier, difference

__all__ = [
    "DEFAULT_LIMITS",
    "Analysis",
    "DictionaryPool",
    "Execution",
    "Kind",
    "Limits",
    "NamePool",
    "NeighborPool",
    "Renamable",
    "Variant",
    "VariantSet",
    "Verifier",
    "analysis",
    "difference",
    "keywords_of",
    "neighbors_of",
    "require_sandbox",
    "run",
    "run_python",
    "variants",
]
