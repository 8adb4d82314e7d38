"""`assay pairs`: which students share code?"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.completing import complete_languages
from assay.cli.options import output_file, writable_folder
from assay.cli.terminal import echo
from assay.errors import DataError

if TYPE_CHECKING:
    from assay.submissions import Submission

FORMS = (".html", ".htm", ".csv")


def pairs_command(
    code: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER|ZIP|FILE …",
            help="A folder, an archive or a file for each student inside.",
            show_default=False,
        ),
    ],
    *,
    template: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR|ZIP|FILE", help="Code that was handed out: no evidence. Repeat for several."),
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR|ZIP", help="An earlier course, compared with this one only. Repeat for several."),
    ] = None,
    anonymous: Annotated[bool, typer.Option("--anonymous", help="Replace names of students by numbers.")] = False,
    language: Annotated[
        str | None, typer.Option(autocompletion=complete_languages, help="Only files in this language.")
    ] = None,
    pages: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a page for each pair.", callback=writable_folder, show_default=False),
    ] = None,
    out: Annotated[Path | None, output_file("Write the pairs: .csv, or a page to look at: .html.")] = None,
) -> None:
    """Compare the work of students: which pairs share what the others do not?

    Names, layout, comments, order and added statements change little. A page (-o pairs.html) shows both side by side.

    **Example**: `assay pairs submissions.zip --template given/ -o pairs.html`
    """
    from assay.api import compare_students
    from assay.cli.present import chosen_format, show
    from assay.files import write_text
    from assay.reports import render_csv
    from assay.submissions import render_page, write_pages

    if out is not None and out.suffix.lower() not in FORMS:
        raise DataError(f"--out {out}: expected a name that ends with {', '.join(FORMS)}")
    comparison = compare_students(
        code, template=template or (), earlier=earlier or (), language=language, anonymous=anonymous
    )
    left = list(comparison.not_compared())
    _check_students(comparison.read, left)
    report, form = comparison.describe(), chosen_format()
    if out is not None:
        is_table = out.suffix.lower() == ".csv"
        write_text(out, render_csv(report) if is_table else render_page(comparison))
    if pages is not None:
        write_pages(comparison, pages)
    if form != "table":
        show(report, form)
        return
    for line in comparison.lines():
        echo(line)
    if comparison.pairs and out is pages is None:
        echo("Both sides of each pair: add -o pairs.html")
    _echo_ends([out, pages], [*left, *comparison.remarks()])


def _check_students(read: "Sequence[Submission]", left: Sequence[str]) -> None:
    """Make sure that there are two students to compare.

    Raises:
        DataError: fewer have code.
    """
    from assay.reports import number_of

    with_code = [submission for submission in read if submission.files]
    # students count, not submissions: one may hand in twice
    if len({submission.student for submission in with_code}) > 1:
        return
    reasons = ""
    if left:
        more = f"; {len(left) - 1:,} more without" if len(left) > 1 else ""
        reasons = f" ({left[0]}{more})"
    received = number_of(len(with_code), "submission")
    raise DataError(f"received {received}{reasons}, expected those of at least 2 students")


def _echo_ends(written: Sequence[Path | None], left: Sequence[str]) -> None:
    """Print what was written, and what was not compared."""
    for path in filter(None, written):
        echo(f"Written: {path}")
    for sentence in left:
        echo(f"assay: note: {sentence}", err=True)
