"""Readers of the files that evaluation harnesses write: a reader is one function in one table.

A reader takes a file and the requested columns, and returns None for a file of another layout. Other distributions add
readers through entry points of the group `assay.logs`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
