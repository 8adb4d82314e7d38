"""`assay lab render`: the pages and figures of results, made from the files in lab/results."""

from typing import Annotated

import typer

from assay.cli import echo


def render_command(
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 where a page is outdated.")
    ] = False,
) -> None:
    """Write the pages and figures of results from the files in lab/results; nothing is measured.

    **Example**: `assay lab render --check`
    """
    from assay.files import write_text
    from assay_lab.pages.rendering import outdated_pages

    outdated = outdated_pages()
    for path, text in outdated.items():
        if not check:
            write_text(path, text)
        echo(f"{path.name}: {'not what the files in lab/results say' if check else 'written'}", err=check)
    if check and outdated:
        raise typer.Exit(1)
