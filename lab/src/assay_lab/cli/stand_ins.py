"""`assay lab stand-ins` and `assay lab rehearse`: the papers' own settings, tried without hub and GPU."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import echo, output_folder

if TYPE_CHECKING:
    from assay_lab.experiments import Reproduction


def stand_ins_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder, the hub's home of the stand-ins.")],
) -> None:
    """Lay down tiny models with random weights and tiny tables under the ids that the papers name, as a hub cache.

    transformers and datasets open them offline by their real ids with `HF_HOME=DIR HF_HUB_OFFLINE=1`. What is made with
    them says STAND-IN.

    **Example**: `assay lab stand-ins stand-ins`
    """
    from assay.files import check_new_folder
    from assay_lab.stand_ins.home import offline

    check_new_folder(folder)
    with offline(folder):
        lay(folder)
    echo(f"{folder}: stand-ins of the models and data of the papers; `assay lab rehearse --stand-ins {folder}`")


def rehearse_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Papers or experiments of `assay lab list`; all five papers without."),
    ] = None,
    *,
    stand_ins: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Of `assay lab stand-ins`; laid down anew without.")
    ] = None,
    out: Annotated[Path | None, output_folder("Keep the results, which say STAND-IN.")] = None,
) -> None:
    """Run the papers at the scale paper from first to last line, sizes divided, on stand-ins: no hub, no GPU.

    **Example**: `assay lab rehearse kds srdetection/table-1`
    """
    from assay.errors import AssayError, DataError
    from assay.files import check_new_folder
    from assay_lab.experiments.papers import PAPERS
    from assay_lab.stand_ins.home import check_home, mark, offline

    if out is not None:
        check_new_folder(out)
    if stand_ins is not None:
        check_home(stand_ins)
    failures = []
    with TemporaryDirectory(prefix="assay-lab-") as temporary:
        home = stand_ins or Path(temporary) / "home"
        folder = mark(out or Path(temporary) / "out")
        with offline(home):
            if stand_ins is None:
                lay(home)
            experiments = chosen_experiments(names or PAPERS)
            for experiment in experiments:
                began, outcome = time.perf_counter(), ""
                try:
                    rehearse(experiment, home, folder)
                except (AssayError, OSError, ValueError, AssertionError, LookupError, TypeError, RuntimeError) as error:
                    failures.append(experiment.full_name)
                    outcome = f"failed: {type(error).__name__}: {error}; "
                echo(f"assay: {experiment.full_name}: {outcome}{time.perf_counter() - began:.1f} s", err=True)
    if failures:
        raise DataError(f"{len(failures)} of {len(experiments)} rehearsals failed: {', '.join(failures)}")
    echo(f"{len(experiments)} of {len(experiments)} tables and figures rehearsed")


def lay(home: Path) -> None:
    """Lay down all stand-ins; the packages of the hub are loaded only now."""
    from assay_lab.stand_ins.data_sets import lay_down

    lay_down(home)


def chosen_experiments(names: list[str] | tuple[str, ...]) -> list["Reproduction"]:
    """Return the experiments of these names, each once.

    Raises:
        DataError: a name is none of a paper.
    """
    from assay.errors import DataError
    from assay_lab.experiments import experiments_named
    from assay_lab.experiments.papers import PAPERS

    chosen: dict[str, Reproduction] = {}
    for name in names:
        for experiment in experiments_named(name):
            if experiment.paper not in PAPERS:
                raise DataError(f"{name}: received no experiment of a paper; expected some of {', '.join(PAPERS)}")
            chosen[experiment.full_name] = experiment
    return list(chosen.values())


def rehearse(experiment: "Reproduction", home: Path, folder: Path) -> None:
    """Rehearse one experiment and write what it gives."""
    from assay_lab.cli.run import calm_threads
    from assay_lab.experiments import write_finding
    from assay_lab.stand_ins.rehearsal import rehearsal_bench

    calm_threads("smoke")
    bench = rehearsal_bench(experiment, home, folder)
    write_finding(folder / experiment.full_name, experiment.run_on(bench), bench)
