"""The gate on a change (`assay check`): what the change adds, the rules of its base, the judgement, what is printed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
