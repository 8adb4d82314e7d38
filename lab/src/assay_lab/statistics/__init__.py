"""Intervals and tests on simulated truth."""
