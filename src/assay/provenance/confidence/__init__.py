"""Confidence of a similarity: the rate at which unrelated code reaches it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
