r"""A report as LaTeX for a paper's appendix: `\input` it; the tables need the package booktabs."""

import re
from collections.abc import Mapping, Sequence

from assay.escaping import visible
from assay.reports.report import Report, Row, Table
from assay.reports.wording import as_text, headings

SIGNS: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "]": "{]}",
    "\u00a0": "~",
    "\u2009": r"\,",
    "–": "--",
    "…": r"\ldots{}",
    "−": "$-$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "α": r"$\alpha$",
    "λ": r"$\lambda$",
    "†": r"$\dagger$",
}
"""Sign → how LaTeX writes it. Brackets are wrapped, since a row that begins with one would be read as an option."""

# in one pass: what replaces a sign holds signs that must not be replaced again
_SIGN = re.compile("|".join(map(re.escape, SIGNS)))


def render_latex(report: Report) -> str:
    """Return the report as a section with its tables; figures stay in the HTML report."""
    parts = [rf"\section*{{{escaped(report.title)}}}"]
    if report.warning:
        parts.append(rf"\textbf{{Warning.}} {escaped(report.warning)}")
    for line in report.first_lines[:1]:
        parts.append(rf"\textbf{{{escaped(line)}}}")
    parts += map(escaped, report.first_lines[1:])
    parts += map(escaped, report.details)
    parts += map(latex_table, report.tables)
    if report.notes:
        items = "\n".join(rf"  \item {escaped(note)}" for note in report.notes)
        parts.append(f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}")
    return "\n\n".join(parts) + "\n"


def latex_table(table: Table) -> str:
    """Return one table as a float with its caption."""
    places = "".join("l" if column.kind in ("name", "text") else "r" for column in table.columns)
    text = as_text(table)
    caption = " ".join([f"{table.title.rstrip('.')}.", *text.caption])
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escaped(caption)}}}",
        rf"  \label{{tab:{table.name}}}",
        rf"  \begin{{tabular}}{{{places}}}",
        r"    \toprule",
        "    " + " & ".join(map(escaped, headings(table, text))) + r" \\",
        r"    \midrule",
    ]
    for i, (row, texts) in enumerate(zip(table.rows, text.rows, strict=True)):
        # a rule above the first baseline, unless nothing stands above it
        if i and row.kind == "baseline" and table.rows[i - 1].kind != "baseline":
            lines.append(r"    \midrule")
        lines.append("    " + " & ".join(_marked(table, row, texts)) + r" \\")
    return "\n".join([*lines, r"    \bottomrule", r"  \end{tabular}", r"\end{table}"])


def escaped(text: str) -> str:
    """Return text whose every character LaTeX prints as it is."""
    return _SIGN.sub(lambda match: SIGNS[match[0]], visible(text))


def _marked(table: Table, row: Row, texts: Sequence[str]) -> list[str]:
    """The cells, names in typewriter face and the primary row bold."""
    cells = []
    for text, column in zip(map(escaped, texts), table.columns, strict=True):
        cell = text
        if column.kind == "name" and row.kind != "baseline":
            cell = rf"\texttt{{{cell}}}"
        if row.kind == "primary":
            cell = rf"\textbf{{{cell}}}"
        cells.append(cell)
    return cells
