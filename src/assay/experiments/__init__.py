"""The tables and figures of the papers, one function each: what the paper prints beside what we measure."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
