"""Licences of files and projects: what they state, in SPDX expressions, and the rules a user sets on them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
