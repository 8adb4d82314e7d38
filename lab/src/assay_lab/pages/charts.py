"""Charts as files that a page shows: without the style sheet of a report, so with colours of their own."""

import re
from collections.abc import Sequence

from assay.reports import Axes, Figure, Series, line_chart, svg

COLOURS = {
    "--series-1": "#0b6fb8",
    "--series-2": "#c2410c",
    "--series-3": "#15803d",
    "--series-4": "#7e3aa8",
    "--rule": "#80808040",
}
"""Of lines and grid; every other colour of a figure becomes a grey that reads on white and on black."""
GREY = "#808080"


def standalone_chart(name: str, title: str, lines: Sequence[Series], axes: Axes) -> str:
    """Return a line chart as an SVG file, which has all its numbers as text for those who cannot see it."""
    numbers = "; ".join(f"{line.name} " + ", ".join(map(str, line.points.values())) for line in lines)
    figure = Figure(
        name=name,
        title=title.partition(", by ")[0],
        description=f"{title}. {numbers}",
        chart=lambda: line_chart(lines, axes),
    )
    drawn = svg(figure)
    # a picture in a file of its own has no style sheet, so its variables become colours
    drawn = re.sub(r"var\((--[\w-]+)\)", lambda match: COLOURS.get(match[1], GREY), drawn)
    return drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="560" ', 1) + "\n"
