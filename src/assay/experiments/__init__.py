"""The tables and figures of the papers, and our own experiments: one package a paper, its values beside ours."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
