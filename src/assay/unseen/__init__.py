"""Unseen text for a benchmark: new functions or files in its form, dated, deduplicated and matched."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
