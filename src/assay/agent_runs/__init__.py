"""Runs of coding agents on tasks with a known fix: had the fix been read before it was written, and where?"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
