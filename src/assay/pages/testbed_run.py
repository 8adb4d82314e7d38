"""What a controlled experiment leaves for people: evaluation.json, tables.md and report.html in its run folder."""

import json
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.pages.codec import encode
from assay.pages.evaluation_file import EVALUATION, SCHEMA
from assay.pages.result_tables import markdown_of
from assay.pages.testbed_page import render_testbed
from assay.pages.testbed_tables import testbed_tables
from assay.testbed import Evaluation

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
