"""Tasks with a solution: HumanEval with its translations, BigCodeBench, MBPP.

Sources: Chen et al. 2021, "Evaluating Large Language Models Trained on Code"; Zheng et al. 2023, "CodeGeeX"
(HumanEval-X); Muennighoff et al. 2023, "OctoPack" (HumanEvalPack).
"""

from collections.abc import Iterator

from assay.datasets.columns import whole_text
from assay.datasets.families.selection import Selection, words
from assay.datasets.sources import SourceRow
from assay.errors import DataError
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
        "full": whole_text(prompt, solution),
        "prompt": prompt,
        "solution": solution,
        "buggy": prompt + words(row, "buggy_solution"),
    }[part]


# BigCodeBench: library-rich Python tasks. Source: Zhuo et al. 2024, "BigCodeBench".


def bigcodebench(row: SourceRow, _number: int, selection: Selection) -> Iterator[Sample]:
    """Text of "complete": docstring prompt + canonical solution, which completes it without anything between.

    Text of "instruct": the instruction, a line end, the canonical solution.
    """
    instruct = selection.subset == "instruct"
    prompt = words(row, f"{selection.subset or 'complete'}_prompt")
    solution = words(row, "canonical_solution")
    task = str(row["task_id"])
    yield Sample(
        task,
        {"full": prompt + "\n" * instruct + solution, "prompt": prompt, "solution": solution}[selection.part],
        "python",
        group=task,
        metadata={**row, "prompt": prompt},
    )


# MBPP: a one-sentence task and its Python solution.
#
# Source: Austin et al. 2021, "Program Synthesis with Large Language Models".

_SPLITS = {"prompt": range(1, 11), "test": range(11, 511), "validation": range(511, 601), "train": range(601, 975)}
"""Section 2.1 of the paper assigns splits by task id."""


def mbpp(row: SourceRow, _number: int, selection: Selection) -> Iterator[Sample]:
    """Text: task description, a line end, the code; part "published": the paper's prompt with tests and code.

    The full set calls the description "text", the sanitized one (reworded, fewer tasks) "prompt": this
    shows which of the two it is.
    """
    # the reworded texts are other texts to a model, so the subsets must not be mixed up unnoticed
    subset, column = ("sanitized", "prompt") if row.get("text") is None else ("full", "text")
    if selection.subset not in (None, subset):
        raise DataError(f"received the {subset} MBPP, expected the {selection.subset} one")
    description = words(row, column)
    code = words(row, "code")
    split = row.get("split") or _split(row["task_id"])
    yield Sample(
        f"MBPP/{row['task_id']}",
        {
            "full": f"{description}\n{code}",
            "prompt": description,
            "solution": code,
            "published": _published(description, code, row.get("test_list")),
        }[selection.part],
        "python",
        group=f"MBPP/{row['task_id']}",
        metadata={**row, "subset": subset, "split": split},
    )


def _published(description: str, code: str, tests: object) -> str:
    asserts = "\n".join(map(str, tests)) if isinstance(tests, list) else ""
    # the few-shot prompt of Austin et al. 2021, word for word, its solution included
    return (
        f"You are an expert Python programmer, and here is your task: {description} "
        f"Your code should pass these tests:\n\n{asserts}\n[BEGIN]\n{code}\n[DONE]"
    )


def _split(task: object) -> str | None:
    return next((name for name, tasks in _SPLITS.items() if str(task).isdigit() and int(str(task)) in tasks), None)
