"""Isolated execution of untrusted programs."""
