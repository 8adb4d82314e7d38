"""Classifiers of who wrote code: how they are fitted, fine-tuned and judged, and the shortcuts of their data."""
