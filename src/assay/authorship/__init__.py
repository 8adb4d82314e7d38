"""Who wrote code, a person or a generator: declared signals, scores, and a reference of older code."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
