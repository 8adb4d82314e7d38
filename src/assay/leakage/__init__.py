"""Calibrated answers from scores: was this sample, or this benchmark, in the training data?"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
