"""`assay lab testbed plant | train | evaluate | run`: controlled experiments."""

import json
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from assay.cli import DATA, MODEL, complete_languages, complete_models, output_folder
from assay.progress import ERRORS

if TYPE_CHECKING:
    from assay.reports import Report
    from assay_lab.testbed import Evaluation, Watchers

Part = TypeVar("Part")

SPLIT = "Split"
TRAINING = "Training"
TABLES = "tables.md"
SHORT_SECTIONS = ("AUROC", "False positives")
"""Sections of a run's report that a terminal has room for."""

PlantedFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Run folder that `assay lab testbed plant` wrote.")]


def plant_command(
    source: Annotated[
        str, typer.Argument(metavar="[SOURCE]", help="never-seen, fresh, a benchmark's name, a file or a folder.")
    ] = "never-seen",
    *,
    out: Annotated[Path, output_folder("The run folder.")],
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            autocompletion=complete_models,
            help="Base model, which will be trained.",
            rich_help_panel=MODEL,
        ),
    ] = "builtin:small",
    data: Annotated[
        str | None, typer.Option(metavar="PATH", help="The benchmark's file or folder.", rich_help_panel=DATA)
    ] = None,
    text: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of texts.", rich_help_panel=DATA)] = None,
    group: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of groups.", rich_help_panel=DATA)] = None,
    language: Annotated[
        str | None, typer.Option(autocompletion=complete_languages, help="This language only.", rich_help_panel=DATA)
    ] = None,
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

    **Example**: `assay lab testbed plant mbpp --data mbpp.jsonl --members 200 --out runs/planted`
    """
    from assay.cli import chosen_format
    from assay.cli import show as show_report
    from assay.reports import Column, Report, Row, Table
    from assay_lab.testbed import Configuration, PlantSettings, check, plant_in

    form = chosen_format()
    configuration = Configuration(
        name=out.name,
        model=model,
        seed=seed,
        data=PlantSettings(
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
    check(configuration, "assay lab testbed plant")
    planted = plant_in(out, configuration, watchers())
    from assay_lab.columns import own_group_column
    from assay_lab.testbed import part_column

    rows = []
    for name in dict.fromkeys(part_column(planted.samples).tolist()):
        texts = planted.part(name)
        groups = set(own_group_column(texts))
        rows.append((name, len(texts), len(groups)))
    columns = (Column("part"), Column("texts", "count"), Column("groups", "count"))
    report = Report(
        title="Planted",
        statement=f"Planted in {out}; next: assay lab testbed train {out}",
        tables=(Table(name="parts", title="Texts of each part", columns=columns, rows=tuple(map(Row, rows))),),
        notes=tuple(starmap("{1} left out: {0}".format, planted.left_out.items())),
        data={
            "folder": str(out),
            "parts": {name: {"texts": texts, "groups": groups} for name, texts, groups in rows},
            "left_out": dict(planted.left_out),
        },
    )
    show_report(report, form)


def train_command(
    folder: PlantedFolder,
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
    """Train the base model on the members, mixed with general text; keep the model of each epoch in `--checkpoints`.

    Stopped or killed, the same command continues where it stopped.

    **Example**: `assay lab testbed train runs/planted --method full --rate 1e-3 --batch 8 --ratio 1`
    """
    from assay.cli import chosen_format
    from assay.cli import show as show_report
    from assay.reports import Report
    from assay_lab.testbed import FOLDER, check, configuration_in, read_planted, reconfigure, train_in

    form = chosen_format()
    present = configuration_in(folder)
    kept = None if checkpoints is None else numbers(checkpoints, "--checkpoints")
    if epochs is not None and kept is None:
        # a checkpoint beyond the last epoch would never be written
        kept = tuple(epoch for epoch in present.training.checkpoints if epoch <= epochs) or (epochs,)
    training = changed(
        present.training,
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
    configuration = replace(present, training=training, mix=changed(present.mix, corpus=mix, ratio=ratio))
    check(configuration, "assay lab testbed train")
    reconfigure(folder, training=configuration.training, mix=configuration.mix)
    train_in(folder, configuration, planted=read_planted(folder / FOLDER), watchers=watchers())
    statement = f"Trained in {folder}: checkpoints after epochs {', '.join(map(str, training.checkpoints))}"
    trained = {"folder": str(folder), "checkpoints": list(training.checkpoints)}
    show_report(Report("Trained", statement, data=trained), form)


def evaluate_command(
    folder: PlantedFolder,
    *,
    detectors: Annotated[
        str | None, typer.Option(metavar="a,b,…", help="Detectors or scores; without it, all.")
    ] = None,
    variants: Annotated[int | None, typer.Option(help="Rewritings of each text (10).")] = None,
    device: Annotated[str | None, typer.Option(help="Where models are scored (auto).", rich_help_panel=MODEL)] = None,
) -> None:
    """Compare every detector's values on every checkpoint with the truth; thresholds come from the calibration split.

    **Example**: `assay lab testbed evaluate runs/planted --detectors black`
    """
    from assay_lab.testbed import FOLDER, check, configuration_in, evaluate_in, read_planted, reconfigure

    present = configuration_in(folder)
    names = None if detectors is None else tuple(map(str.strip, detectors.split(",")))
    judging = changed(present.judging, detectors=names, variants=variants, device=device)
    check(replace(present, judging=judging), "assay lab testbed evaluate")
    configuration = reconfigure(folder, judging=judging)
    evaluation = evaluate_in(folder, configuration, planted=read_planted(folder / FOLDER), watchers=watchers())
    show_evaluation(folder, evaluation)


def run_command(
    configuration: Annotated[Path, typer.Argument(metavar="CONFIG", help="A configuration file (.toml, .json).")],
    *,
    seed: Annotated[str | None, typer.Option(metavar="0,1,2", help="Seeds; several have a folder each.")] = None,
    out: Annotated[Path | None, output_folder("Folder of the runs (runs/NAME).")] = None,
) -> None:
    """Run a configuration end to end: plant, train, evaluate, tables and figures.

    What is done already is not done again: killed and started again, the same command continues.

    **Example**: `assay lab testbed run experiment.toml --seed 0,1,2 --out runs/experiment`
    """
    run_configuration(configuration, out, None if seed is None else numbers(seed, "--seed"))


def run_configuration(path: Path, out: Path | None, seeds: tuple[int, ...] | None) -> None:
    """Run a configuration file for each seed, and show the results."""
    from assay.files import check_target_folder
    from assay_lab.testbed import CONFIGURATION, FOLDER, read_configuration, run

    configuration = read_configuration(path)
    seeds = seeds or (configuration.seed,)
    folder = out or Path("runs") / configuration.name
    check_target_folder(folder, (CONFIGURATION, FOLDER, "seed-*"), "assay lab testbed run")
    for seed in seeds:
        place = folder if len(seeds) == 1 else folder / f"seed-{seed}"
        show_evaluation(place, run(place, replace(configuration, seed=seed), watchers()))


def write_result(folder: Path, evaluation: "Evaluation") -> "tuple[Report, Path]":
    """Write the numbers, the tables and the page of a run; return its report and the path of the page."""
    from assay.files import write_text
    from assay.reports import render_markdown, write_html
    from assay.run import PAGE
    from assay.training import LOG
    from assay_lab.testbed import describe_evaluation, manifest_of, write_evaluation
    from assay_lab.training.finetuning import TRAIN

    log = folder / TRAIN / LOG
    losses = list(map(json.loads, log.read_text("utf-8").splitlines())) if log.exists() else []
    report = describe_evaluation(evaluation, manifest_of(folder), losses)
    write_evaluation(folder, evaluation)
    write_text(folder / TABLES, render_markdown(report))
    return report, write_html(report, folder / PAGE)


def show_evaluation(folder: Path, evaluation: "Evaluation") -> None:
    """Write the numbers, the tables and the page, and show the short tables."""
    from assay.cli import chosen_format
    from assay.cli import show as show_report

    report, page = write_result(folder, evaluation)
    from assay_lab.columns import among

    short = tuple(among(report.tables, "section", SHORT_SECTIONS))
    show_report(replace(report, tables=short), chosen_format(), page)


def watchers() -> "Watchers":
    """Return what shows the progress of a run: stages and steps on a terminal, else a line each 30 s."""
    from assay.progress import REPORTING, ProgressLines
    from assay_lab.testbed import Watchers

    if not REPORTING.get().progress:
        return Watchers()
    if not ERRORS.is_terminal:
        lines = ProgressLines("training and scoring")
        return Watchers(
            lambda _: None,
            lambda record, steps: lines.report(f"step {int(record['step'])} of {steps}, loss {record['loss']:.3f}"),
            lambda finished, total: lines.report(f"{finished} of {total} texts scored"),
        )

    def stage(words: str) -> None:
        ERRORS.print(words, markup=False, highlight=False)

    def training(record: dict[str, float], steps: int) -> None:
        step = int(record["step"])
        left = record["seconds"] / step * (steps - step)
        line = f"step {step} of {steps}, loss {record['loss']:.3f}, about {left:.0f} seconds left "
        # a carriage return overwrites the line; the last step ends it
        ERRORS.print(line, end="\r" if step < steps else "\n", markup=False, highlight=False)

    def scoring(finished: int, total: int) -> None:
        ERRORS.print(f"{finished} of {total} ", end="\r" if finished < total else "\n", markup=False, highlight=False)

    return Watchers(stage, training, scoring)


def changed(part: Part, **fields: object) -> Part:
    """Return a part of a configuration with other fields; None leaves a field as it is."""
    return replace(part, **{key: value for key, value in fields.items() if value is not None})  # type: ignore[type-var]


def numbers(text: str, option: str) -> tuple[int, ...]:
    """Return whole numbers from a text with commas between them.

    Raises:
        DataError: something else.
    """
    from assay.errors import DataError

    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise DataError(f"{option} {text!r}: expected whole numbers with commas between them, as 1,3,5") from None
