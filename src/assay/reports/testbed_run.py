"""What a controlled experiment leaves for people: evaluation.json, tables.md and report.html in its run folder."""

import json
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.reports.codec import decode, encode
from assay.reports.tables import markdown_of
from assay.reports.testbed_page import render_testbed
from assay.reports.testbed_tables import testbed_tables
from assay.testbed.evaluation_result import Evaluation

SCHEMA = 1
EVALUATION = "evaluation.json"
TABLES = "tables.md"
PAGE = "report.html"


def write_evaluation(folder: Path, found: Evaluation, manifest: dict[str, Any], losses: list[dict[str, float]]) -> Path:
    """Write the numbers, the tables and the page; returns where the page lies.

    Raises:
        DataError: the folder cannot be written.
    """
    try:
        content = json.dumps({"schema": SCHEMA, **encode(found)}, indent=1, ensure_ascii=False, allow_nan=False)
        (folder / EVALUATION).write_text(content + "\n", "utf-8")
        tables = "\n\n".join(markdown_of(table, head="detector") for table in testbed_tables(found))
        (folder / TABLES).write_text(tables + "\n", "utf-8")
        (folder / PAGE).write_text(render_testbed(found, manifest, losses), "utf-8")
    except OSError as error:
        raise DataError(f"cannot write to {folder}: {error.strerror or error}") from error
    return folder / PAGE


def read_evaluation(folder: Path) -> Evaluation:
    """The numbers of a run.

    Raises:
        DataError: the folder has none, or a file of another schema.
    """
    path = folder / EVALUATION
    try:
        content = json.loads(path.read_text("utf-8"))
        if content.pop("schema") != SCHEMA:
            raise DataError(f"{path}: expected schema {SCHEMA}")
        return decode(Evaluation, content)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); expected a run that was evaluated") from error
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: expected what `assay testbed evaluate` wrote ({error})") from error
