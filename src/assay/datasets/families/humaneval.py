"""HumanEval and its translations: a prompt (signature and docstring) and the body that completes it.

Sources: Chen et al. 2021, "Evaluating Large Language Models Trained on Code"; Zheng et al. 2023, "CodeGeeX"
(HumanEval-X); Muennighoff et al. 2023, "OctoPack" (HumanEvalPack).
"""

from collections.abc import Iterator

from assay.datasets.families.selection import Selection, words
from assay.datasets.sources import SourceRow
from assay.languages import language_named
from assay.types import Sample


def humaneval(row: SourceRow, _number: int, selection: Selection) -> Iterator[Sample]:
    """Text: prompt + canonical solution, as they stand in the file (nothing between them)."""
    task = str(row["task_id"])
    yield Sample(task, _text(row, selection.part), "python", group=task, metadata=row)


def translated(row: SourceRow, _number: int, selection: Selection) -> Iterator[Sample]:
    """Text as of HumanEval. The id is language and task ("CPP/7"); a task in all languages is one group."""
    task = str(row["task_id"])
    language, _, number = task.rpartition("/")
    yield Sample(task, _text(row, selection.part), language_named(language), group=f"HumanEval/{number}", metadata=row)


def _text(row: SourceRow, part: str) -> str:
    prompt, solution = words(row, "prompt"), words(row, "canonical_solution")
    return {
        "full": prompt + solution,
        "prompt": prompt,
        "solution": solution,
        "buggy": prompt + words(row, "buggy_solution"),
    }[part]
