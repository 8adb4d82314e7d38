"""Experiments of the paper on SrDetection (000)."""
