"""Authorship: how well a generator is named on a collection that the model of the generators was not fitted on.

python benchmarks/authorship_naming.py --data DIR [--out FILE]

HumanEval and MBPP of `llm-generations-ldb` have solutions by people and by the same three generators. The model of
`assay authorship train --generators` is fitted on one collection and names the texts of the other. Four classes, people
among them, with one text of each a task: chance is 25 %. Beside it: the share on held-out tasks of the same collection.
"""

import argparse
import json
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from authorship_collections import _solutions

from assay.authorship import LabelledCode, fit_generators
from assay.authorship.open_set import UNKNOWN, Attribution
from assay.evaluation import grouped_share
from assay.files import write_json

NAMES = ("humaneval", "mbpp")
OUT = Path(__file__).parent / "results" / "authorship" / "naming.json"


def main() -> int:
    """Measure, print, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    folder = None if options.data is None else options.data / "llm-generations-ldb"
    if folder is None or not folder.is_dir():
        print("skipped: --data has no llm-generations-ldb")
        return 0
    collections = {name: LabelledCode.of(_solutions(folder / name, name), lambda _: "one") for name in NAMES}
    figures: dict[str, Any] = {}
    for fitted, tested in permutations(NAMES):
        model = fit_generators(collections[fitted])
        title = f"fitted on {fitted}, tested on {tested}"
        figures[title] = named(collections[tested], model.attribute(collections[tested].codes))
        figures[title]["held-out tasks of the same collection"] = model.accuracy
        print(title, json.dumps(figures[title]), flush=True)
    write_json(options.out, figures)
    return 0


def named(labelled: LabelledCode, attribution: Attribution) -> dict[str, Any]:
    """Return the shares of right and of unknown answers, with intervals over tasks, and the answers by origin."""
    truth = np.array(labelled.generators, object)
    best = np.array(attribution.classes, object)[attribution.probabilities.argmax(1)]
    unknown = np.array(attribution.answers, object) == UNKNOWN
    groups = np.array(labelled.groups, object)
    share = grouped_share((best == truth).tolist(), groups.tolist())
    generated = truth != "human"
    among = grouped_share((best == truth)[generated].tolist(), groups[generated].tolist())
    return {
        "texts": len(truth),
        "right": [share.value, share.low, share.high],
        "right, generated texts": [among.value, among.low, among.high],
        "unknown generator": float(unknown.mean()),
        "right among answers": float((best == truth)[~unknown].mean()),
        "by origin": {
            name: {answer: float((best[truth == name] == answer).mean()) for answer in attribution.classes}
            for name in attribution.classes
        },
    }


if __name__ == "__main__":
    sys.exit(main())
