"""The page of a course: the pairs that stand out, both programs side by side, and who belongs together."""

import base64
import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from operator import attrgetter, itemgetter
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay.corpora import lines_of
from assay.escaping import page_text, visible
from assay.files import write_text
from assay.submissions.comparison import NAMED, Comparison, StudentPair
from assay.submissions.evidence import Program
from assay.submissions.matching import StatementPlace

MOST_SHOWN = 100
"""Pairs on a page, side by side."""

COLOURS = 6
_WIDTH, _RADIUS, _LABEL = 900, 60, 90

MarkedStretch = tuple[int, int, str]
"""Start, stop and opening tag of a part of a text."""


def render_page(comparison: Comparison, pairs: Sequence[StudentPair] | None = None) -> str:
    """Return the page as one file with everything in it.

    Args:
        comparison: of a course.
        pairs: that are shown; None for the strongest.
    """
    course: Mapping[str, object] = {"graph": "", "further": 0, "left": ()}
    if pairs is None:
        pairs = comparison.pairs[:MOST_SHOWN]
        course = {
            "graph": _graph(comparison),
            "further": len(comparison.pairs) - len(pairs) + comparison.further,
            "left": [*comparison.not_compared(), *comparison.remarks()],
        }
    script = resources.files("assay.submissions").joinpath("templates/pairs.js").read_text("utf-8")
    page = (
        _environment()
        .get_template("pairs.html.j2")
        .render(
            comparison=comparison,
            pairs=list(map(partial(_shown, comparison), pairs)),
            **course,
            script=Markup(script),  # noqa: S704  our own file
            # the policy of the page allows this script alone, by its digest, so that no text of a student can run
            script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )
    return page_text(page)


def write_pages(comparison: Comparison, folder: Path) -> None:
    """Write a page for each pair into a folder.

    Raises:
        DataError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number, pair in enumerate(comparison.pairs, 1):
        students = re.sub(r"[^\w-]+", "-", f"{comparison.name(pair.first)}-{comparison.name(pair.second)}")
        write_text(folder / f"{number:03}-{students[:80]}.html", render_page(comparison, [pair]))


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("assay.submissions"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(comparison: Comparison, pair: StudentPair) -> Mapping[str, object]:
    sides = []
    for number, side, renamed in (
        (pair.first, "first", frozenset(pair.names)),
        (pair.second, "second", frozenset(pair.names.values())),
    ):
        runs = map(attrgetter(side), pair.runs)
        texts = _side(comparison, comparison.programs[number], runs, renamed=renamed)
        sides.append((comparison.name(number), list(texts)))
    return {
        "first": comparison.name(pair.first),
        "second": comparison.name(pair.second),
        "reason": pair.reason,
        "names": pair.names,
        "sides": sides,
    }


def _side(
    comparison: Comparison,
    program: Program,
    runs: Iterable[Sequence[StatementPlace]],
    *,
    renamed: frozenset[str],
) -> Iterator[tuple[str, Markup]]:
    """Yield path and marked code of each text of a program."""
    stretches: dict[int, dict[tuple[int, int], str]] = defaultdict(dict)
    for number, statements in enumerate(program.statements):
        for statement in statements:
            if statement.code in comparison.template:
                stretches[number][statement.start, statement.stop] = '<span class="given">'
    at = 0
    for colour, run in enumerate(runs):
        for place in run:
            span = (place.statement.start, place.statement.stop)
            tag = f'<mark class="c{colour % COLOURS}" data-m="{at}" tabindex="0">'
            # what was handed out stays grey, matched or not
            stretches[place.text].setdefault(span, tag)
            at += 1
    for number, text in enumerate(program.texts):
        spans = sorted((*span, tag) for span, tag in stretches[number].items())
        yield text.path, _marked(text.text, spans, first_line=text.first_line, renamed=renamed)


def _marked(text: str, stretches: Sequence[MarkedStretch], *, first_line: int, renamed: frozenset[str]) -> Markup:
    """Return a text by lines, its stretches in their tags; a tag that spans lines is closed and opened again."""
    lines, begin = [], 0
    for number, line in enumerate(lines_of(text), first_line):
        end = begin + len(line)
        # a stretch over several lines is cut at each of their ends, or the numbers of lines would stand inside it
        pieces, at = [], begin
        for start, stop, tag in stretches:
            # the statements of a `range` overlap: a later one begins where the last one ended
            start, stop = max(start, at), min(stop, end)  # noqa: PLW2901  the part on this line
            if start >= stop:
                continue
            pieces += [_names(text[at:start], renamed), tag, _names(text[start:stop].rstrip("\r\n"), renamed)]
            pieces.append(f"</{tag[1:5].strip()}>")
            at = stop
        pieces.append(_names(text[at:end].rstrip("\r\n"), renamed))
        lines.append(f'<span class="l" data-n="{number}">{"".join(pieces)}</span>')
        begin = end
    return Markup("".join(lines))  # noqa: S704  every piece is escaped


def _names(text: str, renamed: frozenset[str]) -> str:
    """Return escaped text with the names that were replaced underlined."""
    pieces = []
    for piece in re.split(r"(\w+)", text):
        escaped = str(Markup.escape("\t".join(map(visible, piece.split("\t")))))
        pieces.append(f"<u>{escaped}</u>" if piece in renamed else escaped)
    return "".join(pieces)


def _graph(comparison: Comparison) -> Markup:
    """Return the groups of more than two as circles of points."""
    shapes: list[str] = []
    left = top = row = widest = 0
    for cluster in filter(itemgetter(slice(2, None)), comparison.clusters[:NAMED]):
        radius = _RADIUS * max(1.0, len(cluster) / 8)
        width = round(2 * (radius + _LABEL))
        height = round(2 * radius + 60)
        if left and left + width > _WIDTH:
            left, top, row = 0, top + row, 0
        places = {}
        for at, student in enumerate(cluster):
            angle = 2 * math.pi * at / len(cluster)
            places[student] = (left + width / 2 + radius * math.cos(angle), top + height / 2 + radius * math.sin(angle))
        for pair in comparison.pairs:
            if pair.first in places and pair.second in places:
                (x1, y1), (x2, y2) = places[pair.first], places[pair.second]
                thick = np.nan_to_num(np.minimum(8, 2 * pair.evidence), nan=2)
                shapes.append(
                    f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke-width="{thick:.1f}"/>'
                )
        for student, (x, y) in places.items():
            label = Markup.escape(visible(comparison.name(student))[:24])
            shapes.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6"/>')
            shapes.append(f'<text x="{x:.0f}" y="{y - 10:.0f}" text-anchor="middle">{label}</text>')
        left, row = left + width, max(row, height)
        widest = max(widest, left)
    if not shapes:
        return Markup("")
    size = f'viewBox="0 0 {widest} {top + row}" width="{widest}"'
    drawn = "".join(shapes)
    return Markup(f'<svg {size} role="img" aria-label="Students connected by pairs">{drawn}</svg>')  # noqa: S704  escaped
