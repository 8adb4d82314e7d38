"""How natural the new names of each source are, in several languages: the place of originals among their variants.

    python benchmarks/name_sources.py --model builtin:small --data humaneval-x [--languages python,java,javascript]

The texts are reference solutions of HumanEval-X, which the model must not have seen (`builtin:small` did not: they are
in none of its training files). With names as natural as the old ones half of the variants would be at least as easy as
their original, and 1 / (n + 1) of the originals easier than all of them. All names change at once, or one at a time.
"""

import argparse
import time
from pathlib import Path
from typing import Any

from measuring import RESULTS, arguments, write

import assay
from assay.code import WORD_LISTS, Extent, NameSource, SampledNames
from assay.leakage.naturalness import Naturalness
from assay.models import open_local
from assay.scores import requests
from assay.scoring import Deterministic, plan, score_samples

N = 10
TEXTS = 40
SHORTEST, LONGEST = 150, 900
WAYS: tuple[tuple[str, Extent], ...] = (("dictionary", "all"), ("synonyms", "one"), ("self", "one"))


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    options.out = RESULTS / "real"
    model = open_local(options.model, device=options.device)
    rows: list[dict[str, Any]] = []
    for language in options.languages.split(","):
        every = assay.load("humaneval-x", data=options.data, language=language).samples
        samples = [sample for sample in every if SHORTEST <= len(sample.text) <= LONGEST][:TEXTS]
        for names, rename in WAYS:
            source: NameSource = SampledNames(model) if names == "self" else WORD_LISTS[names]
            work = plan(requests("sr_rank"), {"target": model}, rewriter=Deterministic(names=source, rename=rename))
            ranks = -score_samples(samples, work).values["sr_rank"]
            result = Naturalness.of(ranks, N, [sample.group or sample.id for sample in samples])
            rows.append(
                {
                    "model": options.model,
                    "language": language,
                    "names": names,
                    "rename": rename,
                    "texts": result.texts,
                    "easier variants": str(result.easier),
                    "easiest originals": str(result.easiest),
                    "distance": result.distance,
                    "chance": result.chance,
                }
            )
            print(rows[-1], flush=True)
    print(write("name-sources", options, rows, began))


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--model", default="builtin:small", help="model that has not seen the texts")
    parser.add_argument("--data", type=Path, required=True, help="folder of HumanEval-X")
    parser.add_argument("--languages", default="python,java,javascript", help="with commas between them")


if __name__ == "__main__":
    main()
