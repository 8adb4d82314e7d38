"""`assay lab list` and `assay lab run`: every experiment of the laboratory by name."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import MODEL, OUTPUT_NAMES, complete_models, echo
from assay_lab.mappings import map_values

if TYPE_CHECKING:
    from assay_lab.experiments import Bench, Experiment, Reproduction


def run_command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A name of `assay lab list`, or a paper of it: all of its experiments."),
    ] = None,
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Run every experiment at the scale smoke; the figures are thrown away.")
    ] = False,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="smoke|full|paper|FILE",
            help="Seconds, our own settings, those of the paper; or a configuration file of yours, for a paper.",
        ),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(metavar="0,1,2", help="Several give intervals over them, for a paper; 0, or that of the file."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=PATH]",
            help="Data that the experiment takes: a file or folder, a benchmark's name, or hf:OWNER/NAME.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            autocompletion=complete_models,
            help="In place of the models of the scale, for a paper; may be given several times.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show models, data, sizes, passes and hours; fetch and run nothing.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(*OUTPUT_NAMES, help="JSON file of the result; of a paper the folder of its runs.")
    ] = None,
) -> None:
    """Run an experiment, write its JSON and show its table; without its data show the table that is committed.

    **Example**: `assay lab run performance/ngram --scale smoke --out ngram.json`

    **Example**: `assay lab run srdetection/table-1 --scale full --seed 0,1,2 --out runs/full`
    """
    from assay.errors import DataError
    from assay_lab.cli.testbed_runs import numbers, watchers
    from assay_lab.experiments import (
        Bench,
        check_folder_of_experiments,
        check_scale,
        check_used,
        experiments_named,
    )

    places, seeds = places_at(data or []), numbers(seed or "0", "--seed")
    if everything:
        unused = {"NAME": name, "--scale": scale, "--model": model, "--plan": plan, "--out": out, "--seed": seeds[1:]}
        check_all(unused, places)
        run_all(places, seeds[0])
        return
    if name is None:
        raise DataError("received no name; expected one of `assay lab list`, or --all")
    scale = scale or "full"
    check_scale(scale)
    chosen = measurements_named(name)
    if not chosen:
        # a name that nothing has is refused before a folder is looked at
        experiments = experiments_named(name)
        folder = out or Path("runs") / Path(scale).stem
        check_folder_of_experiments(folder)
        bench = Bench.of_scale(
            scale,
            folder,
            seeds=seeds,
            data=places,
            watchers=watchers(),
            models=model or (),
            paper=experiments[0].paper,
        )
        if seed is None and bench.keys:
            bench = replace(bench, seeds=(bench.configurations[0].seed,))
        check_used(name, experiments, bench)
        (show_plan if plan else run_reproductions)(name, experiments, bench)
        return
    check_measurements(name, plan=plan, several=bool(seeds[1:] or model or (out and chosen[1:])))
    run_measurements(chosen, scale, seed=seeds[0], places=places, out=out)


def measurements_named(name: str) -> "list[Experiment]":
    """Return the measurements of a name, alone or with a suffix; none for the name of a paper."""
    from assay_lab.experiments import all_measurements

    # the hyphen ends a word: "power" stands for "power-synonyms", not for "powerful"
    return [each for title, each in all_measurements().items() if f"{title}-".startswith(f"{name}-")]


def check_measurements(name: str, *, plan: bool, several: bool) -> None:
    """Refuse the options of papers for a measurement."""
    from assay.errors import DataError

    if plan:
        raise DataError(f"{name}: --plan is of the tables and figures of papers; this takes its data and no model")
    if several:
        raise DataError(f"{name}: expected one seed, no --model, and --out for one experiment alone")


def run_measurements(
    chosen: Sequence["Experiment"], scale: str, *, seed: int, places: Mapping[str, Path], out: Path | None
) -> None:
    """Run experiments and show each result; one gets all data, several get those that they know.

    Raises:
        DataError: data are missing; the others are run all the same.
    """
    from assay.cli import chosen_format
    from assay.cli import show as show_report
    from assay.errors import DataError
    from assay_lab.experiments import drive
    from assay_lab.stand_ins.home import check_no_stand_ins

    check_no_stand_ins(places.values(), chosen[0].name)
    known: set[str] = set()
    for each in chosen:
        known.update(own_data(each, places))
    if chosen[1:] and (strange := sorted(places.keys() - known)):
        raise DataError(f"received --data {', '.join(strange)}, which none of the {len(chosen)} experiments takes")
    lacking = []
    for each in chosen:
        given = own_data(each, places) if chosen[1:] else places
        report, missing = drive(each, scale, seed=seed, given=given, out=out)
        show_report(report, chosen_format())
        if missing:
            lacking.append(f"{each.name}: {missing}")
    if lacking:
        raise DataError("; ".join(lacking))


def own_data(experiment: "Experiment", places: Mapping[str, Path]) -> dict[str, Path]:
    """Return the data that an experiment knows."""
    return {name: place for name, place in places.items() if name in (*experiment.needs, *experiment.takes)}


def check_all(unused: Mapping[str, object], places: Mapping[str, Path]) -> None:
    """Refuse what `--all` has no use for.

    Args:
        unused: option → its value, false where it was not given.
        places: name → place of data.

    Raises:
        DataError: an option was given, or data that no measurement takes.
    """
    from assay.errors import DataError
    from assay_lab.experiments import all_measurements

    given = [option for option, value in unused.items() if value]
    if given:
        raise DataError(f"--all: received {', '.join(given)}; it runs everything at the scale smoke with one seed")
    known: set[str] = set()
    for experiment in all_measurements().values():
        known.update(experiment.needs, experiment.takes)
    strange = sorted(places.keys() - known)
    if strange:
        raise DataError(f"--all: received --data {', '.join(strange)}; expected some of {', '.join(sorted(known))}")


def run_all(places: Mapping[str, Path], seed: int) -> None:
    """Run every experiment at the scale smoke, and say what each took or what is missing.

    Raises:
        DataError: one fails; the others are run all the same.
    """
    from assay.errors import AssayError, DataError
    from assay_lab.experiments import SMOKE, Bench, all_experiments, all_measurements, committed, drive, write_finding

    calm_threads(SMOKE)
    failures = []
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        bench = Bench.of_scale(SMOKE, folder / "runs", (seed,))
        names = (*all_measurements(), *all_experiments())
        for name in names:
            began = time.perf_counter()
            try:
                if name in all_measurements():
                    experiment = all_measurements()[name]
                    if SMOKE in experiment.scales:
                        given, target = own_data(experiment, places), folder / f"{name}.json"
                        _, missing = drive(experiment, SMOKE, seed=seed, given=given, out=target)
                    else:
                        committed(experiment)
                        missing = f"not run, it has no small scale and needs {', '.join(experiment.needs)}"
                elif needs := all_experiments()[name].needs:
                    missing = f"not run, it needs data: {' or '.join(needs)}"
                else:
                    write_finding(bench.out / name, all_experiments()[name].run_on(bench), bench)
                    missing = ""
            except (AssayError, OSError, ValueError, AssertionError, LookupError, TypeError) as error:
                failures.append(name)
                missing = f"failed: {type(error).__name__}: {error}"
            echo(f"assay: {name}: {missing or f'{time.perf_counter() - began:.1f} s'}", err=True)
    if failures:
        raise DataError(f"{len(failures)} of {len(names)} experiments failed: {', '.join(failures)}")


def run_reproductions(name: str, experiments: Sequence["Reproduction"], bench: "Bench") -> None:
    """Run an experiment of a paper, or all of them, write the results beside the runs, and show the tables."""
    from assay.cli import chosen_format
    from assay.cli import show as show_report
    from assay_lab.experiments import finding_report, joined, paper, write_finding
    from assay_lab.stand_ins.home import MARKER, check_same_kind

    check_same_kind(bench.out, is_rehearsal=bench.is_rehearsal)
    calm_threads(bench.scale)
    whole = len(experiments) > 1
    findings = []
    for experiment in experiments:
        own = experiment.bench_of(bench)
        own = replace(own, data={}) if whole and experiment.makes_texts else own
        finding = experiment.run_on(own)
        page = write_finding(bench.out / experiment.full_name, finding, own)
        findings.append(finding)
    if whole:
        finding = joined(name, paper(name).title, findings)
        if bench.is_rehearsal:
            finding = replace(finding, title=f"{MARKER}: {finding.title}")
        page = write_finding(bench.out / name, finding, bench)
    show_report(finding_report(finding), chosen_format(), page)


def show_plan(name: str, experiments: Sequence["Reproduction"], bench: "Bench") -> None:
    """Show what a run would fetch and compute."""
    from assay.cli import chosen_format
    from assay.cli import show as show_report
    from assay_lab.papers.planning import plan_report

    show_report(plan_report(name, experiments, bench), chosen_format())


def calm_threads(scale: str) -> None:
    """Let torch use one thread at the scale smoke: on tiny models threads of a busy machine wait for one another."""
    if scale == "smoke":
        import torch

        torch.set_num_threads(1)


def places_at(options: Sequence[str]) -> dict[str, Path]:
    """Return name → place, from NAME=PATH; the name of a benchmark and `hf:OWNER/NAME` are places themselves.

    Raises:
        DataError: something else.
    """
    from assay.datasets import is_benchmark
    from assay.errors import DataError

    places: dict[str, Path] = {}
    for text in options:
        name, equals, path = text.partition("=")
        if not equals and (is_benchmark(name) or name.startswith("hf:")):
            name, path = name.rpartition("/")[2], name
        if not (name and path):
            raise DataError(
                f"--data {text!r}: expected NAME=PATH, as humaneval=HumanEval.jsonl.gz, a benchmark, or hf:OWNER/NAME"
            )
        if name in places:
            raise DataError(f"--data {name} is given twice: {places[name]} and {path}; expected one place")
        places[name] = Path(path)
    return places


def list_command() -> None:
    """List every experiment: the tables and figures of the papers, our own, and the measurements.

    **Example**: `assay lab list`
    """
    from assay.cli import chosen_format
    from assay.cli import show as show_report
    from assay.reports import Column, Report, Row, Table
    from assay_lab.experiments import all_experiments, all_measurements, paper

    summaries = map_values(attrgetter("summary"), all_experiments())
    titles = {each.paper: paper(each.paper).title for each in all_experiments().values()}
    summaries |= map_values(attrgetter("title"), all_measurements())
    families: dict[str, list[Row]] = {}
    for name, summary in summaries.items():
        families.setdefault(name.partition("/")[0], []).append(Row((name, summary)))
    tables = []
    for family, rows in families.items():
        columns = (Column("name", "name"), Column("summary"))
        tables.append(Table(name=family, title=titles.get(family, family), columns=columns, rows=tuple(rows)))
    data = [{"name": name, "summary": summary} for name, summary in summaries.items()]
    show_report(Report(title="Experiments", statement="", tables=tuple(tables), data=data), chosen_format())
