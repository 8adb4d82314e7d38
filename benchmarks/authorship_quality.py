"""Authorship: quality on collections that were left out, and error rates on dated human code.

python benchmarks/authorship_quality.py --data DIR [--dated DIR …] [--out FILE]

`--data` holds the public data sets that `authorship_collections.py` names; without them nothing is measured. `--dated`
are folders with code that people wrote before 2020, one per origin: half of each calibrates (at most 200 files), the
other half counts false positives. Origins that the output file has already, and that are not named again, stay in it.

HumanEval and MBPP have solutions of the same three generators from one source. They are left out one by one, and in a
second run together.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from authorship_collections import NEEDED, collections

from assay.authorship import (
    FitSettings,
    LabelledCode,
    audit_shortcuts,
    fit_classifier,
    leave_out,
    part_data,
)
from assay.authorship.evaluating import measure_part
from assay.authorship.fitting import subsample
from assay.files import write_json
from assay.provenance import source_texts
from assay.types import Sample

MOST = 500
"""Files of one origin and language."""


def main() -> int:
    """Measure, print, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--dated", type=Path, action="append", default=[])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "authorship" / "quality.json")
    parser.add_argument("--per-class", type=int, default=300)
    parser.add_argument("--audit", action="store_true", help="also audit the collections for shortcuts")
    options = parser.parse_args()
    missing = [name for name in NEEDED if options.data is None or not (options.data / name).is_dir()]
    if missing:
        print(f"skipped: --data has no {', '.join(missing)}")
        return 0
    labelled = collections(options.data)
    figures: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    if figures.setdefault("per_class", options.per_class) != options.per_class:
        parser.error(f"{options.out} was made with --per-class {figures['per_class']}")
    figures["texts"] = len(labelled)
    for title, data in (
        ("left out by collection", labelled),
        ("HumanEval and MBPP together", replace(labelled, collections=tuple(map(_source, labelled.collections)))),
    ):
        figures[title] = left_out(data, options.per_class)
        write_json(options.out, figures)
    if options.dated:
        rows = {row["name"]: row for row in figures.get("dated", [])}
        rows |= {row["name"]: row for row in dated(labelled, options.dated, options.per_class)}
        figures["dated"] = list(rows.values())
        write_json(options.out, figures)
    if options.audit:
        audit = audit_shortcuts(labelled, per_class=options.per_class)
        figures["shortcuts"] = {name: ranking.auroc.value for name, ranking in audit.steps.items()}
        print(json.dumps(figures["shortcuts"]))
        write_json(options.out, figures)
    return 0


def left_out(labelled: LabelledCode, per_class: int) -> dict[str, Any]:
    """Return the quality on each collection in turn."""
    started = time.perf_counter()
    transfer = leave_out(labelled, FitSettings(per_class=per_class))
    parts = [part_data(part) for part in transfer.parts]
    seconds = time.perf_counter() - started
    means = {"mean_auroc": transfer.mean_auroc, "mean_calibrated_auroc": transfer.mean_calibrated_auroc}
    print(json.dumps(means), f"({seconds:.0f} s)")
    for part in parts:
        print("  ", json.dumps(part), flush=True)
    return {**means, "seconds": seconds, "parts": parts}


def dated(labelled: LabelledCode, folders: list[Path], per_class: int) -> list[dict[str, Any]]:
    """Return the rates on human code of each origin, by a classifier that was fitted on all collections."""
    classifier = fit_classifier(labelled, FitSettings(per_class=per_class))
    rows = []
    for folder in folders:
        samples = [Sample(text.path, text.text, text.language, "human") for text in source_texts([str(folder)])]
        people = LabelledCode.of(samples, partial(_name, folder.name))
        for language in sorted({str(sample.language) for sample in people.samples}):
            chosen = np.array([row for row, sample in enumerate(people.samples) if str(sample.language) == language])
            part = people.take(chosen[subsample(people.take(chosen), MOST)])
            prediction = classifier.predict(part.codes)
            result = part_data(measure_part(f"{folder.name} {language}", part, prediction))
            result["above one half without calibration"] = float((prediction.margins > 0).mean())
            rows.append(result)
            print("  ", json.dumps(result), flush=True)
    return rows


def _source(collection: str) -> str:
    return "humaneval and mbpp" if collection in {"humaneval", "mbpp"} else collection


def _name(collection: str, _: Sample) -> str:
    return collection


if __name__ == "__main__":
    sys.exit(main())
