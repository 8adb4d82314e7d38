"""Texts of known truth: those of the shipped models, and how often each model saw them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
