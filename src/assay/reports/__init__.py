"""What a run found, for people: tables, plots, one HTML file, and the run folder that holds the numbers.

write_run(folder, audit, manifest)    store a run            read_run(folder)     get it back
render_report(audit, manifest)        the page as text       write_report(folder) the page of a run folder
"""

from assay.reports.html import render_report, write_report
from assay.reports.run_folder import read_run, write_run

__all__ = ["read_run", "render_report", "write_report", "write_run"]
