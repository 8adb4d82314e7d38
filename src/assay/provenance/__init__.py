"""Where code comes from: corpora become documents, documents an index, and a snippet is traced back to its sources."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
