"""`assay.load`: samples of a benchmark or of any table."""

from pathlib import Path

from assay.datasets import DataSelection, Dataset, Labels, RepeatedIds, read_dataset


def load(
    name_or_path: str | Path,
    *,
    data: str | Path | None = None,
    text: str | None = None,
    id: str | None = None,  # noqa: A002  the column is called what `Sample` calls it
    label: str | None = None,
    labels: Labels = "membership",
    group: str | None = None,
    language: str | None = None,
    split: str | None = None,
    subset: str | None = None,
    part: str | None = None,
    limit: int | None = None,
    repeated: RepeatedIds = "refuse",
) -> Dataset:
    """Load samples of a benchmark, or of any table.

    A benchmark is read from `data` if it is there, else from the local cache of the hub or the hub itself, through the
    `datasets` package if it is installed; nothing else opens a connection. A table is a file or folder (JSON, CSV,
    Parquet, Arrow, code, text), or a hub data set named "hf:OWNER/NAME".

    Args:
        name_or_path: a benchmark's name, a path, or "hf:OWNER/NAME". For a file with the name of a benchmark, add its
            folder: "./humaneval".
        data: the benchmark's official file, folder or checkout, or a part of it.
        text: of a table: its text column, or several joined by "+".
        id: of a table: its id column; "row" numbers the rows.
        label: of a table: its label column.
        labels: "membership" (1/0, true/false, member/nonmember, seen/unseen), or "as-is" for names of generators.
        group: of a table: the column whose equal values stay together in evaluation.
        language: of a benchmark: only this language ("all" for all). Of a table: its language column, or the language
            of all its rows.
        split: only this split; None for all of them. Of a table: rows with this value in the column "split".
        subset: of a benchmark: one of `BenchmarkInfo.subsets`.
        part: of a benchmark: one of `BenchmarkInfo.parts`, the part of a task that is the text.
        limit: number of samples to read, from the first; notes then cover only the rows that were read.
        repeated: "refuse" an id that occurs twice, or "number" its samples: "a", "a#2", "a#3".

    Raises:
        UnknownBenchmark: neither a benchmark nor a path.
        DataError: the data cannot be found or read, or do not hold what was requested; one line.
    """
    selection = DataSelection(
        data=data,
        text=text,
        id=id,
        label=label,
        labels=labels,
        group=group,
        language=language,
        split=split,
        subset=subset,
        part=part,
        limit=limit,
        repeated=repeated,
    )
    return read_dataset(name_or_path, selection)
