"""Does the rule of the negative control depend on the size of the control?

    python benchmarks/control_rule.py --packages … --work work …
    python benchmarks/control_sizes.py --work work

The first command makes models of known truth and scores all texts under them. This one trains a very small Llama from
scratch on the same general text, scores the texts under each control (about three minutes of one core) and applies the
rule of `assay audit` with each. The audited models are those made from `builtin:small`: no control descends from one.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from control_rule import (
    LAYERS,
    PRODUCT,
    SCRATCH,
    WIDTH,
    Case,
    Plant,
    Texts,
    cases_of,
    excess_of,
    flags,
    rates,
    score,
    spread,
    stored,
    train,
    verdicts_of,
)
from measuring import RESULTS, arguments, write

from assay.models import open_local

BUILTIN = ("builtin:control", "builtin:small")
SMALLEST = (32, 1)
"""Width and layers."""


def main() -> None:
    """Train and score the controls that are missing, then write the figures."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    options.out = RESULTS / "control" if options.out == RESULTS else options.out
    texts: Texts = stored(options.work / "texts.pkl", missing_texts)
    rows = []
    for name, model in controls(options.work, texts):
        score(options.work, "control " + name.replace(":", "-"), model, texts)
        cases = [case for case in cases_of(options.work, texts, name) if SCRATCH not in case.model]
        rows.append({"control": name, "parameters": parameters(model)} | figures(cases))
        write("control_sizes", options, rows, began)
    print(write("control_sizes", options, rows, began))


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--work", type=Path, required=True, help="folder that control_rule.py wrote")


def missing_texts() -> Texts:
    """End the script: the texts are made by another one."""
    raise SystemExit("the folder has no texts.pkl: run control_rule.py first")


def controls(work: Path, texts: Texts) -> Iterator[tuple[str, str]]:
    """Yield name and model of each control; one that is not there is trained on general text."""
    for name in BUILTIN:
        yield name, name
    yield f"{LAYERS} layers of {WIDTH}", str(work / "models" / SCRATCH)
    smallest = work / "models" / "smallest"
    if not smallest.exists():
        train(None, SCRATCH, smallest, texts, Plant(), size=SMALLEST)
    yield f"{SMALLEST[1]} layer of {SMALLEST[0]}", str(smallest)


def parameters(model: str) -> int:
    """Return the number of weights, shared ones once."""
    return sum(weight.numel() for weight in open_local(model).checkpoint.model.parameters())


def figures(cases: Sequence[Case]) -> dict[str, Any]:
    """Return verdicts by plant, the excess of clean models, and what the control flags of each benchmark."""
    judged = [(case, verdicts_of(case)[PRODUCT]) for case in cases]
    excess = [excess_of(case).value for case in cases if case.plant == "clean"]
    by_benchmark = {case.benchmark: str(flags(case, case.control).rate) for case in cases}
    return {"excess of clean models": spread(excess), "control flags": by_benchmark} | rates(judged)


if __name__ == "__main__":
    main()
