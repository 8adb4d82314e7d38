"""`assay testbed plant | train | evaluate | run | list`: controlled experiments."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from assay.api import ERRORS
from assay.cli import tracing_run
from assay.cli.options import DATA, MODEL, OUTPUT, AsJson

if TYPE_CHECKING:
    from assay.reports import Report
    from assay.testbed import Evaluation, Watchers

Part = TypeVar("Part")

SPLIT = "Split"
TRAINING = "Training"
TABLES = "tables.md"
SHORT_SECTIONS = ("AUROC", "False positives")
"""Sections of a run's report that a terminal has room for."""

RunFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Run folder that `assay testbed plant` made.")]


def plant_command(
    source: Annotated[
        str,
        typer.Argument(metavar="[SOURCE]", help="never-seen, fresh, a benchmark's name, a file or a folder."),
    ] = "never-seen",
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The run folder.", rich_help_panel=OUTPUT)],
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="Base model, which will be trained.", rich_help_panel=MODEL)
    ] = "builtin:small",
    data: Annotated[
        str | None, typer.Option(metavar="PATH", help="The benchmark's file or folder.", rich_help_panel=DATA)
    ] = None,
    text: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of texts.", rich_help_panel=DATA)] = None,
    group: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of groups.", rich_help_panel=DATA)] = None,
    language: Annotated[str | None, typer.Option(help="This language only.", rich_help_panel=DATA)] = None,
    part: Annotated[str | None, typer.Option(help="Part of a task to take.", rich_help_panel=DATA)] = None,
    members: Annotated[
        int, typer.Option(help="Texts to train on; as many others are held out.", rich_help_panel=SPLIT)
    ] = 200,
    calibration_members: Annotated[
        int, typer.Option(help="Further texts to train on, to fit thresholds.", rich_help_panel=SPLIT)
    ] = 60,
    calibration_nonmembers: Annotated[
        int, typer.Option(help="Further texts held out, to fit and to calibrate.", rich_help_panel=SPLIT)
    ] = 120,
    unseen: Annotated[int, typer.Option(help="Clean texts on which nothing is fitted.", rich_help_panel=SPLIT)] = 100,
    per_group: Annotated[int, typer.Option(help="Most texts of one group.", rich_help_panel=SPLIT)] = 12,
    paper_filter: Annotated[
        bool,
        typer.Option(
            "--filter", help="Drop what the base model finds easier than its variants.", rich_help_panel=SPLIT
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Of split, training and resampling.", rich_help_panel=SPLIT)] = 0,
) -> None:
    """Choose members, non-members, a calibration split and clean texts: whole groups, no near-duplicates.

    **Example**: `assay testbed plant mbpp --data mbpp.jsonl --members 200 --out runs/planted`
    """
    from assay.testbed import Configuration, Data, check, plant_in

    found = Configuration(
        name=out.name,
        model=model,
        seed=seed,
        data=Data(
            source=source,
            path=data,
            text=text,
            group=group,
            language=language,
            part=part,
            members=members,
            calibration_members=calibration_members,
            calibration_nonmembers=calibration_nonmembers,
            unseen=unseen,
            per_group=per_group,
            filter=paper_filter,
        ),
    )
    check(found, "assay testbed plant")
    planted = plant_in(out, found, watchers())
    for name in dict.fromkeys(str(sample.metadata["part"]) for sample in planted.samples):
        here = planted.part(name)
        groups = len({sample.group or sample.id for sample in here})
        typer.echo(f"{name}: {len(here)} texts of {groups} groups")
    for reason, count in planted.left_out.items():
        typer.echo(f"left out, {reason}: {count}")
    typer.echo(f"Planted in {out}; next: assay testbed train {out}")


def train_command(
    folder: RunFolder,
    *,
    method: Annotated[
        Literal["lora", "full"] | None,
        typer.Option(help="LoRA through peft, or all weights.", rich_help_panel=TRAINING),
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Learning rate (1e-4).", rich_help_panel=TRAINING)] = None,
    batch: Annotated[int | None, typer.Option(help="Rows in one step (32).", rich_help_panel=TRAINING)] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs (5).", rich_help_panel=TRAINING)] = None,
    checkpoints: Annotated[
        str | None, typer.Option(metavar="1,3,5", help="Epochs whose model is kept.", rich_help_panel=TRAINING)
    ] = None,
    mix: Annotated[
        str | None,
        typer.Option(metavar="CORPUS", help="General text: training-files, or a data set.", rich_help_panel=TRAINING),
    ] = None,
    ratio: Annotated[
        float | None, typer.Option(help="Tokens of it for each token of the members (0).", rich_help_panel=TRAINING)
    ] = None,
    rank: Annotated[int | None, typer.Option(help="LoRA rank (16).", rich_help_panel=TRAINING)] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"] | None, typer.Option(help="Where to train (auto).", rich_help_panel=TRAINING)
    ] = None,
    dtype: Annotated[
        Literal["float32", "bfloat16"] | None, typer.Option(help="Of weights and sums.", rich_help_panel=TRAINING)
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Started through accelerate, one a GPU (1).", rich_help_panel=TRAINING)
    ] = None,
) -> None:
    """Train the base model on the members, mixed with general text; keep a checkpoint for each epoch wanted.

    Stopped or killed, the same command goes on where it was.

    **Example**: `assay testbed train runs/planted --method full --rate 1e-3 --batch 8 --ratio 1`
    """
    from assay.testbed import FOLDER, check, configuration_in, read_planted, reconfigure, train_in

    known = configuration_in(folder)
    kept = None if checkpoints is None else numbers(checkpoints, "--checkpoints")
    if epochs is not None and kept is None:
        kept = tuple(epoch for epoch in known.training.checkpoints if epoch <= epochs) or (epochs,)
    training = changed(
        known.training,
        method=method,
        rate=rate,
        batch=batch,
        epochs=epochs,
        checkpoints=kept,
        rank=rank,
        device=device,
        dtype=dtype,
        processes=processes,
    )
    wanted = replace(known, training=training, mix=changed(known.mix, corpus=mix, ratio=ratio))
    check(wanted, "assay testbed train")
    found = reconfigure(folder, training=wanted.training, mix=wanted.mix)
    train_in(folder, found, read_planted(folder / FOLDER), watchers())
    typer.echo(f"Trained in {folder}: checkpoints after epochs {', '.join(map(str, found.training.checkpoints))}")


def evaluate_command(
    folder: RunFolder,
    *,
    detectors: Annotated[
        str | None, typer.Option(metavar="a,b,…", help="Detectors or scores; without it, all.")
    ] = None,
    variants: Annotated[int | None, typer.Option(help="Rewritings of each text (10).")] = None,
    device: Annotated[str | None, typer.Option(help="Where models are scored (auto).", rich_help_panel=MODEL)] = None,
    as_json: AsJson = False,
) -> None:
    """Hold every detector on every checkpoint against the truth; thresholds come from the calibration split.

    **Example**: `assay testbed evaluate runs/planted --detectors black`
    """
    from assay.testbed import FOLDER, check, configuration_in, evaluate_in, read_planted, reconfigure

    known = configuration_in(folder)
    names = None if detectors is None else tuple(name.strip() for name in detectors.split(","))
    judging = changed(known.judging, detectors=names, variants=variants, device=device)
    check(replace(known, judging=judging), "assay testbed evaluate")
    found = reconfigure(folder, judging=judging)
    show(folder, evaluate_in(folder, found, read_planted(folder / FOLDER), watchers()), as_json=as_json)


def run_command(
    what: Annotated[
        str,
        typer.Argument(metavar="CONFIG|EXPERIMENT", help="A configuration file, or a name of `assay testbed list`."),
    ],
    *,
    scale: Annotated[
        str,
        typer.Option(
            metavar="smoke|small|paper|FILE",
            help="Of an experiment: seconds, minutes, the paper's models, or a configuration of yours.",
        ),
    ] = "small",
    seed: Annotated[str | None, typer.Option(metavar="0,1,2", help="Seeds; several give intervals over them.")] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PATH", help="A benchmark for figure-2 and table-9; may be given several times."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the runs (runs/NAME).", rich_help_panel=OUTPUT)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a configuration or an experiment end to end: plant, train, evaluate, tables and figures.

    What is done already is not done again: killed and started again, the same command goes on. Experiments that are
    given one folder share their runs.

    **Example**: `assay testbed run table-1 --scale small --seed 0,1,2 --out runs/small`
    """
    from assay.experiments import experiment
    from assay.testbed import is_file, read_configuration, run

    if what == tracing_run.NAME:
        folder = out or Path("runs") / f"{what}-{scale}"
        tracing_run.run_tracing(scale, folder, numbers(seed or "0", "--seed"), as_json=as_json)
        return
    path = Path(what)
    if not is_file(what):
        folder = out or Path("runs") / Path(scale).stem
        seeds = numbers(seed, "--seed") if seed is not None else (0,)
        experiment(what)
        show_experiment(what, scale, folder, seeds, benchmarks_at(data or []), as_json=as_json)
        return
    found = read_configuration(path)
    chosen = numbers(seed, "--seed") if seed is not None else (found.seed,)
    folder = out or Path("runs") / found.name
    for one in chosen:
        here = folder if len(chosen) == 1 else folder / f"seed-{one}"
        show(here, run(here, replace(found, seed=one), watchers()), as_json=as_json)


def list_command(*, as_json: AsJson = False) -> None:
    """List the experiments: tables and figures of the papers, and ours.

    **Example**: `assay testbed list`
    """
    from rich.console import Console
    from rich.table import Table

    from assay.experiments import EXPERIMENTS

    if as_json:
        known = [{"name": one.name, "source": one.source, "summary": one.summary} for one in EXPERIMENTS.values()]
        known.append({"name": tracing_run.NAME, "source": tracing_run.SOURCE, "summary": tracing_run.SUMMARY})
        typer.echo(json.dumps(known, indent=1, ensure_ascii=False))
        return
    table = Table("name", "from", "what", title="Experiments", title_justify="left")
    for one in EXPERIMENTS.values():
        table.add_row(one.name, one.source, one.summary)
    table.add_row(tracing_run.NAME, tracing_run.SOURCE, tracing_run.SUMMARY)
    Console().print(table)


def show_experiment(
    name: str, size: str, out: Path, seeds: tuple[int, ...], data: dict[str, Path], *, as_json: bool
) -> None:
    """Make an experiment, write what it found beside its runs, and show its table."""
    from rich.console import Console

    from assay.experiments import Bench, experiment, finding_table, write_finding
    from assay.reports import print_table
    from assay.testbed import manifest_of, scale

    bench = Bench(out, scale(size), seeds, data, watchers())
    chosen = experiment(name)
    found = chosen.function(bench)
    page = write_finding(out / name, found, manifest_of(chosen.first_run(bench)))
    if as_json:
        typer.echo((out / name / "finding.json").read_text("utf-8"), nl=False)
        return
    console = Console()
    print_table(finding_table(found), console)
    console.print(f"Page: {page}")


def benchmarks_at(given: list[str]) -> dict[str, Path]:
    """Benchmark → path, from NAME=PATH.

    Raises:
        DataError: something else.
    """
    from assay.errors import DataError

    found = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise DataError(f"--data {text!r}: expected NAME=PATH, as humaneval=HumanEval.jsonl.gz")
        found[name] = Path(path)
    return found


def written(folder: Path, evaluation: "Evaluation") -> "tuple[Report, Path]":
    """Write the numbers, the tables and the page of a run; return its report and where the page lies."""
    from assay.cli.present import PAGE
    from assay.files import write_text
    from assay.reports import render_markdown, write_html
    from assay.testbed import describe_evaluation, manifest_of, write_evaluation
    from assay.training import LOG, TRAIN

    log = folder / TRAIN / LOG
    losses = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    report = describe_evaluation(evaluation, manifest_of(folder), losses)
    write_evaluation(folder, evaluation)
    write_text(folder / TABLES, render_markdown(report))
    return report, write_html(report, folder / PAGE)


def show(folder: Path, evaluation: "Evaluation", *, as_json: bool) -> None:
    """Write the numbers, the tables and the page, and show the short tables."""
    from assay.cli.present import chosen_format
    from assay.cli.present import show as show_report

    report, page = written(folder, evaluation)
    short = tuple(table for table in report.tables if table.section in SHORT_SECTIONS)
    show_report(replace(report, tables=short), chosen_format(as_json=as_json), page)


def watchers() -> "Watchers":
    """What a person at a terminal sees of a run; nothing in a pipe."""
    from assay.testbed import Watchers

    if not ERRORS.is_terminal:
        return Watchers()

    def stage(words: str) -> None:
        ERRORS.print(words, markup=False, highlight=False)

    def training(record: dict[str, float], steps: int) -> None:
        done = int(record["step"])
        left = record["seconds"] / done * (steps - done)
        line = f"step {done} of {steps}, loss {record['loss']:.3f}, about {left:.0f} seconds left "
        ERRORS.print(line, end="\r" if done < steps else "\n", markup=False, highlight=False)

    def scoring(done: int, total: int) -> None:
        ERRORS.print(f"{done} of {total} texts ", end="\r" if done < total else "\n", markup=False, highlight=False)

    return Watchers(stage, training, scoring)


def changed(part: Part, **given: object) -> Part:
    """A part of a configuration with what was given; None leaves a field as it is."""
    return replace(part, **{key: value for key, value in given.items() if value is not None})  # type: ignore[type-var]


def numbers(text: str, option: str) -> tuple[int, ...]:
    """Whole numbers with commas between them.

    Raises:
        DataError: something else.
    """
    from assay.errors import DataError

    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise DataError(f"{option} {text!r}: expected whole numbers with commas between them, as 1,3,5") from None
