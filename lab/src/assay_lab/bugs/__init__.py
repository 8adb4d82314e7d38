"""The study of a bug benchmark: what a model remembers of the bug, the fix and the issue text."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
