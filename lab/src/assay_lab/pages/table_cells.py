"""Tables of Markdown and the cells in them, for the modules that make the tables of docs/results/benchmarks.md."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

File = Mapping[str, Any]
"""The content of a result file."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; every column but the first is flush right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def pivot(head: str, cells: Iterable[tuple[str, str, str]]) -> str:
    """Return a table of (row, column, text); what was not measured stays empty."""
    texts = {(row, column): text for row, column, text in cells}
    columns = list(dict.fromkeys(column for _, column in texts))
    rows = dict.fromkeys(row for row, _ in texts)
    return table([head, *columns], [[row, *(texts.get((row, column), "") for column in columns)] for row in rows])


def transposed(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns are the rows; for few rows of many quantities."""
    first, *rest = zip(head, *rows, strict=True)
    return table(first, rest)


def number(value: float) -> str:
    """Three significant digits, thousands with commas."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def times(spread: Mapping[str, float]) -> str:
    """A ratio: its median, and between which ends the rounds lay."""
    ends = "–".join(number(spread[end]) for end in ("min", "max"))
    return f"**{number(spread['median'])} ×** ({ends})"


def seconds(spread: Mapping[str, float]) -> str:
    """A median of seconds."""
    return f"{number(spread['median'])} s"


def estimate(values: Mapping[str, float]) -> str:
    """A share and its interval."""
    return f"{values['value']:.3f} ({values['low']:.3f}–{values['high']:.3f})"


def share_with_ends(value: float, ends: Sequence[float]) -> str:
    """A share with its 95 % interval."""
    return f"{value:.2f} ({ends[0]:.2f}–{ends[1]:.2f})"
