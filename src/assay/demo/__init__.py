"""The demonstration: an audit of known truth, a leak that is planted here and now, and a traced function."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
