"""Megabytes of source a second that the light classifiers read.

The corpus is the standard library of the Python that runs this. One process, one thread, CPU time. Megabytes are 10^6
bytes of UTF-8 source.

- `tokens`: text to tokens, as every kind of evidence needs them.
- `n-grams`: text to the margin of a linear head on hashed n-grams, tokens included.
- `default evidence`: text to the evidence of a default classifier, tokens included.
"""

import time

import numpy as np

from assay.authorship.evidence import evidence_of
from assay.authorship.heads import SparseHead
from assay.authorship.normalising import Code, code_of
from assay.authorship.wording import COLUMNS, ngram_matrix
from assay_lab.classifiers.settings import DEFAULT_EVIDENCE
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import interleaved, spread
from assay_lab.performance.fingerprints import corpus


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """Megabytes of source a second that the light classifiers read."""
    size_of_corpus, repeats = scale
    texts = corpus(size_of_corpus)
    size = sum(len(text.encode()) for text in texts) / 1e6
    head = SparseHead(np.random.default_rng(seed).normal(size=COLUMNS).astype(np.float32), np.zeros(1))

    def tokens() -> list[Code]:
        return [code_of(text, "python") for text in texts]

    ways = {
        "tokens": tokens,
        "n-grams": lambda: head.margins(ngram_matrix(tokens())),
        "default evidence": lambda: evidence_of(tokens(), DEFAULT_EVIDENCE),
    }
    seconds = interleaved(ways, repeats, time.process_time)
    return Result(
        [
            {
                "way": name,
                "files": len(texts),
                "megabytes": size,
                "megabytes_per_second": spread([size / duration for duration in rounds]),
            }
            for name, rounds in seconds.items()
        ]
    )


EXPERIMENTS = (
    Experiment(
        name="performance/classifier_reading",
        run=run,
        scales={"smoke": (60_000, 1), "full": (3_000_000, 3)},
        columns=("way", "megabytes", "megabytes_per_second"),
    ),
)
