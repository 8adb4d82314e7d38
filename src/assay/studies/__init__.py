"""Studies that need several questions: which samples of a benchmark occur in a corpus."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
