"""`assay pairs`: which files have the same structure?"""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.code_files import not_judged, source_files
from assay.cli.completing import complete_languages
from assay.cli.options import output_file
from assay.cli.terminal import echo
from assay.errors import DataError


def pairs_command(
    code: Annotated[list[Path], typer.Argument(metavar="FOLDER|FILE …", help="Code of all.", show_default=False)],
    *,
    min_similarity: Annotated[
        float, typer.Option(min=0, max=1, help="Least similarity of a pair: the share of common structure.")
    ] = 0.5,
    template: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Code that was handed out and is ignored; repeat the option for several."),
    ] = None,
    language: Annotated[
        str | None, typer.Option(autocompletion=complete_languages, help="Only files in this language.")
    ] = None,
    out: Annotated[Path | None, output_file("Write the pairs as CSV.")] = None,
) -> None:
    """Compare all files with one another: pairs that share structure, and clusters.

    Names, comments and layout do not count, so code that was copied and renamed is found.

    **Example**: `assay pairs submissions/ --template given.py`
    """
    from assay.cli.present import chosen_format, show
    from assay.files import write_text
    from assay.provenance import all_pairs
    from assay.provenance.search import add_templates, default_boilerplate
    from assay.reports import number_of, render_csv

    read = source_files(code, language, programs=True)
    files = read.texts
    if len(files) < 2:  # noqa: PLR2004  a pair
        left = "; ".join(not_judged(read))
        raise DataError(f"received {len(files)} source file{left and f' ({left})'}, expected at least 2")
    boilerplate = add_templates(default_boilerplate(), template) if template else None
    result = all_pairs(files, least=min_similarity, boilerplate=boilerplate)
    report, form = result.describe(), chosen_format()
    if out is not None:
        write_text(out, render_csv(report))
    if form != "table":
        show(report, form)
        return
    for line in result.lines():
        echo(line)
    for sentence in not_judged(read):
        echo(f"assay: note: {sentence}", err=True)
    short = f", {len(result.too_short)} too short" if result.too_short else ""
    echo(
        f"assay: {number_of(len(result.paths), 'file')} compared{short}: {number_of(len(result.pairs), 'pair')} of at "
        f"least {min_similarity:.0%}, {number_of(len(result.clusters), 'cluster')}",
        err=True,
    )
