"""Megabytes of source a second that the light classifiers read: under a minute.

    python benchmarks/bench_classifier_reading.py

The corpus is the standard library of the Python that runs this. One process, one thread, CPU time. Megabytes are 10^6
bytes of UTF-8 source.

- `tokens`: text to tokens, as every kind of evidence needs them.
- `n-grams`: text to the margin of a linear head on hashed n-grams, tokens included.
- `default evidence`: text to the evidence of a default classifier, tokens included.
"""

import time

import numpy as np
from bench_fingerprints import corpus
from measuring import arguments, interleaved, spread, write

from assay.authorship import DEFAULT_EVIDENCE
from assay.authorship.evidence import evidence_of
from assay.authorship.heads import SparseHead
from assay.authorship.normalising import Code, code_of
from assay.authorship.wording import COLUMNS, ngram_matrix


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__)
    texts = corpus(60_000 if options.smoke else 3_000_000)
    size = sum(len(text.encode()) for text in texts) / 1e6
    head = SparseHead(np.random.default_rng(0).normal(size=COLUMNS).astype(np.float32), np.zeros(1))

    def tokens() -> list[Code]:
        return [code_of(text, "python") for text in texts]

    ways = {
        "tokens": tokens,
        "n-grams": lambda: head.margins(ngram_matrix(tokens())),
        "default evidence": lambda: evidence_of(tokens(), DEFAULT_EVIDENCE),
    }
    seconds = interleaved(ways, options.repeats or (1 if options.smoke else 3), "cpu", time.process_time)
    results = [
        {
            "way": name,
            "files": len(texts),
            "megabytes": size,
            "megabytes_per_second": spread([size / duration for duration in rounds]),
        }
        for name, rounds in seconds.items()
    ]
    for result in results:
        print(result["way"], result["megabytes_per_second"])
    print(write("classifier_reading", options, results, began))


if __name__ == "__main__":
    main()
