"""Data sets of code that people wrote and that models rewrote (DECo's pipeline)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
