"""`assay.report`: finished runs side by side, or as a contamination statement."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.leakage import ReportSettings, compare, describe_comparison, describe_run, describe_statement, read_run
from assay.reports import Report, TabularResult


@dataclass(frozen=True, slots=True, repr=False)
class RunsReport(TabularResult):
    """Finished runs as one report.

    Attributes:
        described: answer, tables and figures.
    """

    described: Report

    def describe(self) -> Report:
        """Return the report."""
        return self.described


def report(*runs: str | Path, settings: ReportSettings | None = None, **by_name: Any) -> RunsReport:  # noqa: ANN401
    """Read finished runs of `assay.audit` or `assay demo`; no model is run.

    One run is shown whole. Several stand side by side: models in rows, benchmarks in columns.

    Args:
        runs: folders.
        settings: parts that are wanted.
        by_name: single settings by name: `assay.report("run", statement=True)`.

    Raises:
        DataError: no folder, or a folder that holds no finished run.
        SettingError: there is no such setting, or a value is wrong.
    """
    options = (settings or ReportSettings()).with_values(**by_name)
    if options.statement:
        return RunsReport(describe_statement([read_run(Path(run)) for run in runs]))
    if len(runs) == 1 and options.figure is None and options.score is None:
        return RunsReport(describe_run(Path(runs[0])))
    # a figure of one run makes a table of one row, as a script that compares runs expects
    figure = options.figure or "verdict"
    compared = compare({str(run): read_run(Path(run))[0] for run in runs}, figure, options.score)
    return RunsReport(describe_comparison(compared, figure))
