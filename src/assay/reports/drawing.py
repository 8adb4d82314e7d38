"""Figures as static inline SVG, drawn by vl-convert without a browser."""

import math
import os
import re

from markupsafe import Markup, escape

from assay.reports.report import Figure

VEGA_LITE = "6.4"
"""The version that the pinned Altair writes and that vl-convert draws."""


ENGINE_SPACE = 10**11
"""Bytes of address space that the JavaScript engine reserves; it ends the process where a limit leaves it less."""


def drawing(figure: Figure) -> Markup:
    """Return the picture; where it cannot be drawn, one line that says so.

    A picture is never worth the report, so no failure of a plotting library leaves this function.
    """
    try:
        return Markup(svg(figure))  # noqa: S704  drawn by us, its words escaped
    except Exception as error:  # noqa: BLE001  two foreign libraries and a JavaScript engine may raise anything
        # the first line alone, as the engine adds its stack
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        return Markup('<p class="small soft">This figure could not be drawn: {}</p>').format(reason)


def svg(figure: Figure) -> str:
    """Return inline SVG with a title and a description, its ids made unique by the figure's name.

    Raises:
        ValueError: a limit leaves too little address space, or there is no picture.
    """
    if os.name == "posix" and _address_space() < ENGINE_SPACE:
        raise ValueError("a limit of the address space (ulimit -v) leaves too little for the drawing engine")
    import vl_convert  # noqa: PLC0415  the JavaScript engine takes a while to load, and a terminal needs none

    from assay.reports.charts import theme  # noqa: PLC0415  as does Altair

    picture: str = vl_convert.vegalite_to_svg(theme(figure.chart()), vl_version=VEGA_LITE)
    size = re.search(r'viewBox="([^"]+)"', picture)
    body = re.search(r"<svg[^>]*>(.*)</svg>", picture, re.DOTALL)
    if size is None or body is None:
        raise ValueError("Vega-Lite gave no picture")
    numbers: dict[str, str] = {}  # Vega counts its ids through a whole process; a page is to be the same every time

    def unique(match: re.Match[str]) -> str:
        return f"{match[1]}{figure.name}-{numbers.setdefault(match[2], str(len(numbers)))}"

    inside = re.sub(r'(\bid="|url\(#)([\w-]+)', unique, body[1])
    labels = f"{figure.name}-title {figure.name}-description"
    return (
        f'<svg viewBox="{size[1]}" role="img" aria-labelledby="{labels}">'
        f'<title id="{figure.name}-title">{escape(figure.title)}</title>'
        f'<desc id="{figure.name}-description">{escape(figure.description)}</desc>{inside}</svg>'
    )


def _address_space() -> float:
    import resource  # noqa: PLC0415  not on Windows

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit
