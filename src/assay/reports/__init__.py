"""A result described once, and one renderer per format.

Report, Table, Figure …     the value that `describe` of a question returns
print_report(report, console), render_html, render_markdown, render_latex, render_json

A figure's chart comes from `assay.reports.charts`; that module is imported where a chart is drawn, since Altair takes
half a second to load.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
