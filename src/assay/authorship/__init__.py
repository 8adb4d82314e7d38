"""Who wrote code, a person or a generator: classifiers, calibration, declared signals, shortcut audits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
