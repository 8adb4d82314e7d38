"""Statistics that only experiments need: differences of scores, retrieval, thresholds, independent values."""
