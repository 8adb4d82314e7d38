"""Reports of traced files: findings, the licence gate, pairs of files, passages, and their formats."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
