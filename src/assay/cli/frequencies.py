"""`assay frequencies`: token-frequency tables for DC-PDD."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.groups import Shown, grouped
from assay.cli.options import ModelName, output_file
from assay.cli.unused import refuse_unused
from assay.datasets import DataSelection
from assay.models import ModelSettings
from assay.settings import declared

USED = frozenset({"revision", "trust_remote_code"})
"""Settings of a model that its tokenizer depends on."""


@grouped
def frequencies_command(
    context: typer.Context,
    model: ModelName,
    corpus: Annotated[
        str, typer.Argument(metavar="CORPUS", help="A file or folder with texts like the model's training data.")
    ],
    *,
    output: Annotated[Path, output_file("The table to write.", ".npz")],
    which: Annotated[DataSelection, Shown("columns")],
    settings: Annotated[ModelSettings, Shown("model_option")],
) -> None:
    """Count a corpus with a model's tokenizer; the table belongs to that tokenizer.

    Occurrences are counted, not documents. Only the tokenizer is loaded.

    **Example**: `assay frequencies builtin:small my_corpus/ -o frequencies.npz`
    """
    from assay.cli.present import show
    from assay.datasets import read_dataset
    from assay.models import open_tokenizer
    from assay.progress import warn
    from assay.reports import Report, number_of
    from assay.scores import FrequencyTable

    unused = {entry.name for entry in declared(ModelSettings)} - USED
    refuse_unused(context, dict.fromkeys(unused, "only the tokenizer is loaded"))
    dataset = read_dataset(corpus, which)
    tokenizer = open_tokenizer(model, revision=settings.revision, trust_remote_code=settings.trust_remote_code)
    for note in dataset.notes:
        warn(note)
    table = FrequencyTable.count(
        tokenizer.token_ids(sample.text for sample in dataset.samples),
        vocabulary_size=tokenizer.vocabulary_size,
        tokenizer_digest=tokenizer.digest,
        source=f"{number_of(len(dataset.samples), 'text')} of {dataset.source}",
    )
    table.save(output)
    seen = int((table.counts > 0).sum())
    statement = f"{output}: {number_of(table.total, 'token')}, {seen:,} of {len(table.counts):,} token ids occur"
    data = {"file": str(output), "tokens": table.total, "token_ids": seen, "vocabulary_size": len(table.counts)}
    show(Report("Token frequencies", statement, data=data))
