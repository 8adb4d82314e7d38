"""The engine: which (text, model) pairs the scores need, each run exactly once."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
