"""Ground truth made on purpose: texts of the shipped models, how often each saw them, and altered copies of code."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
