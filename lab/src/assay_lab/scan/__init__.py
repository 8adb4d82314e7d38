"""Scans of training data: what they find, what they accuse wrongly, how fast they are."""
