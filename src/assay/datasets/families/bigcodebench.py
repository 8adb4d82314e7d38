"""BigCodeBench: library-rich Python tasks. Source: Zhuo et al. 2024, "BigCodeBench"."""

from collections.abc import Iterator

from assay.datasets.families.selection import Selection, words
from assay.datasets.sources import SourceRow
from assay.types import Sample


def bigcodebench(row: SourceRow, _number: int, selection: Selection) -> Iterator[Sample]:
    """Text of "complete": docstring prompt + canonical solution, which completes it without anything between.

    Text of "instruct": the instruction, a line end, the canonical solution.
    """
    instruct = selection.subset == "instruct"
    prompt = words(row, "instruct_prompt" if instruct else "complete_prompt")
    solution = words(row, "canonical_solution")
    task = str(row["task_id"])
    yield Sample(
        task,
        {"full": prompt + "\n" * instruct + solution, "prompt": prompt, "solution": solution}[selection.part],
        "python",
        group=task,
        metadata={**row, "prompt": prompt},
    )
