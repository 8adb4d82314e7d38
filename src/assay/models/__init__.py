"""Models → TokenStatistics: transformers, vLLM and HTTP backends, table model, windows, cache, the built-in model.

Importing this package loads no torch; `open_model` does.
"""

from assay.models.cache import CachedLogProbScorer, CachedScorer, StatisticsCache, default_cache_path
from assay.models.open import open_local, open_model
from assay.models.table import TableModel

__all__ = [
    "CachedLogProbScorer",
    "CachedScorer",
    "StatisticsCache",
    "TableModel",
    "default_cache_path",
    "open_local",
    "open_model",
]
