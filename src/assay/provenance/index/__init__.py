"""The index of a corpus: its documents, fingerprints and vectors, built, changed, opened and calibrated."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
