"""`assay audit`: one model, one benchmark, scores, decisions and a report."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.api import AuditSettings
from assay.cli.completing import complete_benchmarks
from assay.cli.groups import Shown, grouped
from assay.cli.options import (
    OUTPUT,
    Force,
    ModelName,
    output_folder,
)
from assay.cli.terminal import echo
from assay.cli.unused import refuse_unused_rewriting
from assay.datasets import DataSelection, UnseenText
from assay.models import ModelSettings
from assay.scoring import ScoreSelection

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.leakage import Audit, Obstacle, Rule

LONGEST_SLUG = 80
"""Characters; the name of a folder has two such parts, and 255 bytes at most."""

UNDECIDED = 3
"""Exit code where a rule of --fail-on cannot be decided."""


@grouped
def audit_command(
    context: typer.Context,
    model: ModelName,
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK",
            autocompletion=complete_benchmarks,
            help="A name of `assay benchmarks list`, or a file or folder.",
        ),
    ],
    *,
    same_form: Annotated[
        str | None,
        typer.Option(
            "--same-form",
            metavar="DATA",
            help="Instead of --unseen: unseen text of the same form, as tasks of the benchmark that were kept private. "
            "Only this supports “contaminated”, and names tasks.",
            rich_help_panel="Verdict",
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Exit with 1 if this holds (`familiar`, `contaminated`, or a rule as flagged.p<0.05), with 3 if it is "
            "undecided; repeatable.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        output_folder("Run folder (assay-runs/MODEL-BENCHMARK)."),
    ] = None,
    force: Force = False,
    unseen: Annotated[UnseenText, Shown("data")],
    settings: AuditSettings,
    chosen: Annotated[ScoreSelection, Shown("scores", "access")],
    data: Annotated[DataSelection, Shown("data", "columns")],
    model_settings: ModelSettings,
) -> None:
    """Give the verdict on a benchmark: familiar, contaminated, no evidence, or cannot tell yet.

    It needs --unseen text of the same kind that the model has certainly not seen. Other code supports “familiar” (the
    benchmark, or text of its form, was trained on); for “contaminated” it takes --same-form. Then follow the share that
    looks trained on, the tasks that stand out, and with --methods what the literature says. Killed and started again,
    it continues.

    **Example**: `assay audit builtin:small humaneval --data HumanEval.jsonl.gz --unseen fresh.jsonl`
    """
    from assay import audit
    from assay.cli.present import present_run
    from assay.datasets import read_dataset
    from assay.errors import NothingToCompare
    from assay.leakage import Obstacle, rule
    from assay.run import Run
    from assay.scores import requests
    from assay.types import Undecided

    refuse_unused_rewriting(context, chosen)
    rules = [rule(text) for text in fail_on or []]
    names = [request.name for request in requests(chosen.specification())]
    for read_rule in rules:
        read_rule.check_score(names)
    if not settings.compares(unseen=unseen.data is not None or same_form is not None):
        _stop_if_undecided({read_rule: read_rule.obstacle_without_unseen() for read_rule in rules}, "Nothing was run.")
    default = Path("assay-runs") / f"{slug(model)}-{slug(benchmark)}"
    run = Run(out or default, "audit", numbered=out is None, force=force)
    try:
        result = audit(
            model,
            partial(read_dataset, benchmark, data),
            unseen=None if unseen.data is None else partial(read_dataset, unseen.data, unseen.selection),
            same_form=None if same_form is None else partial(read_dataset, same_form, unseen.selection),
            scores=chosen,
            settings=settings,
            model_settings=model_settings,
            out=run,
        )
    except NothingToCompare as error:
        _stop_if_undecided({each: Obstacle(Undecided.NO_UNSEEN_TEXT, str(error)) for each in rules})
        raise
    present_run(run.path, summary=True, draw=False)  # `audit` wrote the page
    apply(rules, result, allow_confounded=settings.allow_confounded)


def apply(rules: "Sequence[Rule]", result: "Audit", *, allow_confounded: bool) -> None:
    """Print which rules fired, passed or cannot be decided; exit with 1 if one fired, else with 3 if one is open."""
    from assay.cli.terminal import OUTPUT_SETTINGS

    obstacles = {rule: rule.obstacle(result, allow_confounded=allow_confounded) for rule in rules}
    fired = [rule for rule, obstacle in obstacles.items() if obstacle is None and rule.fires(result)]
    for finding in fired:
        echo(f"assay: finding: {finding.text}", err=True)
    for passed in rules if not OUTPUT_SETTINGS.get().quiet else ():
        if passed not in fired and obstacles[passed] is None:
            set_aside = "" if passed.is_strict(result) else ", by the numbers alone (--allow-confounded)"
            echo(f"assay: passed: {passed.text}: {passed.measured(result)}{set_aside}", err=True)
    if fired:
        _print_undecided(obstacles)
        raise typer.Exit(1)
    _stop_if_undecided(obstacles)


def _stop_if_undecided(obstacles: "Mapping[Rule, Obstacle | None]", addition: str = "") -> None:
    """Print the rules that cannot be decided, and exit with 3 if there are any."""
    if _print_undecided(obstacles, addition):
        raise typer.Exit(UNDECIDED)


def _print_undecided(obstacles: "Mapping[Rule, Obstacle | None]", addition: str = "") -> bool:
    undecided = {rule: obstacle for rule, obstacle in obstacles.items() if obstacle is not None}
    for rule, obstacle in undecided.items():
        line = f"assay: cannot tell: {rule.text}: {obstacle.reason}. {obstacle.explanation} {addition}"
        echo(line.rstrip(), err=True)
    return bool(undecided)


def slug(name: str) -> str:
    """Return a name as a part of a folder's name: of a long one its end."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name)[-LONGEST_SLUG:].strip("-.") or "run"
