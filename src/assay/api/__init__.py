"""The Python API: what the commands do, as functions. `import assay` offers the public part of it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
