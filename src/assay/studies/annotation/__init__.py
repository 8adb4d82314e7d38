"""Evaluation logs annotated with what is known about the contamination of their tasks."""
