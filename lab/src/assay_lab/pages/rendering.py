"""The pages in docs/results as the files in lab/results have them: whole pages, and the marked tables of the others.

A marked table begins with `<!-- table: NAME -->` and ends with `<!-- end -->`; `assay_lab.pages.tables` makes it.
"""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from assay.errors import DataError
from assay_lab.control import real_bugs, real_model
from assay_lab.measuring import DOCS, RESULTS
from assay_lab.pages import index_figure, paper_tables, tables, testbed_results
from assay_lab.pages.verdict_tables import power_chart
from assay_lab.stand_ins.home import MARKER

FOLDER = DOCS / "results"
POWER = DOCS / "images" / "verdict-power.svg"
WHOLE = {
    testbed_results.PAGE: testbed_results.page,
    paper_tables.PAGE: paper_tables.page,
    real_model.PAGE: real_model.page,
    real_bugs.PAGE: lambda: real_bugs.page(json.loads(real_bugs.RESULT.read_text("utf-8"))),
}
"""Page → what makes all of it."""


def check_measured() -> None:
    """Refuse results and pages that stand-ins gave.

    Raises:
        DataError: a file says STAND-IN.
    """
    for path in chain(sorted(RESULTS.rglob("*.json")), sorted(FOLDER.rglob("*.*"))):
        if MARKER.encode() in path.read_bytes():
            raise DataError(f"{path}: received results of stand-ins, which mean nothing; expected measured ones")


def rendered_pages() -> Iterator[tuple[Path, str]]:
    """Yield every page of results, and every figure of one, with its text as it should be.

    Raises:
        DataError: as `check_measured`.
    """
    check_measured()
    for path in sorted(FOLDER.glob("*.md")):
        yield path, WHOLE[path]() if path in WHOLE else tables.rendered(path.read_text("utf-8"), RESULTS)
    yield from testbed_results.pictures()
    yield index_figure.PICTURE, index_figure.picture()
    yield POWER, power_chart(POWER.stem, tables.read(RESULTS / "dataset" / "reliability-packages.json"))


def outdated_pages() -> dict[Path, str]:
    """Return the pages and figures that differ from what is made of the files → their text as it should be."""
    return {path: text for path, text in rendered_pages() if not path.exists() or path.read_text("utf-8") != text}
