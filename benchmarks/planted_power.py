"""The power that `assay audit --plant` states, beside what was detected on models of known truth.

    python benchmarks/control_rule.py --packages … --work work …
    python benchmarks/planted_power.py --work work

The first command plants shares of six benchmarks in models and reports how often these are called contaminated. This
one audits their clean parent, `builtin:small` after general text, on each benchmark with planted doses (a few minutes
of one core). The training differs: LoRA on unseen texts alone here, all weights beside general text there.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from control_rule import SCORE, SMALL_DOSES, Texts, stored
from control_sizes import missing_texts
from measuring import RESULTS, arguments, write

import assay
from assay.models import default_control

PARENT = "builtin-small"
"""Folder of the clean parent among the models of `control_rule.py`."""


def main() -> None:
    """Audit the parent on each benchmark, and write the figures."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    options.out = RESULTS / "control" if options.out == RESULTS else options.out
    texts: Texts = stored(options.work / "texts.pkl", missing_texts)
    rows = []
    for name in texts.benchmarks:
        rows.append(figures(options.work / "models" / PARENT, name, texts))
        print(rows[-1], flush=True)
        write("planted_power", options, rows, began)


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--work", type=Path, required=True, help="folder that control_rule.py wrote")


def figures(model: Path, name: str, texts: Texts) -> dict[str, Any]:
    """Return verdict, flagged share of each dose and probability of the verdict by share, for one benchmark."""
    audit = assay.audit(
        str(model),
        texts.benchmarks[name],
        unseen=[replace(sample, id=str(i)) for i, sample in enumerate(texts.unseen[name])],
        scores=SCORE,
        control=default_control(),
        plant=SMALL_DOSES,
        progress=False,
    )
    calibration = audit.summary(SCORE).calibration
    assert calibration is not None
    assert calibration.planted is not None
    planted = calibration.planted
    return {
        "benchmark": name,
        "tasks": len(audit.samples),
        "unseen": calibration.unseen,
        "clean model": str(audit.decision().verdict),
        "rate": planted.rate,
        "barred": str(planted.barred),
        "doses": {
            entry.dose: {
                "texts": entry.flagged.samples,
                "flagged": str(entry.flagged.rate),
                "gain": entry.gain,
                "contaminated": dict(entry.probabilities),
            }
            for entry in planted.doses
        },
    }


if __name__ == "__main__":
    main()
