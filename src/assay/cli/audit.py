"""`assay audit`: one model, one benchmark, scores, decisions and a report."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.completing import complete_benchmarks
from assay.cli.groups import Shown, grouped
from assay.cli.options import OUTPUT, Force, ModelName, output_folder
from assay.cli.terminal import echo
from assay.cli.unused import refuse_unused, refuse_unused_rewriting
from assay.datasets import DataSelection, UnseenText
from assay.leakage import AuditSettings
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
            help="Instead of --unseen: private tasks of the same form. Only this supports “contaminated”, and names "
            "tasks.",
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
    data: Annotated[DataSelection, Shown("data", "columns", "limit")],
    model_settings: ModelSettings,
) -> None:
    """Give the verdict on a benchmark: familiar, contaminated, no evidence, or cannot tell yet.

    It first says what would settle the question, and stops if nothing that you gave can: --unseen text of another form
    needs --parent. “Familiar”: the model knows the benchmark or its form. If it was trained three times on half of the
    tasks, that is found in 92 to 100 % of cases with --limit 50; on a fifth of them, in 4 to 58 %; with 164 tasks, in
    100 % and in 25 to 88 %. An audit that was stopped continues when it is started again.

    **Example**: `assay audit ./model humaneval --data HumanEval.jsonl.gz --unseen fresh.jsonl --parent ./base`
    """
    from assay import audit
    from assay.cli.present import present_run
    from assay.datasets import unread
    from assay.errors import NothingToCompare
    from assay.leakage import UndecidedRulesError, rules_of
    from assay.run import Run
    from assay.scores import requests
    from assay.unseen import is_auto

    refuse_unused_rewriting(context, chosen)
    if unseen.data is None and same_form is None:
        refuse_unused(context, {"unseen_columns": "expected --unseen DATA or --same-form DATA with it"})
    default = Path("assay-runs") / f"{slug(model)}-{slug(benchmark)}"
    # a folder that the user named is taken or refused, never replaced by a numbered one
    run = Run(out or default, "audit", numbered=out is None, force=force)
    names = [request.name for request in requests(chosen.specification())]
    compares = settings.compares(unseen=unseen.data is not None or same_form is not None)
    rules: list[Rule] = []
    try:
        rules = rules_of(fail_on or (), names, compares=compares)
        result = audit(
            model,
            unread(benchmark, data),
            unseen=unseen.data if is_auto(unseen.data) else unseen.data and unread(unseen.data, unseen.selection),
            same_form=same_form and unread(same_form, unseen.selection),
            scores=chosen,
            settings=settings,
            model_settings=model_settings,
            out=run,
        )
    except UndecidedRulesError as error:
        raise _undecided(error.obstacles, "Nothing was run.") from error
    except NothingToCompare as error:
        # without a rule this is bad input (exit code 2); a rule that was given stays undecided (3)
        if not rules:
            raise
        raise _undecided({rule: rule.uncompared(str(error)) for rule in rules}) from error
    # `audit` wrote the page
    present_run(run.path, summary=True, draw=False)
    apply(rules, result, allow_confounded=settings.allow_confounded)


def apply(rules: "Sequence[Rule]", result: "Audit", *, allow_confounded: bool) -> None:
    """Print which rules fired, passed or cannot be decided; exit with 1 if one fired, else with 3 if one is open."""
    from assay.cli.terminal import OUTPUT_SETTINGS

    fired, passed, obstacles = [], [], {}
    for rule in rules:
        obstacle = rule.obstacle(result, allow_confounded=allow_confounded)
        if obstacle is not None:
            obstacles[rule] = obstacle
        elif rule.fires(result):
            fired.append(rule)
        else:
            passed.append(rule)
    for rule in fired:
        echo(f"assay: finding: {rule.text}", err=True)
    for rule in () if OUTPUT_SETTINGS.get().quiet else passed:
        set_aside = "" if rule.is_strict(result) else ", by the numbers alone (--allow-confounded)"
        echo(f"assay: passed: {rule.text}: {rule.measured(result)}{set_aside}", err=True)
    # printed even where a rule fired, which alone decides the exit code
    undecided = _undecided(obstacles)
    if fired:
        raise typer.Exit(1)
    if obstacles:
        raise undecided


def _undecided(obstacles: "Mapping[Rule, Obstacle]", addition: str = "") -> typer.Exit:
    """Print the rules that cannot be decided; return the exit with 3."""
    for rule, obstacle in obstacles.items():
        line = f"assay: cannot tell: {rule.text}: {obstacle.reason}. {obstacle.explanation} {addition}"
        echo(line.rstrip(), err=True)
    return typer.Exit(UNDECIDED)


def slug(name: str) -> str:
    """Return a name as a part of a folder's name: of a long one its end."""
    # neither "..", which leads outside, nor the name of a hidden folder
    return re.sub(r"[^A-Za-z0-9.]+", "-", name)[-LONGEST_SLUG:].strip("-.") or "run"
