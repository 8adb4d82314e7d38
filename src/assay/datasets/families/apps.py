"""APPS: programming-contest problems with people's solutions.

Source: Hendrycks et al. 2021, "Measuring Coding Challenge Competence With APPS".
"""

from collections.abc import Iterator
from pathlib import Path

from assay.datasets.families.selection import Selection, file_text, rest, words
from assay.datasets.sources import Note, SourceRow, opened, walk
from assay.errors import DataError, plain_reason
from assay.files import parse_json
from assay.types import Sample


def apps(row: SourceRow, _number: int, selection: Selection) -> Iterator[Sample]:
    """Text: question, a line end, the first solution; subset "all" gives one sample per solution.

    A problem without a solution is its question alone (part "solution": empty). The id is split and problem
    number where the split is known ("train/0111": the name of the official folder), else the number.
    Solutions of one problem are one group.
    """
    problem = str(row["problem_id"])
    if row.get("split"):
        # the hub numbers problems, the official folders are called "0000", "0001"
        problem = f"{row['split']}/{problem:0>4}"
    question, solutions = words(row, "question"), _solutions(row.get("solutions"))
    every = selection.subset == "all"
    metadata = {**rest(row, "solutions"), "prompt": question}
    # a problem without a solution still has its question
    for position, solution in enumerate((solutions if every else solutions[:1]) or [""]):
        full = "\n".join(filter(None, (question, solution)))
        yield Sample(
            problem + f"/{position}" * every,
            {"full": full, "prompt": question, "solution": solution}[selection.part],
            "python",
            group=problem,
            metadata={**metadata, "canonical_solution": solution, "solutions": len(solutions)},
        )


def apps_folders(path: Path, note: Note) -> Iterator[SourceRow]:
    """Rows of the official layout: <split>/<problem>/question.txt with solutions.json and more beside it."""
    for question in walk(path):
        if question.name != "question.txt":
            continue
        folder = question.parent
        yield {
            "problem_id": folder.name,
            "split": folder.parent.name if folder.parent.name in ("train", "test") else None,
            "question": file_text(question, note),
            "solutions": file_text(folder / "solutions.json", note),
            "input_output": file_text(folder / "input_output.json", note),
            "starter_code": file_text(folder / "starter_code.py", note),
            **_metadata(folder / "metadata.json"),
        }


def _solutions(value: object) -> list[str]:
    """The solutions: the hub and the files hold JSON text of a list; an empty text means none."""
    try:
        parsed = parse_json(value.strip() or "[]") if isinstance(value, str) else value or []
    except ValueError as fault:
        raise DataError(f"'solutions' is not JSON ({plain_reason(fault)}), expected a list of programs") from fault
    if not isinstance(parsed, list) or not all(isinstance(item, str) for item in parsed):
        raise DataError(f"'solutions' holds {str(parsed)[:40]!r}, expected a list of programs")
    return parsed


def _metadata(path: Path) -> SourceRow:
    if not path.exists():
        return {}
    with opened(path) as stream:
        try:
            metadata = parse_json(stream.read())
        except ValueError as fault:
            raise DataError(f"{path}: broken JSON ({plain_reason(fault)})") from fault
    return metadata if isinstance(metadata, dict) else {}
