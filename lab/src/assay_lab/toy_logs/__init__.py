"""Toy logs, written by the evaluation harnesses themselves in environments of their own."""
