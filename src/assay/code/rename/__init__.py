"""Semantics-preserving variants: which names may change, where they stand, and the proof that nothing else did."""
