"""Single tasks that a contrast would name on a real model, and how many of them are false.

    python benchmarks/natural_names.py … --values values
    python benchmarks/named_tasks.py --values values --name humaneval-self

Reads what `natural_names.py` measured; nothing is run. Each task has a conformal p-value against the functions that
the model has certainly not seen and a q-value over all tasks (Benjamini-Hochberg). For each score: the tasks at
q <= .05, and the share of these that was not planted. Where there are none, the smallest q-value stands for them.
"""

import argparse
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import RESULTS, arguments, write
from natural_names import FUNCTION, LEAST, LEVEL, OTHER, PLANTED, scores

from assay.evaluation import benjamini_hochberg, conformal_p_values, grouped_share

SCORES = ("mid_pit", "sr_names", "sr_ratio", "sr_mid_pit", "sr_z")


def main() -> None:
    """Write the figures of one folder of values."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    options.out = RESULTS / "real"
    print(write(f"named-tasks-{options.name}", options, figures(options.values), began))


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--values", type=Path, required=True, help="folder that natural_names.py wrote")
    parser.add_argument("--name", required=True, help="results/real/named-tasks-NAME.json")


def figures(values: Path) -> list[dict[str, Any]]:
    """Return one row for each score."""
    entries = [entry for path in sorted(values.glob("*.pkl")) for entry in pickle.loads(path.read_bytes())]  # noqa: S301  our own files
    entries = [entry for entry in entries if len(entry["totals"]) >= LEAST]
    kinds = np.array([entry["kind"] for entry in entries])
    is_task = kinds != FUNCTION
    groups = [entry["group"] or entry["id"] for entry in entries if entry["kind"] != FUNCTION]
    rows = []
    for score in SCORES:
        column = np.array([scores(entry)[score] for entry in entries])
        p_values = conformal_p_values(column[is_task], column[~is_task])
        q_values = benjamini_hochberg(p_values)
        named = q_values <= LEVEL
        of_kind = {kind: int((named & (kinds[is_task] == kind)).sum()) for kind in (PLANTED, OTHER)}
        false = kinds[is_task][named] == OTHER
        share = grouped_share(false, [group for group, chosen in zip(groups, named, strict=True) if chosen])
        rows.append(
            {
                "score": score,
                "tasks": {kind: int((kinds == kind).sum()) for kind in (PLANTED, OTHER)},
                "functions": int((~is_task).sum()),
                "packages": len({entry["group"] for entry in entries if entry["kind"] == FUNCTION}),
                "smallest q": float(q_values.min()),
                "named": of_kind,
                "false share": str(share) if named.any() else None,
            }
        )
    return rows


if __name__ == "__main__":
    main()
