"""Single tasks that a contrast would name on a real model, and how many of them are false.

    python benchmarks/natural_names.py … --values values
    python benchmarks/named_tasks.py --values values --name humaneval-self

Reads what `natural_names.py` measured; nothing is run. For each score: the tasks whose value is above that of all
functions that the model has certainly not seen, the share of these that was not planted, and their q-value. With few
unseen functions no q-value can be small; the functions that so many tasks would take stand beside it.
"""

import argparse
import math
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import RESULTS, arguments, write
from natural_names import FUNCTION, LEAST, LEVEL, OTHER, PLANTED, scores

from assay.evaluation import benjamini_hochberg, conformal_p_values, grouped_share

SCORES = ("mid_pit", "sr_names", "sr_mid_pit", "sr_z")


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
        above = p_values == 1 / (1 + (~is_task).sum())
        false = kinds[is_task][above] == OTHER
        count = int(above.sum())
        share = grouped_share(false, [group for group, chosen in zip(groups, above, strict=True) if chosen])
        needed = math.ceil(is_task.sum() / (count * LEVEL)) - 1 if count else None
        rows.append(
            {
                "score": score,
                "tasks": int(is_task.sum()),
                "functions": int((~is_task).sum()),
                "above all functions": {
                    kind: int((above & (kinds[is_task] == kind)).sum()) for kind in (PLANTED, OTHER)
                },
                "false share": str(share) if count else None,
                "q": float(benjamini_hochberg(p_values)[above].max()) if count else None,
                "functions needed for q <= .05": needed,
                "named": int((benjamini_hochberg(p_values) <= LEVEL).sum()),
            }
        )
    return rows


if __name__ == "__main__":
    main()
