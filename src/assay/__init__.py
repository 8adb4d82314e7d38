"""assay: was this benchmark in the model's training data, where does this code come from, and who wrote it?

    audit(model, benchmark, unseen=…)          was the benchmark in the training data?
    score(model, texts, "loss,min_k")          the values of scores, one row per sample
    report(run, …)                             finished runs side by side, or a statement
    calibrate(model, unseen)                   scores of known-unseen text, for later audits
    trace(text, "code.index")                  the sources of a piece of code
    build_index(corpora, "code.index")         an index of code
    load(name)                                 a benchmark, or any table of texts
    open_model(name)                           a model; open_index and CodeIndex: an index

The functions do what the commands of the same name do, with their cache and their progress bar.
"""

import sys

if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    # the current folder, which `python -m assay` adds: nothing in it is imported
    del sys.path[0]

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
