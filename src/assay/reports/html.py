"""A report as one HTML file with everything in it: no network, no fonts, no scripts but its own."""

import base64
import hashlib
import re
import shlex
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from operator import attrgetter
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay._version import __version__
from assay.escaping import page_text
from assay.files import write_text
from assay.reports.drawing import drawing
from assay.reports.report import Figure, Report, Table
from assay.reports.samples import RUN_LENGTH, STEPS, Excerpt, payload, script_safe
from assay.reports.wording import as_text, listed, percent

LARGEST_PAGE = 6_000_000
"""Bytes of a page, as long as the sample table alone needs no more."""

RESERVED = 400_000
"""Bytes set aside for words, tables, style, script and the few figures that every page has."""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """The tables and figures under one heading.

    Attributes:
        title: the heading.
        anchor: its address on the page.
        introduction: a sentence below it.
        figures: in their order.
        tables: in their order.
    """

    title: str
    anchor: str
    introduction: str
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]

    @property
    def choices(self) -> list[Figure]:
        """The figures of which a reader chooses one."""
        return list(filter(attrgetter("choice"), self.figures))


def render_html(report: Report) -> str:
    """Return the report as one self-contained page.

    First come the statement, its figure and the main figures, then the text, the tables and the samples.
    """
    script = _asset("report.js")
    page_sections = sections(report)
    # pictures are drawn before the budget of the samples is known: there may be many
    pictures = dict(zip(map(attrgetter("name"), report.figures), map(drawing, report.figures), strict=True))
    budget = LARGEST_PAGE - RESERVED - sum(map(len, pictures.values()))
    data = payload(report.samples, budget=budget) if report.samples else {"tokens": ()}
    template = _environment().get_template("report.html.j2")
    page = template.render(
        report=report,
        version=__version__,
        pictures=pictures,
        lead=report.lead,
        sections=page_sections,
        contents=_contents(report, page_sections),
        anchors={method.name: f"method-{i}" for i, method in enumerate(report.methods, 1) if method.name},
        excerpts=[(excerpt.title, Markup("").join(shaded(excerpt))) for excerpt in report.excerpts],
        shades=_shades(),
        command=_command_line(report.manifest),
        manifest={key: _entry(value) for key, value in report.manifest.items() if key != "command" and value != {}},
        shaded=len(data["tokens"]),
        data=Markup(script_safe(data)),  # noqa: S704  script_safe leaves no markup
        steps=list(map(percent, STEPS)),
        run_length=RUN_LENGTH,
        style=Markup(_asset("report.css")),  # noqa: S704  our own file
        script=Markup(script),  # noqa: S704  our own file
        # the page's policy runs the script of this digest and no other: texts of a corpus stand beside it
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return page_text(page)


def write_html(report: Report, path: Path) -> Path:
    """Write the page; return its path.

    Raises:
        DataError: the file cannot be written.
    """
    write_text(path, render_html(report))
    return path


def sections(report: Report) -> tuple[Section, ...]:
    """Return the headings of a page with their figures and tables, all but the figure beside the answer."""
    parts: dict[str, tuple[list[Figure], list[Table]]] = {}
    # tables come before figures: a section stands where its first table does
    for table in report.tables:
        parts.setdefault(table.section or table.title, ([], []))[1].append(table)
    for figure in report.figures[report.lead is not None :]:
        parts.setdefault(figure.section or figure.title, ([], []))[0].append(figure)
    headed = []
    for number, (title, (figures, tables)) in enumerate(parts.items(), 1):
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        introduction = report.sections.get(title, "")
        anchor = f"section-{number}-{name}"
        headed.append(Section(title, anchor, introduction, figures=tuple(figures), tables=tuple(tables)))
    return tuple(headed)


def shaded(excerpt: Excerpt) -> Iterator[Markup]:
    """Yield the text in pieces, each token shaded by how little the model expected it."""
    text, reached = excerpt.text, 0
    for (start, end), mass in zip(excerpt.tokens.offsets.tolist(), excerpt.tokens.tail_mass.tolist(), strict=True):
        # tokens of one letter share its bytes: the later one has what is left of it
        begin = max(start, reached)
        if begin > reached:
            yield Markup("{}").format(text[reached:begin])
        if end > begin:
            yield Markup('<span class="k{}">{}</span>').format(bisect_right(STEPS, mass), text[begin:end])
            reached = end
    yield Markup("{}").format(text[reached:])


def _contents(report: Report, page_sections: tuple[Section, ...]) -> list[tuple[str, str]]:
    """Anchor and title of each part of the page."""
    entries = (
        *((section.anchor, section.title, section) for section in page_sections),
        ("excerpts", "Side by side", report.excerpts),
        ("evidence", "Evidence", report.juxtapositions),
        ("sample-list", "Samples", report.samples),
        ("methods", "Methods", report.methods),
        ("notes", "Notes", report.notes),
        ("manifest", "How to repeat", report.manifest),
    )
    return [(anchor, title) for anchor, title, content in entries if content]


def _command_line(manifest: Mapping[str, object]) -> str:
    """The command that made the run, as one line; empty where the manifest has none."""
    command = manifest.get("command", "")
    if isinstance(command, list | tuple):
        return shlex.join(map(str, command))
    return str(command)


def _entry(value: object) -> str:
    """A manifest entry as text: `torch 2.5, numpy 2.1`; `target: name builtin:small, digest 9b1f`."""
    if isinstance(value, Mapping):
        # mappings in a mapping are set apart by a sign that their own parts do not use
        nested = any(isinstance(part, Mapping) for part in value.values())
        colon, comma = (": ", "; ") if nested else (" ", ", ")
        return comma.join(f"{key}{colon}{_entry(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_entry, value)) or "none"
    # a reader of the page need not know how Python spells them
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return str(value)


def _shades() -> Markup:
    """The shades in words, each in its colour."""
    first, *others = map(percent, STEPS)
    bounds = [f"below {first}", *map("to {}".format, others), "above"]
    swatch = Markup('<span class="swatch k{}">{}</span>')
    return Markup(listed(list(map(swatch.format, range(len(bounds)), bounds))))  # noqa: S704  escaped by format


def _place(value: float, plot: tuple[float, float, float]) -> float:
    """The place of a value in an interval plot, in per cent of its width."""
    low, high, _ = plot
    return 100 * (min(max(value, low), high) - low) / (high - low)


@cache
def _environment() -> Environment:
    """The templates, every value escaped."""
    environment = Environment(
        loader=PackageLoader("assay.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"place": _place, "as_text": as_text, "with_code": _with_code, "marked": _marked}
    return environment


def _marked(text: str, lines: Sequence[str]) -> Markup:
    """Return a text in which the rows that hold one of some lines stand out."""
    rows = []
    for row in text.splitlines():
        # both texts have these lines up to their white space
        holds = any(line in " ".join(row.split()) for line in lines)
        rows.append(Markup("<mark>{}</mark>").format(row) if holds else Markup.escape(row))
    return Markup("\n").join(rows)


def _with_code(line: str) -> Markup:
    """Return a line with what stands between backticks as code, as options are; an odd backtick stays."""
    parts = re.sub(r"`([^`]+)`|(?<![-\w])(--[a-z][a-z-]+)", r"<code>\1\2</code>", str(Markup.escape(line)))
    return Markup(parts)  # noqa: S704  escaped before


@cache
def _asset(name: str) -> str:
    """A file beside the templates."""
    return (resources.files("assay.reports") / "templates" / name).read_text("utf-8")
