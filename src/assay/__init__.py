"""assay: was this benchmark in the model's training data? Measured, calibrated, and checked on ground truth."""

from assay._version import __version__

__all__ = ["__version__"]
