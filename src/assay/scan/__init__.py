"""The tasks of a benchmark looked up in an index of a corpus."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
