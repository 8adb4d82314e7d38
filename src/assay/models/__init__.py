"""Models → TokenStatistics: transformers, vLLM and HTTP backends, windows, cache, the built-in model.

Importing this package loads no torch; `open_model` does.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
