"""Evaluation logs, annotated with what is known about the contamination of their tasks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
