"""Where files come from: folders, git repositories, archives, tables and streams; `open_sources` opens them all."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
