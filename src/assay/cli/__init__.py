"""The command line: one file per command; the face is for commands of other distributions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
