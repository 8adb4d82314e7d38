"""Models → TokenStatistics: transformers backend, table model, windows, cache, the built-in model.

Importing this package loads no torch; `open_model` does.
"""

from assay.models.cache import CachedScorer, StatisticsCache, default_cache_path
from assay.models.open import open_model
from assay.models.table import TableModel

__all__ = ["CachedScorer", "StatisticsCache", "TableModel", "default_cache_path", "open_model"]
