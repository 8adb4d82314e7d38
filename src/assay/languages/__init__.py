"""The table of programming languages: names, file suffixes, words, lexical rules, grammars, and what is supported."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
