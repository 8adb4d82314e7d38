"""`assay audit`: one model, one benchmark, scores, decisions and a report."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.completing import complete_benchmarks, complete_models, complete_score
from assay.cli.groups import grouped
from assay.cli.options import (
    OUTPUT,
    SCORES,
    DataOptions,
    Force,
    ModelName,
    ModelOptions,
    ScoreOptions,
    UnseenOptions,
    output_folder,
)
from assay.cli.terminal import echo
from assay.cli.unused import refuse_unused_rewriting
from assay.errors import DataError

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.leakage import Obstacle, Rule

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
    primary: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE",
            autocompletion=complete_score,
            help="Score of the headline, instead of the declared one.",
            rich_help_panel=SCORES,
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead of --unseen: a file of `assay calibrate`.", rich_help_panel=SCORES),
    ] = None,
    labelled: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="With --access black: other texts of known membership, to fit detectors on (columns: --text, "
            "--group and --label, else `label`).",
            rich_help_panel=SCORES,
        ),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL|none",
            autocompletion=complete_models,
            help="Negative control: a model that certainly never saw the benchmark. The same audit of it shows whether "
            "a score reacts to the difference between the texts. Default with --unseen: `builtin:control`.",
            rich_help_panel=SCORES,
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        Literal["none", "length", "control"],
        typer.Option(
            help="Weight p-values by how the texts differ: in length, or in the scores of --control.",
            rich_help_panel=SCORES,
        ),
    ] = "none",
    plant: Annotated[
        str | None,
        typer.Option(
            metavar="1,2,4",
            help="State the power by planted doses: train a copy of the model on half of the unseen texts, seen so "
            "many times, and report which of them the audit flags. The model itself stays as it is.",
            rich_help_panel=SCORES,
        ),
    ] = None,
    plant_rate: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Learning rate of --plant. Default: .001.", rich_help_panel=SCORES),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Nominal false-positive rate of calibrated decisions.", rich_help_panel=SCORES)
    ] = 0.05,
    ties: Annotated[
        Literal["strict", "inclusive"],
        typer.Option(
            help="Does a paper's own rule count a sample that equals its best variant?", rich_help_panel=SCORES
        ),
    ] = "strict",
    seed: Annotated[int, typer.Option(help="Seed of every resampling.", rich_help_panel=SCORES)] = 0,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Exit with 1 if this rule holds, for example flagged.p<0.05, and with 3 if the audit cannot decide "
            "it; repeat the option for several.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    allow_confounded: Annotated[
        bool,
        typer.Option(
            "--allow-confounded",
            help="Judge --fail-on by the numbers even where the result may have another cause than training.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    out: Annotated[
        Path | None,
        output_folder("Run folder (assay-runs/MODEL-BENCHMARK)."),
    ] = None,
    force: Force = False,
    redact: Annotated[
        bool,
        typer.Option("--redact", help="Write ids, digests and values, but no texts.", rich_help_panel=OUTPUT),
    ] = False,
    unseen: UnseenOptions,
    chosen: ScoreOptions,
    data: DataOptions,
    model_options: ModelOptions,
) -> None:
    """Audit a model for a benchmark: every score from one forward pass a sample, and a report.

    The verdict is contaminated, no evidence, or cannot tell with a reason. It needs --unseen text of the same kind that
    the model has certainly not seen; without it the report describes the values.

    **Example**: `assay audit builtin:small humaneval --data HumanEval.jsonl.gz --unseen fresh_functions.jsonl`
    """
    from assay import audit, load
    from assay.cli.present import chosen_format, present_run
    from assay.cli.terminal import OUTPUT_SETTINGS
    from assay.leakage import RunFolder, rule
    from assay.scores import DETECTORS, requests

    refuse_unused_rewriting(context, chosen.selection())
    rules = [rule(text) for text in fail_on or []]
    names = [request.name for request in requests(chosen.selection().specification())]
    for read_rule in rules:
        read_rule.check_score(names if labelled is None else [*names, *DETECTORS])
    if unseen.unseen is None and calibration is None:
        _stop_if_undecided({read_rule: read_rule.obstacle_without_unseen() for read_rule in rules}, "Nothing was run.")
    default = Path("assay-runs") / f"{slug(model)}-{slug(benchmark)}"
    folder = RunFolder(out or default, numbered=out is None, force=force)
    result = audit(
        model,
        partial(data.load, benchmark),
        unseen=unseen.loader(),
        calibration=calibration,
        labelled=labelled and partial(load, labelled, text=data.text, label=data.label or "label", group=data.group),
        **asdict(chosen),
        control=control,
        weights=weights,
        plant=None if plant is None else whole_numbers(plant),
        plant_rate=plant_rate,
        primary=primary,
        alpha=alpha,
        ties=ties,
        seed=seed,
        settings=model_options.settings(),
        cache=not model_options.no_cache,
        out=folder,
        redact=redact,
    )
    present_run(folder.path, chosen_format(), summary=True, draw=False)  # `audit` wrote the page
    obstacles = {rule: rule.obstacle(result, allow_confounded=allow_confounded) for rule in rules}
    fired = [rule for rule, obstacle in obstacles.items() if obstacle is None and rule.fires(result)]
    for finding in fired:
        echo(f"assay: finding: {finding.text}", err=True)
    for passed in rules if not OUTPUT_SETTINGS.get().quiet else ():
        if passed not in fired and obstacles[passed] is None:
            alone = "" if passed.obstacle(result) is None else ", by the numbers alone (--allow-confounded)"
            echo(f"assay: passed: {passed.text}: {passed.measured(result)}{alone}", err=True)
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


def whole_numbers(text: str) -> list[int]:
    """Return numbers with commas between them.

    Raises:
        DataError: a part is not a whole number.
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise DataError(f"--plant {text}: expected whole numbers with commas between them, such as 1,2,4") from None


def slug(name: str) -> str:
    """Return a name as a part of a folder's name: of a long one its end."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name)[-LONGEST_SLUG:].strip("-.") or "run"
