"""`assay check`: may this change be merged?"""

from pathlib import Path
from typing import Annotated

import typer

from assay.checking.settings import CheckSettings
from assay.cli.groups import grouped
from assay.cli.options import LOG, STANDARD_OUTPUT, further_file
from assay.cli.unused import options_of_command_line, refuse_format, refuse_unused
from assay.files import write_json


@grouped
def check_command(
    context: typer.Context,
    *,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="COMMIT", help="Commit or branch to merge into; else the default branch.", show_default=False
        ),
    ] = None,
    head: Annotated[str, typer.Option(metavar="COMMIT", help="Last commit of the change.")] = "HEAD",
    staged: Annotated[bool, typer.Option("--staged", help="Judge what is staged, against HEAD.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of the rules in the base commit; else assay.toml.", show_default=False),
    ] = None,
    rules: CheckSettings,
    pull_request: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Event of GitHub, whose description and branch are read.", show_default=False
        ),
    ] = None,
    write_baseline: Annotated[
        Path | None,
        further_file(
            "Add all copies and licences found to this file, which accepts them once the base commit has it.",
            hidden=True,
            added=True,
        ),
    ] = None,
    sarif: Annotated[
        Path | None, further_file("Write SARIF 2.1.0 to this file; - is standard output.", *LOG, printable=True)
    ] = None,
) -> None:
    """Judge the lines that a change adds: copies, licences, and who is declared to have written them.

    The rules are those of the table [check] in the base commit: a change cannot weaken its own gate. Exit code: 0
    clean, 1 findings, 2 bad input, 3 undecided.

    **Example**: `assay check --base origin/main`
    """
    from assay.api import check
    from assay.checking import CommandRules, check_sarif
    from assay.cli.present import chosen_format, show
    from assay.cli.terminal import OUTPUT_SETTINGS, echo, echo_json
    from assay.provenance import findings
    from assay.reports import TEXT_WIDTH, describe

    refuse_format(context, sarif)
    if staged:
        refuse_unused(
            context, dict.fromkeys(("base", "head", "pull_request"), "--staged judges the index against HEAD")
        )
    command = CommandRules(
        settings=rules,
        # what the user typed wins over the base commit; a configuration file, which the change may bring, does not
        overriding=options_of_command_line(context),
        config=config,
        writes_baseline=write_baseline is not None,
    )
    result = check(command, base=base, head=head, staged=staged, pull_request=pull_request)
    if write_baseline is not None:
        written = findings.write_baseline(
            write_baseline,
            denials=result.copies,
            texts=result.code.texts,
            stated=result.acceptable,
            replace_it=OUTPUT_SETTINGS.get().force,
        )
        echo(f"assay: note: {written}, once the base commit has it; findings on writers cannot be accepted", err=True)
    if sarif == STANDARD_OUTPUT:
        echo_json(check_sarif(result))
    else:
        if sarif is not None:
            write_json(sarif, check_sarif(result))
        show(describe(result), chosen_format(), width=TEXT_WIDTH)
    raise typer.Exit(result.exit_code)
