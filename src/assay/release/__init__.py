"""A release whose contamination can be proven exactly, because a lot chose what was published.

make(tasks, out, secret)      copies of every task; a lot publishes one, the others stay secret
verify(public, secret)        the file is the one that was published
test(model, secret)           did the outcome of the lot reach the model?
twins(secret, out)            a copy of each task for private evaluations
rotate(secret, out)           a later version, of copies that no version has
compare(public, twin)         one evaluation on both files
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
