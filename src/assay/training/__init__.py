"""One training loop for everything that is trained: schedules, LoRA and full fine-tuning, resume."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
