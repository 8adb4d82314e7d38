"""From a text to the documents that it may come from, best first, with spans and a confidence."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
