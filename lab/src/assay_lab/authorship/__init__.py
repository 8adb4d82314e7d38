"""Authorship on collections of known origin."""
