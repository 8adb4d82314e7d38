"""`assay lab testbed`: ground truth made on purpose."""

import typer

from assay_lab.cli.testbed_runs import evaluate_command, plant_command, run_command, train_command

testbed_app = typer.Typer(name="testbed", help="Ground truth made on purpose.", no_args_is_help=True)


@testbed_app.callback()
def testbed() -> None:
    """Ground truth made on purpose: models of which every training text is known, and which score finds it."""


testbed_app.command("plant")(plant_command)
testbed_app.command("train")(train_command)
testbed_app.command("evaluate")(evaluate_command)
testbed_app.command("run")(run_command)
