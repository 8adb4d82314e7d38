"""`assay lab`: ground truth made on purpose, the tables of the papers, and the makers of what assay ships."""

import typer

from assay_lab.builtin.app import builtin_app
from assay_lab.cli.authorship import authorship_app
from assay_lab.cli.authorship_build import build_rewrites_command
from assay_lab.cli.fitted import fitted_command
from assay_lab.cli.render import render_command
from assay_lab.cli.repositories import find_repositories_command
from assay_lab.cli.run import list_command, run_command
from assay_lab.cli.stand_ins import rehearse_command, stand_ins_command
from assay_lab.cli.study import study_app
from assay_lab.cli.testbed import testbed_app
from assay_lab.cli.toy_logs import toy_logs_command
from assay_lab.cli.train_encoder import train_encoder_command

app = typer.Typer(name="lab", help="The laboratory: how far can the answers be trusted?", no_args_is_help=True)


@app.callback()
def lab() -> None:
    """Measure how far the answers can be trusted: experiments with known truth, and the tables of the papers."""


app.command("list")(list_command)
app.command("run")(run_command)
app.command("stand-ins")(stand_ins_command)
app.command("rehearse")(rehearse_command)
app.command("render")(render_command)
app.command("fitted")(fitted_command)
app.command("train-encoder")(train_encoder_command)
app.command("toy-logs")(toy_logs_command)
app.add_typer(testbed_app)
app.add_typer(study_app)
app.add_typer(builtin_app)
app.add_typer(authorship_app)
app.command("build-authorship")(build_rewrites_command)
app.command("find-repositories")(find_repositories_command)
