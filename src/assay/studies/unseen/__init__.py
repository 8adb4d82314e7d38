"""Unseen text for a benchmark: new functions or files in its form, dated, deduplicated and matched."""
