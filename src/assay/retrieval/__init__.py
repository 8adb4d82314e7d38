"""Search for similar code: fingerprints of its text, vectors of an encoder, and the files that hold both."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
