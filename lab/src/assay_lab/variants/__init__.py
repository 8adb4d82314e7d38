"""Rewritten texts: how many, how natural, how fast."""
