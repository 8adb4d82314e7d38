"""A result described once, and one renderer per format.

Report, Table, Figure …     a result before a format is chosen; a table is made of items and columns with getters
Answer                      its first screen: verdict, reason, main figure, next step
describe                    result → Report; a description is registered for a type in a module named `describing`
RENDERERS                   name of a format → what renders a report in it
TabularResult               what a result of the Python API can do: to_pandas, to_json, report, the page in a notebook

A figure's chart comes from `assay.reports.charts`; that module is imported where a chart is drawn, since Altair takes
half a second to load.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
