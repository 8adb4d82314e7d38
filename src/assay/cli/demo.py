"""`assay demo`: the whole story on the shipped model, offline."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import OUTPUT, AsJson, ModelOptions, Variants

MODEL = "builtin:small"
SCORES = "one-pass,lowercase"
"""What costs at most two passes a sample."""


def demo_command(
    *,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Run folder, with the report.", rich_help_panel=OUTPUT)
    ] = Path("assay-demo"),
    per_dose: Annotated[
        int | None,
        typer.Option(min=10, help="At most so many functions of each dose, and 6 times as many never seen; else all."),
    ] = None,
    variants: Variants = 0,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the statistics cache.")] = False,
    as_json: AsJson = False,
) -> None:
    """Audit the shipped model for functions that it saw 0, 1, 2 … 32 times, and write the report.

    The model was trained by this project and every text that it saw is on record, so each score can be held against
    the truth. Nothing is downloaded; the functions are those of your own Python's standard library.

    **Example**: `assay demo --out my-demo`
    """
    from assay.cli.manifest import Stopwatch, manifest
    from assay.cli.present import present
    from assay.cli.requested import computable, frequencies_for, with_variants
    from assay.cli.terminal import progress_bar
    from assay.scoring import plan
    from assay.testbed.demo import demo_audit, demo_functions

    watch = Stopwatch()
    functions = demo_functions(per_dose)
    scorer = ModelOptions(no_cache=no_cache).open(MODEL)
    table = frequencies_for(scorer, None)
    wanted, _ = computable(with_variants(SCORES, variants), frequencies=table is not None, reference=False)
    todo = plan(wanted, {"target": scorer}, table)
    with progress_bar(f"scoring {len(functions)} functions") as report:
        found = demo_audit(functions, todo, progress=report)
    present(found, manifest(todo, functions, watch), out, as_json=as_json)
