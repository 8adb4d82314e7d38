"""`assay index`: corpora into an index of code."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.filesize import decimal

from assay.cli.groups import Shown, grouped
from assay.cli.options import At
from assay.corpora import CorpusSettings, TableColumns
from assay.errors import DataError

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.provenance import BuildCounts
    from assay.reports import Report

REPAIR = "assay index verify --repair"
ADVICE = (REPAIR, "expected", "build the index again")
"""Words of the errors of an index that already say what to do."""

INDEX = "The index"

index_app = typer.Typer(
    name="index", help="Build an index of code from corpora, and keep it up to date.", no_args_is_help=True
)

Corpora = Annotated[
    list[str],
    typer.Argument(metavar="CORPUS …", help="Folders, git repositories, archives, tables, or - for standard input."),
]


@index_app.callback()
def index() -> None:
    """Corpora into an index of code: where does a snippet come from?"""


@index_app.command("build")
@grouped
def build_command(
    corpora: Corpora,
    *,
    at: At,
    profile: Annotated[
        str,
        typer.Option(
            metavar="keep|default|paper",
            hidden=True,
            help="How fingerprints are made. keep: as in the index; default for a new one.",
            rich_help_panel=INDEX,
        ),
    ] = "keep",
    encoder: Annotated[
        str,
        typer.Option(
            metavar="keep|NAME|none",
            help="Gives each document a vector: builtin:fragments, a model folder or a Hugging Face id. "
            "builtin:windows gives it several, and so finds shorter fragments. "
            "keep: that of the index; builtin:fragments for a new one.",
            rich_help_panel=INDEX,
        ),
    ] = "keep",
    which: CorpusSettings,
    columns: Annotated[TableColumns, Shown()],
) -> None:
    """Build an index of corpora. If a build was stopped, run the same command again: it continues.

    Corpora are folders, git repositories, archives (wheels, sdists, tar, zip), JSON lines or Parquet in the columns of
    The Stack, or - for standard input. Nothing is fetched from a network.

    **Example**: `assay index build ~/src/project vendor.tar.gz --index code.index`
    """
    from assay import build_index

    encoder_name = None if encoder == "none" else encoder
    counts = build_index(corpora, at, which, columns=columns, profile=profile, encoder=encoder_name)
    show_counts(counts, at)


@index_app.command("add")
@grouped
def add_command(
    corpora: Corpora,
    *,
    at: At,
    which: CorpusSettings,
    columns: Annotated[TableColumns, Shown()],
) -> None:
    """Add corpora to an index, or bring it up to what they hold now: only what changed is read.

    Files that are no longer in a corpus are removed from the index.

    **Example**: `assay index add ~/src/project --index code.index`
    """
    from assay.api import fill_index, writable_index

    with writable_index(at) as index:
        counts = fill_index(index, corpora, which, columns=columns)
    show_counts(counts, at)


@index_app.command("remove")
def remove_command(
    corpora: Annotated[
        list[str] | None, typer.Argument(metavar="CORPUS …", help="Corpora, or names from `index info`.")
    ] = None,
    *,
    at: At,
    path: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Only files that match, as in .gitignore.", rich_help_panel=INDEX),
    ] = None,
) -> None:
    """Remove corpora from an index, or those of their files that match a pattern.

    A document that was found elsewhere too stays with its other origins.

    **Example**: `assay index remove --path 'vendor/' --index code.index`
    """
    from assay.api import writable_index
    from assay.provenance.index import remove
    from assay.reports import Report, number_of

    if not corpora and not path:
        raise DataError("nothing to remove was named: expected a corpus or --path PATTERN")
    with writable_index(at) as index:
        removed = remove(index, corpora or [], tuple(path or ()))
        index.commit()
    statement = f"{number_of(removed.files, 'file')} and {number_of(removed.documents, 'document')} removed"
    _show_report(Report(title="Removed", statement=statement, data=asdict(removed)))


@index_app.command("info")
def info_command(*, at: At) -> None:
    """Show the content of an index: documents, sources, languages, licences, skipped files with reasons, sizes.

    **Example**: `assay index info --index code.index`
    """
    from assay.provenance import open_index

    # one state for all counts, whatever another process adds meanwhile
    with open_index(at) as index, index.snapshot():
        described = asdict(index.info()) | {
            "folder": at,
            "languages": {language or "unknown": number for language, number in index.languages().items()},
            "licences": index.licences(),
        }
    _show_report(described_index(described))


@index_app.command("compact")
def compact_command(*, at: At) -> None:
    """Merge the files of an index into as few as possible; removed documents then take no space.

    An index of many vectors gets the graph by which they are found in logarithmic time.

    **Example**: `assay index compact --index code.index`
    """
    from assay.progress import warn
    from assay.provenance import CodeIndex, query_encoder
    from assay.provenance.index import folder_named
    from assay.reports import Report

    folder = folder_named(at, "a server compacts its collections itself")
    with CodeIndex.open(folder, writable=True, encoder=query_encoder(at, required=True)) as index:
        before = sum(index.info().bytes.values())
        index.compact()
        now = sum(index.info().bytes.values())
        if index.vector_note:
            warn(index.vector_note)
    statement = f"{decimal(before)} before, {decimal(now)} now"
    _show_report(Report("Compacted", statement, data={"bytes_before": before, "bytes": now}))


@index_app.command("verify")
def verify_command(
    *,
    at: At,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Restore damaged parts from the stored texts; remove rows that are damaged."),
    ] = False,
) -> None:
    """Read all of an index, and compare it with its checksums. Damage is one line, and exit code 2.

    A repair computes damaged postings and vectors again. It removes documents whose text, licence or origins are
    damaged; the next `index add` of the corpora then reads every file again and restores them.

    **Example**: `assay index verify --index code.index --repair`
    """
    from assay.errors import CorpusIndexError
    from assay.progress import warn
    from assay.provenance import CodeIndex
    from assay.provenance.index import folder_named
    from assay.reports import Report, number_of

    folder = folder_named(at, "a server checks its collections itself")
    # an index that was repaired is read whole as well: what could not be restored is an error
    repaired = CodeIndex.repair(folder) if repair else None
    details = []
    if repaired:
        details.append(f"{number_of(repaired.computed, 'document')} computed again, {repaired.removed:,} removed")
    if repaired and repaired.read_again:
        warn(
            f"{at}: damaged rows were removed, {number_of(repaired.removed, 'document')} with them; no trace finds "
            f"these until `assay index add CORPUS --index {at}` restores them"
        )
    try:
        with CodeIndex.open(folder) as index:
            index.check()
            documents = len(index)
    except CorpusIndexError as error:
        if repair or any(words in str(error) for words in ADVICE):
            raise
        raise CorpusIndexError(f"{error}; see `{REPAIR}`") from error
    data = {"index": at, "documents": documents, "repaired": repaired and asdict(repaired)}
    statement = f"{at}: {number_of(documents, 'document')}, no damage{' left' * repair}"
    _show_report(Report("Check", statement, details=tuple(details), data=data))


def show_counts(counts: "BuildCounts", at: str) -> None:
    """Print what was read.

    Raises:
        DataError: a corpus could not be read to its end, with the line of the last one; or there was no code in any.
    """
    from assay.progress import warn

    # before any error: what was read is in the index all the same
    _show_report(described_counts(counts, at))
    # the last one becomes the error that ends the command
    for fault in counts.faults[:-1]:
        warn(fault)
    if counts.faults:
        raise DataError(counts.faults[-1])
    if not (counts.documents or counts.duplicates or counts.unchanged):
        reasons = ", ".join(f"{counts.skipped[reason]:,} {reason}" for reason in sorted(counts.skipped))
        raise DataError(f"{at}: no code was read, so nothing was added: received {reasons or 'no file'}; expected code")


def _show_report(report: "Report") -> None:
    from assay.cli.present import show

    show(report)


def described_counts(counts: "BuildCounts", at: str) -> "Report":
    """Return what a build read as a report: the skipped files and the notes by reason."""
    from assay.reports import Column, Report, Row, Table, number_of

    rate = f", {counts.bytes / counts.seconds / 1e6:.1f} MB/s" if counts.bytes else ""
    reasons = sorted([*counts.skipped.items(), *counts.notes.items()], key=lambda pair: -pair[1])
    columns = (Column("reason"), Column("files", "count"))
    table = Table("reasons", "Skipped files and notes", columns, rows=tuple(map(Row, reasons)))
    return Report(
        title="Build",
        statement=f"{number_of(counts.files, 'file')}: {counts.read:,} read, {counts.unchanged:,} unchanged, "
        f"{counts.gone:,} gone, {sum(counts.skipped.values()):,} skipped; "
        f"{number_of(counts.documents, 'new document')}, "
        f"{counts.duplicates:,} known ones; {counts.seconds:.1f} s{rate}",
        tables=(table,) if reasons else (),
        notes=(f"The index is {at}.",),
        data=asdict(counts),
    )


def described_index(described: Mapping[str, Any]) -> "Report":
    """Return the content of an index as a report: sources, languages, licences, skipped files."""
    from assay.reports import Column, Report, Row, Table, number_of

    sizes = described["bytes"]
    graph = f", a graph over {number_of(described['graph'], 'vector')}" if described["graph"] else ""
    statement = (
        f"{described['folder']}: {number_of(described['documents'], 'document')} at "
        f"{number_of(described['origins'], 'place')}, {number_of(described['postings'], 'posting')} in "
        f"{number_of(described['segments'], 'segment')}, vectors of {number_of(described['vectors'], 'document')}"
        f"{graph}; profile {described['profile']['name']}, encoder {described['encoder'] or 'none'}"
    )
    tables = []
    for title, name, head in (
        ("Languages", "language", "documents"),
        ("Licences", "licence", "files" if sizes else "documents"),
        ("Skipped", "reason", "files"),
    ):
        counted = described[title.lower()]
        columns = (Column(name), Column(head, "count"))
        if counted:
            tables.append(Table(title.lower(), title, columns, rows=tuple(map(Row, counted.items()))))
    rows = tuple(map(Row, zip(described["sources"], strict=True)))
    tables.insert(0, Table("sources", "Sources", (Column("source"),), rows=rows))
    # a server does not report sizes
    details = (", ".join(f"{part} {decimal(size)}" for part, size in sizes.items()),) if sizes else ()
    return Report(title="Index", statement=statement, tables=tuple(tables), data=described, details=details)
