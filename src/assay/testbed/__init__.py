"""Controlled experiments with known truth."""
