"""`assay frequencies`: token-frequency tables for DC-PDD."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.groups import grouped
from assay.cli.options import DataOptions, ModelName, output_file

frequencies_app = typer.Typer(name="frequencies", help="Token-frequency tables for DC-PDD.", no_args_is_help=True)


@frequencies_app.callback()
def frequencies() -> None:
    """Token-frequency tables for DC-PDD: how often each token occurs in a reference corpus."""


@frequencies_app.command("build")
@grouped
def build_command(
    model: ModelName,
    corpus: Annotated[
        str, typer.Argument(metavar="CORPUS", help="A file or folder with texts like the model's training data.")
    ],
    *,
    output: Annotated[Path, output_file("The table to write.")],
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of a hub model.")] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run Python code that comes with the tokenizer.")
    ] = False,
    which: DataOptions,
) -> None:
    """Count a corpus with a model's tokenizer; the table belongs to that tokenizer.

    Occurrences are counted, not documents. Only the tokenizer is loaded.

    **Example**: `assay frequencies build builtin:small my_corpus/ -o frequencies.npz`
    """
    from assay.api import warn
    from assay.cli.present import chosen_format, show
    from assay.models import open_tokenizer
    from assay.reports import Report
    from assay.scores import FrequencyTable

    form = chosen_format()
    dataset = which.load(corpus)
    tokenizer = open_tokenizer(model, revision=revision, trust_remote_code=trust_remote_code)
    for note in dataset.notes:
        warn(note)
    table = FrequencyTable.count(
        tokenizer.token_ids(sample.text for sample in dataset.samples),
        vocabulary_size=tokenizer.vocabulary_size,
        tokenizer_digest=tokenizer.digest,
        source=f"{len(dataset.samples)} texts of {dataset.source}",
    )
    table.save(output)
    seen = int((table.counts > 0).sum())
    statement = f"{output}: {table.total:,} tokens, {seen:,} of {len(table.counts):,} token ids occur"
    data = {"file": str(output), "tokens": table.total, "token_ids": seen, "vocabulary_size": len(table.counts)}
    show(Report("Token frequencies", statement, data=data), form)
