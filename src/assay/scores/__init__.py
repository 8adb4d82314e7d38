"""Every score of the literature as a pure function of token statistics, and the registry that lists them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
