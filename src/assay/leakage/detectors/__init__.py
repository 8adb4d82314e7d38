"""One module per detector that judges a whole dataset; the module has the detector's name.

The registry of `assay.scores` imports a module when its detector is asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
