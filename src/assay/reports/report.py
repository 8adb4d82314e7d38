"""The value that every result is described with before a format is chosen: a `Report` of tables, figures and sentences.

A question (leakage, provenance, testbed …) makes the value with its own `describe`; the renderers of this package turn
it into a terminal's text, a page, Markdown, LaTeX or JSON. Nothing here knows a question.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeGuard

from assay.codec import encode
from assay.escaping import json_text
from assay.reports.answer import Answer
from assay.reports.samples import Excerpt, SampleList

if TYPE_CHECKING:
    import altair as alt

ColumnKind = Literal["name", "text", "number", "count", "share", "area", "p_value"]
"""Of a column: how its values read. "name": in typewriter face. "number": four significant digits. "count": a whole
number. "share": per cent. "area": three decimals without the leading zero, as AUROC and correlations are printed.
"p_value": `.03`, `< .001`."""


class Measured(Protocol):
    """A measured value with its interval; `assay.evaluation.Estimate` is one."""

    @property
    def value(self) -> float:
        """The estimate; NaN where it could not be computed."""

    @property
    def low(self) -> float:
        """Lower end of the interval; NaN without one."""

    @property
    def high(self) -> float:
        """Upper end of the interval; NaN without one."""

    @property
    def level(self) -> float:
        """Confidence level of the interval."""

    @property
    def has_interval(self) -> bool:
        """True where the data gave an interval."""

    @property
    def support(self) -> str:
        """Groups that the interval rests on: "31 + 28 groups"; empty where it is not one over groups."""

    @property
    def reason(self) -> str | None:
        """Why there is no interval; None where there is one."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A cell without a value.

    Attributes:
        reason: why there is none, as a clause: "the run has no labels".
    """

    reason: str


Cell = str | int | float | Measured | Missing


@dataclass(frozen=True, slots=True)
class Column:
    """The heading of a column, how its values read, and where they come from.

    Attributes:
        title: one line.
        kind: format of its values; a cell that holds text is printed as it is.
        get: returns the cell of an item, for `Table.of`; None and NaN are missing values.
        missing: why they are missing.
        note: second line of the heading, such as "n = 120"; a narrow terminal leaves it out.
        optional: True where a narrow terminal may leave the column out (it says so).
        plot: (from, to, chance) of the small interval plot that the page draws beside the column; None draws none.
    """

    title: str
    kind: ColumnKind = "text"
    get: Callable[[Any], Cell | None] | None = None
    missing: str = "not measured"
    note: str = ""
    optional: bool = False
    plot: tuple[float, float, float] | None = None


RowKind = Literal["plain", "primary", "baseline"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    Attributes:
        cells: one per column, the row's name first.
        kind: "primary" stands out; "baseline" is set apart from the rows above.
        tag: a word or two beside the name, on the page only.
    """

    cells: tuple[Cell, ...]
    kind: RowKind = "plain"
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table before it is text.

    Attributes:
        name: unique within the report, letters, digits and hyphens.
        title: one line.
        columns: the first one holds the rows' names.
        rows: top to bottom.
        caption: how to read it, in sentences.
        section: heading that it shares with other tables and figures; "" where it stands alone.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: tuple[str, ...] = ()
    section: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        items: Iterable[Any],
        columns: Sequence[Column],
        caption: Sequence[str] = (),
        *,
        kind: Callable[[Any], RowKind] = lambda _: "plain",
        section: str = "",
    ) -> Self:
        """Return a table with a row for each item, its cells taken by the columns' getters.

        Args:
            name: see `Table.name`.
            title: see `Table.title`.
            items: one a row.
            columns: each with its getter.
            caption: see `Table.caption`.
            kind: of the row of an item.
            section: see `Table.section`.
        """
        rows = []
        for item in items:
            rows.append(Row(tuple(_cell(column, item) for column in columns), kind(item)))
        return cls(name, title, tuple(columns), rows=tuple(rows), caption=tuple(caption), section=section)

    @property
    def cells(self) -> list[tuple[Cell, ...]]:
        """The cells of each column, top to bottom."""
        return list(zip(*(row.cells for row in self.rows), strict=True)) or [()] * len(self.columns)


def is_measured(cell: Cell) -> TypeGuard[Measured]:
    """Return True for a value that may have an interval."""
    return not isinstance(cell, str | int | float | Missing)


def _cell(column: Column, item: object) -> Cell:
    value = column.get and column.get(item)
    if isinstance(value, str | int | Missing):
        return value
    # NaN means not measured, which is never printed as a number
    if value is None or math.isnan(value if isinstance(value, float) else value.value):
        return Missing(column.missing)
    return value


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """One picture, drawn only by a renderer that shows pictures.

    Attributes:
        name: unique within the report, letters, digits and hyphens.
        title: one line.
        description: everything that a reader who cannot see the picture should know, with the numbers.
        chart: makes the chart; see `assay.reports.charts`.
        caption: how to read it.
        section: see `Table.section`.
        choice: label in the list of pictures of this section from which a reader chooses; "" is always shown.
        leads: belongs beside the answer where it is the first figure of a report.
    """

    name: str
    title: str
    description: str
    chart: Callable[[], "alt.TopLevelMixin"]
    caption: str = ""
    section: str = ""
    choice: str = ""
    leads: bool = True


@dataclass(frozen=True, slots=True)
class Fact:
    """A main figure: its name, its value as text, and its interval or chance level."""

    name: str
    value: str
    note: str = ""

    def __str__(self) -> str:
        """Return name, value and note on one line."""
        if not self.note:
            return f"{self.name}: {self.value}"
        return f"{self.name}: {self.value} ({self.note})"


@dataclass(frozen=True, slots=True)
class Method:
    """A method explained.

    Attributes:
        title: the field's term.
        summary: a sentence or two.
        formula: one line, with the parameters used.
        reference: publication.
        name: as tables print it, so that they link here; "" where no table does.
        needs: what it needs besides one pass over the text; "" where that is all.
        link: address of the publication, or None.
    """

    title: str
    summary: str
    formula: str
    reference: str
    name: str = ""
    needs: str = ""
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Annotation:
    """A sentence about lines of a file.

    Attributes:
        message: the sentence.
        path: of the file; "" where it is about no file.
        line: the first line, from 1; 0 for the whole file.
        last_line: the last line.
        level: how a build log marks it.
    """

    message: str
    path: str = ""
    line: int = 0
    last_line: int = 0
    level: Literal["notice", "warning", "error"] = "warning"


@dataclass(frozen=True, slots=True)
class Juxtaposition:
    """Two texts side by side, with what led to them; drawn on the page only.

    Attributes:
        title: of both.
        about: where they come from, on one line.
        entries: (when, what) in their order.
        chosen: number of the entry that stands out, from 0; None without one.
        left: heading and text.
        right: heading and text.
        marked: lines that both have; white space in them is one blank.
    """

    title: str
    about: str
    entries: tuple[tuple[str, str], ...]
    chosen: int | None
    left: tuple[str, str]
    right: tuple[str, str]
    marked: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """A result described.

    Attributes:
        title: the question that it answers.
        statement: the answer in one or two sentences that stand alone; "" where `answer` gives it.
        tables: the most important first.
        figures: the first one stands beside the statement, if it belongs there.
        notes: what a reader must know of the data and the run, one sentence each.
        data: the whole result for programs; the JSON renderer prints it.
        kind: what sort of report this is, for the line above the title.
        warning: why the statement may be wrong; "" where nothing does.
        details: the sentences that a careful reader needs right after the statement.
        facts: the main figures.
        methods: how scores and figures are defined.
        samples: the samples for the page's list; None without one.
        excerpts: texts shown side by side, each token shaded.
        juxtapositions: texts shown side by side, equal lines marked.
        sections: section heading → a sentence that introduces it.
        manifest: how the result was made; an entry "command" is printed first.
        annotations: findings at lines of files, for build logs.
        answer: the first screen; None where the statement is all of it.
        on_first_screen: number of tables that a terminal shows below the answer without --verbose.
    """

    title: str
    statement: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    data: object = None
    kind: str = ""
    warning: str = ""
    details: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    methods: tuple[Method, ...] = ()
    samples: SampleList | None = None
    excerpts: tuple[Excerpt, ...] = ()
    juxtapositions: tuple[Juxtaposition, ...] = ()
    sections: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, object] = field(default_factory=dict)
    annotations: tuple[Annotation, ...] = ()
    answer: Answer | None = None
    on_first_screen: int = 0

    @property
    def headline(self) -> str:
        """The answer on one line."""
        return str(self.answer or self.statement)

    @property
    def first_lines(self) -> tuple[str, ...]:
        """The part that is read first: the lines of the answer, then the statement where there is one."""
        answer = self.answer or Answer("")
        return tuple(filter(None, (*answer.lines, self.statement)))

    @property
    def lead(self) -> Figure | None:
        """The figure beside the statement; None where no figure belongs there."""
        return next(filter(attrgetter("leads"), self.figures[:1]), None)


def render_json(report: Report) -> str:
    """Return the data of a report as indented JSON, with a line break at its end."""
    # names of people and files stay readable in JSON
    return json_text(encode(report.data), indent=1, ensure_ascii=False) + "\n"
