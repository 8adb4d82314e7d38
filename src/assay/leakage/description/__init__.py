"""The description of an audit as a report: statement, warning, tables, figures, methods."""
