"""`assay lab toy-logs`: logs that evaluation harnesses themselves wrote of toy tasks."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli import echo


def toy_logs_command(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the logs, one folder for each harness.")],
    *,
    harness: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="evalplus, bigcodebench, lighteval or livecodebench (all).")
    ] = None,
    environments: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the environments, which are made where they are missing.")
    ] = Path(".toy-environments"),
    checkout: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Checkout of LiveCodeBench, which is no package.")
    ] = None,
) -> None:
    """Write toy logs with harnesses in environments of their own, for the tests of the readers of `assay annotate`.

    The tasks are ours; the harnesses run our solutions on this machine without a sandbox.

    **Example**: `assay lab toy-logs tests/data/harness_logs --harness evalplus`
    """
    from assay_lab.toy_logs.environments import HARNESSES, write_toy_logs

    names = harness or list(HARNESSES)
    write_toy_logs(out, names, environments, checkout=checkout)
    echo(f"{out}: logs of {', '.join(names)}")
