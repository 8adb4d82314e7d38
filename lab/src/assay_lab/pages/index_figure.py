"""docs/images/index-latency.svg, made from results/index.json: assay lab render."""

import itertools
import json
from typing import Any

import vl_convert

from assay_lab.measuring import DOCS, RESULTS
from assay_lab.result_rows import column

PICTURE = DOCS / "images" / "index-latency.svg"
KINDS = {"lookup": "fingerprints → candidates", "trace": "text → ten matches, with vectors"}
# reads on white and on black
GREY = "#808080"


def spec(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Milliseconds over documents, both axes logarithmic."""
    values = []
    for size in results:
        for kind, share in itertools.product(KINDS, ("p50", "p95")):
            if kind in size:
                query = f"{KINDS[kind]}, {share}"
                values.append({"documents": size["documents"], "milliseconds": size[kind][share], "query": query})
    axis = {"gridOpacity": 0.3, "labelColor": GREY, "titleColor": GREY, "domainColor": GREY, "tickColor": GREY}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": "Milliseconds of a query by number of documents in the index.",
        "width": 440,
        "height": 260,
        "background": "transparent",
        "config": {"axis": axis, "legend": {"labelColor": GREY, "titleColor": GREY}, "view": {"stroke": None}},
        "data": {"values": values},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {
                "field": "documents",
                "type": "quantitative",
                "scale": {"type": "log"},
                "axis": {"values": sorted(set(column(results, "documents"))), "format": "~s"},
            },
            "y": {"field": "milliseconds", "type": "quantitative", "scale": {"type": "log", "domain": [0.1, 100]}},
            "color": {
                "field": "query",
                "type": "nominal",
                "legend": {"orient": "bottom", "columns": 1, "title": None, "labelLimit": 400},
            },
            "strokeDash": {"field": "query", "type": "nominal"},
        },
    }


def picture() -> str:
    """Return the figure."""
    results = json.loads((RESULTS / "index.json").read_text("utf-8"))["results"]
    return str(vl_convert.vegalite_to_svg(spec(results), vl_version="5.20"))
